"""The tests whose reports openpts knows: one entry each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openpts.errors import RecordError
from openpts.record.reader import Run, read_manifest, read_run
from openpts.report import cross_stimulus, demand, idle_recovery, iops, latency, throughput, write_saturation
from openpts.report.content import TestContent
from openpts.report.practice import entropy, fill, lifetime, precon, profile, rotational, sustained, thermal
from openpts.report.printable import printable


@dataclass(frozen=True, slots=True)
class ReportedTest:
    """``report`` makes a test's part of a report from its run.

    ``interval_histograms``: it needs the response times of each interval.
    """

    title: str
    report: Callable[[Run], TestContent]
    interval_histograms: bool = False


REPORTS: Final[Mapping[str, ReportedTest]] = {
    "iops": ReportedTest("IOPS", iops.report),
    "tp": ReportedTest("Throughput", throughput.report),
    "lat": ReportedTest("Latency", latency.report),
    "wsat": ReportedTest("Write Saturation", write_saturation.report, interval_histograms=True),
    "hir": ReportedTest("Host Idle Recovery", idle_recovery.report),
    "xsr": ReportedTest("Cross Stimulus Recovery", cross_stimulus.report),
    "cbw": ReportedTest("Composite Block Size Workload", demand.composite_report),
    "dirth": ReportedTest("Demand Intensity / Response Time Histogram", demand.demand_intensity_report),
    "fill": ReportedTest("Fill Curve", fill.report),
    "sustained": ReportedTest("Sustained Performance", sustained.report),
    "entropy": ReportedTest("Entropy and Write Share", entropy.report),
    "benchmarks": ReportedTest("Benchmark Profiles", profile.report),
    "precon": ReportedTest("Preconditioning Comparison", precon.report),
    "thermal": ReportedTest("Thermal Throttling", thermal.report),
    "lifetime": ReportedTest("Lifetime", lifetime.report),
    "hdd": ReportedTest("Rotational Disk by Zones", rotational.report),
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
