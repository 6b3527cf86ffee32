"""The report of DIRTH (PTS 14.3)."""

from typing import Final

from openpts.procedures.kit.content import ReportContent
from openpts.record.reader import Run
from openpts_pts.shared.demand.pages import DemandRun, Names
from openpts_pts.shared.demand.report import demand_report

NAMES: Final = Names(
    prefix="dirth",
    test="DIRTH",
    bar="Demand Intensity Response Time Histogram (REQUIRED) - Report Page",
    section=14,
    plots_before=1,
    prewrites="Inter-Round Pre Writes Plot",
    cpu="CPU Utilization Plot",
)

REQUIRED: Final = NAMES.required


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    return demand_report(run, NAMES, _title)


def _title(demand: DemandRun) -> str:
    """As the sample header has it: ``DIRTH - OLTP - RND 8KIB 65:35 RW``."""
    workload = demand.conditions.workload
    name = f"{workload.name.replace('_', ' ').upper()} - " if workload.name else ""
    what = demand.pattern().rsplit(" ", 1)[0]
    return f"DIRTH - {name}{what} {workload.read_pct}:{100 - workload.read_pct} RW"
