"""Results of fio as a run of the test of job files: a step for each group of jobs, a stream for each job."""

import errno
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.errors import UsageError
from openpts.record.decoding import decode_json
from openpts.units import KIB, NS_PER_MS, NS_PER_US
from openpts.vocabulary.requests import CycleFinished, Outcome
from openpts.vocabulary.sample import NOTHING, OperationSample, Phase, Sample, StepPlace
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts_fio.figures import MOST, Count, Figure, bins_of, merged, stated_percentiles, storable
from openpts_fio.imports.fio_options import (
    Options,
    exceeds_threads,
    files_of,
    options_of,
    options_of_jobs,
    page_cache,
    stated_options,
    verifies,
)
from openpts_fio.imports.imported_run import ImportSettings, Results, Source, sample_of
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
_ALL_CLIENTS: Final = "All clients"
_BW_TOLERANCE: Final = 0.05
_SHORTEST_MS: Final = 100
_NONE: Final = msgspec.Raw(b"{}")
_JSON: Final = "use --output-format=json+"

_Text = Annotated[str, Meta(max_length=64 * KIB)]


class _ImportedLatencies(Struct):
    """fio 2 has usec under names without a unit, fio 3 nsec under names that end in ``_ns``."""

    min: Figure = 0
    max: Figure = 0
    mean: Figure = 0
    timed: Count = field(name="N", default=0)
    bins: dict[str, Count] = {}
    percentile: dict[str, msgspec.Raw] = {}


class _Direction(Struct):
    total_ios: Count
    io_bytes: Count
    runtime: Count
    bw: Figure = 0
    lat_ns: _ImportedLatencies | None = None
    clat_ns: _ImportedLatencies | None = None
    lat: _ImportedLatencies | None = None
    clat: _ImportedLatencies | None = None


class _Syncs(Struct):
    """fio's count of them is 0 in some releases, and then that of their times is not."""

    total_ios: Count = 0
    lat_ns: _ImportedLatencies = field(default_factory=_ImportedLatencies)


class _ImportedJob(Struct):
    jobname: _Text
    groupid: Count = 0
    error: int = 0
    total_err: int = 0
    hostname: str = ""
    port: int = 0
    latency_depth: int | None = None
    job_runtime: Count = 0
    options: msgspec.Raw = msgspec.field(name="job options", default=_NONE)
    read: _Direction | None = None
    write: _Direction | None = None
    trim: _Direction | None = None
    mixed: _Direction | None = None
    sync: _Syncs | None = None

    @property
    def runtime_ms(self) -> int:
        return max((one.runtime for one in (self.read, self.write, self.trim) if one is not None), default=0)


class _ImportedOutput(Struct):
    version: _Text = msgspec.field(name="fio version", default="")
    timestamp: Annotated[int, Meta(ge=0, le=2**33)] | None = None
    options: msgspec.Raw = msgspec.field(name="global options", default=_NONE)
    jobs: list[_ImportedJob] = []
    client_stats: list[_ImportedJob] = []


class FioJobResult(Struct, frozen=True):
    """One entry of fio's list of jobs. ``runtime_ns`` is the longest of its operations.

    ``options`` are its own over the global ones; ``syncs`` its fsyncs and flushes, which fio counts together.
    ``stated`` has what a record has no place for; ``only_completion``: its histograms are of completion
    latencies, without the time of the submission.
    """

    name: str
    group: int
    options: Options
    operations: dict[str, OperationSample]
    runtime_ns: int
    syncs: OperationSample = NOTHING
    stated: tuple[tuple[str, str], ...] = ()
    only_completion: bool = False


class FioOutput(Struct, frozen=True):
    """All of one output. ``form`` names what kind of output it is, the last of ``reports`` in the file."""

    version: str
    form: str
    ended_at: datetime | None
    options: Options
    jobs: tuple[FioJobResult, ...]
    reports: int = 1


