"""The report of the demand intensity of a captured workload: that of DIRTH, and the capture beside it."""

from typing import Final

from openpts.pages.kit import PlotName
from openpts.pages.model import Page
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.shared.demand.report import demand_report
from openpts.procedures.shared.demand.words import HISTOGRAMS, VARIATION, DemandRun, Names
from openpts.record.reader import Run
from openpts_traces.captured.pages import (
    DemandPoint,
    captured_map,
    captured_points,
    demand_plane,
    map_page,
    workload_page,
)
from openpts_traces.characteristics.capture import Capture
from openpts_traces.rwsdirth import RwsDemandConditions

NAMES: Final = Names(
    prefix="rwsdirth",
    test="RWS-DIRTH",
    bar="Methodology Report (not part of SNIA PTS)",
    section="X-RWSD",
    plots_before=0,
    titles=(
        "PC IOPS Plot",
        "PC Steady State Plot",
        "Inter-Round Pre Writes Plot",
        *VARIATION,
        "CPU Utilization Plot",
        *HISTOGRAMS,
    ),
)
REQUIRED: Final = NAMES.required
_MAP: Final = PlotName("rwsdirth-map", "Plot X-RWSD-17", "Stream Map: Capture")
_PLANE: Final = PlotName("rwsdirth-plane", "Plot X-RWSD-16", "Demand Intensity: Drive and Capture")


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    return demand_report(run, NAMES, _title, _pages)


def _title(demand: DemandRun) -> str:
    return f"RWS-DIRTH - {_capture(demand).name}: after the RWSW PTS, reading of openpts"


def _pages(demand: DemandRun) -> tuple[Page, ...]:
    """What the PTS has no plot for."""
    drive = [
        DemandPoint(str(one.point), one.point.toio, one.iops, one.mean_latency_ns)
        for one in demand.results.results.values()
    ]
    capture = _capture(demand)
    return (
        workload_page(capture),
        map_page(_MAP, captured_map(capture), capture, capture.level),
        demand_plane(_PLANE, captured_points(capture), drive),
    )


def _capture(demand: DemandRun) -> Capture:
    capture = demand.run.conditions(RwsDemandConditions).captured
    assert capture is not None  # noqa: S101 no run begins without one
    return capture
