"""The report of profiles of a drive whose every figure is known."""

import pytest
from msgspec.structs import replace as with_changes

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts_pages.model import Report
from openpts_practice.rows.benchmarks.report import report as content_of
from openpts_practice.rows.profiles import BENCHMARKS
from openpts_practice.tests.unit.report.known_drives import Rates
from tests.support.made_up_run import made_up_run

DATE = "2026-02-03T04:05:06Z"


def run_of(*names: str, passes: float = 0) -> Run:
    def chosen(conditions: Conditions) -> Conditions:
        wanted = tuple(BENCHMARKS[name] for name in names)
        return with_changes(conditions, benchmarks=wanted, precondition_passes=passes)

    return made_up_run("benchmarks", rate=Rates(), adjust=chosen)


def report(*names: str) -> Report:
    return build_report(run_of(*names), DATE)


def test_figures_for_machines() -> None:
    (benchmark,) = content_of(run_of("crystaldiskmark-real-world")).figures()["benchmarks"]
    assert benchmark["definition_confirmed"]
    row = benchmark["rows"][0]
    assert (row["name"], row["read_pct"], row["passes"], row["statistic"]) == ("SEQ1M Q1T1", 100, 3, "best")
    assert [shown["unit"] for shown in row["shown"]] == ["MB/s", "IOPS", "us"]
    assert row["shown"][1] == {
        "unit": "IOPS",
        "value": pytest.approx(1030),
        "min": pytest.approx(1010),
        "max": pytest.approx(1030),
        "values": pytest.approx([1010, 1020, 1030]),
        "median": pytest.approx(1020),
        "rse_pct": pytest.approx(10 / 1020 / 3**0.5 * 100),
        "rse_limit_pct": 5,
        "quality": "accepted",
    }


def key_rows(*names: str) -> list[str]:
    return [row.cells[0].text for row in report(*names).tables()["summary"].rows]


def test_the_cover_has_reads_and_writes() -> None:
    few = ("crystaldiskmark", "as-ssd")
    benchmarks = [BENCHMARKS[name] for name in few]
    assert key_rows(*few) == [f"{one.title}: {row.title}" for one in benchmarks for row in one.rows]
    many = key_rows(*few, "anvil")
    assert len(many) <= 24
    assert {f"CrystalDiskMark 9.0.1, Default: SEQ1M Q8T1 {way}" for way in ("Read", "Write")} <= set(many)