def parse_output(source: Source, *, has_job_file: bool = False) -> FioOutput:
    """Read fio's JSON, also behind and before other lines. Raises UsageError.

    Options that fio lost, as a server's clients do, are an error unless the job file is there.
    """
    output, several = _decoded(source)
    # a sum over all clients comes last, and is no job
    clients = [job for job in output.client_stats if job.jobname != _ALL_CLIENTS]
    jobs = output.jobs or clients
    if not jobs:
        raise source.error("its list of jobs is empty: fio ended before a job had begun")
    try:
        common = stated_options(output.options)
        options = [stated_options(job.options) for job in jobs]
    except msgspec.MsgspecError as error:
        raise source.error(f"its options are not those of fio: {error}") from error
    if clients and not output.jobs:
        _refuse_clients(source, clients)
        if not has_job_file:
            _refuse_lost_options(source, clients, [{**common, **own} for own in options])
    found = tuple(
        _job(source, job, options_of((*common.items(), *own.items())))
        for job, own in zip(jobs, options, strict=True)
    )
    if not any(job.operations for job in found):
        raise source.error("no job did any I/O")
    for job, one in zip(jobs, found, strict=True):
        if not has_job_file and exceeds_threads(one.options, job.runtime_ms, job.job_runtime):
            raise source.error(
                f"job {job.jobname} has more threads than its options ask for ({job.job_runtime:,} ms in "
                f"all, {job.runtime_ms:,} ms the longest){_ADDED_UP}"
            )
    has_bins = any(operation.histogram for job in found for operation in job.operations.values())
    form = f"JSON{'+' if has_bins else ''}{' of a server' if clients else ''}"
    ended = None if output.timestamp is None else datetime.fromtimestamp(output.timestamp, UTC)
    note = f", the last of {several} reports" if several > 1 else ""
    return FioOutput(output.version or "fio", form + note, ended, common, found, several)


def _refuse_clients(source: Source, jobs: Sequence[_ImportedJob]) -> None:
    hosts = sorted({f"{job.hostname}:{job.port}" for job in jobs})
    if len(hosts) > 1:
        raise source.error(
            f"it is of {len(hosts)} servers ({', '.join(hosts)}), each with a drive of its own, and a run is "
            "of one: run fio with one --client at a time, each with an output of its own"
        )


def _refuse_lost_options(source: Source, jobs: Sequence[_ImportedJob], options: Sequence[Options]) -> None:
    """Over a server fio gives some jobs no options, or those of another."""
    for job, stated in zip(jobs, options, strict=True):
        depth = stated.get("iodepth") or "1"
        others = (
            (job.options is _NONE and len(jobs) > 1)
            or (job.latency_depth is not None and depth.isdecimal() and int(depth) != job.latency_depth)
            or exceeds_threads(stated, job.runtime_ms, job.job_runtime)
        )
        if others:
            raise source.error(
                f"it lacks the options of job {job.jobname}, which fio loses over a server: name the job "
                "file that fio ran with --job"
            )


def _decoded(source: Source) -> tuple[_ImportedOutput, int]:
    raw = source.utf8
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
        output: _ImportedOutput = decode_json(raw[begin : end + 1], _ImportedOutput)
    except msgspec.ValidationError as error:
        raise source.error(f"it is no output of fio that openpts reads: {error}") from error
    except msgspec.MsgspecError as error:
        _refuse_nested(source, raw)
        place = _PLACE.search(str(error))
        at = begin + int(place[1]) if place else len(raw)
        line = raw.count(b"\n", 0, at) + 1
        raise source.error(f"its JSON is damaged in line {line}: {error}") from error
    if not (output.version or output.jobs or output.client_stats):
        _refuse_nested(source, raw)
    return output, len(begins)


def _refuse_nested(source: Source, raw: bytes) -> None:
    """Refuse fio's output that another program has put into JSON of its own."""
    try:
        decode_json(raw, msgspec.Raw)
    except msgspec.MsgspecError:
        return
    if b'"fio version"' in raw:
        raise source.error(
            "fio's output is part of other JSON in it: write that part, from the brace before "
            '"fio version" on, into a file of its own'
        )


