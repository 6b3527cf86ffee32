"""What the conditions of IOPS, throughput and latency share (PTS 7, 8, 9)."""

from typing import ClassVar, Final

from openpts.vocabulary.conditions import Conditions
from openpts.vocabulary.verdict import SteadyState, TrackingVariable


class RoundConditions(Conditions, frozen=True, kw_only=True):
    """A test of rounds over R/W mixes and block sizes: IOPS, throughput, latency (PTS 7, 8, 9).

    Sizes in bytes, mixes as per cent of reads, in the order of the loops. ``skipped_block_sizes_bytes`` are
    those that the device's sector size makes impossible. ``precondition_passes`` counts in user capacities
    written; ``precondition_tc`` and ``precondition_qd`` None are those of the test.
    """

    steady_state: ClassVar[SteadyState] = SteadyState.ROUNDS

    tc: int
    qd: int
    precondition_block_size_bytes: int
    precondition_passes: float
    precondition_tc: int | None = None
    precondition_qd: int | None = None
    read_pcts: tuple[int, ...]
    block_sizes_bytes: tuple[int, ...]
    skipped_block_sizes_bytes: tuple[int, ...] = ()
    max_rounds: int
    tracking: tuple[TrackingVariable, ...]

    @property
    def demand(self) -> tuple[int, int]:
        """TC and QD."""
        return self.tc, self.qd


QUICK: Final = {"time_scale": "1/150", "max_rounds": 7, "precondition_passes": 1}
"""Elements of 0.4 s. A queue of 32 on a slow drive is answered in a tenth of that."""
