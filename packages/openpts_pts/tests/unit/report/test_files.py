"""The written files: byte-identical, self-contained, safe, and complete as text."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.report import write
from openpts.report.sources import ReportSource
from openpts.report.write import ReportOptions, write_report
from openpts_pages.html import render_html
from openpts_pages.model import Report
from openpts_pages.pdf import render_pdf
from openpts_pages.plots.svg import draw_figures
from openpts_pages.plots.theme import PLOT_WIDTH_PX
from tests.support.report_cases import SLOW_BUT_FOR_A_SAMPLE
from tests.support.stream_runs import measured, stored

ONLY_MODEL = ReportOptions(html=False, pdf=False, csv=False)
LARGEST_HTML_BYTES = 5_000_000
INNARDS = re.compile(r"\b(NaN|nan|Infinity|None|undefined)\b|\de\+\d")


class Page(HTMLParser):
    """What a browser would make of the markup: elements, references, visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.text: list[str] = []
        self._hidden = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._hidden += tag in {"script", "style"}
        for name, value in attrs:
            self.handlers += [name] if name.startswith("on") else []
            self.ids += [value or ""] if name == "id" else []
            self.references += (
                [value or ""] if name in {"src", "href", "xlink:href", "action", "data"} else []
            )

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in {"script", "style"}

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text.append(data)


