"""Preconditioning Comparison: practice beyond the PTS."""

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.fields import usual
from openpts.fields.conditions import Contradictions
from openpts.fields.field import FILLS, PASSES, Field, listed, percent
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.stimulus import DataPattern, ReducibleData
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload
from openpts_practice.rows import ProfileRow
from openpts_practice.rows.conditions import ROW_PARAMETERS, PreconditionedConditions


class DriveState(StrEnum):
    """What a drive has been through before it is measured, in the order of the test."""

    FRESH = "FOB"
    SEQUENTIAL = "after SEQ"
    RANDOM = "after RND"


class InitialState(Struct, frozen=True):
    """What a cycle of the test measures in: a state, made with data of ``entropy_pct``, if that is varied."""

    state: DriveState
    entropy_pct: float | None = None

    def __str__(self) -> str:
        return (
            str(self.state) if self.entropy_pct is None else f"{self.state}, entropy {self.entropy_pct:g} %"
        )


# LSI-PRE-01 to 05
class PreconConditions(PreconditionedConditions, frozen=True, kw_only=True, tag_field="test", tag="precon"):
    """The figures of benchmarks on a fresh drive, after sequential and after random writes.

    Of each of ``entropies_pct`` these are states of their own: conditioning, and rows without data of their
    own, write data of that entropy; without any, the data of the test.
    ``workload`` at ``tc`` and ``qd`` is the random conditioning. Its course is tracked by single minutes that
    begin ``tracking_period_ns`` apart, or ``tracking_fills`` user capacities where those are written before:
    it ends when they are steady, but not before ``steady_after_drive_fills`` user capacities, and at
    ``drive_fills`` or ``longest_ns`` at the latest. Before a row is measured in a state that the row before
    has disturbed, ``recondition_passes`` user capacities are written to bring it back. Rows with a test file
    have at most ``file_share_pct`` of the active range for it, so that a fresh drive stays fresh.
    """

    steady_state = SteadyState.MINUTES
    parameters = (
        "benchmarks",
        *ROW_PARAMETERS,
        "entropies_pct",
        "leave_free",
        "tc",
        "qd",
        ...,
        "longest_pass_ns",
        "longest_pause_ns",
    )

    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(
            help="Times the user capacity written in sequence for the second state."
        ),
    ]
    recondition_passes: Annotated[
        float,
        Field(
            "State restored with (x user capacity)",
            "Times the user capacity written to bring a state back that a row has disturbed.",
            PASSES,
            rare=True,
        ),
    ]
    workload: Annotated[Workload, usual.ONE_WORKLOAD]
    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    drive_fills: Annotated[
        float,
        usual.DRIVE_FILLS.but(
            help="End random writes that are not steady after this many times the user capacity."
        ),
    ]
    longest_ns: Annotated[
        int, usual.LONGEST.but(help="End random writes that are not steady after this time.")
    ]
    tracking_period_ns: Annotated[int, usual.TRACKING_PERIOD]
    tracking_fills: Annotated[
        float,
        Field(
            "From one tracked minute to the next, at most (x user capacity)",
            "Tracked minutes are no further apart than this many times the user capacity.",
            FILLS,
            name="tracking_drive_fills",
            rare=True,
        ),
    ]
    steady_after_drive_fills: Annotated[
        float,
        usual.STEADY_AFTER.but(
            help="Random writes from fresh and after sequential writes continue for so many times the user "
            "capacity at the least."
        ),
    ]
    file_share_pct: Annotated[
        float,
        Field(
            "Test file, at most (% of active range)",
            "Largest share of the active range that the test file may have.",
            percent(gt=0, le=100),
            rare=True,
        ),
    ]

    entropies_pct: Annotated[
        tuple[float, ...],
        Field(
            "Entropies (%)",
            "Make each state with data of these entropies, in per cent of that of random bytes: "
            "0,46,100; the data pattern of the test alone.",
            listed(percent(ge=0, le=100)),
            examples=([0, 46, 100],),
        ),
    ] = ()

    @property
    def situations(self) -> tuple[InitialState, ...]:
        """The cycles of the test in their order."""
        levels = self.entropies_pct or (None,)
        return tuple(InitialState(state, level) for level in levels for state in DriveState)

    @property
    def data_patterns(self) -> tuple[DataPattern, ...]:
        """What conditioning writes, in all situations."""
        return tuple(self.of(situation).data for situation in self.situations)

    def of(self, situation: InitialState) -> Self:
        """The conditions with the data of a situation."""
        if situation.entropy_pct is None:
            return self
        return replace(self, data=ReducibleData(situation.entropy_pct))

    def load_number(self, situation: InitialState) -> int:
        """The number of the load part that has the course from a state."""
        return self.situations.index(situation) + 1

    def row_number(self, situation: InitialState, place: int) -> int:
        """The number of the profile part that measures a row in a situation; ``place`` counts from 0."""
        return self.situations.index(situation) * len(self.rows) + place + 1

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """Situation and row of a profile part, in whatever order they were measured."""
        at, place = divmod(number - 1, len(self.rows))
        benchmark, row = self.rows[place]
        where = str(self.situations[at])
        return (where if len(self.benchmarks) == 1 else f"{where}, {benchmark.title}"), row

    def part_name(self, place: StepPlace) -> str | None:
        """Rows by situation, conditionings by the one that they make, courses by where they start."""
        match place.phase:
            case Phase.CONDITIONING:
                return f"Conditioning, {self.situations[place.cycle - 1]}"
            case Phase.LOAD:
                return f"Random writes from {self.situations[place.number - 1]}"
            case _:
                return super().part_name(place)

    @property
    def rests(self) -> tuple[str, ...]:
        """Before the rows of each benchmark, in each state."""
        return tuple(f"{situation}, {one.title}" for situation in self.situations for one in self.benchmarks)

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """Random writes have one range; the data of a state comes from one place."""
        yield from super().contradictions(given)
        if self.leave_free is not None and self.leave_free.places > 1:
            yield ("leave_free",), "random writes go to one range: leave one place free, such as 10GB"
        if self.entropies_pct and "data_pattern" in given:
            yield ("data_pattern", "entropies_pct"), "entropies_pct names the data of each state"


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=PreconConditions,
    title="Preconditioning Comparison",
    short_title="Precon",
    question="How much of a figure is due to what was written before?",
    purpose="""Figures of a drive fresh, after sequential and after random writes.

    At full length: the rows on the purged drive. A purge, the user capacity written twice in sequence, the
    rows, and random writes until single minutes are steady. A purge, random writes until steady, twice, and
    the rows. Random writes end after 6 x user capacity or 12 hours at the latest, each of the three times.
    """,
    quick={
        "step_seconds": 0.2,
        "longest_pass_seconds": 0.5,
        "precondition_passes": 1,
        "recondition_passes": 0.1,
        "steady_after_drive_fills": 0.5,
        "drive_fills": 1,
        "longest_seconds": 20,
        "tracking_seconds": 2,
    },
    log_around=frozenset({Phase.PROFILE}),
    phase_line="openpts_practice.rows.phase_line:phase_line",
)
