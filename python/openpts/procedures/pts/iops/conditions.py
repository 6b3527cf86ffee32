"""The conditions of the IOPS test."""

from openpts.procedures.shared.rounds.conditions import RoundConditions


class IopsConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="iops"):
    """IOPS test (PTS 7.2)."""

    parameters = ("segments", "precondition_block_size_bytes", "tracking")
