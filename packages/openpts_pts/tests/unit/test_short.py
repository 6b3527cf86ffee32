"""The short report holds what the full one found, and nothing that it did not."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.report.build import build_combined, short_report
from openpts.report.run_part import part_of
from openpts.units import NS_PER_S
from openpts_pages.model import Cell, Report, Table
from openpts_pts.conformance.catalogue import PTS
from tests.support.made_up_run import ended_after, made_up_run, telling_run
from tests.support.page_transcript import transcript_of

DATE = "2026-11-21T08:00:00Z"


@pytest.fixture(scope="module")
def report() -> Report:
    return short_report([part_of(telling_run(name), DATE) for name in PTS], DATE)


def all_cells(report: Report) -> Iterator[Cell]:
    for table in report.tables().values():
        for row in table.rows:
            yield row.head
            yield from row.cells


@pytest.mark.proves(
    "TKP-SET-01..04",
    "TKP-GEN-01",
    "TKP-SS-04",
    "TKP-IOPS-05",
    "TKP-IOPS-06",
    "TKP-IOPS-07",
    "TKP-LAT-03",
    "TKP-LAT-04",
    "TKP-WSAT-03",
)
def test_what_is_on_the_pages(report, transcript) -> None:
    assert transcript_of(report, *(page.id for page in report.pages())) == transcript


def test_no_number_is_new(report) -> None:
    full = build_combined([telling_run(name) for name in PTS], DATE)
    known = {cell.value for cell in all_cells(full)}
    rounds = [table for table in report.tables().values() if table.head.label == "Round"]
    counted = {row.head.value for table in rounds for row in table.rows}
    assert {cell.value for cell in all_cells(report)} <= known | counted


@pytest.mark.parametrize("name", ["iops", "tp", "lat", "wsat"])
@pytest.mark.parametrize("whole", [0, 5])
def test_a_run_that_was_cut_off_beside_a_whole_one(name, whole) -> None:
    cut = ended_after(made_up_run(name), whole)
    short = short_report([part_of(cut, DATE), part_of(made_up_run(name), DATE)], DATE)
    of_cut, of_whole = short.front[1:]
    assert (of_cut.id, of_whole.id) == (f"short-{name}1", f"short-{name}2")
    assert all(figure.alt for figure in short.figures())
    ids = [table.id for page in short.front for table in page.blocks if isinstance(table, Table)]
    assert len(ids) == len(set(ids))
    assert len(of_whole.blocks) >= len(of_cut.blocks)


def test_what_was_not_done_is_not_claimed_and_a_round_has_its_own_length(golden) -> None:
    def changed(conditions: Any) -> Any:
        fewer = {"precondition_passes": 0} if hasattr(conditions, "precondition_passes") else {}
        return replace(conditions, minute_ns=30 * NS_PER_S, **fewer)

    parts = [part_of(made_up_run(name, adjust=changed), DATE) for name in ("iops", "tp", "lat", "wsat")]
    words = [page.blocks[0].text for page in short_report(parts, DATE).front[1:]]  # type: ignore[union-attr]
    assert words == golden


@pytest.mark.proves("TKP-IOPS-08")
def test_the_table_of_iops_is_the_full_one_mirrored(report) -> None:
    full = report.tables()["iops-iops-table"]
    (short,) = [one for one in report.tables().values() if one.title.startswith("Average IOPS by block size")]
    assert [row.cells[::-1] for row in short.rows] == [row.cells for row in full.rows]


def test_what_the_drive_s_log_says_against_a_run_stands_on_every_page() -> None:
    part = replace(part_of(made_up_run("iops"), DATE), health_alerts=("2 media errors during the run",))
    assert short_report([part], DATE).red_line == "2 media errors during the run"
    both = short_report([part, part_of(made_up_run("lat"), DATE)], DATE)
    assert both.red_line == "IOPS: 2 media errors during the run"
