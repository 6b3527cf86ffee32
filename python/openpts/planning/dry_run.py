"""Runs a test script on assumed rates: every step that it will ask for, without a device.

The dry driver of scripts: the same generator as on a device, so a plan can't differ from the run.

How large a run's folder may get is an upper bound for a usual drive, good enough to tell a disk that is too
small.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from msgspec import structs

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.errors import UsageError
from openpts.planning.assumed_drive import AssumedDrive, mean_block_bytes
from openpts.units import NS_PER_S
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.phase import Phase, phase_text
from openpts.vocabulary.power_cut import Cut
from openpts.vocabulary.requests import Answer, Apply, CutPower, Purge, ReadHealth, Script
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, DriveFills, Duration, FirstOf, IoCount, Steady, StopRule

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


@dataclass(frozen=True, slots=True)
class PlannedApply:
    """What the script will ask for, with the length and the bytes written of each step; an estimate."""

    cycle: int
    apply: Apply
    durations_ns: tuple[int, ...]
    written_bytes: tuple[int, ...]


def dry_run(
    script: Script, user_capacity_bytes: int, drive: AssumedDrive, ending: Ending
) -> tuple[PlannedApply, ...]:
    """Drive the script to its end on assumed rates. Raises UsageError for more than ``MOST_STEPS`` steps."""
    planned: list[PlannedApply] = []
    cycle = count = 0
    answer: Answer = None
    try:
        while True:
            request = script.send(answer)
            answer = None
            if isinstance(request, Purge):
                cycle += 1
            if isinstance(request, ReadHealth):
                answer = HealthReading("a plan: no device was asked")
            if isinstance(request, Apply | CutPower):
                apply = request.apply if isinstance(request, CutPower) else request
                count += len(apply.steps)
                _refuse_too_many(count, apply)
                samples = tuple(_sample(step, user_capacity_bytes, drive) for step in apply.steps)
                planned.append(
                    PlannedApply(
                        cycle if isinstance(request, CutPower) else max(1, cycle),
                        apply,
                        tuple(sample.elapsed_ns for sample in samples),
                        tuple(sample.write.bytes for sample in samples),
                    )
                )
                answer = _unlike(planned, samples) if ending is Ending.LONGEST else samples
            if isinstance(request, CutPower):
                answer = Cut(request.apply.number, "planned", request.write_cache_enabled, 0, "a plan")
    except StopIteration:
        return tuple(planned)


def _refuse_too_many(count: int, request: Apply) -> None:
    if count > MOST_STEPS:
        raise UsageError(
            f"{phase_text(request.phase, request.number)} brings the plan to {count:,} steps and more, and "
            f"{MOST_STEPS:,} are the most: use longer steps, or a shorter test"
        )


def steps_of(planned: tuple[PlannedApply, ...]) -> tuple[Step, ...]:
    """All different steps, in the order in which they first come."""
    return tuple(dict.fromkeys(step for apply in planned for step in apply.apply.steps))


def _sample(step: Step, user_capacity_bytes: int, drive: AssumedDrive) -> Sample:
    stimulus = step.stimulus
    ios_per_s = drive.ios_per_s(stimulus) if stimulus else 0.0
    size_bytes = mean_block_bytes(stimulus) if stimulus else 0.0
    elapsed_ns = step.ramp_ns + _length_ns(step.stop, ios_per_s, ios_per_s * size_bytes, user_capacity_bytes)
    ios = round(ios_per_s * elapsed_ns / NS_PER_S)
    reads = round(ios * stimulus.read_pct / 100) if stimulus else 0
    return _measured(step, elapsed_ns, (reads, ios - reads), size_bytes, stimulus)


def _measured(
    step: Step, elapsed_ns: int, counts: tuple[int, int], size_bytes: float, stimulus: Stimulus | None
) -> Sample:
    latency_ns = round(stimulus.toio * elapsed_ns / max(1, sum(counts))) if stimulus else 0
    read, write = (
        OperationSample(ios, round(ios * size_bytes), ios * latency_ns, latency_ns, latency_ns, b"")
        if ios
        else NOTHING
        for ios in counts
    )
    return Sample(
        step=step,
        state=StepState.COMPLETE,
        ended_by=None,
        started_ns=0,
        elapsed_ns=elapsed_ns,
        gap_ns=0,
        read=read,
        write=write,
        interval_ns=NS_PER_S,
        intervals=(),
        cpu=None,
        failure=None,
    )


def _unlike(planned: Sequence[PlannedApply], samples: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """The answer to the last apply of a drive that takes longest."""
    apply = planned[-1].apply
    if apply.until_alike:
        is_first = len(planned) < 2 or _numbered(planned[-2]) != _numbered(planned[-1])
        return (*samples[:-1], _far_apart(samples[-1])) if is_first else samples
    return tuple(_twice_as_fast(sample) for sample in samples) if _restless(apply) else samples


def _numbered(planned: PlannedApply) -> tuple[int, Phase, int]:
    return planned.cycle, planned.apply.phase, planned.apply.number


def _restless(apply: Apply) -> bool:
    """Every other round, so that no window is steady but the one that ends with the last round."""
    if apply.most is None:
        return False
    still_to_come = apply.most - apply.number
    return still_to_come >= WINDOW_ROUNDS and (still_to_come - WINDOW_ROUNDS) % 2 == 0


def _far_apart(sample: Sample) -> Sample:
    """A pass that does not lie close to any other, by its rate or by its response times."""

    def changed(found: OperationSample) -> OperationSample:
        ios, amount_bytes = _FAR_APART * found.ios, _FAR_APART * found.bytes
        return structs.replace(
            found, ios=ios, bytes=amount_bytes, latency_sum_ns=_FAR_APART * ios * sample.elapsed_ns
        )

    return structs.replace(sample, read=changed(sample.read), write=changed(sample.write))


def _twice_as_fast(sample: Sample) -> Sample:
    """A round that differs so much from its neighbours that no window of them is steady."""
    stimulus = sample.step.stimulus
    size_bytes = mean_block_bytes(stimulus) if stimulus else 0.0
    counts = (2 * sample.read.ios, 2 * sample.write.ios)
    return _measured(sample.step, sample.elapsed_ns, counts, size_bytes, stimulus)


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
            return max(at_least_ns, min(lengths))


def _time_ns(amount: float, per_s: float) -> int:
    return round(amount / per_s * NS_PER_S) if per_s else 0


# A histogram of an interval takes 2 to 6 KB on drives that exist, a row beside it a tenth of that.
_BYTES_PER_OPERATION: Final = 6_000
_BYTES_PER_INTERVAL: Final = 200
# Before the first step there are manifest, tables and indices.
_BYTES_AT_LEAST: Final = 1_000_000
# 7.8 B are measured for random transfers of 4 KiB, 8.2 B in units of 512 B.
_BYTES_PER_CAPTURED_IO: Final = 9


def record_bytes(planned: Sequence[PlannedApply], interval_ns: int) -> int:
    """Size of run.db after all of these steps."""
    return _BYTES_AT_LEAST + sum(
        _step_bytes(step, duration_ns, interval_ns)
        for one in planned
        for step, duration_ns in zip(one.apply.steps, one.durations_ns, strict=True)
    )


def largest_program_bytes(planned: Sequence[PlannedApply], interval_ns: int) -> int:
    """What the largest program, which runs without a pause, adds to run.db."""
    return max(record_bytes([one], interval_ns) for one in planned)


def capture_bytes(planned: Sequence[PlannedApply], drive: AssumedDrive) -> int:
    """Size of the files with every single I/O, at the rates of the assumed drive."""
    return round(
        sum(
            drive.ios_per_s(step.stimulus) * duration_ns / NS_PER_S * _BYTES_PER_CAPTURED_IO
            for one in planned
            for step, duration_ns in zip(one.apply.steps, one.durations_ns, strict=True)
            if step.capture and step.stimulus is not None
        )
    )


def _step_bytes(step: Step, duration_ns: int, interval_ns: int) -> int:
    if step.stimulus is None:
        return _BYTES_PER_INTERVAL
    weights = step.stimulus.operations
    operations = sum(bool(getattr(weights, name)) for name in weights.__struct_fields__)
    intervals = -(-duration_ns // interval_ns)
    return (intervals + 1) * (_BYTES_PER_INTERVAL + operations * _BYTES_PER_OPERATION)
