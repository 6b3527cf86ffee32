"""Drive cycles from the steps of a record: speeds, errors, wear, and stretches of wear."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from openpts.units import NS_PER_S
from openpts.vocabulary.sample import IoFailure, Sample, StepState

WEAR_STEP_PCT: Final = 5
"""A row of the report's table spans so much wear, if the run wore the drive by as much."""

Log = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Pass:
    """All writes of a cycle, or all reads; ``max_latency_ns`` None without an I/O."""

    bytes: int = 0
    elapsed_ns: int = 0
    max_latency_ns: int | None = None

    @property
    def bytes_per_s(self) -> float | None:
        """Its speed; None if it was never begun."""
        return self.bytes * NS_PER_S / self.elapsed_ns if self.elapsed_ns else None


@dataclass(frozen=True, slots=True)
class DriveCycle:
    """One cycle, and the device's log after it; ``failure`` is the I/O that ended it."""

    number: int
    write: Pass
    read: Pass
    errors: int
    failure: IoFailure | None
    complete: bool
    log: Log = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighboring cycles together: means over time, maxima, and what the log counted in them.

    Counts are None where the log does not have them.
    """

    first: int
    last: int
    write: Pass
    read: Pass
    errors: int
    media_errors: float | None
    wear_pct: float | None
    spare_pct: float | None
    write_amplification: float | None


def drive_cycle(number: int, samples: Sequence[Sample], log: Log) -> DriveCycle:
    """A cycle from its steps: writes first, then reads. It is complete when all that it wrote was read."""
    write = _pass(sample for sample in samples if _writes(sample))
    read = _pass(sample for sample in samples if not _writes(sample))
    return DriveCycle(
        number=number,
        write=write,
        read=read,
        errors=sum(errors.count for sample in samples for errors in sample.errors),
        failure=next((sample.failure for sample in samples if sample.failure is not None), None),
        complete=0 < write.bytes <= read.bytes
        and all(sample.state is StepState.COMPLETE for sample in samples),
        log=log,
    )


def _writes(sample: Sample) -> bool:
    stimulus = sample.step.stimulus
    return stimulus is not None and stimulus.operations.write > 0


def _pass(samples: Iterable[Sample]) -> Pass:
    found = list(samples)
    return Pass(
        bytes=sum(sample.bytes for sample in found),
        elapsed_ns=sum(sample.elapsed_ns for sample in found),
        max_latency_ns=max(
            (sample.max_latency_ns for sample in found if sample.max_latency_ns is not None), default=None
        ),
    )


def stretches(cycles: Sequence[DriveCycle], before: Log) -> tuple[Stretch, ...]:
    """A stretch for each ``WEAR_STEP_PCT`` of wear; for each cycle where the run wore the drive by less.

    ``before`` is the log before the first cycle.
    """
    logs = [before, *(cycle.log for cycle in cycles)]
    worn = [log.get("percentage_used_pct") for log in logs]
    known = [wear for wear in worn if wear is not None]
    first = worn[0]
    if first is None or None in worn or max(known) - first < WEAR_STEP_PCT:
        groups = [[cycle] for cycle in cycles]
    else:
        # a cycle belongs to the stretch in which it began
        began = {cycle.number: worn[index] or 0.0 for index, cycle in enumerate(cycles)}
        groups = [
            list(group)
            for _, group in groupby(cycles, key=lambda cycle: (began[cycle.number] - first) // WEAR_STEP_PCT)
        ]
    made = []
    for group in groups:
        made.append(_stretch(group, before))
        before = group[-1].log
    return tuple(made)


def _stretch(cycles: Sequence[DriveCycle], before: Log) -> Stretch:
    after = cycles[-1].log
    return Stretch(
        first=cycles[0].number,
        last=cycles[-1].number,
        write=_sum([cycle.write for cycle in cycles]),
        read=_sum([cycle.read for cycle in cycles]),
        errors=sum(cycle.errors for cycle in cycles),
        media_errors=rise(before, after, "media_errors"),
        wear_pct=after.get("percentage_used_pct"),
        spare_pct=after.get("available_spare_pct"),
        write_amplification=write_amplification(before, after),
    )


def _sum(passes: Sequence[Pass]) -> Pass:
    return Pass(
        bytes=sum(part.bytes for part in passes),
        elapsed_ns=sum(part.elapsed_ns for part in passes),
        max_latency_ns=max(
            (part.max_latency_ns for part in passes if part.max_latency_ns is not None), default=None
        ),
    )


def rise(before: Log, after: Log, name: str) -> float | None:
    """By how much a counter rose; None where a reading lacks it."""
    return after[name] - before[name] if name in before and name in after else None


def write_amplification(before: Log, after: Log) -> float | None:
    """Bytes written to the media for each that the host wrote; None where a log has not both."""
    media = rise(before, after, "nand_write_bytes")
    host = rise(before, after, "host_write_bytes")
    return media / host if media is not None and host else None


def wear_points(cycles: Sequence[DriveCycle], before: Log) -> tuple[tuple[float, float], ...]:
    """Cycles done and per cent of the rated life used, the state before the first included."""
    readings = [(0.0, before), *((float(cycle.number), cycle.log) for cycle in cycles if cycle.complete)]
    return tuple((done, log["percentage_used_pct"]) for done, log in readings if "percentage_used_pct" in log)
