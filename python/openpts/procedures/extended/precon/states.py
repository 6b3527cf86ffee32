"""The preconditioning comparison as its record has it: courses and rows by state.

Implements: LSI-PRE-01 to 05, LSI-PROC-05.
"""

from dataclasses import dataclass
from typing import Final

from openpts.analysis.run_comparison import SetRule
from openpts.procedures.extended.precon.conditions import DriveState, PreconConditions
from openpts.procedures.extended.precon.results import CourseResults, analyse_course
from openpts.procedures.kit.benchmark_profile import FigureUnit, ProfileRow
from openpts.procedures.kit.spread import set_words
from openpts.procedures.shared.benchmark.results import RowFigure
from openpts.procedures.shared.benchmark.tables import MeasuredRow, measured_row
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.phase import Phase

STATES: Final = tuple(DriveState)


@dataclass(frozen=True, slots=True)
class StateRow:
    """A row in one state. ``written_before_bytes`` since the state was made or restored.

    ``conditioned``: that was right before this row.
    """

    measured: MeasuredRow
    written_before_bytes: int
    conditioned: bool

    @property
    def value(self) -> float | None:
        """The row's figure in its first unit; None of passes that are discarded."""
        return None if self.figure is None or self.figure.discarded else self.figure.shown

    @property
    def absence(self) -> str:
        """Why there is no value."""
        return "not measured" if self.figure is None else "; ".join(set_words(self.figure.passes, "pass"))

    @property
    def figure(self) -> RowFigure | None:
        """All that the tool would show of it."""
        return self.measured.figure(self.unit)

    @property
    def unit(self) -> FigureUnit:
        """In what the row is shown and compared."""
        return self.measured.row.units[0]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of a run: courses by the state from which they start, rows by state in the profile's order."""

    run: Run
    conditions: PreconConditions
    courses: dict[DriveState, CourseResults]
    rows: dict[DriveState, tuple[StateRow, ...]]

    @property
    def capacity_bytes(self) -> int:
        """User capacity."""
        return self.run.manifest.target.user_capacity_bytes

    def fills(self, amount_bytes: float) -> float:
        """An amount in user capacities."""
        return amount_bytes / self.capacity_bytes if self.capacity_bytes else 0.0


# LSI-PRE-04
def counting_state(row: ProfileRow) -> DriveState:
    """The state whose figure counts: for random use after random writes, for sequential after sequential."""
    return DriveState.RANDOM if row.random_pct else DriveState.SEQUENTIAL


def comparison_of(run: Run) -> Comparison:
    """What was measured, from the record."""
    conditions = run.manifest.conditions
    assert isinstance(conditions, PreconConditions)  # noqa: S101 the registry calls by test
    capacity_bytes = run.manifest.target.user_capacity_bytes
    return Comparison(
        run=run,
        conditions=conditions,
        courses={
            state: analyse_course(
                [step.sample for step in run.phase(Phase.LOAD, number=number)],
                conditions.minute_ns,
                0 if state is DriveState.RANDOM else conditions.steady_after_drive_fills * capacity_bytes,
            )
            for number, state in enumerate(STATES, start=1)
        },
        rows={state: _rows(run, conditions, state) for state in STATES},
    )


def _rows(run: Run, conditions: PreconConditions, state: DriveState) -> tuple[StateRow, ...]:
    return tuple(
        _row(run, row, conditions.row_number(state, place), conditions.set_rule)
        for place, row in enumerate(conditions.benchmark.rows)
    )


def _row(run: Run, row: ProfileRow, number: int, rule: SetRule) -> StateRow:
    steps = run.phase(Phase.PROFILE, number=number)
    before = _before(run, steps[0]) if steps else ()
    last_made = max((n for n, step in enumerate(before) if step.place.phase is not Phase.PROFILE), default=-1)
    return StateRow(
        measured=measured_row(row, [step.sample for step in steps], rule),
        written_before_bytes=sum(step.sample.write.bytes for step in before[last_made + 1 :]),
        conditioned=bool(before) and last_made == len(before) - 1,
    )


def _before(run: Run, first: StepRecord) -> tuple[StepRecord, ...]:
    """Everything in the same cycle before a step."""
    place = run.steps.index(first)
    return tuple(step for step in run.steps[:place] if step.place.cycle == first.place.cycle)
