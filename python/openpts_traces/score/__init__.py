"""Score over a Set of Traces: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_traces.score.conditions import ScoreConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ScoreConditions,
    title="Score over a Set of Traces",
    short_title="Score",
    purpose="""Scores of traces by the formula that trace benchmarks publish, and over all of them, with what
    they are made of.

    `openpts trace --help` lists the recipes that ship. At full length: a purge, and for each trace, with and
    without its background, with and without its idle times, all that it touches written once, a cold pass and
    three warm ones, or up to seven until they are close together.
    """,
    quick={"traces": ["quick"], "background": "none", "mapping": "wrap", "passes": 1, "until_rse": 0},
    phase_line="openpts_traces.trace_replay.phase_line:phase_line",
)
