"""Runs a test script on assumed rates: every step that it will ask for, without a device.

The dry driver of scripts: the same generator as on a device, so a plan can't differ from the run.

How large a run's folder may get is an upper bound for a usual drive, good enough to tell a disk that is too
small.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cache
from math import fsum
from typing import Any, Final, Self

from msgspec import Struct, structs
from msgspec.structs import replace

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.errors import UsageError
from openpts.units import GB, NS_PER_S, NS_PER_US
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.replay import ReplayMode
from openpts.vocabulary.requests import (
    Answer,
    Apply,
    DriverRequest,
    Purge,
    ReadHealth,
    Script,
    SetWriteCache,
    Slower,
)
from openpts.vocabulary.sample import (
    NOTHING,
    Measured,
    OperationSample,
    Sample,
    StepState,
    StreamSample,
    phase_text,
)
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Steady,
    Step,
    Stimulus,
    StopRule,
)


class DriveState(Struct, frozen=True):
    """How many times its user capacity was written since the purge, and whether its cache is enabled.

    ``is_short``: a step writes so little that all of it may go to a cache of single-bit cells.
    """

    fills: float = 0.0
    is_cached: bool = True
    is_short: bool = False


FRESH: Final = DriveState()


class AssumedDrive(Struct, frozen=True):
    """Limits of reads and writes; the defaults are those of no drive in particular, and a plan names them.

    ``uncached_write_ns`` is the latency of a write with the cache disabled. ``settled_...`` are rates of
    random writes once ``fresh_fills`` times the user capacity were written since the purge; ``burst_...``
    that of short steps until then. None: no other.
    """

    read_iops: float = 300_000
    write_iops: float = 50_000
    read_bytes_per_s: float = 2.0 * GB
    write_bytes_per_s: float = 1.0 * GB
    latency_ns: int = 80 * NS_PER_US
    uncached_write_ns: int | None = None
    settled_write_iops: float | None = None
    settled_write_bytes_per_s: float | None = None
    fresh_fills: float = 1.0
    burst_bytes_per_s: float | None = None

    def behind_cache(self) -> Self:
        """With writes as slow as those of most drives that have used up their cache."""
        write_iops, write_bytes_per_s = self.write_iops / BEHIND_CACHE, self.write_bytes_per_s / BEHIND_CACHE
        return replace(self, write_iops=write_iops, write_bytes_per_s=write_bytes_per_s)

    def ios_per_s(self, stimulus: Stimulus, state: DriveState = FRESH) -> float:
        """I/Os per second of a stimulus: what size, operation or demand allows, whichever is less."""
        reads = stimulus.read_pct / 100
        bursts = self.burst_bytes_per_s if state.is_short and state.fills < self.fresh_fills else None
        waits_ns = None if state.is_cached or bursts else self.uncached_write_ns
        latency_ns = reads * self.latency_ns + (1 - reads) * (waits_ns or self.latency_ns)
        answered_per_s = stimulus.toio * NS_PER_S / latency_ns
        if not (stimulus.operations.read or stimulus.operations.write):
            return answered_per_s
        write_iops, write_bytes_per_s = self.write_iops, self.write_bytes_per_s
        if stimulus.random_pct and state.fills >= self.fresh_fills:
            write_iops = self.settled_write_iops or write_iops
            write_bytes_per_s = self.settled_write_bytes_per_s or write_bytes_per_s
        size_bytes = mean_block_bytes(stimulus)
        if bursts:
            write_iops, write_bytes_per_s = bursts / size_bytes, bursts
        device_s = reads * max(1 / self.read_iops, size_bytes / self.read_bytes_per_s)
        device_s += (1 - reads) * max(1 / write_iops, size_bytes / write_bytes_per_s)
        return min(1 / device_s, answered_per_s) if device_s else answered_per_s


BEHIND_CACHE: Final = 10
"""How many times slower writes are assumed behind a cache, where nothing is known of the drive."""


class AssumedDrives(Struct, frozen=True):
    """The fastest and the slowest that a drive may be, and what its maker rates it for, if that is known."""

    fast: AssumedDrive = AssumedDrive()
    slow: AssumedDrive = AssumedDrive().behind_cache()
    tbw_bytes: float | None = None


def mean_block_bytes(stimulus: Stimulus) -> float:
    """Mean size of a transfer by the weights of the mix."""
    sizes = stimulus.block_sizes
    return sum(size.block_size_bytes * size.weight for size in sizes) / sum(size.weight for size in sizes)


MOST_STEPS: Final = 1_000_000
"""What a plan may have: a run of a year has less than a tenth of it."""


_FAR_APART: Final = 10**9
"""A single one of a set that has so many times as much brings its relative standard error near to 100 %."""


class Ending(StrEnum):
    """When the drive is assumed to be steady: in the first window that can be, or only in the last one.

    A drive that never is takes no longer: without steady state HIR has no wait states (PTS 11.2). What is
    repeated until it lies close together does so at once, or never.
    """

    SHORTEST = "shortest"
    LONGEST = "longest"


class PlannedApply(Struct, frozen=True):
    """What the script will ask for, with the length and the bytes written of each step; an estimate."""

    cycle: int
    apply: Apply
    durations_ns: tuple[int, ...]
    written_bytes: tuple[int, ...]


def dry_run(
    script: Script, user_capacity_bytes: int, drive: AssumedDrive, ending: Ending
) -> tuple[PlannedApply, ...]:
    """Drive the script to its end on assumed rates. Raises UsageError for more than ``MOST_STEPS`` steps."""
    sampled = _samples_on(drive, user_capacity_bytes)
    planned: list[PlannedApply] = []
    cycle = count = written_bytes = 0
    is_cached = True
    answer: Answer = None
    try:
        while True:
            request = script.send(answer)
            answer, apply = None, request if isinstance(request, Apply) else None
            if isinstance(request, Purge):
                cycle, written_bytes = cycle + 1, 0
            if isinstance(request, SetWriteCache):
                is_cached = request.enabled
            if isinstance(request, ReadHealth):
                answer = HealthReading("a plan: no device was asked")
            if isinstance(request, DriverRequest):
                apply, answer = request.planned
            if apply is not None:
                count += len(apply.steps)
                _check_count(apply, count)
                is_fresh = written_bytes / user_capacity_bytes < drive.fresh_fills
                samples = tuple(sampled(step, is_fresh, is_cached) for step in apply.steps)
                if _slows(apply, ending):
                    samples = tuple(_changed(sample, time=2) for sample in samples)
                one = PlannedApply(
                    max(1, cycle) if apply is request else cycle,
                    apply,
                    tuple(sample.elapsed_ns for sample in samples),
                    tuple(sample.write.bytes for sample in samples),
                )
                planned.append(one)
                written_bytes += sum(one.written_bytes)
                if apply is request:
                    answer = _unlike(planned, samples) if ending is Ending.LONGEST else samples
    except StopIteration:
        is_shortest = ending is Ending.SHORTEST
        return tuple(one for one in planned if not (is_shortest and one.apply.if_needed))


_SHORT_FILLS: Final = 0.2


def _is_short(stop: StopRule, capacity_bytes: int) -> bool:
    match stop:
        case FirstOf(rules):
            return any(_is_short(rule, capacity_bytes) for rule in rules)
        case ByteAmount(amount_bytes):
            return amount_bytes <= _SHORT_FILLS * capacity_bytes
    return isinstance(stop, Duration)


def _check_count(apply: Apply, count: int) -> None:
    if count > MOST_STEPS:
        raise UsageError(
            f"{phase_text(apply.phase, apply.number)} brings the plan to {count:,} steps and "
            f"more, and {MOST_STEPS:,} are the most: use longer steps, or a shorter test"
        )


def _slows(apply: Apply, ending: Ending) -> bool:
    return apply.slower is Slower.ALWAYS or (apply.slower is Slower.AT_SHORTEST and ending is Ending.SHORTEST)


def steps_of(planned: tuple[PlannedApply, ...]) -> tuple[Step, ...]:
    """All different steps, in the order in which they first come."""
    return tuple(dict.fromkeys(step for apply in planned for step in apply.apply.steps))


def _rates(step: Step, drive: AssumedDrive, state: DriveState = FRESH) -> list[float]:
    """I/Os per second of each stream: of several, none has the drive alone; no more come than are planned."""
    rates = [drive.ios_per_s(stimulus, state) / len(step.streams) for stimulus in step.stimuli]
    planned = [stimulus.planned_ios_per_s for stimulus in step.stimuli]
    return [rate if limit is None else min(rate, limit) for rate, limit in zip(rates, planned, strict=True)]


def _samples_on(drive: AssumedDrive, capacity_bytes: int) -> Callable[[Step, bool, bool], Sample]:
    """The sample of a step by whether the drive is fresh and its cache enabled, each computed once."""
    return cache(
        lambda step, is_fresh, is_cached: _sample(
            step, capacity_bytes, drive, DriveState(0.0 if is_fresh else drive.fresh_fills, is_cached)
        )
    )


def _sample(step: Step, user_capacity_bytes: int, drive: AssumedDrive, state: DriveState) -> Sample:
    state = replace(state, is_short=_is_short(step.stop, user_capacity_bytes))
    rates = _rates(step, drive, state)
    bytes_per_s = [rate * mean_block_bytes(one) for rate, one in zip(rates, step.stimuli, strict=True)]
    if step.stop == STREAMS_END:
        length_ns = max(
            one.delay_ns
            + max(
                _length_ns(one.stop or STREAMS_END, its_rate, its_bytes_per_s, user_capacity_bytes),
                one.replay.span_ns if one.replay and one.replay.mode is not ReplayMode.AFAP else 0,
            )
            for one, its_rate, its_bytes_per_s in zip(step.streams, rates, bytes_per_s, strict=True)
        )
    else:
        length_ns = _length_ns(step.stop, fsum(rates), fsum(bytes_per_s), user_capacity_bytes)
    elapsed_ns = step.ramp_ns + length_ns
    return _measured(step, elapsed_ns, [round(rate * elapsed_ns / NS_PER_S) for rate in rates])


def _measured(step: Step, elapsed_ns: int, ios: Sequence[int]) -> Sample:
    """The sample of a step whose streams did so many I/Os each."""
    parts = [_part(one, count, elapsed_ns) for one, count in zip(step.stimuli, ios, strict=True)]
    streams = (
        StreamSample(**part, elapsed_ns=elapsed_ns, cpu=None, ended_by=None, started_ns=0) for part in parts
    )
    return Sample(
        step=step,
        state=StepState.COMPLETE,
        ended_by=None,
        started_ns=0,
        elapsed_ns=elapsed_ns,
        gap_ns=0,
        read=_sum(part["read"] for part in parts),
        write=_sum(part["write"] for part in parts),
        trim=_sum(part["trim"] for part in parts),
        interval_ns=NS_PER_S,
        intervals=(),
        cpu=None,
        failure=None,
        streams=tuple(streams) if len(parts) > 1 else (),
    )


def _part(stimulus: Stimulus, ios: int, elapsed_ns: int) -> dict[str, Any]:
    """What a stream's transfers are: its I/Os by the weights of their operations."""
    weights = stimulus.operations
    whole = weights.read + weights.write + weights.trim
    reads, trims = (round(ios * weight / whole) if whole else 0 for weight in (weights.read, weights.trim))
    latency_ns = round(stimulus.toio * elapsed_ns / max(1, ios))
    counts = {"read": reads, "write": ios - reads - trims if whole else 0, "trim": trims}
    return {
        name: OperationSample(
            count, round(count * mean_block_bytes(stimulus)), count * latency_ns, latency_ns, latency_ns, b""
        )
        if count
        else NOTHING
        for name, count in counts.items()
    }


