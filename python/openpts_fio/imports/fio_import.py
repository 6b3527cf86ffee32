"""Results of fio as a run of the test of job files: a step for each group of jobs, a stream for each job."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.requests import CycleFinished, Outcome
from openpts.vocabulary.sample import OperationSample, Sample
from openpts.vocabulary.stimulus import Step
from openpts_fio.figures import merged
from openpts_fio.fio_job.conditions import FioJob, kept_lines
from openpts_fio.fio_job.steps import translation_of
from openpts_fio.imports.fio_output import FioJobResult, FioOutput, parse_output
from openpts_fio.imports.imported_run import Results, Source, Wanted, sample_of
from openpts_fio.jobs.job_file import job_lines, read_jobs
from openpts_fio.jobs.options import BY_WORD, OptionHandling
from openpts_fio.workload import WorkloadConditions
from openpts_fio.workload.script import standard_conditions

_STATED: Final = "options as fio states them"
# what names the target, and what says in which order jobs begin: groups are known
_NOT_OF_THE_LOAD: Final = frozenset({"name", "direct", "buffered", "stonewall", "startdelay"})
_ADDED_UP: Final = ": with group_reporting fio adds up different jobs of a group; write the groups apart"
_SPLIT: Final = ("read", "write", "trim")


def fio_results(source: Source, wanted: Wanted, job_path: Path | None = None) -> Results:
    """A round of the jobs of an output; of ``job_path``, if that is the job file which fio ran.

    Raises UsageError for what is no output of fio, and for jobs whose load is not known.
    """
    output = parse_output(source)
    job = _stated_job(source, output) if job_path is None else _given_job(job_path)
    conditions = replace(
        standard_conditions(wanted.drive_class, 0), job=job, precondition_passes=0, max_rounds=1
    )
    steps = tuple(_samples(source, _steps(source, conditions, job, wanted.capacity_bytes), output.jobs))
    places = (StepPlace(1, Phase.ROUND, 1, position) for position in range(len(steps)))
    return Results(
        tool=output.version,
        form=output.form,
        conditions=conditions,
        steps=tuple(zip(places, steps, strict=True)),
        cycles=(CycleFinished(Outcome(None, 1)),),
        ended_at=output.ended_at,
        target=_targets(output),
        stated=(*_other_options(output), *(line for one in output.jobs for line in one.stated)),
        missing=tuple(_missing(output)),
    )


def _given_job(path: Path) -> FioJob:
    used = read_jobs(path, os.environ).used_values
    values = tuple(f"{name}={value}" for name, value in sorted(used.items()))
    return FioJob(path.name, kept_lines(job_lines(path)), values)


def _stated_job(source: Source, output: FioOutput) -> FioJob:
    """A job file of what the output states of the load; what has no bearing on it is left out."""
    lines: list[str] = []
    last: FioJobResult | None = None
    for one in output.jobs:
        if last is not None and (one.group, one.name) == (last.group, last.name):
            continue  # a further thread of the same job
        options = {**output.options, **one.options}
        if not {"rw", "readwrite"} & options.keys():
            raise source.error(
                f"it states no options of job {one.name}: name the job file that fio ran with --job"
            )
        lines.append(f"[{one.name}]")
        if last is not None and one.group != last.group:
            lines.append("stonewall")
        lines += [_line(name, value) for name, value in options.items() if _is_load(name)]
        if "runtime" in options and "time_based" not in options:
            lines.append("time_based")  # fio states no options without a value
        last = one
    return FioJob(_STATED, kept_lines(lines))


def _is_load(name: str) -> bool:
    option = BY_WORD.get(name)
    return (
        option is not None
        and option.treatment is OptionHandling.COUNTS
        and option.name not in _NOT_OF_THE_LOAD
        and option.name != "filename"
    )


def _line(name: str, value: str | None) -> str:
    return name if value is None else f"{name}={value}"


def _steps(
    source: Source, conditions: WorkloadConditions, job: FioJob, capacity_bytes: int
) -> tuple[Step, ...]:
    try:
        return translation_of(conditions, job, capacity_bytes).steps
    except UsageError as error:
        raise source.error(f"the load of its jobs can't be described: {error}") from error


def _samples(source: Source, steps: Sequence[Step], jobs: Sequence[FioJobResult]) -> Iterator[Sample]:
    """Each stream with the figures of its job, by name; a name may come again in a later group."""
    groups: dict[str, dict[int, list[FioJobResult]]] = defaultdict(lambda: defaultdict(list))
    for one in jobs:
        groups[one.name][one.group].append(one)
    waiting = {name: list(of_name.values()) for name, of_name in groups.items()}
    began_ns = 0
    try:
        for step in steps:
            names = [_job_of(stream.name, waiting) for stream in step.streams]
            for name, _ in names:
                if not waiting.get(name):
                    raise source.error(f"it has no result of job {name}{_ADDED_UP}")
            found = {name: waiting[name].pop(0) for name in dict.fromkeys(name for name, _ in names)}
            parts = [_part(found[name], only) for name, only in names]
            for (name, _), (done, _), stimulus in zip(names, parts, step.stimuli, strict=True):
                if other := next((one for one in done if not getattr(stimulus.operations, one)), None):
                    raise source.error(f"job {name} has I/Os of {other}, which its options lack{_ADDED_UP}")
            sample = sample_of(step, parts, began_ns)
            began_ns += sample.elapsed_ns
            yield sample
    except OverflowError as error:
        raise source.error("a sum of its figures is larger than any run can have") from error
    if left := next((name for name, rest in waiting.items() if rest), None):
        raise source.error(f"it has results of job {left}, which is not in the job file")


def _job_of(stream: str, known: Mapping[str, object]) -> tuple[str, str]:
    """The job of a stream, and the operation that the stream alone has of it; empty: all."""
    name, _, operation = stream.rpartition(".")
    return (name, operation) if stream not in known and operation in _SPLIT else (stream, "")


def _part(jobs: Sequence[FioJobResult], only: str) -> tuple[dict[str, OperationSample], int]:
    operations: dict[str, list[OperationSample]] = defaultdict(list)
    for one in jobs:
        for name, operation in one.operations.items():
            if only in {"", name}:
                operations[name].append(operation)
    return {name: merged(parts) for name, parts in operations.items()}, max(one.runtime_ns for one in jobs)


def _targets(output: FioOutput) -> str:
    """What the output names as a target; several, if it names several."""
    options = (output.options, *(one.options for one in output.jobs))
    return ", ".join(dict.fromkeys(name for each in options if (name := each.get("filename"))))


def _other_options(output: FioOutput) -> Iterator[tuple[str, str]]:
    for whose, options in (("", output.options), *((f" of {one.name}", one.options) for one in output.jobs)):
        others = ", ".join(_line(name, value) for name, value in options.items() if not _is_load(name))
        if others:
            yield f"Other options{whose}", others


def _missing(output: FioOutput) -> Iterator[str]:
    operations = [operation for one in output.jobs for operation in one.operations.values()]
    if output.reports > 1:
        yield (
            f"what reports before the last of {output.reports} state: where fio wrote them with "
            "--status-interval, the last has the sums of the whole run"
        )
    yield "courses over time: fio's output has sums of the whole run"
    if any(not operation.histogram for operation in operations):
        yield "distributions of response times: the output has no bins, which fio writes as JSON+"
    if any(not operation.latency_sum_ns for operation in operations):
        yield "response times of some operations: options of fio switched their timing off"
    if any(one.only_completion for one in output.jobs):
        yield (
            "bins of total response times: distributions are of completion latencies (clat), without "
            "submission; means and extremes are of total ones (lat)"
        )