def _compact_begin(raw: bytes) -> int:
    """Where JSON begins that another program has written again: at a line's start, if at any."""
    found = re.search(rb"^\{", raw, re.MULTILINE)
    return found.start() if found else raw.find(b"{")


def _job(source: Source, job: _ImportedJob, options: Options) -> FioJobResult:
    _refuse_failed(source, job)
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
    if job.mixed is not None and job.mixed.total_ios and not operations:
        raise source.error(
            f"job {job.jobname} has reads and writes as one sum, by unified_rw_reporting: run fio without it"
        )
    if {"read", "write"} <= operations.keys() and verifies(options):
        raise source.error(
            f"job {job.jobname} reads back what it wrote (verify={options['verify']}), and fio counts that "
            "among its reads: run it with do_verify=0, and verify in a job of its own"
        )
    if operations and not runtime_ms:
        raise source.error(f"job {job.jobname} has I/Os and a runtime of 0")
    if runtime_ms * NS_PER_MS > MOST:
        raise source.error(f"job {job.jobname}: a figure is larger than any run can have")
    syncs, of_syncs = _syncs(source, job)
    return FioJobResult(
        job.jobname,
        job.groupid,
        options,
        operations,
        runtime_ms * NS_PER_MS,
        syncs,
        (*stated, *of_syncs),
        only_completion,
    )


def _refuse_failed(source: Source, job: _ImportedJob) -> None:
    if job.total_err:
        moved = (one.total_ios for one in (job.read, job.write, job.trim, job.mixed) if one is not None)
        what = "did not match what was written" if job.error == errno.EILSEQ else "failed"
        raise source.error(
            f"{job.total_err:,} of {sum(moved):,} I/Os of job {job.jobname} {what} (error {job.error}), and "
            "continue_on_error let it continue: its figures include them"
        )
    if job.error:
        raise source.error(f"job {job.jobname} ended with error {job.error}: its figures are of a part of it")


def _syncs(source: Source, job: _ImportedJob) -> tuple[OperationSample, tuple[tuple[str, str], ...]]:
    """Fsyncs and flushes, with the line of their percentiles where they have no distribution."""
    if job.sync is None or not (ios := job.sync.lat_ns.timed or job.sync.total_ios):
        return NOTHING, ()
    try:
        read = _read_of(job.sync.lat_ns, job.sync.lat_ns, 1)
        done = read.operation(ios, 0)
    except (OverflowError, ValueError) as error:
        raise source.error(f"{job.jobname}, sync: a figure is larger than any run can have") from error
    line = None if done.histogram else read.stated(job.jobname, "sync")
    return done, () if line is None else (line,)


