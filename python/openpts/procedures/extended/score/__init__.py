"""Score over a Set of Traces: practice beyond the PTS."""

from typing import Final

from openpts.procedures.extended.score.conditions import ScoreConditions
from openpts.procedures.kit.procedure import Procedure

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ScoreConditions,
    title="Score over a Set of Traces",
    short_title="Score",
    purpose="""One figure for a set of traces, by the formula that trace benchmarks publish, with what it is
    made of.

    Without --traces, the recipes that ship are scored; `openpts trace --help` lists them. At full length: a
    purge, and for each trace, with and without its background and its idle times, all that it touches written
    once, a cold pass and three warm ones, or up to seven until they lie close together.
    """,
    quick={"traces": ["quick"], "background": "none", "mapping": "wrap", "passes": 1, "until_rse": 0},
)
