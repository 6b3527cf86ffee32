"""The preconditioning comparison as its record has it: courses and rows by state, and by entropy.

Implements: LSI-PRE-01 to 05, LSI-PROC-05.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct

from openpts.analysis.minutes import Minute, minutes_of, starts_ns
from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.procedures.kit.content import set_remarks
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import Duration
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_practice.rows import FigureUnit, ProfileRow
from openpts_practice.rows.precon import DriveState, InitialState, PreconConditions
from openpts_practice.rows.steps import RowFigure, loss_pct, range_of
from openpts_practice.rows.tables import MeasuredRow, measured_row
from openpts_pts.shared.saturation import SaturationStep, disturbed_minutes, steady_round_of, tracked_iops


class CourseResults(Struct, frozen=True):
    """One course. ``tracked_iops`` are those of tracked minutes 1, 2, ...

    ``steady_round`` is the tracked minute at which steady state was found, ``verdict`` the window that ends
    there, or at the last one; None with fewer than five. ``steady_after_ns`` and ``steady_after_bytes`` are
    time and bytes written from the start of the course to the end of that minute.
    """

    minutes: tuple[Minute, ...]
    tracked_iops: tuple[float, ...]
    elapsed_ns: int
    written_bytes: int
    steady_round: int | None
    verdict: SteadyStateReport | None
    steady_after_ns: int | None
    steady_after_bytes: int | None

    @property
    def first_iops(self) -> float | None:
        """IOPS of the first minute."""
        return self.tracked_iops[0] if self.tracked_iops else None

    @property
    def steady_iops(self) -> float | None:
        """Average of the steady window."""
        return self.verdict.average if self.verdict is not None and self.steady_round is not None else None

    @property
    def factor(self) -> float | None:
        """First minute over steady state."""
        if self.first_iops is None or not self.steady_iops:
            return None
        return self.first_iops / self.steady_iops


def analyze_course(samples: Sequence[Sample], minute_ns: int, least_bytes: float) -> CourseResults:
    """The course from its steps in order; steady state counts once ``least_bytes`` are written."""
    steps = rounds_of(samples)
    tracked = tracked_iops(steps, minute_ns)
    steady_round = steady_round_of(steps, minute_ns, least_bytes)
    last = steady_round or len(tracked)
    end = next((n for n, step in enumerate(steps) if step.tracked and step.number == steady_round), None)
    starts = starts_ns(samples)
    written = list(accumulate(sample.write.bytes for sample in samples))
    return CourseResults(
        minutes=minutes_of(samples, minute_ns),
        tracked_iops=tracked,
        elapsed_ns=starts[-1] + samples[-1].elapsed_ns if samples else 0,
        written_bytes=written[-1] if written else 0,
        steady_round=steady_round,
        verdict=window_ending_at(tracked, last, disturbed_minutes(steps)) if last >= WINDOW_ROUNDS else None,
        steady_after_ns=None if end is None else starts[end] + samples[end].elapsed_ns,
        steady_after_bytes=None if end is None else written[end],
    )


def rounds_of(samples: Sequence[Sample]) -> tuple[SaturationStep, ...]:
    """The steps with the tracked minute that each belongs to: only those end by their time alone."""
    found: list[SaturationStep] = []
    number = 1
    for sample in samples:
        tracked = isinstance(sample.step.stop, Duration)
        found.append(SaturationStep(number, tracked, sample))
        number += tracked
    return tuple(found)


def reached_at(minutes: Sequence[Minute], amount_bytes: float) -> Minute | None:
    """The minute in which so many bytes were written since the start; None if that was never so."""
    place = bisect_left(minutes, amount_bytes, key=lambda minute: minute.written_bytes)
    return minutes[place] if place < len(minutes) else None


STATES: Final = tuple(DriveState)


class StateRow(Struct, frozen=True):
    """A row in one state. ``written_before_bytes`` since the state was made or restored.

    ``conditioned``: that was right before this row.
    """

    measured: MeasuredRow
    written_before_bytes: int
    conditioned: bool

    @property
    def value(self) -> float | None:
        """The row's figure in its first unit; None of passes that are discarded."""
        return self.measured.value(self.unit)

    @property
    def absence(self) -> str:
        """Why there is no value."""
        return "not measured" if self.figure is None else "; ".join(set_remarks(self.figure.passes, "pass"))

    @property
    def figure(self) -> RowFigure | None:
        """All that the tool would show of it."""
        return self.measured.first_figure

    @property
    def unit(self) -> FigureUnit:
        """In what the row is shown and compared."""
        return self.measured.row.units[0]


# LSI-PRE-04
def counting_state(row: ProfileRow) -> DriveState:
    """The state whose figure counts: for random use after random writes, for sequential after sequential."""
    return DriveState.RANDOM if row.random_pct else DriveState.SEQUENTIAL


def loss_of(fresh: StateRow, used: StateRow) -> float | None:
    """What a state costs: of rates per cent of the fresh figure, of response times how often it takes that.

    None where either was not measured, or the fresh figure is 0.
    """
    if fresh.value is None or used.value is None or not fresh.value:
        return None
    return used.value / fresh.value if fresh.unit.is_time else loss_pct(fresh.value, used.value)


def course_of(run: Run, conditions: PreconConditions, start: InitialState) -> CourseResults:
    """The random writes that began in a situation."""
    least_fills = 0 if start.state is DriveState.RANDOM else conditions.steady_after_drive_fills
    return analyze_course(
        [step.sample for step in run.phase(Phase.LOAD, number=conditions.load_number(start))],
        conditions.minute_ns,
        least_fills * run.manifest.target.user_capacity_bytes,
    )


def state_row(run: Run, conditions: PreconConditions, situation: InitialState, place: int) -> StateRow:
    """The row at a place among all, in a situation."""
    steps = run.phase(Phase.PROFILE, number=conditions.row_number(situation, place))
    before = _before(run, steps[0]) if steps else ()
    made = _makers(run, conditions, situation, before)
    last_made = max(made, default=-1)
    since = before[last_made + 1 :]
    return StateRow(
        measured=measured_row(
            conditions.rows[place][1], [step.sample for step in steps], conditions.set_rule
        ),
        written_before_bytes=sum(step.sample.write.bytes for step in since),
        conditioned=bool(made) and not any(step.place.phase is Phase.PROFILE for step in since),
    )


def _makers(
    run: Run, conditions: PreconConditions, situation: InitialState, before: Sequence[StepRecord]
) -> list[int]:
    """Which of the steps made the state or restored it: not those that wrote a test file among the rows."""
    rows = {n for n, step in enumerate(before) if step.place.phase is Phase.PROFILE}
    if situation.state is DriveState.FRESH:
        return list(range(min(rows, default=len(before))))
    conditioned = range_of(conditions, None, run.manifest.target.user_capacity_bytes)
    return [
        n
        for n, step in enumerate(before)
        if n not in rows
        and (stimulus := step.sample.step.stimulus) is not None
        and stimulus.active_range.start_pct == conditioned.start_pct
    ]


def _before(run: Run, first: StepRecord) -> tuple[StepRecord, ...]:
    """Everything in the same cycle before a step."""
    place = run.steps.index(first)
    return tuple(step for step in run.steps[:place] if step.place.cycle == first.place.cycle)
