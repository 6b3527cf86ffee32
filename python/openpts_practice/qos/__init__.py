"""Response Times under Load: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_practice.qos.conditions import QosConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=QosConditions,
    title="Response Times under Load",
    short_title="QoS",
    purpose="""Response times while reads and writes arrive at given rates; the highest load within limits.

    At full length: a purge, the user capacity written twice, random writes until single minutes are steady;
    the peaks of reads, writes and mixes; a minute at each of 6 x 6 pairs of a read rate and a write rate, 10
    to 100 % of each peak; and for each mix and each limit a search for the highest load: an hour and a half
    after the preparation.
    """,
    quick={
        "limits": ["p99=1ms"],
        "step_seconds": 0.5,
        "settle_seconds": 0.1,
        "longest_seconds": 5,
        "tracking_seconds": 2,
        "max_rounds": 5,
        "precondition_passes": 1,
        "loads_pct": [25, 50, 75, 100],
        "width_pct": 5,
        "repeats": 1,
    },
)
