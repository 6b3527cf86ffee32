"""What a record says twice, held against each other: counts, bytes, times, sums, extremes, histograms.

All of it is exact arithmetic on whole numbers. A record that openpts wrote passes, whichever engine measured,
however a step ended, whatever scale a simulated drive has; one that was changed in one place does not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.errors import RecordError
from openpts.record.manifest import Manifest
from openpts.vocabulary.facts import SIMULATED_ENGINE, TargetFacts
from openpts.vocabulary.sample import (
    NOTHING,
    Interval,
    Measured,
    OperationSample,
    Sample,
    StepPlace,
    StepState,
    StreamSample,
)
from openpts.vocabulary.stimulus import Stimulus, Stream, Zones

_TRANSFERS: Final = ("read", "write", "trim")
_EXACT_ENGINES: Final = ("native", SIMULATED_ENGINE)

_TOGETHER: Final[dict[str, Callable[[Iterable[int]], int | None]]] = {
    **dict.fromkeys(("ios", "bytes", "latency_sum_ns"), sum),
    "latency_min_ns": partial(min, default=None),
    "latency_max_ns": partial(max, default=None),
}
"""What a figure of several operations is of those of each."""
_FIGURES: Final = attrgetter(*_TOGETHER)

Found = Iterator[str]


class _Run(Struct, frozen=True):
    """How exact the figures of a run are; ``scale`` I/Os stand for each that was simulated.

    Not ``exact`` is fio: it has means of some digits, buckets of its own, times of I/Os that it does not
    count, and after a ramp-up counts I/Os that it does not time. ``imported`` results may lack response
    times and histograms, and have bytes in KiB.
    """

    target: TargetFacts
    scale: int
    exact: bool
    imported: bool

    @classmethod
    def of(cls, manifest: Manifest) -> "_Run":
        reported = manifest.engine.get("engine")
        return cls(
            manifest.target,
            manifest.target.scale,
            exact=reported is None or reported.value in _EXACT_ENGINES,
            imported=manifest.imported is not None,
        )


def refuse_contradictions(
    folder: Path, manifest: Manifest, steps: Iterable[tuple[StepPlace, Sample]]
) -> None:
    """Raises RecordError on the first contradiction, with the step and the field."""
    run = _Run.of(manifest)
    places: set[StepPlace] = set()
    for place, sample in steps:
        doubled = ("another step has the same place",) if place in places else ()
        places.add(place)
        if found := next(chain(doubled, _of_step(sample, run)), None):
            raise RecordError(f"the record in {folder} contradicts itself in {place}: {found}")


def is_exact(manifest: Manifest) -> bool:
    """Whether each I/O of a run was counted and timed by openpts itself."""
    run = _Run.of(manifest)
    return run.exact and not run.imported


def refuse_other_interval_histograms(
    folder: Path, manifest: Manifest, operations: Iterable[tuple[str, bytes, Iterable[OperationSample]]]
) -> None:
    """Raises RecordError where the histograms of intervals are not, together, that of a complete step.

    ``operations`` are those of its streams, or of the step itself: where each is, its histogram, and its
    intervals. They are decoded one by one: there may be hundreds of thousands.
    """
    run = _Run.of(manifest)
    if not run.exact or run.imported:
        return
    for where, whole, parts in operations:
        together = LatencyDistribution.merged([])
        found = next(chain.from_iterable(_of_interval(part, run, together) for part in parts), None)
        if found is None and not _is_that_of(together, whole):
            found = "its histogram is not that of its intervals together"
        if found is not None:
            raise RecordError(f"the record in {folder} contradicts itself in {where}: {found}")


def _of_interval(operation: OperationSample, run: _Run, together: LatencyDistribution) -> Found:
    """What an interval and its histogram contradict, which is added to those ``together``."""
    if operation.ios and not operation.histogram:
        yield f"an interval counts {operation.ios:,} I/Os and has no histogram"
    yield from (f"an interval: {text}" for text in _of_histogram(operation, 0, run, together))


def _of_step(sample: Sample, run: _Run) -> Found:
    streams = sample.step.streams
    counts = any(operation != NOTHING for operation in sample.operations.values())
    if not streams:
        if counts:
            yield "it has no stimulus and counts I/Os"
    elif nonsense := next(filter(None, (_nonsense(stream.stimulus) for stream in streams)), None):
        yield nonsense
    elif len(streams) == 1:
        intervals = [(interval.index, interval) for interval in sample.intervals]
        yield from _of_stream(sample, streams[0], intervals, run, sample.state)
    elif len(sample.streams) != len(streams):
        if counts or sample.streams:  # a step that failed at once may have no result
            yield f"it has results of {len(sample.streams)} of its {len(streams)} streams"
    else:
        yield from _of_streams(sample)
        for number, (stream, part) in enumerate(zip(streams, sample.streams, strict=True)):
            parts = [(interval.index, interval.streams[number]) for interval in sample.intervals]
            for text in _of_stream(part, stream, parts, run, sample.state):
                yield f"stream {stream.name or number + 1}: {text}"
    yield from _of_replays(sample)
    yield from _of_intervals(sample)


def _of_replays(sample: Sample) -> Found:
    parts: tuple[Sample | StreamSample, ...] = sample.streams or (sample,)
    for played in sample.played:
        stream, part = sample.step.streams[played.stream], parts[played.stream]
        counted = sum(operation.ios for operation in part.operations.values())
        if stream.replay is None or played.scheduled != stream.replay.ios:
            yield f"it has played {played.scheduled:,} I/Os of a schedule that is not its stream's"
        elif counted + sum(errors.count for errors in sample.errors) > played.issued:
            yield f"it counts {counted:,} I/Os, and {played.issued:,} of its schedule were issued"
        elif played.issued + played.dropped > played.scheduled:
            yield f"{played.issued:,} I/Os were issued of {played.scheduled:,} in its schedule"


def _of_stream(
    measured: Sample | StreamSample,
    stream: Stream,
    intervals: Iterable[tuple[int, Measured]],
    run: _Run,
    state: StepState,
) -> Found:
    """What a stream did in a whole step, and in its intervals."""
    stimulus = stream.stimulus
    # a trace has transfers of any size up to the largest, and trims of more
    has_sizes = stream.replay is None and not run.imported
    yield from _of_operations(measured, stimulus, run, state=state, has_sizes=has_sizes)
    for name, operation in measured.operations.items():
        if operation.ios and not operation.histogram and not run.imported:
            yield f"{name}: it counts {operation.ios:,} I/Os and has no histogram"
    yield from _of_choices(measured, stimulus, run)
    if measured.slips and not _is_merged(measured.slips, [measured.slips]):
        yield "its slips are not an HdrHistogram"
    sizes = [size.block_size_bytes for size in stimulus.block_sizes]
    smallest_bytes, largest_bytes = min(sizes), max(sizes)
    for index, interval in intervals:
        if has_sizes and _is_plainly_sound(interval, smallest_bytes, largest_bytes):
            continue
        for text in _of_operations(interval, stimulus, run, state=state, has_sizes=has_sizes):
            yield f"interval {index}: {text}"


def _is_plainly_sound(interval: Measured, smallest_bytes: int, largest_bytes: int) -> bool:
    """Whether an interval of transfers agrees by the narrowest limits, as nearly all do: a run of a day has
    hundreds of thousands.
    """
    for operation in interval.transfers:
        if operation is NOTHING:
            continue
        ios, least, most = operation.ios, operation.latency_min_ns, operation.latency_max_ns
        if (
            not ios
            or operation.histogram
            or least is None
            or most is None
            or not ios * least <= operation.latency_sum_ns <= ios * most
            or not ios * smallest_bytes <= operation.bytes <= ios * largest_bytes
        ):
            return False
    return interval.flush is NOTHING and interval.fsync is NOTHING


def _of_streams(sample: Sample) -> Found:
    """The parts of several streams are the whole, in the step and in each interval: to the last bit."""
    parts = sample.streams
    yield from _of_parts(sample, parts)
    if sample.unissued != (unissued := sum(part.unissued for part in parts)):
        yield f"unissued is {sample.unissued:,}, and that of its streams together {unissued:,}"
    errors = sum(errors.count for errors in sample.errors)
    if (of_parts := sum(part.errors for part in parts)) > errors:
        yield f"its streams have {of_parts:,} errors, the step {errors:,}"
    if not _is_merged(sample.slips, [part.slips for part in parts]):
        yield "its slips are not those of its streams together"
    for interval in sample.intervals:
        yield from (f"interval {interval.index}: {text}" for text in _of_parts(interval, interval.streams))
    if sample.intervals and _are_whole(sample.intervals):
        for number, part in enumerate(parts):
            for name, operation in part.operations.items():
                of_intervals = [getattr(interval.streams[number], name) for interval in sample.intervals]
                for text in _of_sums(name, operation, of_intervals, "its intervals"):
                    yield f"stream {sample.step.streams[number].name or number + 1}: {text}"


def _of_parts(whole: Measured, parts: Sequence[Measured]) -> Found:
    for name, operation in whole.operations.items():
        of_parts = [part.operations[name] for part in parts]
        yield from _of_sums(name, operation, of_parts, "its streams")
        if not _is_merged(operation.histogram, [part.histogram for part in of_parts]):
            yield f"{name}: its histogram is not that of its streams together"


def _is_merged(whole: bytes, parts: Sequence[bytes]) -> bool:
    """Whether a distribution has exactly what those of its parts have; none where none was read."""
    try:
        return _is_that_of(LatencyDistribution.merged(filter(None, parts)), whole)
    except ValueError:
        return False


def _is_that_of(distribution: LatencyDistribution, encoded: bytes) -> bool:
    """Whether an encoded distribution has the same counts: what openpts wrote has even the same bytes."""
    ours = distribution.encode()
    return ours == encoded or ours == LatencyDistribution.merged(filter(None, [encoded])).encode()


def _nonsense(stimulus: Stimulus) -> str | None:
    sizes, weights = stimulus.block_sizes, msgspec.structs.astuple(stimulus.operations)
    if not sizes or any(size.block_size_bytes < 1 or size.weight < 1 for size in sizes):
        return "a block size of its stimulus is none"
    if not any(weights) or min(weights) < 0:
        return "the operations of its stimulus are none"
    if stimulus.tc < 1 or stimulus.qd < 1 or not 0 <= stimulus.random_pct <= 100:
        return "its stimulus has no demand, or no order"
    covered = stimulus.active_range
    if not 0 <= covered.start_pct <= covered.end_pct <= 100 or (stimulus.stride_bytes or 1) < 1:
        return "the range of its stimulus is none"
    return None


def _of_operations(
    measured: Measured, stimulus: Stimulus, run: _Run, *, state: StepState, has_sizes: bool
) -> Found:
    for name, operation in measured.operations.items():
        if operation is NOTHING:
            continue
        texts = chain(_of_histogram(operation, stimulus.toio, run), _of_latencies(operation, run))
        yield from (f"{name}: {text}" for text in texts)
        if not has_sizes:
            continue
        least, most = 0, 0
        if name in _TRANSFERS:
            sizes = [size.block_size_bytes for size in stimulus.block_sizes]
            least = max(0, operation.ios * min(sizes) - _cut_bytes(operation.ios, stimulus, run))
            most = operation.ios * max(sizes)
        # a transfer that fio found short fails its step
        if not least <= operation.bytes <= most and (run.exact or state is StepState.COMPLETE):
            yield (
                f"{name}: bytes is {operation.bytes:,}, and {operation.ios:,} I/Os of this stimulus move "
                f"{_span(least, most)}"
            )


def _of_latencies(operation: OperationSample, run: _Run) -> Found:
    ios, total = operation.ios, operation.latency_sum_ns
    least, most = operation.latency_min_ns, operation.latency_max_ns
    if least is None or most is None or not ios:
        if run.imported and ios:
            return  # it states a mean alone, or nothing
        if ios or total or least is not None or most is not None:
            yield f"latency_min_ns is {least}, latency_max_ns {most} and their sum {total:,} of {ios:,} I/Os"
        return
    slack = 0 if run.exact else ios  # of a mean that was rounded
    if not ios * least - slack <= total <= ios * most + slack:
        yield f"latency_sum_ns is {total:,}, and {ios:,} I/Os of {_span(least, most)} ns each have another"


def _of_histogram(
    operation: OperationSample, toio: int, run: _Run, together: LatencyDistribution | None = None
) -> Found:
    """What it contradicts; to decode it takes longest, so that it is added to those ``together`` here."""
    if not operation.histogram:
        return
    try:
        histogram = LatencyDistribution.merged([operation.histogram])
    except ValueError as error:
        yield f"its histogram is {error}"
        return
    if together is not None:
        together.add(histogram)
    count, ios = histogram.count * run.scale, operation.ios
    if abs(count - ios) > (0 if run.exact else toio):
        yield f"ios is {ios:,}, and its histogram has {count:,}"
    bounds = histogram.bounds()
    if bounds is None or not run.exact:
        return
    for field, value, least, most in (
        ("latency_min_ns", operation.latency_min_ns, bounds[0], bounds[1]),
        ("latency_max_ns", operation.latency_max_ns, bounds[2], bounds[3]),
        ("latency_sum_ns", operation.latency_sum_ns, bounds[4] * run.scale, bounds[5] * run.scale),
    ):
        if value is None or not least <= value <= most:
            yield f"{field} is {value}, and by its histogram {_span(least, most)}"


def _cut_bytes(ios: int, stimulus: Stimulus, run: _Run) -> int:
    """What sequential I/Os may lack: the last one of a pass over a thread's part is cut to the part's end."""
    if stimulus.random_pct == 100:
        return 0
    largest_bytes = stimulus.block_size_bytes
    start, end = stimulus.active_range.bytes_of(run.target.user_capacity_bytes, run.target.sector_bytes)
    length_bytes = (end - start) // run.scale
    unit_bytes = stimulus.stride_bytes or largest_bytes
    if run.scale == 1 and len(stimulus.block_sizes) == 1 and length_bytes % unit_bytes == 0:
        return 0
    part_bytes = max(unit_bytes, length_bytes // unit_bytes // stimulus.tc * unit_bytes)
    passes = stimulus.tc + ios // run.scale * max(unit_bytes, largest_bytes) // part_bytes + 1
    return passes * largest_bytes * run.scale


def _of_choices(sample: Sample | StreamSample, stimulus: Stimulus, run: _Run) -> Found:
    transfers = sample.ios
    if counts := sample.ios_by_block_size:
        sizes = [size.block_size_bytes for size in stimulus.block_sizes]
        if len(counts) != len(sizes) or sum(counts) != transfers:
            yield f"ios_by_block_size has {sum(counts):,} of {transfers:,} I/Os"
            return
        most = sum(count * size for count, size in zip(counts, sizes, strict=True))
        least = max(0, most - _cut_bytes(transfers, stimulus, run))
        if not least <= sample.bytes <= most:
            yield f"bytes is {sample.bytes:,}, and by ios_by_block_size {_span(least, most)}"
    zones = stimulus.placement.zones if isinstance(stimulus.placement, Zones) else ()
    if (counts := sample.ios_by_zone) and (
        len(counts) != len(zones) or sum(counts) != (transfers if stimulus.random_pct else 0)
    ):
        yield f"ios_by_zone has {sum(counts):,} of {transfers:,} I/Os"


def _of_intervals(sample: Sample) -> Found:
    intervals = sample.intervals
    if not intervals:
        return
    whole = _are_whole(intervals)
    if sample.state is StepState.COMPLETE and not whole:
        yield "an interval is missing"
    if sample.interval_ns < 1:
        yield "interval_ns is 0"
    last = intervals[-1]
    if last.elapsed_ns > sample.interval_ns or any(
        interval.elapsed_ns != sample.interval_ns for interval in intervals[:-1]
    ):
        yield "an interval's elapsed_ns is not interval_ns"
    # intervals count from when a step is let go, its time from the first submission, which is part of the gap
    known = sample.state is StepState.COMPLETE and sample.gap_ns is not None
    if known and last.index * sample.interval_ns > sample.elapsed_ns + (sample.gap_ns or 0):
        yield f"elapsed_ns is {sample.elapsed_ns:,}, and its last interval begins later"
    errors = sum(errors.count for errors in sample.errors)
    if (reported := sum(interval.errors for interval in intervals)) > errors:
        yield f"its intervals have {reported:,} errors, the step {errors:,}"
    if whole:  # a step that was stopped may lack an interval that had not been put together
        for name, operation in sample.operations.items():
            of_intervals = [getattr(interval, name) for interval in intervals]
            yield from _of_sums(name, operation, of_intervals, "its intervals")


def _are_whole(intervals: Sequence[Interval]) -> bool:
    return [interval.index for interval in intervals] == list(range(len(intervals)))


def _of_sums(name: str, whole: OperationSample, parts: Sequence[OperationSample], of: str) -> Found:
    some = [part for part in parts if part is not NOTHING]
    if whole is NOTHING and not some:
        return
    # by columns: a run of a day has hundreds of thousands of intervals
    columns = zip(*map(_FIGURES, some or [NOTHING]), strict=True)
    for (field, together), of_whole, values in zip(_TOGETHER.items(), _FIGURES(whole), columns, strict=True):
        if of_whole != (of_parts := together(value for value in values if value is not None)):
            yield f"{name}: {field} is {of_whole}, and that of {of} together {of_parts}"


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
