"""Write Saturation: PTS section 10."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.pts.wsat.conditions import WriteSaturationConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=WriteSaturationConditions,
    title="Write Saturation",
    short_title="WSAT",
    section=10,
    purpose="""How performance falls while a fresh drive is written to, and where it settles.

    At full length, for each workload: a purge, the workload until 4 x user capacity are written or for
    6 hours, and 20 minutes for the histogram of response times.
    """,
    quick={"time_scale": "1/360", "drive_fills": 2},
    interval_histograms=True,
    trends={1: "wsat-iops-time-plot", 13: "wsat-clp-plot"},
)
