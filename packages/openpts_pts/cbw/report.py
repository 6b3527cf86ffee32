"""The report of CBW (PTS 13.3)."""

from typing import Final

from openpts.procedures.kit.content import ReportContent
from openpts.record.reader import Run
from openpts_pts.shared.demand.pages import Names
from openpts_pts.shared.demand.report import demand_report

NAMES: Final = Names(
    prefix="cbw",
    test="CBW",
    bar="Composite Block Size Workload Test (REQUIRED) - Report Page",
    section=13,
    plots_before=3,
    over_rounds=True,
    prewrites="Btw-Round Prewrites Plot",
    cpu="System CPU Utilization Plot",
)

REQUIRED: Final = NAMES.required


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    return demand_report(run, NAMES, lambda demand: f"CBW - {demand.conditions.workload.title}")
