"""A lifetime run from its record: drive cycles, stretches of wear, why it ended, and the forecast."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Final, Self

from msgspec import Struct, field

from openpts.analysis.latency import Figures
from openpts.analysis.minutes import sum_parts
from openpts.analysis.ratio import critical_value
from openpts.procedures.kit.header import of_cycle
from openpts.procedures.kit.steps import Metric
from openpts.record.health import HealthRecord
from openpts.record.reader import Run, ns_between
from openpts.units import MB
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.sample import IoErrors, IoFailure, Measured, Phase, Sample, StepState
from openpts_practice.lifetime import LifetimeConditions, ReadBack
from openpts_work.counters import write_amplification

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
        """Prediction interval: a single further point at x is in it with that probability."""
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
        middle = self.slope * above
        discriminant = middle**2 - square * rest
        if square > 0:
            root = math.sqrt(max(0.0, discriminant))
            earliest, latest = (self.mean_x + (middle + one) / square for one in (-root, root))
            return Crossing(earliest, likely, latest)
        # the interval's lower end never reaches the value
        if square == 0:
            earliest = self.mean_x + rest / (2 * middle) if middle else -math.inf
        elif discriminant < 0:
            earliest = -math.inf
        else:
            earliest = self.mean_x + (middle - math.sqrt(discriminant)) / square
        return Crossing(earliest, likely, None)


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
    writes, reads = [], []
    done_bytes = 0
    for sample in samples:
        stimulus = sample.step.stimulus
        if stimulus is not None and stimulus.operations.write:
            writes.append(sample)
            continue
        reads.append(sample)
        failed_bytes = stimulus.block_size_bytes * sum(e.count for e in sample.errors) if stimulus else 0
        done_bytes += sample.read.bytes + failed_bytes
    found = tuple(errors for sample in samples for errors in sample.errors)
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
    found = []
    for group in groups:
        after = group[-1].log
        found.append(
            Span(
                first=group[0].number,
                last=group[-1].number,
                write=Measured(**sum_parts([cycle.write for cycle in group])),
                read=Measured(**sum_parts([cycle.read for cycle in group])),
                errors=sum(cycle.errors for cycle in group),
                media_errors=rise(before, after, "media_errors"),
                wear_pct=after.get("percentage_used_pct"),
                spare_pct=after.get("available_spare_pct"),
                write_amplification=write_amplification(before, after),
            )
        )
        before = after
    return tuple(found)


def rise(before: Log, after: Log, name: str) -> float | None:
    """By how much a counter rose; None where a reading lacks it."""
    return after[name] - before[name] if name in before and name in after else None


def wear_points(cycles: Sequence[DriveCycle], before: Log) -> tuple[tuple[float, float], ...]:
    """Cycles done and per cent of the rated life used, the state before the first included."""
    first = cycles[0].number - 1 if cycles else 0
    readings = [(first, before), *((cycle.number, cycle.log) for cycle in cycles if cycle.complete)]
    return tuple(
        (float(done), log["percentage_used_pct"]) for done, log in readings if "percentage_used_pct" in log
    )


CONFIDENCE: Final = 0.95
RATED_LIFE_PCT: Final = 100
_TAIL_PCT: Final = 99.9


class FoundErrors(Struct, frozen=True):
    """I/Os of a cycle that failed alike; ``is_later``: in the later read of what it wrote."""

    cycle: int
    errors: IoErrors
    is_later: bool = False


class LifetimeRun(Struct, frozen=True, dict=True):
    """What a run measured."""

    run: Run
    conditions: LifetimeConditions

    @cached_property
    def _cycle_readings(self) -> list[HealthRecord]:
        """Before the first cycle, and after each."""
        return [health for health in self.run.health if health.phase is Phase.DRIVE_CYCLE]

    @cached_property
    def _later_readings(self) -> list[HealthRecord]:
        """Before the later read, and after it."""
        return [health for health in self.run.health if health.phase is Phase.LATER_READ]

    def log_after(self, number: int) -> Log:
        """The log after a cycle, or before the first; empty if it was never read."""
        readings = self._cycle_readings
        place = number - self.conditions.first_cycle + 1
        return readings[place].reading.values if place < len(readings) else {}

    @property
    def before(self) -> Log:
        """The log before the first cycle; empty if it was never read."""
        return self.log_after(self.conditions.first_cycle - 1)

    def began_at(self, number: int) -> str:
        """When a cycle began that did: when the log before it was read, ISO 8601."""
        return self._cycle_readings[number - self.conditions.first_cycle].read_at

    @cached_property
    def cycles(self) -> tuple[DriveCycle, ...]:
        """The cycles that were begun."""
        samples: dict[int, list[Sample]] = {}
        for step in self.run.phase(Phase.DRIVE_CYCLE):
            samples.setdefault(step.place.number, []).append(step.sample)
        return tuple(drive_cycle(number, found, self.log_after(number)) for number, found in samples.items())

    @property
    def whole(self) -> tuple[DriveCycle, ...]:
        """The cycles that came to their end."""
        return tuple(cycle for cycle in self.cycles if cycle.complete)

    @cached_property
    def errors(self) -> tuple[FoundErrors, ...]:
        """All I/Os that failed, in their order."""
        after = self.conditions.continues
        earlier = [
            FoundErrors(after.cycle, errors, is_later=True)
            for sample in self.later_read
            for errors in sample.errors
            if after is not None
        ]
        return (*earlier, *(FoundErrors(c.number, errors) for c in self.cycles for errors in c.found))

    @property
    def ended_by(self) -> str:
        """Why there was no further cycle; empty if the record does not have it."""
        finished = of_cycle(self.run.manifest.cycles, 1)
        return finished.outcome.ended_by if finished else ""

    @cached_property
    def later_read(self) -> tuple[Sample, ...]:
        """The steps that read what the earlier run wrote."""
        return tuple(step.sample for step in self.run.phase(Phase.LATER_READ))

    @cached_property
    def reads_back(self) -> tuple[ReadBack, ...]:
        """Reads of data that waited: those of earlier runs, then this run's own."""
        after, samples = self.conditions.continues, self.later_read
        if after is None:
            return ()
        if not samples:
            return after.reads
        return (
            *after.reads,
            read_back(
                samples,
                run=self.run.manifest.test_id,
                cycle=after.cycle,
                age_ns=self.age_ns,
                temperatures_c=(after.written_c, self._warmth),
            ),
        )

    @property
    def _warmth(self) -> float | None:
        """The drive's temperature after the later read."""
        readings = self._later_readings
        return readings[1].reading.values.get("temperature_c") if len(readings) > 1 else None

    @property
    def age_ns(self) -> int | None:
        """How old the earlier run's data was when it was read; None where that can't be known."""
        after, readings = self.conditions.continues, self._later_readings
        if after is None or not self.later_read or not readings:
            return None
        if self.run.manifest.target.kind is TargetKind.SIMULATED:
            return self.later_read[0].started_ns - after.written_ns
        passed_ns = ns_between(after.written_at, readings[0].read_at)
        return passed_ns if passed_ns >= 0 else None

    @property
    def wear(self) -> tuple[tuple[float, float], ...]:
        """Per cent of the rated life used, by cycles done, over all runs that this one continues."""
        after = self.conditions.continues
        own = wear_points(self.cycles, self.before) if self.cycles or after is None else ()
        return own if after is None else tuple(sorted(dict((*after.wear, *own)).items()))

    @cached_property
    def line(self) -> FittedLine | None:
        """The line through the wear after each cycle."""
        return FittedLine.through(self.wear)

    @property
    def forecast(self) -> Crossing | None:
        """When the rated life is used up, in cycles counted on; None if it can't be forecast."""
        return None if self.line is None else self.line.crossing(RATED_LIFE_PCT, CONFIDENCE)

    @property
    def end_of_life(self) -> int | None:
        """The cycle in which a write failed; None if none did."""
        failed = [c.number for c in self.cycles if c.failure is not None and c.failure.operation == "write"]
        return failed[0] if failed else None

    @property
    def written_bytes(self) -> int:
        """All that was written."""
        return sum(cycle.write.bytes for cycle in self.cycles)

    @property
    def bytes_per_cycle(self) -> float:
        """What a whole cycle writes; 0 if none came to its end."""
        return sum(c.write.bytes for c in self.whole) / len(self.whole) if self.whole else 0.0


def read_back(
    samples: Sequence[Sample],
    *,
    run: str,
    cycle: int,
    age_ns: int | None,
    temperatures_c: tuple[float | None, float | None],
) -> ReadBack:
    """What reading everything that a cycle wrote was like; ``samples`` are of reads alone.

    ``temperatures_c`` are those of the drive when all was written, and when all was read.
    """
    read = Figures.of((sample.read for sample in samples), sum(sample.elapsed_ns for sample in samples))
    times = read.distribution
    return ReadBack(
        cycle=cycle,
        run=run,
        age_ns=age_ns,
        written_c=temperatures_c[0],
        read_c=temperatures_c[1],
        bytes_per_s=read.bandwidth_bytes_per_s if read.elapsed_ns else None,
        mean_ns=read.mean_latency_ns,
        p999_ns=times.percentile_ns(_TAIL_PCT) if times.supports(_TAIL_PCT) else None,
        max_ns=read.max_latency_ns,
        errors=sum(errors.count for sample in samples for errors in sample.errors),
    )