def all_files(folder: Path) -> dict[str, bytes]:
    """What is in a folder, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def html_of(report: Report) -> str:
    return render_html(report, draw_figures(report))


def pdf_text(content: bytes, tmp_path) -> str:
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed (package poppler-utils)")
    path = tmp_path / "report.pdf"
    path.write_bytes(content)
    return subprocess.run(
        ["pdftotext", "-layout", path, "-"], check=True, capture_output=True, text=True
    ).stdout


def test_another_process_gives_the_same_bytes(tmp_path) -> None:
    """Counters, hash seeds and addresses of a process must not show."""
    folder = stored(tmp_path / "run", measured())  # few figures
    script = (
        "import sys, pathlib; from openpts.report.write import write_report; "
        "from openpts.report.sources import ReportSource; "
        "write_report(ReportSource.of((pathlib.Path(sys.argv[1]),)), out=pathlib.Path(sys.argv[2]))"
    )
    nothing_kept = {**os.environ, "OPENPTS_CACHE": "off"}
    command = [sys.executable, "-c", script, folder, tmp_path / "other"]
    subprocess.run(command, check=True, env=nothing_kept)
    write_report(ReportSource.of((folder,)), out=tmp_path / "own")
    assert all_files(tmp_path / "own") == all_files(tmp_path / "other")


def test_the_report_date_is_the_end_of_the_run_unless_given(reports, tmp_path) -> None:
    source = ReportSource.of((reports.folder("steady"),))
    by_default = write_report(source, out=tmp_path, options=ONLY_MODEL)
    assert json.loads(by_default.json.read_bytes())["report_date"] == "2025-01-14T15:02:00Z"
    later = replace(ONLY_MODEL, report_date="2026-02-03T04:05:06Z")
    given = write_report(source, out=tmp_path, options=later)
    report = json.loads(given.json.read_bytes())
    assert report["sections"][0]["header"]["report_run_date"] == "2026-02-03 04:05 UTC"


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("case", SLOW_BUT_FOR_A_SAMPLE)
def test_html_asks_for_nothing_outside_itself(reports, case) -> None:
    html = html_of(reports(case))
    page = Page(html)
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert page.handlers == []
    assert len(page.ids) == len(set(page.ids))
    assert not {"iframe", "link", "base", "object", "embed", "img"} & set(page.tags)
    assert page.tags.count("script") == 4
    assert not any("http" in reference for reference in page.references)
    assert len(html.encode()) < LARGEST_HTML_BYTES
    assert not INNARDS.search(" ".join(page.text))


def test_html_shows_all_drawings_and_tables_without_scripts(reports) -> None:
    report = reports("steady")
    page = Page(html_of(report))
    assert page.tags.count("svg") == len(report.figures())
    assert set(report.tables()) <= set(page.ids)
    text = " ".join(page.text)
    for value in ("152,934.0", "900,069.6", "SYN0000001", "Plot A.8 - IOPS - All RW Mix & BS - 3D Columns"):
        assert value in text


def test_drawings_use_the_colors_of_the_theme(reports) -> None:
    body = html_of(reports("steady")).split("<main", 1)[1].split("</main>", 1)[0]
    assert "var(--series-1)" in body
    assert "var(--mix-7)" in body
    assert not re.search(r'(fill|stroke)="#[0-9a-f]{3,6}"', body)


@pytest.mark.slow
def test_hostile_text_stays_text(reports, tmp_path) -> None:
    report = reports("hostile")
    html = html_of(report)
    assert "<script>alert" not in html
    text = " ".join(Page(html).text)
    assert '<script>alert(1)</script> #panic("x")' in text
    assert "測試" in text
    printed = pdf_text(render_pdf(report, draw_figures(report)), tmp_path)
    assert "#panic(" in printed
    assert "[U+6E2C]" in printed


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("case", SLOW_BUT_FOR_A_SAMPLE)
def test_pdf_can_be_made_of_every_case(reports, tmp_path, case) -> None:
    report = reports(case)
    content = render_pdf(report, draw_figures(report))
    printed = pdf_text(content, tmp_path)
    assert not INNARDS.search(printed)
    pages = printed.split("\f")[:-1]
    assert len(pages) > sum(page.mandatory for section in report.sections for page in section.pages)
    if report.red_line:
        assert all(report.red_line in page for page in pages)
    for alert in report.sections[0].alerts:
        assert all(alert in page for page in pages if "Test Platform" in page)


@pytest.mark.proves("PTS-HDR-01", "PTS-HDR-02")
def test_pdf_prints_titles_axes_values_and_header(reports, tmp_path) -> None:
    report = reports("steady")
    content = render_pdf(report, draw_figures(report))
    assert b"pdfuaid" in content
    printed = pdf_text(content, tmp_path)
    words = re.sub(r"\s+", " ", printed)
    for page in report.pages():
        assert page.title in words
    of_the_test = [text for text in printed.split("\f") if "Report Page" in text]
    assert len(of_the_test) == 15
    header = report.sections[0].header
    for text in of_the_test:
        for field in ("Test Run Date:", header.vendor, header.model, header.revision, "SYN0000001"):
            assert field in re.sub(r"\s+", " ", text)
    for figure in report.figures():
        if figure.width_px == PLOT_WIDTH_PX:  # the captions of small ones stand side by side
            assert f"{figure.number} - {figure.title}" in words
    for text in (
        "SYN0000001",
        "Test Run Date:",
        "2.00 x User",
        "1 of 15",
        "15 of 15",
        "Round",
        "Block size (KiB)",
    ):
        assert text in words
    for cell in report.tables()["iops-iops-table"].rows[1].cells:
        assert cell.text in words
    # long words are found as they are
    assert "SYN1-20250114T081100Z-iops" in printed
    assert "\u200b" not in printed


@pytest.mark.parametrize("name", ["report.html", "data", "data/a.csv"])
def test_no_name_of_a_report_leads_elsewhere(reports, tmp_path, monkeypatch, name) -> None:
    """A folder from another lab may have links where the report's files will be."""
    contents = {".json": b"{}", ".html": b"<!doctype html>", ".pdf": b"%PDF", "data/a.csv": b"1\n"}
    monkeypatch.setattr(write, "_contents", lambda *_arguments: contents)
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    shutil.copytree(reports.folder("two rounds"), folder)
    elsewhere.mkdir()
    (elsewhere / "precious").write_bytes(b"precious")
    link = folder / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere if name == "data" else elsewhere / "precious")
    with pytest.raises(RecordError, match=f"can't write the report into .*: {name} is a symbolic link"):
        write_report(ReportSource.of((folder,)), options=ONLY_MODEL)
    assert all_files(elsewhere) == {"precious": b"precious"}
    assert [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()] == [
        folder / "run.db"
    ]
    link.unlink()
    write_report(ReportSource.of((folder,)), options=ONLY_MODEL)
    assert set(all_files(folder)) == {
        *("run.db", "report.json", "report.html", "report.pdf", "data/a.csv", "figures.json", "SHA256SUMS")
    }


def test_every_file_of_a_report_is_written_by_the_one_door(reports, tmp_path, monkeypatch) -> None:
    """What is not handed to it does not appear."""
    handed: list[str] = []
    monkeypatch.setattr(
        write, "write_outputs", lambda _folder, contents, *_, **_more: handed.extend(contents)
    )
    write_report(ReportSource.of((reports.folder("nothing"),)), out=tmp_path)
    assert {Path(name).suffix for name in handed} == {".json", ".html", ".pdf", ".csv", ".SHA256SUMS"}
    assert all_files(tmp_path) == {}


def test_a_folder_that_can_t_be_written_is_one_line(reports, tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(RecordError, match="can't write the report"):
        write_report(ReportSource.of((reports.folder("two rounds"),)), out=blocked, options=ONLY_MODEL)
