"""What the conditions of CBW and DIRTH share (PTS 13, 14)."""

from typing import ClassVar

from openpts.vocabulary.conditions import Conditions
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload


class DemandConditions(Conditions, frozen=True, kw_only=True):
    """Demand variation: CBW and DIRTH (PTS 13.2, 14.2), with the demand of preconditioning and pre-writes.

    ``tcs`` and ``qds`` make the operating points. ``precondition_passes`` counts in user capacities of the
    optional WIPC. An inter-round pre-write ends after ``prewrite_longest_ns`` or
    ``prewrite_capacity_pct`` of the user capacity, but not before ``prewrite_shortest_ns``. The MaxIOPS
    point has an ART below ``art_limit_ns``; that field is a limit of response times and is never scaled.
    ``capture`` keeps every completion time of the histograms. ``skipped_block_sizes_bytes`` were left out of
    the workload because of the device's sector size.
    """

    steady_state: ClassVar[SteadyState] = SteadyState.MINUTES_THEN_ROUNDS
    set_by_class: ClassVar[bool] = False
    unscaled: ClassVar[tuple[str, ...]] = ("art_limit_ns",)

    workload: Workload
    skipped_block_sizes_bytes: tuple[int, ...] = ()
    tcs: tuple[int, ...]
    qds: tuple[int, ...]
    precondition_tc: int
    precondition_qd: int
    precondition_passes: float = 0
    tracking_period_ns: int
    max_rounds: int
    prewrite_shortest_ns: int
    prewrite_longest_ns: int
    prewrite_capacity_pct: float
    art_limit_ns: int
    plateau_pct: float
    mid_points: int
    histogram_prewrite_ns: int
    histogram_ns: int
    capture: bool = True
