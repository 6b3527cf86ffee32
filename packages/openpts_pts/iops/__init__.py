"""IOPS: PTS section 7."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_pts.shared.rounds.conditions import QUICK, RoundConditions


class IopsConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="iops"):
    """IOPS test (PTS 7.2)."""

    parameters = ("segments", "precondition_block_size_bytes", "tracking")


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=IopsConditions,
    title="IOPS",
    short_title="IOPS",
    question="How many random I/Os per second does a drive sustain?",
    section=7,
    purpose="""IOPS of random I/O over 7 R/W mixes x 8 block sizes, in steady state.

    At full length: the user capacity written twice. Rounds of 56 minutes follow until performance is steady,
    5 at least (4 h 40 min) and 25 at most (23 h 20 min).
    """,
    quick=QUICK,
    at_rated_demand=True,
    trends={7: "iops-x1-plot", 8: "iops-a7-plot", 19: "iops-a1-rw0-plot"},
    phase_line="openpts_pts.shared.round_lines:round_line",
)
