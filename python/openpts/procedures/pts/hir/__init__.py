"""Host Idle Recovery: PTS section 11."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.pts.hir.conditions import IdleRecoveryConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=IdleRecoveryConditions,
    title="Host Idle Recovery",
    short_title="HIR",
    section=11,
    purpose="""How pauses between bursts of random writes affect a drive.

    At full length: random writes until single minutes 30 minutes apart are steady, 5 at least (2 h 1 min) and
    25 at most (12 h 1 min), then five wait states with their returns to the baseline, 15 h 30 min.
    """,
    quick={
        "time_scale": "1/360",
        "step_seconds": 1,
        "max_rounds": 10,
        "access_seconds": 0.2,
        "idle_seconds": 0.2,
        "cycles": 10,
    },
    trends={5: "hir-3-plot", 14: "hir-1-plot"},
)
