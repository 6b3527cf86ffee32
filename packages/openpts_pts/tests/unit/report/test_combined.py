"""One report of several runs: what they share stands once, what differs names its test."""

import pytest
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.procedures.registry import PROCEDURES, procedure_of
from openpts.record.reader import Run
from openpts.report.build import build_combined, build_report
from openpts.report.run_part import merged_page
from openpts_pages.model import Cell, Column, Figure, Page, Report, Row, Table, Verdict
from tests.support.made_up_run import made_up_run

DATE = "2026-11-21T08:00:00Z"
SPECIFIED = ("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth")


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [made_up_run(name) for name in SPECIFIED]


@pytest.fixture(scope="module")
def combined(runs: list[Run]) -> Report:
    return build_combined(list(reversed(runs)), DATE)


def table(*rows: tuple[str, str], table_id: str = "t") -> Table:
    return Table(
        table_id,
        "T",
        Column("Item"),
        (Column("Value"),),
        tuple(Row(Cell(head), (Cell(value),)) for head, value in rows),
    )


def test_tests_stand_in_the_order_of_the_specification(combined) -> None:
    order = [section.test.split("-")[0] for section in combined.sections]
    known = list(PROCEDURES)
    assert sorted(order, key=known.index) == order
    assert set(order) == set(SPECIFIED)


def test_all_pages_of_each_test_are_in_it(runs, combined) -> None:
    for run in runs:
        alone = build_report(run, DATE)
        for section in alone.sections:
            assert section in combined.sections


def test_no_id_comes_twice(combined) -> None:
    ids = [page.id for page in combined.pages()]
    blocks = [
        block.id for page in combined.pages() for block in page.blocks if isinstance(block, Table | Figure)
    ]
    assert len(ids) == len(set(ids))
    assert len(blocks) == len(set(blocks))


def test_every_link_and_table_leads_somewhere(combined) -> None:
    pages, tables = {page.id for page in combined.pages()}, combined.tables()
    links = {cell.link for t in tables.values() for row in t.rows for cell in row.cells if cell.link}
    assert links
    assert links <= pages
    for figure in combined.figures():
        assert figure.table_id in tables
        assert not figure.detail_table_id or figure.detail_table_id in tables


def test_the_summary_has_a_line_for_every_key_value(runs, combined) -> None:
    rows = combined.tables()["summary"].rows
    for run in runs:
        name = run.manifest.conditions.test
        wanted = [one.noted_cell for one in procedure_of(name).report(run).measures if one.is_key]
        assert [row.cells[1] for row in rows if row.head.text == name.upper()] == wanted


def test_the_same_test_twice_has_ids_of_its_own(runs) -> None:
    later = replace(runs[0], manifest=replace(runs[0].manifest, started_at="2027-01-01T00:00:00+00:00"))
    report = build_combined([later, runs[0]], DATE)
    assert [section.test for section in report.sections] == ["iops1-iops", "iops2-iops"]
    assert {row.head.text for row in report.tables()["summary"].rows} == {"IOPS 1", "IOPS 2"}
    ids = [block.id for page in report.pages() for block in page.blocks if isinstance(block, Table)]
    assert len(ids) == len(set(ids))


def _trends(report: Report) -> list[tuple[str, str]]:
    return [(one.id, one.number) for one in report.front[0].blocks if isinstance(one, Figure)]


def test_two_runs_of_a_test_have_the_same_small_plot_side_by_side(runs) -> None:
    first, other = runs[0], runs[3]
    later = [
        replace(first, manifest=replace(first.manifest, started_at=f"202{year}-01-01T00:00:00+00:00"))
        for year in (7, 8, 9)
    ]
    of_iops = [(f"trend-iops{n}-iops-a7-plot", f"See Plot A.7 IOPS {n}") for n in (1, 2, 3)]
    of_wsat = ("trend-wsat-iops-time-plot", "See Plot 10-1")
    assert _trends(build_combined([first, later[0]], DATE)) == of_iops[:2]
    assert _trends(build_combined([first, later[0], other], DATE)) == [of_wsat, *of_iops[:2]]
    assert _trends(build_combined([first, *later], DATE)) == of_iops


def test_runs_of_two_drives_are_refused(runs) -> None:
    manifest = runs[1].manifest
    other = replace(manifest, dut={**manifest.dut, "serial": replace(manifest.dut["serial"], value="OTHER1")})
    with pytest.raises(RecordError, match=r"several drives .*OTHER1.*openpts compare"):
        build_combined([runs[0], replace(runs[1], manifest=other)], DATE)


def test_no_run_is_no_report() -> None:
    with pytest.raises(RecordError, match="no run is given"):
        build_combined([], DATE)


def test_a_red_line_of_one_run_names_it_in_front_and_stands_on_its_pages_only(runs, golden) -> None:
    short = replace(runs[1], manifest=replace(runs[1].manifest, shortened=True))
    report = build_combined([runs[0], short], DATE)
    assert report.red_line.startswith("TP: SHORTENED RUN")
    by_test = {section.test: section.alerts for section in report.sections}
    assert by_test == golden


def test_rows_that_all_runs_share_stand_once_and_others_name_theirs() -> None:
    pages = [
        ("A", Page("p", "P", (table(("CPU", "X"), ("Date", "1"), ("Id", "7")),))),
        ("B", Page("p", "P", (table(("CPU", "X"), ("Date", "2"), ("Id", "7")),))),
        ("C", Page("p", "P", (table(("CPU", "X"), ("Date", "2"), ("More", "!"), ("Id", "7")),))),
    ]
    (merged,) = merged_page(pages).blocks
    assert isinstance(merged, Table)
    told = [(row.head.text, row.cells[0].text) for row in merged.rows]
    assert told == [("CPU", "X"), ("Date (A)", "1"), ("Date (B, C)", "2"), ("More (C)", "!"), ("Id", "7")]


def test_sentences_of_one_run_name_it() -> None:
    common, own = Verdict("All is well."), Verdict("It is hot.", "fail")
    pages = [("A", Page("p", "P", (common, own))), ("B", Page("p", "P", (common,)))]
    assert merged_page(pages).blocks == (common, Verdict("A: It is hot.", "fail"))


def test_a_single_page_stays_as_it_is() -> None:
    page = Page("p", "P", (table(("CPU", "X")),))
    assert merged_page([("A", page)]) is page
