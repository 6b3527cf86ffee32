"""Throughput: PTS section 8."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.pts.tp.conditions import ThroughputConditions
from openpts.procedures.shared.rounds.conditions import QUICK

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ThroughputConditions,
    title="Throughput",
    short_title="TP",
    section=8,
    purpose="""Throughput of sequential reads and writes of 128 KiB and of 1024 KiB, in steady state.

    At full length, for each of the two sizes: a purge, the user capacity written twice, then rounds of
    2 minutes until performance is steady, 5 at least (10 min) and 25 at most (50 min).
    """,
    quick=QUICK,
    at_rated_demand=True,
    trends={9: "tp-1024-write-plot", 10: "tp-128-write-plot"},
)
