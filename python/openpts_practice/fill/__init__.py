"""Fill Curve: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase
from openpts_practice.fill.conditions import FillConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=FillConditions,
    title="Fill Curve",
    short_title="Fill",
    purpose="""How fast a drive takes data while it fills up, and what idle time gives back of its cache.

    At full length: the user capacity written once in sequence, then 5 % of it after 0 s, 30 s, 5 minutes and
    30 minutes of idle time; on the purged drive again the user capacity once more, with bursts of 30 seconds
    of random writes at five fill levels.
    """,
    quick={"time_scale": "1/60", "step_pct": 4},
    log_around=frozenset({Phase.REST, Phase.BURST}),
)