def _sum(parts: Iterable[OperationSample]) -> OperationSample:
    found = [part for part in parts if part.ios]
    if not found:
        return NOTHING
    return OperationSample(
        sum(part.ios for part in found),
        sum(part.bytes for part in found),
        sum(part.latency_sum_ns for part in found),
        min(part.latency_min_ns or 0 for part in found),
        max(part.latency_max_ns or 0 for part in found),
        b"",
    )


def _unlike(planned: Sequence[PlannedApply], samples: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """The answer to the last apply of a drive that takes longest."""
    apply = planned[-1].apply
    if apply.until_alike:
        passes = [(one.cycle, one.apply.phase, one.apply.number) for one in planned[-2:]]
        is_first = len(set(passes)) == len(passes)
        return (*samples[:-1], _far_apart(samples[-1])) if is_first else samples
    # every other round differs from its neighbors, so that no window is steady but that of the last rounds
    still_to_come = -1 if apply.most is None else apply.most - apply.number
    is_restless = still_to_come >= WINDOW_ROUNDS and (still_to_come - WINDOW_ROUNDS) % 2 == 0
    return tuple(_changed(sample, ios=2) for sample in samples) if is_restless else samples


def _far_apart(sample: Sample) -> Sample:
    """A pass that does not lie close to any other, by its rate or by its response times."""

    def changed(found: OperationSample) -> OperationSample:
        ios, amount_bytes = _FAR_APART * found.ios, _FAR_APART * found.bytes
        return structs.replace(
            found, ios=ios, bytes=amount_bytes, latency_sum_ns=_FAR_APART * ios * sample.elapsed_ns
        )

    streams = tuple(
        structs.replace(one, read=changed(one.read), write=changed(one.write)) for one in sample.streams
    )
    return structs.replace(sample, read=changed(sample.read), write=changed(sample.write), streams=streams)


def _changed(sample: Sample, *, time: int = 1, ios: int = 1) -> Sample:
    """So many times as many I/Os in so many times the time."""
    parts: tuple[Measured, ...] = sample.streams or ((sample,) if sample.step.streams else ())
    return _measured(sample.step, time * sample.elapsed_ns, [ios * part.ios for part in parts])


def _length_ns(stop: StopRule, ios_per_s: float, bytes_per_s: float, capacity_bytes: int) -> int:
    match stop:
        case Duration(duration_ns):
            return duration_ns
        case ByteAmount(amount_bytes):
            return _time_ns(amount_bytes, bytes_per_s)
        case DriveFills(fills):
            return _time_ns(fills * capacity_bytes, bytes_per_s)
        case IoCount(ios):
            return _time_ns(ios, ios_per_s)
        case Steady(_, window_ns, windows):
            return window_ns * windows
        case FirstOf(rules, at_least_ns):
            lengths = [_length_ns(rule, ios_per_s, bytes_per_s, capacity_bytes) for rule in rules]
            return max(at_least_ns, min(lengths, default=0))


def _time_ns(amount: float, per_s: float) -> int:
    return round(amount / per_s * NS_PER_S) if per_s else 0


# A histogram of an interval takes 2 to 6 KB on drives that exist, that of a single I/O 44 B.
_BYTES_PER_OPERATION: Final = 6_000
_BYTES_PER_LONE_IO: Final = 150
_BYTES_PER_INTERVAL: Final = 200
# Before the first step there are manifest, tables and indices.
_BYTES_AT_LEAST: Final = 1_000_000
# 7.8 B are measured for random transfers of 4 KiB, 8.2 B in units of 512 B.
_BYTES_PER_CAPTURED_IO: Final = 9


def record_bytes(planned: Sequence[PlannedApply], interval_ns: int) -> int:
    """Size of run.db after all of these steps."""
    return _BYTES_AT_LEAST + sum(
        _step_bytes(*step, interval_ns)
        for one in planned
        for step in zip(one.apply.steps, one.durations_ns, one.written_bytes, strict=True)
    )


def largest_program_bytes(planned: Sequence[PlannedApply], interval_ns: int) -> int:
    """What the largest program, which runs without a pause, adds to run.db."""
    return max((record_bytes([one], interval_ns) for one in planned), default=_BYTES_AT_LEAST)


def capture_bytes(planned: Sequence[PlannedApply], drive: AssumedDrive) -> int:
    """Size of the files with every single I/O, at the rates of the assumed drive."""
    return round(
        sum(
            ios_per_s * duration_ns / NS_PER_S * _BYTES_PER_CAPTURED_IO
            for one in planned
            for step, duration_ns in zip(one.apply.steps, one.durations_ns, strict=True)
            if step.capture
            for ios_per_s in _rates(step, drive)
        )
    )


def _step_bytes(step: Step, duration_ns: int, written_bytes: int, interval_ns: int) -> int:
    if step.is_idle:
        return _BYTES_PER_INTERVAL
    operations = sum(
        bool(weight) for stimulus in step.stimuli for weight in structs.astuple(stimulus.operations)
    )
    intervals = -(-duration_ns // interval_ns)
    histograms = (intervals + 1) * operations * _BYTES_PER_OPERATION
    if isinstance(step.stop, ByteAmount | DriveFills) and not any(one.read_pct for one in step.stimuli):
        smallest = min(size.block_size_bytes for one in step.stimuli for size in one.block_sizes)
        histograms = min(histograms, written_bytes // smallest * _BYTES_PER_LONE_IO)
    return (intervals + 1) * _BYTES_PER_INTERVAL + histograms
