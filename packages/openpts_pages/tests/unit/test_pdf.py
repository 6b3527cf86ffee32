"""What print has of its own: paper, outline, page numbers for links, heads that come again, small figures."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import typst
from msgspec.structs import replace

from openpts_pages.model import Cell, Column, Page, Report, Row, Section, Table, Verdict
from openpts_pages.pdf import render_pdf
from tests.support.golden_report import golden_report

pytestmark = pytest.mark.skipif(
    shutil.which("pdftotext") is None, reason="pdftotext is not installed (package poppler-utils)"
)


def printed(report: Report, folder: Path) -> Path:
    path = folder / "report.pdf"
    path.write_bytes(render_pdf(report, {}))
    return path


def told(*command: str | Path) -> str:
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout


def texts(path: Path) -> list[str]:
    return told("pdftotext", "-layout", path, "-").split("\f")[:-1]


@pytest.mark.parametrize(("paper", "size"), [("a4", "595.276 x 841.89 pts"), ("us-letter", "612 x 792 pts")])
def test_paper_is_the_one_asked_for(tmp_path, paper, size) -> None:
    assert size in told("pdfinfo", printed(replace(golden_report(), paper=paper), tmp_path))


def test_poppler_finds_no_error(tmp_path) -> None:
    path = printed(golden_report(), tmp_path)
    for command in ("pdfinfo", "pdftotext"):
        done = subprocess.run([command, path], check=True, capture_output=True, text=True)
        assert done.stderr == ""
    assert re.search(r"Tagged:\s+yes", told("pdfinfo", path))


def sheet_of(pages: list[str], title: str) -> int:
    """The sheet on which a page's title stands, behind the contents."""
    (found,) = [number for number, text in enumerate(pages) if title in text and "Contents" not in text]
    return found


def short_page(title: str, *, mandatory: bool = False) -> Page:
    return Page(title.lower(), title, (Verdict(f"What is told of {title}."),), mandatory)


def long_table(rows: int) -> Table:
    lines = tuple(Row(Cell(str(n)), (Cell("1"),)) for n in range(rows))
    return Table("long-one", "Rows", Column("x"), (Column("y"),), lines)


@pytest.mark.parametrize(
    ("style", "on_sheets"), [("specification", [0, 1, 2, 2, 2, 3, 3]), ("full", [0, 0, 0, 0, 0, 1, 1])]
)
def test_mandatory_pages_have_sheets_of_their_own_in_the_order_of_the_specification(
    tmp_path, style, on_sheets
) -> None:
    demanded = [short_page(f"Demanded {n}", mandatory=True) for n in range(2)]
    long = long_table(9)
    pages = (
        *demanded,
        Page("beyond", "Beyond", (long,)),
        short_page("Nothing found"),
        Page("more", "More", (long,)),
    )
    report = golden_report()
    section: Section = replace(report.sections[0], pages=pages)
    back = (short_page("Behind one"), short_page("Behind two"))
    report = replace(report, sections=(section,), back=back, style=style)
    sheets = texts(printed(report, tmp_path))
    places = [sheet_of(sheets, page.title) for page in (*pages, *report.back)]
    assert [place - places[0] for place in places] == on_sheets


@pytest.mark.parametrize(
    ("pages", "most_sheets"),
    [
        pytest.param(10, 1, marks=pytest.mark.slow),
        pytest.param(40, 1, marks=pytest.mark.slow),
        (80, 1),
        (300, 3),
    ],
)
def test_contents_are_on_one_sheet_as_long_as_they_fit(tmp_path, pages, most_sheets) -> None:
    report = golden_report()
    section: Section = replace(
        report.sections[0], pages=tuple(short_page(f"Part {n:03}") for n in range(pages))
    )
    cover = replace(report.front[0], blocks=(long_table(35),))
    made = replace(report, front=(cover,), sections=(section,), back=(), style="specification")
    listed = [re.findall(r"Part (\d{3}) \. ", sheet) for sheet in texts(printed(made, tmp_path))]
    assert sorted(int(n) for sheet in listed for n in sheet) == list(range(pages))
    assert 1 <= sum(bool(sheet) for sheet in listed) <= most_sheets


def test_a_link_without_a_text_prints_the_page_it_leads_to(tmp_path) -> None:
    pages = texts(printed(golden_report(), tmp_path))
    (glossary,) = [number for number, page in enumerate(pages, start=1) if "n 9s: so many nines." in page]
    assert re.search(rf"Where\s+the matrix\s+{glossary}\n", pages[0])


def test_a_test_beyond_the_specification_names_none(tmp_path) -> None:
    pages = texts(printed(replace(golden_report(), style="specification"), tmp_path))
    (beyond,) = [page for page in pages if "Methodology Test" in page]
    assert "SNIA" not in beyond.replace("not SNIA RTP", "")
    assert "PTS" not in beyond
    (own,) = [page for page in pages if "Page 1 of 6" in re.sub(r"\s+", " ", page)]
    assert "SNIA" in own


def test_the_outline_has_tests_and_their_pages(tmp_path) -> None:
    content = render_pdf(golden_report(), {})
    assert b"/Outlines" in content
    titles = re.findall(rb"/Title\s*\(([^)]*)\)", content)
    assert {b"Golden Test", b"IOPS v Time", b"Glossary"} <= set(titles)


def test_a_pdf_is_kept_under_all_that_it_depends_on(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    report = golden_report()
    first = render_pdf(report, {})
    monkeypatch.setattr(typst, "compile", None)
    assert render_pdf(report, {}) == first
    dated = replace(report, report_date="2031-02-03T04:05:06Z")
    renamed = replace(report, title=f"{report.title} II")
    for other, drawings in ((dated, {}), (renamed, {}), (report, {"golden": "<svg/>"})):
        with pytest.raises(TypeError):
            render_pdf(other, drawings)
    monkeypatch.setenv("OPENPTS_CACHE", "off")
    with pytest.raises(TypeError):
        render_pdf(report, {})


def test_a_long_table_repeats_its_head(tmp_path) -> None:
    rows = tuple(Row(Cell(str(n)), (Cell(str(n * n), n * n),)) for n in range(150))
    table = Table("squares", "Squares", Column("Number"), (Column("Square of it"),), rows)
    report = golden_report()
    section: Section = replace(report.sections[1], pages=(Page("squares", "Squares", (table,)),))
    pages = texts(printed(replace(report, sections=(section,), back=()), tmp_path))
    with_rows = [page for page in pages if re.search(r"^\s*\d\d+\s+\d{3,}\s*$", page, re.MULTILINE)]
    assert len(with_rows) >= 2
    assert all("Square of it" in page for page in with_rows)


@pytest.mark.parametrize(
    "letters", [1, 127, 128, 5_000, *(pytest.param(n, marks=pytest.mark.slow) for n in (90, 100, 120))]
)
def test_a_table_of_many_columns_takes_cells_of_any_length(tmp_path, letters) -> None:
    values = [f"v{column}" for column in range(10)]
    cells = tuple(map(Cell, ["Q" * letters, *values[1:]]))
    columns = tuple(Column(f"c{column}") for column in range(10))
    table = Table("wide", "Wide", Column("Row"), columns, (Row(Cell("first"), cells),))
    section: Section = replace(golden_report().sections[1], pages=(Page("wide", "Wide", (table,)),))
    sheets = texts(printed(replace(golden_report(), sections=(section,), back=()), tmp_path))
    words = "".join(sheets)
    assert words.count("Q") == letters
    assert [value for value in values[1:] if value not in words] == []
