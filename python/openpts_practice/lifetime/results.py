"""Drive cycles from the steps of a record: speeds, errors, wear, and stretches of wear."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final, Self

from msgspec import Struct, field

from openpts.analysis.health_change import write_amplification
from openpts.analysis.minutes import sum_parts
from openpts.analysis.student_t import critical_value
from openpts.procedures.kit.steps import Metric
from openpts.units import MB
from openpts.vocabulary.sample import IoErrors, IoFailure, Measured, Sample, StepState

FEWEST_POINTS = 3


class Crossing(Struct, frozen=True):
    """Where a line reaches a value: most likely, and the ends of the interval.

    ``latest`` is None where the line may as well never reach it.
    """

    earliest: float
    likely: float
    latest: float | None


class FittedLine(Struct, frozen=True):
    """Least squares: ``y = mean_y + slope (x - mean_x)``; ``deviation`` is that of the residuals.

    Forecasts are valid if further points scatter about the same line independently.
    """

    count: int
    mean_x: float
    mean_y: float
    slope: float
    spread_x: float
    deviation: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Self | None:
        """The line; None for fewer than three points, or if all have the same x."""
        count = len(points)
        if count < FEWEST_POINTS:
            return None
        mean_x = math.fsum(x for x, _ in points) / count
        mean_y = math.fsum(y for _, y in points) / count
        spread_x = math.fsum((x - mean_x) ** 2 for x, _ in points)
        if spread_x == 0:
            return None
        slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread_x
        left = math.fsum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
        return cls(count, mean_x, mean_y, slope, spread_x, math.sqrt(left / (count - 2)))

    def at(self, x: float) -> float:
        """The line itself."""
        return self.mean_y + self.slope * (x - self.mean_x)

    def interval(self, x: float, confidence: float) -> tuple[float, float]:
        """Prediction interval: a single further point at x lies in it with that probability."""
        variance = 1 + 1 / self.count + (x - self.mean_x) ** 2 / self.spread_x
        half = critical_value(confidence, self.count - 2) * self.deviation * math.sqrt(variance)
        return self.at(x) - half, self.at(x) + half

    def crossing(self, y: float, confidence: float) -> Crossing | None:
        """Where a rising line reaches y; the interval's ends are where the prediction interval's do.

        None for a line that does not rise.
        """
        if self.slope <= 0:
            return None
        scatter = (critical_value(confidence, self.count - 2) * self.deviation) ** 2
        above = y - self.mean_y
        # (slope u - above)^2 = scatter (1 + 1/n + u^2 / spread), solved for u = x - mean
        square = self.slope**2 - scatter / self.spread_x
        rest = above**2 - scatter * (1 + 1 / self.count)
        likely = self.mean_x + above / self.slope
        discriminant = (self.slope * above) ** 2 - square * rest
        if square <= 0:
            return Crossing(self._earliest(above, square, rest, discriminant), likely, None)
        root = math.sqrt(max(0.0, discriminant))
        middle = self.slope * above
        return Crossing(
            self.mean_x + (middle - root) / square, likely, self.mean_x + (middle + root) / square
        )

    def _earliest(self, above: float, square: float, rest: float, discriminant: float) -> float:
        """Where the interval's upper end reaches the value if its lower end never does."""
        middle = self.slope * above
        if square == 0:
            return self.mean_x + rest / (2 * middle) if middle else -math.inf
        if discriminant < 0:
            return -math.inf
        return self.mean_x + (middle - math.sqrt(discriminant)) / square


WEAR_STEP_PCT: Final = 5
"""A row of the report's table spans so much wear, if the run wore the drive by as much."""

Log = Mapping[str, float]


SPEED: Final = Metric[Measured](
    "mb_per_s",
    "MB/s",
    "MB/s",
    lambda done: done.bandwidth_bytes_per_s if done.elapsed_ns else None,
    MB,
    absent="not run",
)
"""Throughput of all writes, or all reads, of a cycle; None if they were never begun."""


