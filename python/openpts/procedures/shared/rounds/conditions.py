"""What the conditions of IOPS, throughput and latency share (PTS 7, 8, 9)."""

from openpts.vocabulary.conditions import BaseConditions
from openpts.vocabulary.verdict import TrackingVariable


class RoundConditions(BaseConditions, frozen=True, kw_only=True):
    """A test of rounds over R/W mixes and block sizes: IOPS, throughput, latency (PTS 7, 8, 9).

    Sizes in bytes, mixes as per cent of reads, in the order of the loops. ``skipped_block_sizes_bytes`` are
    those that the device's sector size makes impossible. ``precondition_passes`` counts in user capacities
    written; ``precondition_tc`` and ``precondition_qd`` None are those of the test.
    """

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
