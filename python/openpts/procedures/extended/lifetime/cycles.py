"""A lifetime run from its record: drive cycles, why it ended, and the forecast of wear."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from openpts.pages import cells
from openpts.pages.model import Verdict
from openpts.procedures.extended.lifetime.conditions import LifetimeConditions
from openpts.procedures.extended.lifetime.results import (
    Crossing,
    DriveCycle,
    FittedLine,
    Log,
    drive_cycle,
    wear_points,
)
from openpts.procedures.kit.header import of_cycle
from openpts.procedures.kit.standing import state_sentence
from openpts.record.reader import Run
from openpts.units import GB, NS_PER_S, TB, format_duration
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.phase import Phase

CONFIDENCE: Final = 0.95
RATED_LIFE_PCT: Final = 100


@dataclass(frozen=True)
class LifetimeRun:
    """What a run measured."""

    run: Run
    conditions: LifetimeConditions

    @cached_property
    def _logs(self) -> list[Log]:
        """The log before the first cycle, and after each."""
        return [health.reading.values for health in self.run.health if health.phase is Phase.DRIVE_CYCLE]

    @property
    def before(self) -> Log:
        """The log before the first cycle; empty if it was never read."""
        return self._logs[0] if self._logs else {}

    @cached_property
    def cycles(self) -> tuple[DriveCycle, ...]:
        """The cycles that were begun."""
        steps = self.run.phase(Phase.DRIVE_CYCLE)
        numbers = dict.fromkeys(step.place.number for step in steps)
        return tuple(
            drive_cycle(
                number,
                [step.sample for step in steps if step.place.number == number],
                self._logs[number] if number < len(self._logs) else {},
            )
            for number in numbers
        )

    @property
    def whole(self) -> tuple[DriveCycle, ...]:
        """The cycles that came to their end."""
        return tuple(cycle for cycle in self.cycles if cycle.complete)

    @property
    def ended_by(self) -> str:
        """Why there was no further cycle; empty if the record does not have it."""
        finished = of_cycle(self.run.manifest.cycles, 1)
        return finished.outcome.ended_by if finished else ""

    @cached_property
    def line(self) -> FittedLine | None:
        """The line through the wear after each cycle."""
        return FittedLine.through(wear_points(self.cycles, self.before))

    @property
    def forecast(self) -> Crossing | None:
        """When the rated life is used up, in cycles of this run; None if it can't be forecast."""
        return None if self.line is None else self.line.crossing(RATED_LIFE_PCT, CONFIDENCE)

    @property
    def written_bytes(self) -> int:
        """All that was written."""
        return sum(cycle.write.bytes for cycle in self.cycles)

    @property
    def bytes_per_cycle(self) -> float:
        """What a whole cycle writes; 0 if none came to its end."""
        return sum(c.write.bytes for c in self.whole) / len(self.whole) if self.whole else 0.0


def end_verdict(measured: LifetimeRun) -> Verdict:
    """How far it came and why it ended."""
    cycles, whole = measured.cycles, measured.whole
    if not cycles:
        return Verdict("Lifetime: n/a (no cycle was begun).", "fail")
    elapsed_ns = sum(cycle.write.elapsed_ns + cycle.read.elapsed_ns for cycle in cycles)
    ended_by = measured.ended_by
    failed = any(cycle.failure for cycle in cycles)
    reason = f"Ended by: {ended_by}." if ended_by else state_sentence(measured.run.manifest)
    amount = (
        f"{measured.written_bytes / TB:,.2f} TB"
        if measured.written_bytes >= TB
        else f"{cells.fixed(measured.written_bytes / GB, 1)} GB"
    )
    return Verdict(
        f"{len(whole)} whole drive cycle{'' if len(whole) == 1 else 's'}, {amount} written in "
        f"{format_duration(elapsed_ns)} with I/O. {reason}",
        "fail" if failed or not ended_by else "info",
    )


def errors_verdict(measured: LifetimeRun) -> Verdict:
    """Errors that were found, and whether data was compared."""
    errors = sum(cycle.errors for cycle in measured.cycles)
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
    if not points:
        return Verdict(f"{name}: n/a (the drive's log has no share of the rated life).")
    forecast = measured.forecast
    if forecast is None:
        used = points[-1][1]
        return Verdict(
            f"{name}: {used:.3g} % used after {points[-1][0]:.0f} cycles; no forecast "
            f"({'too few readings' if measured.line is None else 'the wear did not rise'})."
        )
    done = points[-1][0]
    earliest = max(forecast.earliest, done) if points[-1][1] < RATED_LIFE_PCT else forecast.earliest
    latest = "no upper end" if forecast.latest is None else cells.fixed(forecast.latest, 0)
    written_tb = forecast.likely * measured.bytes_per_cycle / TB
    return Verdict(
        f"{name}: 100 % used after {cells.fixed(forecast.likely, 0)} cycles of this run "
        f"({100 * CONFIDENCE:g} % interval {cells.fixed(earliest, 0)} to {latest}), some {written_tb:,.3g} "
        f"TB written. Straight line through {len(points)} readings of the drive's log, valid if the drive "
        "goes on as in these cycles."
    )


def seconds(elapsed_ns: int) -> float:
    """A time in s."""
    return elapsed_ns / NS_PER_S
