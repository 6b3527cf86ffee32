"""Results of fio as a run of the test of job files: a step for each group of jobs, a stream for each job."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.errors import UsageError
from openpts.record.decoding import decode_json
from openpts.units import KIB, NS_PER_MS, NS_PER_US
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.requests import CycleFinished, Outcome
from openpts.vocabulary.sample import OperationSample, Sample
from openpts.vocabulary.stimulus import Step
from openpts_fio.figures import MOST, Count, Figure, merged, stated_percentiles, storable
from openpts_fio.imports.imported_run import Results, Source, Wanted, sample_of
from openpts_fio.jobs.job_file import job_lines, read_jobs
from openpts_fio.jobs.options import BY_WORD, OptionHandling
from openpts_fio.workload import WorkloadConditions
from openpts_fio.workload.job import FioJob, kept_lines
from openpts_fio.workload.script import standard_conditions
from openpts_fio.workload.steps import translation_of

_TRANSFERS: Final = ("read", "write", "trim")
# fio writes the brace on a line of its own; with --status-interval it writes several objects
_OBJECT: Final = re.compile(rb"^\{\s*$", re.MULTILINE)
_TERSE: Final = re.compile(rb"^[2-5];fio-", re.MULTILINE)
_PRINTED: Final = re.compile(rb"^.+: \(groupid=\d+, jobs=\d+\): err=", re.MULTILINE)
_PLACE: Final = re.compile(r"byte (\d+)")
_NUMBERED: Final = "FIO_IO_U_PLAT_BITS"
_ALL_CLIENTS: Final = "All clients"
_BW_TOLERANCE: Final = 0.05
_SHORTEST_MS: Final = 100
_JSON: Final = "use --output-format=json+"

_Text = Annotated[str, Meta(max_length=64 * KIB)]


class _Latencies(Struct):
    """fio 2 has usec under names without a unit, fio 3 nsec under names that end in ``_ns``."""

    min: Figure = 0
    max: Figure = 0
    mean: Figure = 0
    bins: dict[str, Count] = {}
    percentile: dict[str, msgspec.Raw] = {}


class _Direction(Struct):
    total_ios: Count
    io_bytes: Count
    runtime: Count
    bw: Figure = 0
    lat_ns: _Latencies | None = None
    clat_ns: _Latencies | None = None
    lat: _Latencies | None = None
    clat: _Latencies | None = None


class _Job(Struct):
    jobname: _Text
    groupid: Count = 0
    error: int = 0
    options: Annotated[dict[str, str | None], Meta(max_length=1000)] = msgspec.field(
        name="job options", default_factory=dict
    )
    read: _Direction | None = None
    write: _Direction | None = None
    trim: _Direction | None = None


class _Output(Struct):
    version: _Text = msgspec.field(name="fio version", default="")
    timestamp: Annotated[int, Meta(ge=0, le=2**33)] | None = None
    options: Annotated[dict[str, str | None], Meta(max_length=1000)] = msgspec.field(
        name="global options", default_factory=dict
    )
    jobs: list[_Job] = []
    client_stats: list[_Job] = []


class FioJobResult(Struct, frozen=True):
    """One entry of fio's list of jobs. ``runtime_ns`` is the longest of its operations.

    ``stated`` has what a record has no place for; ``only_completion``: its histograms are of completion
    latencies, without the time of the submission.
    """

    name: str
    group: int
    options: Mapping[str, str | None]
    operations: dict[str, OperationSample]
    runtime_ns: int
    stated: tuple[tuple[str, str], ...] = ()
    only_completion: bool = False


class FioOutput(Struct, frozen=True):
    """All of one output. ``form`` names what kind of output it is, the last of ``reports`` in the file."""

    version: str
    form: str
    ended_at: datetime | None
    options: Mapping[str, str | None]
    jobs: tuple[FioJobResult, ...]
    reports: int = 1


def parse_output(source: Source) -> FioOutput:
    """Read fio's JSON, also behind and before other lines. Raises UsageError."""
    output, several = _decoded(source)
    # a sum over all clients comes last, and is no job
    jobs = output.jobs or [job for job in output.client_stats if job.jobname != _ALL_CLIENTS]
    if not jobs:
        raise source.error("its list of jobs is empty: fio ended before a job had begun")
    found = tuple(_job(source, job) for job in jobs)
    if not any(job.operations for job in found):
        raise source.error("no job did any I/O")
    has_bins = any(operation.histogram for job in found for operation in job.operations.values())
    form = f"JSON{'+' if has_bins else ''}{' of a server' if output.client_stats else ''}"
    ended = None if output.timestamp is None else datetime.fromtimestamp(output.timestamp, UTC)
    note = f", the last of {several} reports" if several > 1 else ""
    return FioOutput(output.version or "fio", form + note, ended, output.options, found, several)


def _decoded(source: Source) -> tuple[_Output, int]:
    raw = source.raw
    begins = [match.start() for match in _OBJECT.finditer(raw)] or [_compact_begin(raw)]
    begin, end = begins[-1], raw.rfind(b"}")
    if begin < 0 or end < begin:
        if _TERSE.search(raw):
            raise source.error(f"fio's terse output states neither the load nor exact counts; {_JSON}")
        if _PRINTED.search(raw):
            raise source.error(f"fio's normal output has rounded figures; {_JSON}")
        if begin >= 0:
            raise source.error("its JSON is cut off")
        raise source.error(f"it is no output of fio: it has no JSON; {_JSON}")
    try:
        return decode_json(raw[begin : end + 1], _Output), len(begins)
    except msgspec.ValidationError as error:
        raise source.error(f"it is no output of fio that openpts reads: {error}") from error
    except msgspec.MsgspecError as error:
        place = _PLACE.search(str(error))
        at = begin + int(place[1]) if place else len(raw)
        line = raw.count(b"\n", 0, at) + 1
        raise source.error(f"its JSON is damaged in line {line}: {error}") from error