class DriveCycle(Struct, frozen=True):
    """One cycle, and the device's log after it; ``failure`` is the I/O that ended it.

    ``found`` are all I/Os that failed. ``written``: everything of it is on the drive; ``started_ns`` is when
    the first of it was written, and ``read_ns`` when the first was read, on the engine's clock.
    """

    number: int
    write: Measured
    read: Measured
    found: tuple[IoErrors, ...]
    failure: IoFailure | None
    complete: bool
    written: bool
    started_ns: int
    read_ns: int | None
    log: Log = field(default_factory=dict)

    @property
    def errors(self) -> int:
        """I/Os that failed, or returned other data than was written."""
        return sum(errors.count for errors in self.found)


class Span(Struct, frozen=True):
    """Neighboring cycles together: means over time, maxima, and what the log counted in them.

    Counts are None where the log does not have them.
    """

    first: int
    last: int
    write: Measured
    read: Measured
    errors: int
    media_errors: float | None
    wear_pct: float | None
    spare_pct: float | None
    write_amplification: float | None


def drive_cycle(number: int, samples: Sequence[Sample], log: Log) -> DriveCycle:
    """A cycle from its steps: writes first, then reads. It is complete when all that it wrote was read.

    Reads that failed, and did not end it, count as done: whole blocks of them.
    """
    writes = [sample for sample in samples if _writes(sample)]
    reads = [sample for sample in samples if not _writes(sample)]
    found = tuple(errors for sample in samples for errors in sample.errors)
    done_bytes = sum(sample.read.bytes + _failed_bytes(sample) for sample in reads)
    whole = all(sample.state is StepState.COMPLETE for sample in samples)
    failed = (sample.failure for sample in samples if sample.state is StepState.FAILED)
    write = Measured(**sum_parts(writes))
    return DriveCycle(
        number=number,
        write=write,
        read=Measured(**sum_parts(reads)),
        found=found,
        failure=next((failure for failure in failed if failure is not None), None),
        complete=0 < write.bytes <= done_bytes and whole,
        written=bool(reads) and all(sample.state is StepState.COMPLETE for sample in writes),
        started_ns=samples[0].started_ns,
        read_ns=reads[0].started_ns if reads else None,
        log=log,
    )


def _failed_bytes(sample: Sample) -> int:
    stimulus = sample.step.stimulus
    return sum(errors.count for errors in sample.errors) * (stimulus.block_size_bytes if stimulus else 0)


def _writes(sample: Sample) -> bool:
    stimulus = sample.step.stimulus
    return stimulus is not None and stimulus.operations.write > 0


def stretches(cycles: Sequence[DriveCycle], before: Log) -> tuple[Span, ...]:
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


def _stretch(cycles: Sequence[DriveCycle], before: Log) -> Span:
    after = cycles[-1].log
    return Span(
        first=cycles[0].number,
        last=cycles[-1].number,
        write=Measured(**sum_parts([cycle.write for cycle in cycles])),
        read=Measured(**sum_parts([cycle.read for cycle in cycles])),
        errors=sum(cycle.errors for cycle in cycles),
        media_errors=rise(before, after, "media_errors"),
        wear_pct=after.get("percentage_used_pct"),
        spare_pct=after.get("available_spare_pct"),
        write_amplification=write_amplification(before, after),
    )


def rise(before: Log, after: Log, name: str) -> float | None:
    """By how much a counter rose; None where a reading lacks it."""
    return after[name] - before[name] if name in before and name in after else None


def wear_points(cycles: Sequence[DriveCycle], before: Log) -> tuple[tuple[float, float], ...]:
    """Cycles done and per cent of the rated life used, the state before the first included."""
    first = cycles[0].number - 1 if cycles else 0
    readings = [
        (float(first), before),
        *((float(cycle.number), cycle.log) for cycle in cycles if cycle.complete),
    ]
    return tuple((done, log["percentage_used_pct"]) for done, log in readings if "percentage_used_pct" in log)
