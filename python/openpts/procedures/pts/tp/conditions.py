"""The conditions of the throughput test."""

from openpts.procedures.shared.rounds.conditions import RoundConditions


class ThroughputConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="tp"):
    """Throughput test (PTS 8.2): one cycle from purge to steady state for each of ``block_sizes_bytes``.

    ``precondition_block_size_bytes`` counts for nothing: each cycle preconditions with its own size.
    """
