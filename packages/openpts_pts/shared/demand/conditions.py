"""What the conditions of CBW and DIRTH share (PTS 13, 14)."""

from collections.abc import Collection
from typing import Annotated, ClassVar

from openpts.fields import usual
from openpts.fields.conditions import Conditions, Contradictions, StepCounts
from openpts.fields.field import DEPTH, MILLISECONDS, SECONDS, SWITCH, THREADS, Field, count, listed, percent
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload


class DemandConditions(Conditions, frozen=True, kw_only=True):
    """Demand variation: CBW and DIRTH (PTS 13.2, 14.2), with the demand of preconditioning and pre-writes.

    ``tcs`` and ``qds`` make the operating points. ``precondition_passes`` counts in user capacities of the
    optional WIPC, in place of which ``one_pass`` writes the state of long writing. An inter-round pre-write
    ends after ``prewrite_longest_ns`` or ``prewrite_capacity_pct`` of the user capacity, but not before
    ``prewrite_shortest_ns``. The MaxIOPS point has an ART below ``art_limit_ns``; that field is a limit of
    response times and is never scaled. ``capture`` keeps every completion time of the histograms.
    ``skipped_block_sizes_bytes`` were left out of the workload because of the device's sector size.
    """

    steady_state: ClassVar[SteadyState] = SteadyState.MINUTES_THEN_ROUNDS
    set_by_class: ClassVar[bool] = False
    unscaled: ClassVar[tuple[str, ...]] = ("art_limit_ns",)

    workload: Annotated[Workload, usual.ONE_WORKLOAD]
    skipped_block_sizes_bytes: Annotated[tuple[int, ...], usual.SKIPPED_BLOCK_SIZES] = ()
    tcs: Annotated[
        tuple[int, ...], usual.TCS.but(help="Thread counts of the operating points.", kind=listed(THREADS))
    ]
    qds: Annotated[
        tuple[int, ...], usual.QDS.but(help="Queue depths of the operating points.", kind=listed(DEPTH))
    ]
    precondition_tc: Annotated[
        int, usual.PRECONDITION_TC.but(help="Thread count of preconditioning and pre-writes.")
    ]
    precondition_qd: Annotated[
        int, usual.PRECONDITION_QD.but(help="Queue depth of preconditioning and pre-writes.")
    ]
    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(
            help="Times the user capacity written first in 128 KiB sequential writes."
        ),
    ] = 0
    one_pass: Annotated[bool, usual.ONE_PASS] = False
    tracking_period_ns: Annotated[int, usual.TRACKING_PERIOD]
    max_rounds: Annotated[int, usual.MAX_ROUNDS]
    prewrite_shortest_ns: Annotated[
        int,
        Field(
            "Pre-write before a Round, at least",
            "Pre-write at least this long before each round.",
            SECONDS,
            text="pre-writes of {} at the least",
            rare=True,
        ),
    ]
    prewrite_longest_ns: Annotated[
        int,
        Field(
            "Pre-write before a Round, at most",
            "Pre-write at most this long before each round.",
            SECONDS,
            text="pre-writes of {} at the most",
            rare=True,
        ),
    ]
    prewrite_capacity_pct: Annotated[
        float,
        Field(
            "Pre-write before a Round, at most (% of user capacity)",
            "End a pre-write when this share of the user capacity is written, in per cent.",
            percent(gt=0, le=100_000),
            text="{} % of the user capacity",
            amount=True,
            rare=True,
        ),
    ]
    art_limit_ns: Annotated[
        int,
        Field(
            "ART limit of the MaxIOPS point",
            "The MaxIOPS point has an average response time below this.",
            MILLISECONDS,
            text="ART below {}",
            rare=True,
        ),
    ]
    plateau_pct: Annotated[
        float,
        Field(
            "IOPS that count as the highest: within (%)",
            "Take as MaxIOPS the point of least demand within this many per cent of the highest IOPS.",
            percent(ge=0, le=100),
            text="points within {} % of the highest IOPS",
            rare=True,
        ),
    ]
    mid_points: Annotated[
        int,
        Field(
            "MidIOPS points",
            "MidIOPS points between MaxIOPS and MinIOPS.",
            count(1, 47),
            text=lambda number: f"{number} MidIOPS point{'' if number == 1 else 's'}",
            rare=True,
        ),
    ]
    histogram_prewrite_ns: Annotated[
        int,
        Field(
            "Pre-write before a histogram",
            "Length of the pre-writes of each histogram.",
            SECONDS,
            text="pre-writes of {}",
            rare=True,
        ),
    ]
    histogram_ns: Annotated[int, usual.HISTOGRAM]
    capture: Annotated[
        bool,
        Field("Every completion time kept", "Keep every completion time of the histograms in files.", SWITCH),
    ] = True

    @property
    def chosen_workloads(self) -> tuple[Workload, ...]:
        """The pattern of all stimuli but preconditioning."""
        return (self.workload,)

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """What can be neither pre-written nor distinguished as operating points."""
        del given
        if self.prewrite_shortest_ns > self.prewrite_longest_ns:
            yield (
                ("prewrite_shortest_seconds", "prewrite_longest_seconds"),
                "the shortest pre-write is longer than the longest",
            )
        points = len(self.tcs) * len(self.qds)
        if points < 2 + self.mid_points:
            yield (
                ("mid_points", "tcs", "qds"),
                f"{points} operating points can't hold MaxIOPS, MinIOPS and {self.mid_points} between them",
            )

    def step_counts(self) -> StepCounts:
        """Each operating point and the pre-write of each round."""
        points = len(self.tcs) * len(self.qds)
        yield ("max_rounds", "tcs", "qds"), self.max_rounds * (points + 1)
