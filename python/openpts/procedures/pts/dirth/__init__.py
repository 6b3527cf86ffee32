"""Demand Intensity / Response Time Histogram: PTS section 14."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.pts.dirth.conditions import DemandIntensityConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=DemandIntensityConditions,
    title="Demand Intensity / Response Time Histogram",
    short_title="DIRTH",
    section=14,
    purpose="""IOPS and response times of any workload at 49 demands, and response time histograms.

    At full length: writes until single minutes 30 minutes apart are steady (2 h 1 min to 12 h 1 min), 5 to 25
    rounds of 49 minutes with pre-writes of 5 to 30 minutes before each (4 h 30 min to 32 h 55 min), and three
    histograms of 70 minutes each.
    """,
    quick={"time_scale": "1/300"},
    trends={3: "dirth-7-plot", 17: "dirth-4-plot"},
)
