"""The conditions of the preconditioning comparison."""

from enum import StrEnum
from typing import Annotated

from openpts.fields import usual
from openpts.fields.field import Field
from openpts.fields.kinds import FILLS, PASSES, percent
from openpts.procedures.kit.benchmark_profile import BenchmarkProfile, ProfileRow
from openpts.procedures.shared.benchmark import NAMES
from openpts.procedures.shared.benchmark.conditions import (
    BENCHMARK,
    LONGEST,
    UNTIL_ALIKE,
    PreconditionedConditions,
    at_its_scale,
    benchmark_text,
    passes_of,
)
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload


class DriveState(StrEnum):
    """What a drive has been through before it is measured, in the order of the test."""

    FRESH = "FOB"
    SEQUENTIAL = "after SEQ"
    RANDOM = "after RND"


# LSI-PRE-01 to 05
class PreconConditions(PreconditionedConditions, frozen=True, kw_only=True, tag_field="test", tag="precon"):
    """The figures of one benchmark on a fresh drive, after sequential and after random writes.

    ``workload`` at ``tc`` and ``qd`` is the random conditioning. Its course is tracked by single minutes that
    begin ``tracking_period_ns`` apart, or ``tracking_fills`` user capacities where those are written before:
    it ends when they are steady, but not before ``steady_after_drive_fills`` user capacities, and at
    ``drive_fills`` or ``longest_ns`` at the latest. Before a row is measured in a state that the row before
    has disturbed, ``recondition_passes`` user capacities are written to bring it back. Rows with a test file
    have at most ``file_share_pct`` of the active range for it, so that a fresh drive stays fresh.
    """

    steady_state = SteadyState.MINUTES
    parameters = ("benchmark", passes_of("benchmark"), *UNTIL_ALIKE, "tc", "qd", ..., *LONGEST)

    benchmark: Annotated[
        BenchmarkProfile,
        Field(
            "Benchmark",
            f"Whose rows are measured in each state: one of {', '.join(NAMES)}.",
            BENCHMARK,
            examples=("crystaldiskmark",),
            change=at_its_scale("benchmark", BENCHMARK),
            text=benchmark_text,
        ),
    ]
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
            help="Random writes from fresh and after sequential writes go on for so many times the user "
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

    @property
    def profile_rows(self) -> tuple[ProfileRow, ...]:
        """The rows of the benchmark."""
        return self.benchmark.rows

    def row_number(self, state: DriveState, place: int) -> int:
        """The number of the profile part that measures a row in a state; ``place`` counts from 0."""
        return tuple(DriveState).index(state) * len(self.benchmark.rows) + place + 1

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """State and row of a profile part, in whatever order they were measured."""
        state, place = divmod(number - 1, len(self.benchmark.rows))
        return tuple(DriveState)[state], self.benchmark.rows[place]
