"""Key values come out of what a test's report holds, and say what is missing."""

from dataclasses import replace
from typing import Any

import pytest

from openpts.pages import cells
from openpts.pages.model import Cell
from openpts.pages.summary_table import summary_table
from openpts.record.reader import Run, read_run
from openpts.report.content import TestContent
from openpts.report.key_values import KeyValue, key_values
from openpts.report.tests import reported_test
from openpts.vocabulary.better import Better
from tests.support.report_cases import Reports


@pytest.fixture(scope="module")
def run(reports: Reports) -> Run:
    return read_run(reports.folder("steady"))


def content(figures: dict[str, Any], *rows: tuple[str, Cell, str]) -> TestContent:
    return TestContent((), summary_table("T", "-", 0, rows), lambda _standing, _date: (), figures)


class Named:
    """Conditions of which only the test's name is asked."""

    def __init__(self, test: str) -> None:
        self.test = test


def of_test(run: Run, test: str) -> Run:
    conditions: Any = Named(test)
    return replace(run, manifest=replace(run.manifest, conditions=conditions))


def test_a_whole_run_has_the_values_that_its_cover_has(run: Run) -> None:
    found = reported_test("iops").report(run)
    shown = [(row.cells[0].text, row.cells[1].value, row.cells[1].text) for row in found.summary.rows]
    assert [(v.name, v.value, v.text) for v in key_values(run, found)] == shown
    assert {value.better for value in key_values(run, found)} == {Better.HIGHER}


def test_what_was_not_measured_says_so(reports: Reports) -> None:
    unmeasured = read_run(reports.folder("preconditioned only"))
    values = key_values(unmeasured, reported_test("iops").report(unmeasured))
    assert {(v.value, v.text, v.note) for v in values} == {(None, "n/a", "not measured")}
    assert {v.cell.tone for v in values} == {"missing"}


def saturation(run: Run, zones: dict[str, Any], steady: dict[str, Any]) -> tuple[KeyValue, ...]:
    workload = {"title": "RND 4 KiB RW0", "zones": zones, "steady_state": steady}
    return key_values(of_test(run, "wsat"), content({"workloads": [workload]}))


def test_saturation_gives_the_ratio_and_no_judgement_of_it(run: Run) -> None:
    zones = {"plateau_iops": 200_000.0, "end_zone_iops": 80_000.0, "plateau_to_end_zone_ratio": 2.5}
    steady = {
        "reached": True,
        "state": "found in Tracking Round 9",
        "average_iops": 79_000.0,
        "ends_elsewhere": False,
    }
    assert saturation(run, zones, steady) == (
        KeyValue("RND 4 KiB RW0, Steady State", "IOPS", 79_000.0, "79,000", Better.HIGHER),
        KeyValue("RND 4 KiB RW0, end zone", "IOPS", 80_000.0, "80,000", Better.HIGHER),
        KeyValue("RND 4 KiB RW0, FOB", "IOPS", 200_000.0, "200,000", Better.HIGHER),
        KeyValue("RND 4 KiB RW0, FOB/end zone ratio", "ratio", 2.5, "2.50", Better.UNJUDGED),
    )


def test_saturation_that_never_settled_has_no_steady_figure(run: Run) -> None:
    zones = {"plateau_iops": 200_000.0, "end_zone_iops": None, "plateau_to_end_zone_ratio": None}
    values = saturation(
        run, zones, {"reached": False, "state": "not found", "average_iops": None, "ends_elsewhere": False}
    )
    assert [(v.text, v.note) for v in values] == [
        ("n/a", "Steady State not found"),
        ("n/a", "end zone not reached"),
        ("200,000", ""),
        ("n/a", "end zone not reached"),
    ]


def test_idle_recovery_gives_the_gain_of_the_longest_wait_state(run: Run) -> None:
    states = [{"number": 1, "gain_pct": 3.0}, {"number": 10, "gain_pct": -2.25}]
    values = key_values(of_test(run, "hir"), content({"baseline": {"iops": 50_000.4}, "wait_states": states}))
    assert [(v.value, v.text) for v in values] == [(50_000.4, "50,000"), (-2.25, "-2.2")]


def test_recovery_is_a_time(run: Run) -> None:
    (value,) = key_values(of_test(run, "xsr"), content({"recovery_to_peak_min": 26.5}))
    assert (value.text, value.unit, value.better) == ("26.50", "min", Better.LOWER)


def test_an_operating_point_names_its_demand(run: Run) -> None:
    chosen = {"below_art_limit": False, "max": {"tc": 32, "qd": 4, "iops": 1000.0, "art_ms": 6.0}}
    steady = {"steady_state": {"reached": True}}
    figures = {"chosen_points": chosen, "preconditioning": steady, **steady}
    values = key_values(of_test(run, "cbw"), content(figures))
    assert [(v.name, v.text, v.note) for v in values] == [
        ("MaxIOPS", "1,000", "TC 32 / QD 4, ART not below its limit"),
        ("ART at MaxIOPS", "6.00", "TC 32 / QD 4, ART not below its limit"),
    ]
    assert [v.text for v in key_values(of_test(run, "dirth"), content({"chosen_points": None}))] == [
        "n/a"
    ] * 2


def test_a_test_without_an_entry_has_its_summary(run: Run) -> None:
    rows = (
        ("Peak", cells.number(12.0, 0), "MB/s"),
        ("Time", cells.number(3.5, 1, note="low n"), "s"),
        ("Share", cells.percent(7.0), "%"),
    )
    values = key_values(of_test(run, "of-practice"), content({}, *rows))
    assert [(v.name, v.unit, v.value, v.better, v.note) for v in values] == [
        ("Peak", "MB/s", 12.0, Better.HIGHER, ""),
        ("Time", "s", 3.5, Better.LOWER, "low n"),
        ("Share", "%", 7.0, Better.UNJUDGED, ""),
    ]


@pytest.mark.parametrize(
    ("test", "name", "unit", "better"),
    [
        ("sustained", "RND 4 KiB W, run #2 / run #1", "%", Better.HIGHER),
        ("sustained", "Load, maximum response time", "ms", Better.LOWER),
        ("entropy", "RND 4 KiB, loss at 5 % writes", "%", Better.LOWER),
        ("entropy", "SEQ 128 KiB W, least / most entropy", "x", Better.UNJUDGED),
        ("thermal", "Cold run, time to first throttle", "min", Better.HIGHER),
        ("thermal", "Cold run, speed throttled", "MB/s", Better.HIGHER),
        ("lifetime", "Rated life used up after", "cycles", Better.HIGHER),
        ("lifetime", "Whole drive cycles", "cycles", Better.UNJUDGED),
    ],
)
def test_a_figure_of_practice_is_judged_by_what_it_is(
    run: Run, test: str, name: str, unit: str, better: Better
) -> None:
    (value,) = key_values(of_test(run, test), content({}, (name, cells.number(12.0, 0), unit)))
    assert value.better is better
