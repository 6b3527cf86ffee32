"""Write saturation that was not steady is called so nowhere: pages, key values, comparison, for machines."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.procedures.registry import procedure_of
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.runner.settings import Adjust
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.verdict import Better
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.contenders import NamedRun, compare_runs
from openpts_compare.compare.figures import comparison_document
from openpts_pages.measure import Measured
from openpts_pages.model import Report, Row
from openpts_pts.wsat import WriteSaturationConditions
from tests.support.oracle_presets import write_oracle
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole

REPORT_DATE = "2026-02-03T04:05:06Z"
END_ZONE, RATIO = "RND 4 KiB RW0, end zone", "RND 4 KiB RW0, FOB plateau / end zone"
FOB = "RND 4 KiB RW0, FOB plateau"
STATE = "Steady State n/a (3 of 5 tracked minutes)"


def shorter(minutes: int) -> Adjust:
    """Write saturation that its longest time ends."""

    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, WriteSaturationConditions)
        longest_ns = minutes * 60 * NS_PER_S
        return replace(conditions, longest_ns=longest_ns, drive_fills=12.0, steady_after_drive_fills=0.0)

    return adjust


def fallen(folder: Path, minutes: int, *, fresh_s: int = 1200) -> Run:
    """So many minutes of write saturation on a drive that writes 60 I/Os a second at first, then 20."""
    preset = write_oracle(folder, [60, *[20] * 40], by="seconds", every=fresh_s)
    return run_whole("wsat", DriveClass.ENTERPRISE, folder / "run", shorter(minutes), f"sim:{preset}")


@pytest.fixture(scope="module")
def three_of_five(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fallen(tmp_path_factory.mktemp("short"), 90)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fallen(tmp_path_factory.mktemp("whole"), 200)


def key_values(run: Run) -> dict[str, Measured]:
    found = procedure_of("wsat").report(run).measures
    return {one.label: one for one in found if one.is_key}


def rows_called_steady(report: Report) -> list[tuple[str, Row]]:
    """Rows whose name claims a steady state: in front, or in the first cell of a table of key values."""
    return [
        (name, row)
        for table in report.tables().values()
        for row in table.rows
        for name in (row.head.text, row.cells[0].text if row.cells else "")
        if "steady" in name.lower() and "not steady" not in name.lower()
    ]


def test_an_end_zone_without_steady_state_is_no_steady_figure(three_of_five: Run) -> None:
    (workload,) = summarize(three_of_five)["workloads"]
    assert workload["steady_state"]["reached"] is False
    assert workload["steady_state"]["average_iops"] is None
    assert workload["zones"]["end_zone_iops"] == pytest.approx(20, rel=0.01)
    assert not [key for key in workload["zones"] if "steady" in key]
    report = build_report(three_of_five, REPORT_DATE)
    for _, row in rows_called_steady(report):
        assert all(cell.value is None for cell in row.cells)
    zones = {row.head.text: row.cells[0].text for row in report.tables()["wsat-zones-table"].rows}
    assert zones["Steady State"] == "n/a (3 of 5 tracked minutes)"
    assert float(zones["End zone, mean (IOPS)"]) == pytest.approx(20, rel=0.01)


@pytest.mark.slow
def test_a_plateau_that_was_left_for_no_level_is_not_called_unleft(tmp_path: Path) -> None:
    """20 minutes of 60 I/Os a second, then 20 and 40 in turn: none is near the mean of the last thirty."""
    preset = write_oracle(tmp_path, [60, 60, *[20, 40] * 20], by="seconds", every=600)
    run = run_whole("wsat", DriveClass.ENTERPRISE, tmp_path / "run", shorter(120), f"sim:{preset}")
    table = build_report(run, REPORT_DATE).tables()["wsat-zones-table"]
    zones = {row.head.text: row.cells[0].text for row in table.rows}
    assert zones["FOB plateau, length (min)"] == "20"
    values = key_values(run)
    assert values[FOB].value == pytest.approx(60, rel=0.01)
    assert {values[name].noted_cell.note for name in (END_ZONE, RATIO)} == {"end zone not reached"}
    assert (zones["Transition begins"], zones["End zone begins"]) == ("minute 21", "n/a (nothing settled)")


def test_key_values_of_saturation_carry_their_state(three_of_five: Run) -> None:
    values = key_values(three_of_five)
    steady = values["RND 4 KiB RW0, Steady State"]
    assert (steady.value, steady.note) == (None, STATE)
    assert values[END_ZONE].value == pytest.approx(20, rel=0.01)
    assert (values[END_ZONE].state, values[RATIO].state) == (STATE, STATE)
    assert values[END_ZONE].noted_cell.note.endswith(STATE)
    assert not any("steady" in name for name in values)


def test_a_steady_figure_is_the_average_of_the_window_that_was_steady(whole: Run) -> None:
    (workload,) = summarize(whole)["workloads"]
    tracked, last = workload["tracked_iops"], workload["steady_state"]["tracking_round"]
    values = key_values(whole)
    steady = values["RND 4 KiB RW0, Steady State"]
    assert steady.value == pytest.approx(sum(tracked[last - 5 : last]) / 5)
    assert (steady.state, values[END_ZONE].state) == ("", "")
    assert [values[name].value for name in (FOB, END_ZONE)] == pytest.approx([60, 20], rel=0.01)
    assert (values[RATIO].text, values[RATIO].better) == ("3.00", Better.UNJUDGED)


def test_a_comparison_tells_the_state_in_table_and_json(whole: Run, three_of_five: Run) -> None:
    comparison = compare_runs([NamedRun(whole, "whole"), NamedRun(three_of_five, "cut")])
    (test,) = msgspec.to_builtins(comparison_document(comparison, ()))["tests"]
    lines = {value["name"]: {one["name"]: one for one in value["sets"]} for value in test["key_values"]}
    assert lines["RND 4 KiB RW0, Steady State"]["cut"]["median"] is None
    assert [*lines[END_ZONE]["cut"]["states"]] == [STATE]
    assert [*lines[END_ZONE]["whole"]["states"]] == [None]
    tables = build_comparison(comparison).tables()
    rows = [row for row in tables["compare-wsat-sets"].rows if END_ZONE in row.head.text]
    assert any(STATE in cell.text for row in rows for cell in row.cells)
    assert f"cut: {STATE}" in tables["compare-wsat-glance"].note


def test_a_set_of_which_some_runs_were_steady_says_how_many(whole: Run, three_of_five: Run) -> None:
    alike = replace(three_of_five.manifest, conditions=whole.manifest.conditions)
    stopped = replace(three_of_five, manifest=alike)
    comparison = compare_runs(
        [NamedRun(whole, "a"), NamedRun(stopped, "a"), NamedRun(stopped, "a"), NamedRun(whole, "b")]
    )
    (test,) = msgspec.to_builtins(comparison_document(comparison, ()))["tests"]
    (line,) = (value for value in test["key_values"] if value["name"] == END_ZONE)
    assert f"2 of 3 runs: {STATE}" in line["sets"][0]["statement"]


def test_a_plateau_that_was_steady_and_left_is_no_level_of_the_drive(tmp_path: Path, golden: Golden) -> None:
    """125 minutes at 60 I/Os a second, which are five tracked minutes, then 75 at 20."""
    run = fallen(tmp_path, 200, fresh_s=125 * 60)
    (workload,) = summarize(run)["workloads"]
    steady = workload["steady_state"]
    assert (steady["reached"], steady["tracking_round"], steady["ends_elsewhere"]) == (True, 5, True)
    values = key_values(run)
    for name in ("RND 4 KiB RW0, Steady State", END_ZONE, RATIO):
        assert values[name].state == "Steady State found in Tracking Round 5, at another level than the end"
    texts = [verdict.text for verdict in procedure_of("wsat").report(run).verdicts]
    assert texts == golden
