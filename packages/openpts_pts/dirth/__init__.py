"""Demand Intensity / Response Time Histogram: PTS section 14."""

from collections.abc import Collection
from typing import Annotated, Final

from openpts.fields import usual
from openpts.fields.conditions import Contradictions
from openpts.fields.readers import NAMES
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.stimulus import Uniform
from openpts.vocabulary.workload import Workload
from openpts_pts.shared.demand.conditions import DemandConditions


class DemandIntensityConditions(DemandConditions, frozen=True, kw_only=True, tag_field="test", tag="dirth"):
    """Demand intensity and response time histogram (PTS 14.2)."""

    parameters = ("segments", ...)

    workload: Annotated[
        Workload,
        usual.ONE_WORKLOAD.but(
            help=f"Access pattern: {NAMES}, or order, size and mix as in RND 8KiB RW65.",
            free="14.2 leaves it to the operator, and the report's header has it",
        ),
    ]

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """Contradictions of demand variation, and of access ranges with a workload that has its own."""
        yield from super().contradictions(given)
        if self.segments is not None and self.workload.placement != Uniform():
            yield ("segments",), f"the workload {self.workload.title} has its own access ranges"


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=DemandIntensityConditions,
    title="Demand Intensity / Response Time Histogram",
    short_title="DIRTH",
    question="How do IOPS and response times change from 1024 outstanding I/Os down to one?",
    section=14,
    purpose="""IOPS and response times of any workload at 49 demands, and response time histograms.

    At full length: writes until single minutes 30 minutes apart are steady (2 h 1 min to 12 h 1 min). 5 to 25
    rounds of 49 minutes follow, each after pre-writes of 5 to 30 minutes (4 h 30 min to 32 h 55 min).
    Three histograms take 70 minutes each.
    """,
    quick={"time_scale": "1/300"},
    trends={3: "dirth-7-plot", 17: "dirth-4-plot"},
    phase_line="openpts_pts.shared.round_lines:round_line",
)
