"""Demand intensity and response time histograms of a capture's workload: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_traces.rwsdirth.conditions import RwsDemandConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=RwsDemandConditions,
    title="Demand Intensity of a Captured Workload",
    short_title="RWS-DIRTH",
    purpose="""IOPS and response times of a captured system's workload at 49 demands, and histograms.

    CAPTURE is a step table, or a trace of which steps are made. After the RWSW PTS, reading of openpts: all
    streams of the workload at once, by the procedure of dirth. At full length 12 to 50 hours.
    """,
    quick={"time_scale": "1/300"},
)