def _bytes(one: _Direction) -> int | None:
    """fio 2 has KiB in the field that has bytes since fio 3: its throughput, in whole KiB/s, decides."""
    expected = one.bw * KIB * one.runtime / 1000
    if not expected or one.runtime < _SHORTEST_MS:
        return one.io_bytes
    fitting = (
        unit
        for unit in (1, KIB)
        if -_BW_TOLERANCE < one.io_bytes * unit / expected - 1 < _BW_TOLERANCE + 1 / one.bw
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
    return _read_of(total or _ImportedLatencies(), completion or _ImportedLatencies(), unit)


def _read_of(total: _ImportedLatencies, completion: _ImportedLatencies, unit: int) -> _Read:
    of_all = bool(total.bins) or not completion.bins
    binned = total if of_all else completion
    stated, name = (total, "lat") if total.percentile else (completion, "clat")
    return _Read(
        least=total.min * unit,
        most=total.max * unit,
        mean=total.mean * unit,
        bins=bins_of(binned.bins, unit),
        of_all=of_all,
        percentiles=_percentiles(stated.percentile),
        latency=name,
        unit="ns" if unit == 1 else "us",
    )


def _percentiles(stated: Mapping[str, msgspec.Raw]) -> Sequence[tuple[float, float]]:
    values: list[tuple[float, float]] = []
    for key, raw in stated.items():
        try:
            values.append((float(key), msgspec.json.decode(raw, type=Figure)))
        except (ValueError, msgspec.MsgspecError):
            continue  # fio 2 lists unused ones, and lengths of others
    return values


NO_COURSES: Final = "courses over time: fio's output has sums of all of the run"
_STATED: Final = "options as fio states them"
# what names the target, and what says in which order jobs begin: groups are known
_NOT_OF_THE_LOAD: Final = frozenset({"name", "direct", "buffered", "stonewall", "startdelay"})
_ADDED_UP: Final = ": with group_reporting fio adds up different jobs of a group; write the groups apart"
_TWICE: Final = "several jobs of a group have the name"
_RENAME: Final = ", and their figures can't be distinguished: give each job a name of its own"
_NUMBER: Final = re.compile(r"#\d+(?=$|\.)")
_SPLIT: Final = ("read", "write", "trim")


def fio_results(source: Source, settings: ImportSettings, job_path: Path | None = None) -> Results:
    """A round of the jobs of an output; of ``job_path``, if that is the job file which fio ran.

    Raises UsageError for what is no output of fio, and for jobs whose load is not known.
    """
    output = parse_output(source, has_job_file=job_path is not None)
    return results_of(source, settings, output, job_path)


def results_of(
    source: Source, settings: ImportSettings, output: FioOutput, job_path: Path | None = None
) -> Results:
    """A round of the jobs of an output that was read, as ``fio_results``."""
    job, given = _given_job(job_path) if job_path is not None else (_stated_job(source, output), {})
    options = [one.options for one in output.jobs]
    if len(files := files_of(*options, *given.values())) > 1:
        raise source.error(
            f"its jobs use {len(files)} drives or files ({', '.join(files)}), and a run is of one: run fio "
            "on one filename at a time, each with an output of its own"
        )
    cached = tuple(page_cache(given or {one.name: one.options for one in output.jobs}))
    conditions = replace(
        standard_conditions(settings.drive_class, 0), job=job, precondition_passes=0, max_rounds=1
    )
    if cached:
        conditions = replace(conditions, sector_bytes=1)  # the page cache takes any size
    steps = tuple(_samples(source, _steps(source, conditions, job, settings.capacity_bytes), output.jobs))
    places = (StepPlace(1, Phase.ROUND, 1, position) for position in range(len(steps)))
    return Results(
        tool=output.version,
        form=output.form,
        conditions=conditions,
        steps=tuple(zip(places, steps, strict=True)),
        cycles=(CycleFinished(Outcome(None, 1)),),
        ended_at=output.ended_at,
        target="".join(files_of(*options)),
        stated=(*_other_options(output), *(line for one in output.jobs for line in one.stated)),
        missing=tuple(_missing(output, steps)),
        deviations=cached,
    )


def _given_job(path: Path) -> tuple[FioJob, Mapping[str, Options]]:
    jobs = read_jobs(path, os.environ)
    values = tuple(f"{name}={value}" for name, value in sorted(jobs.used_values.items()))
    return FioJob(path.name, kept_lines(job_lines(path)), values), options_of_jobs(jobs)


def _stated_job(source: Source, output: FioOutput) -> FioJob:
    """A job file of what the output states of the load; what has no bearing on it is left out."""
    lines: list[str] = []
    last: FioJobResult | None = None
    for (group, name), same in groupby(output.jobs, lambda one: (one.group, one.name)):
        one, *threads = same
        options = one.options
        if not {"rw", "readwrite"} & options.keys():
            raise source.error(
                f"it states no options of job {name}: name the job file that fio ran with --job"
            )
        if threads and (
            any(each.options != options for each in threads)
            or (options.get("numjobs") or "1") != str(1 + len(threads))
        ):
            raise source.error(f"{_TWICE} {name}{_RENAME}")
        lines.append(f"[{name}]")
        if last is not None and group != last.group:
            lines.append("stonewall")
        lines += [_line(word, value) for word, value in options.items() if _is_load(word)]
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
            if twice := next((name for (name, _), count in Counter(names).items() if count > 1), None):
                raise source.error(f"{_TWICE} {twice}{_RENAME}")
            for name, _ in names:
                if not waiting.get(name):
                    raise source.error(f"it has no result of job {name}{_ADDED_UP}")
            found = {name: waiting[name].pop(0) for name in dict.fromkeys(name for name, _ in names)}
            parts = [
                _part(found[name], only, _sync_of(stimulus))
                for (name, only), stimulus in zip(names, step.stimuli, strict=True)
            ]
            for (name, _), (done, _), stimulus in zip(names, parts, step.stimuli, strict=True):
                lacking = (one for one in done if not getattr(stimulus.operations, one))
                if other := next(lacking, None):
                    raise source.error(f"job {name} has I/Os of {other}, which its options lack{_ADDED_UP}")
            sample = sample_of(step, parts, began_ns)
            began_ns += sample.elapsed_ns
            yield sample
    except OverflowError as error:
        raise source.error("a sum of its figures is larger than any run can have") from error
    if left := next((name for name, rest in waiting.items() if rest), None):
        raise source.error(f"it has results of job {left}, which is not in the job file")


def _job_of(stream: str, known: Mapping[str, object]) -> tuple[str, str]:
    """The job of a stream, and the operation that the stream alone has of it; empty: all.

    A further stream of the same name has a number behind it.
    """
    stream = stream if stream in known else _NUMBER.sub("", stream)
    name, _, operation = stream.rpartition(".")
    return (name, operation) if stream not in known and operation in _SPLIT else (stream, "")


def _sync_of(stimulus: Stimulus) -> str:
    """Which of both fio's one count of fsyncs and flushes is of; empty where that is unknown."""
    asked = [name for name in ("flush", "fsync") if getattr(stimulus.operations, name)]
    return asked[0] if len(asked) == 1 else ""


def _part(jobs: Sequence[FioJobResult], only: str, sync: str) -> tuple[dict[str, OperationSample], int]:
    operations: dict[str, list[OperationSample]] = defaultdict(list)
    for one in jobs:
        done = {**one.operations, **({sync: one.syncs} if sync and one.syncs.ios else {})}
        for name, operation in done.items():
            if only in {"", name} or name == sync:
                operations[name].append(operation)
    return {name: merged(parts) for name, parts in operations.items()}, max(one.runtime_ns for one in jobs)


def _other_options(output: FioOutput) -> Iterator[tuple[str, str]]:
    for whose, options in (("", output.options), *((f" of {one.name}", one.options) for one in output.jobs)):
        others = ", ".join(_line(name, value) for name, value in options.items() if not _is_load(name))
        if others:
            yield f"Other options{whose}", others


def _missing(output: FioOutput, steps: Sequence[Sample]) -> Iterator[str]:
    operations = [operation for one in output.jobs for operation in one.operations.values()]
    if output.reports > 1:
        yield (
            f"what reports before the last of {output.reports} state: where fio wrote them with "
            "--status-interval, the last has the sums of all of the run"
        )
    yield NO_COURSES
    if any(not operation.histogram for operation in operations):
        yield "distributions of response times: the output has no bins, which fio writes as JSON+"
    if any(not operation.latency_sum_ns for operation in operations):
        yield "response times of some operations: options of fio switched their timing off"
    if any(one.syncs.ios for one in output.jobs) and not any(one.flush.ios or one.fsync.ios for one in steps):
        yield "times of fsync: fio adds up those of fsync, fdatasync and sync_file_range"
    if any(one.only_completion for one in output.jobs):
        yield (
            "bins of total response times: distributions are of completion latencies (clat), without "
            "submission; means and extremes are of total ones (lat)"
        )
