"""What fio prints at its end: JSON+ with every job, and lines about I/Os that failed."""

import os
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from openpts.analysis.latency import encode_counts
from openpts.schema_words import in_words
from openpts.units import NS_PER_MS
from openpts.vocabulary.sample import NOTHING, IoErrors, IoFailure, OperationSample
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts_fio.engine.stream_options import sync_name
from openpts_fio.figures import Count, Figure, merged, storable

_FAILED_IO: Final = re.compile(
    r"fio: io_u error on file .*: (?P<reason>[^:]+): (?P<operation>\w+) "
    r"offset=(?P<offset>\d{1,18}), buflen=(?P<length>\d{1,18})"
)
_MOST_OFFSETS: Final = 16

_Code = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class _Latencies(Struct):
    min: Count
    max: Count
    mean: Figure
    bins: dict[Count, Count] = {}


class _Operation(Struct):
    total_ios: Count
    lat_ns: _Latencies
    io_bytes: Count = 0


class _Transfers(_Operation, kw_only=True):
    runtime: Count


class _Job(Struct):
    """A job that was set up. fio writes a ``sync`` where there were flushes or fsyncs."""

    read: _Transfers
    write: _Transfers
    trim: _Transfers
    job_runtime: Count
    usr_cpu: Figure
    sys_cpu: Figure
    error: _Code
    sync: _Operation | None = None


class _Output(Struct):
    jobs: Annotated[list[_Job], Meta(min_length=1)]


class NoResultError(Exception):
    """fio ended without a result; the text is why, as far as it gives one."""


class FioStream(Struct, frozen=True):
    """The jobs of one stream.

    ``after_ns`` is how long after the step's figures its own begin, ``elapsed_ns`` the longest of the jobs'
    run times, which fio has in milliseconds. ``errors`` is the number of I/Os that failed.
    """

    operations: dict[str, OperationSample]
    after_ns: int
    elapsed_ns: int
    errors: int


class FioResult(Struct, frozen=True):
    """All jobs of one fio process together, and by stream.

    ``elapsed_ns`` is from the first stream's start to the last one's end. ``process_ns`` is processor time of
    the jobs' threads, not that of fio's start and end.
    """

    operations: dict[str, OperationSample]
    elapsed_ns: int
    process_ns: int
    failure: IoFailure | None
    errors: tuple[IoErrors, ...]
    streams: tuple[FioStream, ...] = ()


def parse_result(stdout: str, stderr: str, step: Step) -> FioResult:
    """Read fio's output about the jobs of a step. Raises NoResultError where there is none."""
    jobs = _jobs(stdout, stderr)
    by_stream = _by_stream(jobs, step)
    failed = _failed_by_stream(by_stream, stderr, step)
    begins_ns = [max(step.ramp_ns, stream.delay_ns) for stream in step.streams]
    try:
        streams = tuple(
            FioStream(_operations(of_stream, stimulus), after_ns, _elapsed_ns(of_stream), errors)
            for of_stream, stimulus, after_ns, errors in zip(
                by_stream, step.stimuli, (ns - min(begins_ns) for ns in begins_ns), failed, strict=True
            )
        )
        names = dict.fromkeys(name for stream in streams for name in stream.operations)
        operations = {name: merged([one.operations.get(name, NOTHING) for one in streams]) for name in names}
        elapsed_ns = storable(
            max((one.after_ns + one.elapsed_ns for one in streams if one.elapsed_ns), default=0)
        )
        process_ns = storable(sum(map(_processor_ns, jobs)))
    except (OverflowError, ValueError):
        raise NoResultError("a figure of its result is larger than any run can have") from None
    return FioResult(
        operations=operations,
        elapsed_ns=elapsed_ns,
        process_ns=process_ns,
        failure=_failure(jobs, stderr) or _short_transfer(streams, step.stimuli),
        errors=_errors(stderr),
        streams=streams,
    )


def _jobs(stdout: str, stderr: str) -> list[_Job]:
    # fio prints its messages before and after the object
    begin, end = stdout.find("{"), stdout.rfind("}")
    try:
        return msgspec.json.decode(stdout[begin : end + 1].encode(), type=_Output).jobs
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        messages = [
            line for line in (*stderr.splitlines(), *stdout[: max(begin, 0)].splitlines()) if line.strip()
        ]
        if messages:
            raise NoResultError(messages[0].removeprefix("fio: ").strip()) from None
        if begin < 0:
            raise NoResultError("it printed no message") from None
        why = in_words(error) if isinstance(error, msgspec.MsgspecError) else str(error)
        raise NoResultError(f"its result can't be read: {why}") from None


