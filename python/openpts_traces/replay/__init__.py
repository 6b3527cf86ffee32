"""Replay of a Trace: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_traces.replay.conditions import ReplayConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ReplayConditions,
    title="Replay of a Trace",
    short_title="Replay",
    purpose="""The I/Os of a trace again, in their order and at their moments, and how true that was.

    TRACE is a trace of any format that `openpts trace check` reads. At full length: a purge, everything that
    the trace touches written once, and three passes of the trace.
    """,
    quick={"passes": 1},
    phase_line="openpts_traces.trace_replay.phase_line:phase_line",
)
