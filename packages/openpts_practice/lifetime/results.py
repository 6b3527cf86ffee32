"""A lifetime run from its record: drive cycles, stretches of wear, why it ended, and the forecast."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Final, Self

from msgspec import Struct, field

from openpts.analysis.drive_work import write_amplification
from openpts.analysis.latency import Figures
from openpts.analysis.minutes import sum_parts
from openpts.analysis.ratio import critical_value
from openpts.procedures.kit.header import of_cycle
from openpts.procedures.kit.standing import state_sentence
from openpts.procedures.kit.steps import Metric
from openpts.record.health import HealthRecord
from openpts.record.reader import Run, ns_between
from openpts.units import GB, MB, TB, format_duration
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.sample import IoErrors, IoFailure, Measured, Phase, Sample, StepState
from openpts_pages import cells
from openpts_pages.model import Verdict
from openpts_practice.lifetime import LifetimeConditions, ReadBack

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
    def errors(self) -> tuple["FoundErrors", ...]:
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

    @cached_property
    def line(self) -> FittedLine | None:
        """The line through the wear after each cycle."""
        return FittedLine.through(wear_points(self.cycles, self.before))

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


def end_verdict(measured: LifetimeRun) -> Verdict:
    """How far it came and why it ended."""
    cycles, whole = measured.cycles, measured.whole
    if not cycles:
        ended = f"; ended by: {measured.ended_by}" if measured.ended_by else ""
        return Verdict(f"Lifetime: n/a (no cycle was begun{ended}).", "fail")
    elapsed_ns = sum(cycle.write.elapsed_ns + cycle.read.elapsed_ns for cycle in cycles)
    ended_by = measured.ended_by
    failed = any(cycle.failure for cycle in cycles)
    reason = f"Ended by: {ended_by}." if ended_by else state_sentence(measured.run.manifest)
    amount = (
        f"{measured.written_bytes / TB:,.2f} TB"
        if measured.written_bytes >= TB
        else f"{cells.fixed(measured.written_bytes / GB, 1)} GB"
    )
    after = measured.conditions.continues
    numbered = "" if after is None else f" (numbers {cycles[0].number} to {cycles[-1].number})"
    return Verdict(
        f"{len(whole)} whole drive cycle{'' if len(whole) == 1 else 's'}{numbered}, {amount} written in "
        f"{format_duration(elapsed_ns)} with I/O. {reason}",
        "fail" if failed or not ended_by else "info",
    )


def errors_verdict(measured: LifetimeRun) -> Verdict:
    """Errors that were found, and whether data was compared."""
    errors = sum(found.errors.count for found in measured.errors)
    logs = [cycle.log for cycle in measured.cycles if cycle.log]
    counted = (
        logs[-1]["media_errors"] - measured.before["media_errors"]
        if logs and "media_errors" in logs[-1] and "media_errors" in measured.before
        else None
    )
    own = "not in its log" if counted is None else f"{counted:,.0f}"
    if measured.conditions.compares:
        compared = "All reads were compared with what their cycle wrote."
    elif measured.run.manifest.target.kind is TargetKind.SIMULATED:
        compared = "No reads were compared: a simulated drive keeps no data."
    else:
        compared = "No reads were compared with what was written: the operator switched that off."
    return Verdict(
        f"I/Os that failed or returned other data than was written: {errors:,}; media errors counted by the "
        f"drive: {own}. {compared}",
        "fail" if errors or counted else "info",
    )


def forecast_verdict(measured: LifetimeRun) -> Verdict:
    """When the rated life is used up, always as an interval."""
    points = wear_points(measured.cycles, measured.before)
    name = "Rated life"
    after = measured.conditions.continues
    counted = "" if after is None else f", counted on from {after.run}"
    if not points:
        return Verdict(f"{name}: n/a (the drive's log has no share of the rated life).")
    forecast = measured.forecast
    if forecast is None:
        used = points[-1][1]
        return Verdict(
            f"{name}: {used:.3g} % used after {points[-1][0]:.0f} cycles{counted}; no forecast "
            f"({'too few readings' if measured.line is None else 'the wear did not rise'})."
        )
    done = points[-1][0]
    earliest = max(forecast.earliest, done) if points[-1][1] < RATED_LIFE_PCT else forecast.earliest
    latest = "no upper end" if forecast.latest is None else cells.fixed(forecast.latest, 0)
    written_tb = forecast.likely * measured.bytes_per_cycle / TB
    return Verdict(
        f"{name}: 100 % used after {cells.fixed(forecast.likely, 0)} cycles"
        f"{counted or ' of this run'} "
        f"({100 * CONFIDENCE:g} % interval {cells.fixed(earliest, 0)} to {latest}), some {written_tb:,.3g} "
        f"TB written. Straight line through {len(points)} readings of the drive's log, valid if the drive "
        "goes on as in these cycles."
    )