def _by_stream(jobs: Sequence[_Job], step: Step) -> list[list[_Job]]:
    """fio lists jobs in the order in which the job file has them."""
    if len(step.streams) == 1:
        return [list(jobs)]
    if len(jobs) != sum(stimulus.tc for stimulus in step.stimuli):
        raise NoResultError(f"its result has {len(jobs)} jobs, which are not those that it was given")
    rest = iter(jobs)
    return [list(islice(rest, stimulus.tc)) for stimulus in step.stimuli]


def _failed_by_stream(by_stream: Sequence[Sequence[_Job]], stderr: str, step: Step) -> list[int]:
    """I/Os that failed. fio does not say which job's they are.

    They go to the first stream that has a job with an error and such an operation, or else to the first.
    """
    failed = [0] * len(by_stream)
    for found in _FAILED_IO.finditer(stderr):
        likely = (
            number
            for number, (jobs, stimulus) in enumerate(zip(by_stream, step.stimuli, strict=True))
            if any(job.error for job in jobs)
            and msgspec.structs.asdict(stimulus.operations).get(found["operation"])
        )
        failed[next(likely, 0)] += 1
    return failed


def _elapsed_ns(jobs: Iterable[_Job]) -> int:
    runtimes_ms = [each.runtime for job in jobs for each in (job.read, job.write, job.trim)]
    return storable(max(runtimes_ms) * NS_PER_MS)


def _operations(jobs: Sequence[_Job], stimulus: Stimulus) -> dict[str, OperationSample]:
    found = {name: [getattr(job, name) for job in jobs] for name in ("read", "write", "trim")}
    if syncs := [job.sync for job in jobs if job.sync is not None]:
        found[sync_name(stimulus)] = syncs
    return {name: merged([_sample(one) for one in of_jobs]) for name, of_jobs in found.items()}


def _sample(one: _Operation) -> OperationSample:
    """The operation of a job. After a ramp-up fio has timed the I/Os that were outstanding at its end, and
    does not count them. Raises OverflowError for what a record can't hold.
    """
    if not one.total_ios:
        return NOTHING
    storable(sum(one.lat_ns.bins.values()))
    return OperationSample(
        ios=one.total_ios,
        bytes=one.io_bytes,
        latency_sum_ns=storable(one.lat_ns.mean * one.total_ios),
        latency_min_ns=one.lat_ns.min,
        latency_max_ns=one.lat_ns.max,
        histogram=encode_counts(one.lat_ns.bins.items()),
    )


def _processor_ns(job: _Job) -> int:
    return round((job.usr_cpu + job.sys_cpu) / 100 * job.job_runtime * NS_PER_MS)


def _failure(jobs: Iterable[_Job], stderr: str) -> IoFailure | None:
    found = _FAILED_IO.search(stderr)
    if found:
        return IoFailure(found["operation"], int(found["offset"]), int(found["length"]), found["reason"])
    codes = [job.error for job in jobs if job.error]
    return IoFailure("job", 0, 0, os.strerror(codes[0])) if codes else None


def _errors(stderr: str) -> tuple[IoErrors, ...]:
    offsets: dict[tuple[str, str], list[int]] = {}
    for found in _FAILED_IO.finditer(stderr):
        offsets.setdefault((found["operation"], found["reason"]), []).append(int(found["offset"]))
    return tuple(
        IoErrors(operation, reason, len(places), tuple(places[:_MOST_OFFSETS]))
        for (operation, reason), places in offsets.items()
    )


def _short_transfer(streams: Iterable[FioStream], stimuli: Iterable[Stimulus]) -> IoFailure | None:
    """fio's asynchronous engines count a short transfer as a whole I/O without a word; the bytes tell."""
    for stream, stimulus in zip(streams, stimuli, strict=True):
        smallest = min(size.block_size_bytes for size in stimulus.block_sizes)
        for name in ("read", "write", "trim"):
            sample = stream.operations.get(name, NOTHING)
            missing_bytes = sample.ios * smallest - sample.bytes
            if missing_bytes > 0:
                return IoFailure(
                    name, 0, 0, f"short transfers: {missing_bytes} B are missing, fio does not say where"
                )
    return None
