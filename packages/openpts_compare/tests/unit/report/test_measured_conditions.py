"""Conditions that runs have measured: what is read of a record, and from where on they differ."""

from statistics import median

import pytest
from msgspec.structs import replace

from openpts.record.reader import Run, TelemetryPoint, read_run
from openpts_compare.compare.conditions import MEASURED
from openpts_compare.tests.unit.report.test_comparison import OTHER, compared, differing, with_facts
from tests.support.report_cases import Reports

TEMPERATURE = "Temperature of the drive, median"


@pytest.fixture(scope="module")
def run(reports: Reports) -> Run:
    return read_run(reports.folder("steady"))


def at_temperatures(run: Run, *temperatures_c: float) -> Run:
    points = tuple(
        TelemetryPoint(10**9 * second, "temperature_c", float(value))
        for second, value in enumerate(temperatures_c)
    )
    others = tuple(one for one in run.sampled if one.name != "temperature_c")
    return replace(run, sampled=(*others, *points))


def test_the_median_of_what_was_sampled_counts(run) -> None:
    (of,) = (one for one in MEASURED if one.label == TEMPERATURE)
    temperatures = (40.0, 41.0, 70.0)
    assert of.read(at_temperatures(run, *temperatures)) == median(temperatures)
    assert of.read(replace(run, sampled=())) is None


@pytest.mark.parametrize(("other_c", "differs"), [(40, False), (43, False), (43.5, True), (36, True)])
def test_drives_of_other_temperatures_were_not_measured_alike(run, other_c, *, differs) -> None:
    other = with_facts(at_temperatures(run, other_c, other_c), **OTHER)
    found = differing(compared(at_temperatures(run, 40, 40), other))
    assert found["iops"] == ([TEMPERATURE] if differs else [])


def test_what_one_run_does_not_know_is_no_difference(run) -> None:
    other = with_facts(replace(run, sampled=()), **OTHER)
    assert differing(compared(at_temperatures(run, 40), other))["iops"] == []


def test_a_purge_that_leaves_data_differs(run) -> None:
    purges = tuple(replace(one, ran=True, samples=100, changed_samples=100) for one in run.manifest.purges)
    left = tuple(replace(one, changed_samples=90) for one in purges)
    pair = [
        with_facts(replace(run, manifest=replace(run.manifest, purges=found)), **facts)
        for found, facts in ((purges, {}), (left, OTHER))
    ]
    assert differing(compared(*pair))["iops"] == ["Gone after the purge"]
