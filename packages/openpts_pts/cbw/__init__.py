"""Composite Block Size Workload: PTS section 13."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_pts.shared.demand.conditions import DemandConditions


class CompositeConditions(DemandConditions, frozen=True, kw_only=True, tag_field="test", tag="cbw"):
    """Composite block size workload (PTS 13.2)."""


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=CompositeConditions,
    title="Composite Block Size Workload",
    short_title="CBW",
    question="How do IOPS and response times of mixed accesses change with demand?",
    section=13,
    purpose="""IOPS and response times of a composite workload at 49 demands, and response time histograms.

    At full length: writes until single minutes 30 minutes apart are steady (2 h 1 min to 12 h 1 min). 5 to 25
    rounds of 49 minutes follow, each after pre-writes of 5 to 30 minutes (4 h 30 min to 32 h 55 min).
    Three histograms take 70 minutes each.
    """,
    quick={"time_scale": "1/300"},
    trends={4: "cbw-7-plot", 16: "cbw-4-plot"},
    phase_line="openpts_pts.shared.round_lines:round_line",
)
