"""Latency: PTS section 9."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.pts.lat.conditions import LatencyConditions
from openpts.procedures.shared.rounds.conditions import QUICK

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=LatencyConditions,
    title="Latency",
    short_title="Latency",
    section=9,
    purpose="""Response times of single random I/Os, 3 R/W mixes x 3 sizes at TC 1 QD 1, in steady state.

    At full length: the user capacity written twice, rounds of 9 minutes until performance is steady, 5 at
    least (45 min) and 25 at most (3 h 45 min), and 20 minutes for the histogram of response times.
    """,
    quick=QUICK,
    trends={2: "lat-clp-plot", 11: "lat-convergence-rw0-plot", 12: "lat-levels-plot"},
)
