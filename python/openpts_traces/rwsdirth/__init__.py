"""Demand intensity and response time histograms of a capture's workload: practice beyond the PTS."""

from typing import Annotated, ClassVar, Final

from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.shared.demand.conditions import DemandConditions
from openpts.vocabulary.workload import Workload
from openpts_traces.captured.conditions import CAPTURE, NO_CAPTURE, capture_text
from openpts_traces.characteristics.capture import Capture


class RwsDemandConditions(DemandConditions, frozen=True, kw_only=True, tag_field="test", tag="rwsdirth"):
    """DIRTH with all streams of ``captured`` as its workload, each in its share at any demand."""

    of_specification: ClassVar[bool] = False
    parameters = ("captured",)
    unused: ClassVar[frozenset[str]] = frozenset({"workload"})

    captured: Annotated[Capture | None, CAPTURE] = None

    @property
    def compares_by(self) -> str:
        """Results compare only with those of the same capture."""
        return capture_text(self.captured)

    @property
    def lacking(self) -> str:
        """A capture has to be named."""
        return NO_CAPTURE if self.captured is None else ""

    @property
    def chosen_workloads(self) -> tuple[Workload, ...]:
        """None: sizes of the streams become whole sectors."""
        return ()


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=RwsDemandConditions,
    title="Demand Intensity of a Captured Workload",
    short_title="RWS-DIRTH",
    question="How do rate and response times of a captured workload change with the demand?",
    purpose="""IOPS and response times of a captured system's workload at 49 demands, and histograms.

    CAPTURE is a step table, or a trace of which steps are made. After the RWSW PTS, reading of openpts: all
    streams of the workload at once, by the procedure of dirth. At full length 12 to 50 hours.
    """,
    quick={"time_scale": "1/300"},
)
