"""The tests whose reports openpts knows: one entry each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from openpts.errors import RecordError
from openpts.pages.kit import Required
from openpts.pages.printable import printable
from openpts.procedures.extended.benchmarks import report as profile
from openpts.procedures.extended.entropy import report as entropy
from openpts.procedures.extended.fill import report as fill
from openpts.procedures.extended.hdd import report as rotational
from openpts.procedures.extended.lifetime import report as lifetime
from openpts.procedures.extended.precon import report as precon
from openpts.procedures.extended.sustained import report as sustained
from openpts.procedures.extended.thermal import report as thermal
from openpts.procedures.kit.content import TestContent
from openpts.procedures.pts.hir import report as idle_recovery
from openpts.procedures.pts.iops import report as iops
from openpts.procedures.pts.lat import report as latency
from openpts.procedures.pts.tp import pages as throughput_pages
from openpts.procedures.pts.tp import report as throughput
from openpts.procedures.pts.wsat import report as write_saturation
from openpts.procedures.pts.xsr import report as cross_stimulus
from openpts.procedures.shared.demand import report as demand
from openpts.procedures.shared.demand.words import COMPOSITE, DEMAND_INTENSITY
from openpts.record.reader import Run, read_manifest, read_run


@dataclass(frozen=True, slots=True)
class ReportedTest:
    """``report`` makes a test's part of a report from its run.

    ``required`` are the plots and tables that the specification demands, by section; the sections of other
    workloads and sizes have those of their test. ``interval_histograms``: it needs the response times of
    each interval.
    """

    title: str
    short_title: str
    report: Callable[[Run], TestContent]
    required: Mapping[str, tuple[Required, ...]] = field(default_factory=dict)
    interval_histograms: bool = False


REPORTS: Final[Mapping[str, ReportedTest]] = {
    "iops": ReportedTest("IOPS", "IOPS", iops.report, {"iops": iops.REQUIRED}),
    "tp": ReportedTest(
        "Throughput",
        "TP",
        throughput.report,
        {"tp-1024": throughput_pages.LARGE, "tp": throughput_pages.OTHERS},
    ),
    "lat": ReportedTest("Latency", "Latency", latency.report, {"lat": latency.REQUIRED}),
    "wsat": ReportedTest(
        "Write Saturation",
        "WSAT",
        write_saturation.report,
        {"wsat": write_saturation.REQUIRED},
        interval_histograms=True,
    ),
    "hir": ReportedTest("Host Idle Recovery", "HIR", idle_recovery.report, {"hir": idle_recovery.REQUIRED}),
    "xsr": ReportedTest(
        "Cross Stimulus Recovery", "XSR", cross_stimulus.report, {"xsr": cross_stimulus.REQUIRED}
    ),
    "cbw": ReportedTest(
        "Composite Block Size Workload", "CBW", demand.composite_report, {"cbw": COMPOSITE.required}
    ),
    "dirth": ReportedTest(
        "Demand Intensity / Response Time Histogram",
        "DIRTH",
        demand.demand_intensity_report,
        {"dirth": DEMAND_INTENSITY.required},
    ),
    "fill": ReportedTest("Fill Curve", "Fill", fill.report),
    "sustained": ReportedTest("Sustained Performance", "Sustained", sustained.report),
    "entropy": ReportedTest("Entropy and Write Share", "Entropy", entropy.report),
    "benchmarks": ReportedTest("Benchmark Profiles", "Profile", profile.report),
    "precon": ReportedTest("Preconditioning Comparison", "Precon", precon.report),
    "thermal": ReportedTest("Thermal Throttling", "Thermal", thermal.report),
    "lifetime": ReportedTest("Lifetime", "Lifetime", lifetime.report),
    "hdd": ReportedTest("Rotational Disk by Zones", "Rotational", rotational.report),
}


def reported_test(name: str) -> ReportedTest:
    """The entry of a test. Raises RecordError for one that openpts has no report for."""
    if (test := REPORTS.get(name)) is None:
        raise RecordError(f"no report for the test {printable(name)!r}; known: {', '.join(REPORTS)}")
    return test


def read_for_report(folder: Path) -> Run:
    """Load a run folder with all that the report of its test needs. Raises RecordError."""
    test = reported_test(read_manifest(folder).conditions.test)
    return read_run(folder, interval_histograms=test.interval_histograms)