def _compact_begin(raw: bytes) -> int:
    """Where JSON begins that another program has written again: at a line's start, if at any."""
    found = re.search(rb"^\{", raw, re.MULTILINE)
    return found.start() if found else raw.find(b"{")


def _job(source: Source, job: _Job) -> FioJobResult:
    if job.error:
        raise source.error(f"job {job.jobname} ended with error {job.error}: its figures are of a part of it")
    operations: dict[str, OperationSample] = {}
    runtime_ms, stated, only_completion = 0, [], False
    for name in _TRANSFERS:
        one: _Direction | None = getattr(job, name)
        if one is None or not one.total_ios:
            continue
        subject = f"{job.jobname}, {name}"
        try:
            moved_bytes = _bytes(one)
            if moved_bytes is None:
                raise source.error(f"{subject}: the unit of io_bytes is unknown: neither B nor KiB fit bw")
            read = _latencies(one)
            operations[name] = read.operation(one.total_ios, moved_bytes)
        except (OverflowError, ValueError) as error:
            raise source.error(f"{subject}: a figure is larger than any run can have") from error
        runtime_ms = max(runtime_ms, one.runtime)
        if not operations[name].histogram and (line := read.stated(job.jobname, name)):
            stated.append(line)
        only_completion |= bool(read.bins) and not read.of_all
    if operations and not runtime_ms:
        raise source.error(f"job {job.jobname} has I/Os and a runtime of 0")
    if runtime_ms * NS_PER_MS > MOST:
        raise source.error(f"job {job.jobname}: a figure is larger than any run can have")
    return FioJobResult(
        job.jobname,
        job.groupid,
        job.options,
        operations,
        runtime_ms * NS_PER_MS,
        tuple(stated),
        only_completion,
    )


def _bytes(one: _Direction) -> int | None:
    """fio 2 has KiB in the field that has bytes since fio 3: its throughput in KiB/s decides."""
    expected = one.bw * KIB * one.runtime / 1000
    if not expected or one.runtime < _SHORTEST_MS:
        return one.io_bytes
    fitting = (
        unit for unit in (1, KIB) if abs(one.io_bytes * unit / expected - 1) < _BW_TOLERANCE + KIB / expected
    )
    unit = next(fitting, None)
    return None if unit is None else storable(one.io_bytes * unit)


class _Read(Struct, frozen=True):
    """Response times in ns. ``of_all``: the bins are of these, and not of completion latencies."""

    least: float
    most: float
    mean: float
    bins: Counter[int] = field(default_factory=Counter)
    of_all: bool = True
    percentiles: Sequence[tuple[float, float]] = ()
    latency: str = ""
    unit: str = ""

    def stated(self, job: str, operation: str) -> tuple[str, str] | None:
        """The percentiles as a line, of ``latency`` in fio's word and in ``unit``; None without any."""
        return stated_percentiles(job, operation, self.latency, self.unit, self.percentiles)

    def operation(self, ios: int, moved_bytes: int) -> OperationSample:
        """With what is known; 0 and None stand for no response times. Raises OverflowError."""
        histogram = encode_counts(self.bins.items()) if self.bins else b""
        if not self.mean:  # options of fio switched the timing off
            return OperationSample(ios, moved_bytes, 0, None, None, histogram)
        least, most = storable(self.least), storable(self.most)
        total = storable(self.mean * ios)
        return OperationSample(ios, moved_bytes, total, least, most, histogram)


def _latencies(one: _Direction) -> _Read:
    """Total latencies, with the bins of these or else of completions; what was not timed is 0."""
    unit = 1 if one.lat_ns is not None or one.clat_ns is not None else NS_PER_US
    total, completion = (one.lat_ns, one.clat_ns) if unit == 1 else (one.lat, one.clat)
    total, completion = total or _Latencies(), completion or _Latencies()
    of_all = bool(total.bins) or not completion.bins
    binned = total if of_all else completion
    stated, name = (total, "lat") if total.percentile else (completion, "clat")
    return _Read(
        least=total.min * unit,
        most=total.max * unit,
        mean=total.mean * unit,
        bins=_bins(binned.bins, unit),
        of_all=of_all,
        percentiles=_percentiles(stated.percentile),
        latency=name,
        unit="ns" if unit == 1 else "us",
    )


def _bins(bins: Mapping[str, int], unit: int) -> Counter[int]:
    """Latency in ns and count of each bin: fio 3 names the latency, fio 2 the number of the bin."""
    found: Counter[int] = Counter()
    bits = bins.get(_NUMBERED)
    if bits is not None and not 0 < bits < 16:
        raise ValueError
    for name, ios in bins.items():
        if name.isascii() and name.isdecimal() and ios:
            latency = int(name[:20]) if bits is None else _latency_of_bin(int(name[:20]), bits)
            found[storable(latency * unit)] += ios
    storable(sum(found.values()))
    return found


def _latency_of_bin(number: int, bits: int) -> int:
    """The middle of a bin in fio's numbering: linear below, then as many bins in each power of two."""
    if number < 2 << bits:
        return number
    shift = (number >> bits) - 1
    if shift > 64:
        raise ValueError
    return (1 << shift + bits) + (number % (1 << bits) << shift) + (1 << shift - 1)


def _percentiles(stated: Mapping[str, msgspec.Raw]) -> Sequence[tuple[float, float]]:
    values: list[tuple[float, float]] = []
    for key, raw in stated.items():
        try:
            values.append((float(key), msgspec.json.decode(raw, type=Figure)))
        except (ValueError, msgspec.MsgspecError):
            continue  # fio 2 lists unused ones, and lengths of others
    return values


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
