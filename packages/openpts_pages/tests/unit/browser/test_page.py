"""The page in a real browser: theme, keys, narrow windows, paper, without scripts, with hostile texts."""

import re
import shutil
import subprocess

import msgspec
import pytest

from openpts_pages.model import Cell, Table
from tests.support.report_page import alive, press, show, written

MARK = "SIMULATED, preset enterprise-tlc, scale 1:67 - not a measurement of a drive"


def test_the_theme_is_the_system_s_until_one_is_chosen_and_that_is_kept(tab, gallery_page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    tab.media(dark=True)
    show(tab, gallery_page)
    assert tab.run(ground) == "rgb(20, 24, 29)"
    press(tab, "[data-theme-choice=light]")
    assert tab.run(ground) == "rgb(255, 255, 255)"
    show(tab, gallery_page)
    assert tab.run(ground) == "rgb(255, 255, 255)"
    assert tab.run("document.querySelector('[data-theme-choice=light]').ariaPressed") == "true"
    press(tab, "[data-theme-choice=system]")
    assert tab.run(ground) == "rgb(20, 24, 29)"


@pytest.mark.slow
def test_every_control_is_reached_and_shown_by_tab(tab, gallery_page) -> None:
    show(tab, gallery_page)
    tab.run("document.querySelectorAll('nav details').forEach(d => { d.open = true; })")
    controls = tab.run(
        """[...document.querySelectorAll('a[href], button, summary, [tabindex="0"]')]
        .filter((element) => element.checkVisibility({ visibilityProperty: true }))
        .map((element, n) => { element.dataset.test = n; }).length"""
    )
    reached: set[str] = set()
    for _ in range(controls + 5):
        tab.press("Tab")
        at, outline = tab.run(
            "(e => [e.dataset.test ?? '', getComputedStyle(e).outlineStyle])(document.activeElement)"
        )
        if at:
            reached.add(at)
            assert outline != "none", (at, len(reached))
    assert len(reached) == controls > 60
    names = tab.run(
        "[...document.querySelectorAll('button')].filter(b => !(b.ariaLabel || b.textContent).trim()).length"
    )
    assert names == 0


def test_without_scripts_the_same_is_to_be_read(tab, reports, tmp_path) -> None:
    page = written(reports("steady"), tmp_path)
    content = """JSON.stringify([
      [...document.querySelectorAll('main table:not(.header table)')]
        .map((table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()))),
      [...document.querySelectorAll('main p, main h2, main h3, figcaption')].map((text) => text.textContent),
    ])"""
    show(tab, page)
    live = tab.run(content)
    tab.open(page, scripts=False)
    html = tab.call("DOM.getOuterHTML", nodeId=tab.call("DOM.getDocument")["root"]["nodeId"])["outerHTML"]
    assert 'data-ready="yes"' not in html
    tab.picture(tmp_path / "still.png")
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert tab.run(content) == live
    assert not tab.run("[...document.querySelectorAll('.tools')].some(e => e.checkVisibility())")
    widths = tab.run("[...document.querySelectorAll('figure svg')].map(e => e.getBoundingClientRect().width)")
    drawn = sum(width > 200 for width in widths)
    assert drawn == len(reports("steady").figures())
    # a script of the page that waited for its turn may run now, where the libraries did not
    tab.console.clear()


def test_a_browser_that_unpacks_nothing_says_so(tab, gallery_page) -> None:
    script = tab.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")
    try:
        show(tab, gallery_page)
    finally:
        tab.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    assert tab.run("document.querySelector('#static-only').checkVisibility()")
    assert not tab.run("document.querySelector('.tools').checkVisibility()")
    assert tab.run("document.querySelector('[data-theme-choice=dark]').checkVisibility()")


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_is_wider_than_the_window(tab, reports, tmp_path, width) -> None:
    tab.window(width, 900)
    show(tab, written(reports("hostile"), tmp_path))
    alive(tab, "iops-a1-rw0-plot")
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("[...document.querySelectorAll('.drawing')].every(e => e.scrollWidth <= e.clientWidth)")
    assert tab.run("document.querySelector('nav > details').open") is (width > 900)


def test_links_and_struck_claims(tab, reports, tmp_path) -> None:
    report = reports("steady")
    page = report.back[0]
    table = report.tables()["cover-drive"]
    row = msgspec.structs.replace(table.rows[0], cells=(Cell("1,000 MB/s", 1000.0, struck=True),))
    link = msgspec.structs.replace(table.rows[1], cells=(Cell("", link=report.pages()[-1].id),))
    table = msgspec.structs.replace(table, rows=(row, link))
    blocks = tuple(
        table if isinstance(block, Table) and block.id == table.id else block for block in page.blocks
    )
    back = (msgspec.structs.replace(page, blocks=blocks), *report.back[1:])
    show(tab, written(msgspec.structs.replace(report, back=back), tmp_path))
    assert tab.run(f"document.querySelector('#{table.id} s').textContent") == "1,000 MB/s"
    assert "struck through" in tab.run(f"document.querySelector('#{table.id} td').textContent")
    assert tab.run(f"document.querySelector('#{table.id} td a').ariaLabel") == report.pages()[-1].title
    press(tab, f"#{table.id} td a")
    assert tab.run("location.hash") == f"#{report.pages()[-1].id}"


def test_a_practice_test_has_no_header_of_the_specification(tab, reports, tmp_path) -> None:
    report = reports("steady")
    section = report.sections[0]
    header = msgspec.structs.replace(
        section.header, of_specification=False, bar="Methodology Report (not part of SNIA PTS)"
    )
    section = msgspec.structs.replace(section, header=header)
    show(tab, written(msgspec.structs.replace(report, sections=(section,)), tmp_path))
    words = tab.run("document.querySelector('.once .header').textContent")
    assert "Methodology Report" in words
    assert "SSS TWG" not in words
    assert "Test Spec" not in words


@pytest.mark.slow
def test_printed_pages_have_header_red_line_and_no_controls(tab, reports, tmp_path) -> None:
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed (package poppler-utils)")
    report = reports("simulated")
    show(tab, written(report, tmp_path))
    alive(tab, "iops-a1-rw0-plot")
    path = tab.printed(tmp_path / "printed.pdf")
    text = subprocess.run(
        ["pdftotext", "-layout", path, "-"], check=True, capture_output=True, text=True
    ).stdout
    words = re.sub(r"\s+", " ", text)
    pages = report.sections[0].pages
    for number, page in enumerate(pages, start=1):  # a brief one is on the sheet of the page before
        assert (f"{number} of {len(pages)}" in words) is not page.is_brief
    assert words.count(MARK) >= sum(not page.is_brief for page in report.pages())
    for control in ("Log / linear", "PNG", "Reset", "report.json", "Contents"):
        assert control not in words


@pytest.mark.parametrize(
    "case",
    ["hostile", "nothing", *(pytest.param(case, marks=pytest.mark.slow) for case in ("two rounds", "fast"))],
)
def test_pages_of_all_kinds_open_in_silence(tab, reports, tmp_path, case) -> None:
    tab.call("Page.addScriptToEvaluateOnNewDocument", source="window.alert = () => console.log('ran')")
    report = reports(case)
    show(tab, written(report, tmp_path))
    for figure in report.figures():
        if figure.kind != "columns3d":
            alive(tab, figure.id)
    assert report.title in tab.run("document.title")
