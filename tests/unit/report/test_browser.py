"""The HTML in a real browser, from disk: by pointer and keys, without scripts, on screen and on paper."""

import csv
import io
import json
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openpts.report.csv_files import csv_files
from openpts.report.html import render_html
from openpts.report.model import Cell, Figure, Report, Table, points_of
from openpts.report.svg import draw_figures
from tests.support.browser import CHROMIUM, Browser, browser
from tests.support.report_cases import Reports
from tests.support.sample_figures import SECONDS, gallery

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

MARK = "SIMULATED, preset enterprise-tlc, scale 1:67 - not a measurement of a drive"
# What the page would save, instead of a dialog: name and content of each file.
CATCH_FILES = """
  window.files = [];
  window.urlOf ??= URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob) => { window.files.push(blob); return window.urlOf(blob); };
  HTMLAnchorElement.prototype.click = function () { window.files.at(-1).saved = this.download; };
"""


@pytest.fixture(scope="module")
def shared_tab() -> Iterator[Browser]:
    with browser() as tab:
        yield tab


@pytest.fixture
def tab(shared_tab: Browser) -> Iterator[Browser]:
    """The browser as a new reader has it; whatever a page did in it, it made no request and said nothing."""
    shared_tab.window(1400, 1000)
    shared_tab.media()
    shared_tab.console.clear()
    shared_tab.requests.clear()
    yield shared_tab
    assert shared_tab.console == []
    assert shared_tab.requests == []
    shared_tab.run("localStorage.clear()")


@pytest.fixture(scope="module")
def gallery_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(gallery(), tmp_path_factory.mktemp("gallery"))


def written(report: Report, folder: Path, *, embed_full: bool = False) -> Path:
    path = folder / "report.html"
    path.write_text(render_html(report, draw_figures(report), embed_full=embed_full), encoding="utf-8")
    return path


def changed(report: Report, **changes: dict[str, Any]) -> Report:
    """The report with fields of the figures or tables of these ids replaced."""
    pages = tuple(
        msgspec.structs.replace(
            page,
            blocks=tuple(
                msgspec.structs.replace(block, **changes[block.id])
                if isinstance(block, Figure | Table) and block.id in changes
                else block
                for block in page.blocks
            ),
        )
        for page in report.sections[0].pages
    )
    return msgspec.structs.replace(
        report, sections=(msgspec.structs.replace(report.sections[0], pages=pages), *report.sections[1:])
    )


def show(tab: Browser, page: Path) -> None:
    tab.open(page)
    tab.until("document.documentElement.dataset.ready === 'yes'")


def alive(tab: Browser, figure: str) -> None:
    """Bring a plot into sight and wait until it is drawn."""
    tab.run(f"document.getElementById('{figure}').scrollIntoView({{ block: 'center' }})")
    tab.until(f"document.getElementById('{figure}').dataset.live")


def press(tab: Browser, selector: str) -> None:
    """A click, as by a reader; what it starts may take a moment."""
    tab.run(f"document.querySelector({json.dumps(selector)}).click()")


def box(tab: Browser, figure: str) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the plot's own area."""
    area = f"document.querySelector('#{figure} .live .mark-group.role-frame.root .background')"
    left, top, right, bottom = tab.run(
        f"(r => [r.left, r.top, r.right, r.bottom])({area}.getBoundingClientRect())"
    )
    return left, top, right, bottom


def hover(tab: Browser, figure: str, across: float, down: float = 0.5) -> list[str]:
    """The lines of the tooltip at a place of the plot, given as shares of its area."""
    left, top, right, bottom = box(tab, figure)
    tab.point(left + (right - left) * across, top + (bottom - top) * down)
    text = tab.run(f"document.querySelector('#{figure} .tip')?.innerText ?? ''")
    return [line for line in text.split("\n") if line]


def zoom(tab: Browser, figure: str, start: float, end: float) -> None:
    """Drag over a share of the plot."""
    left, top, right, bottom = box(tab, figure)
    before = ticks(tab, figure, "x")
    middle = (top + bottom) / 2
    tab.drag((left + (right - left) * start, middle), (left + (right - left) * end, middle))
    tab.until(f"{json.dumps(before)} !== {TICKS % (figure, 'x')}.join('|')")


TICKS = """[...document.querySelectorAll('#%s .live .role-axis')].flatMap((axis) => {
  const texts = [...axis.querySelectorAll('.role-axis-label text')];
  const bottoms = texts.map((text) => Math.round(text.getBoundingClientRect().bottom));
  const isAcross = new Set(bottoms).size === 1;
  const seen = texts.filter((text) => getComputedStyle(text).opacity > 0).map((text) => text.textContent);
  return seen.length > 1 && isAcross === ('%s' === 'x') ? seen : [];
})"""


def ticks(tab: Browser, figure: str, axis: str) -> str:
    """The numbers along an axis, the upright line ones for y."""
    return str(tab.run(f"{TICKS % (figure, axis)}.join('|')"))


def readout(tab: Browser, figure: str) -> str:
    return str(tab.run(f"document.querySelector('#{figure} .readout').textContent"))


def lines(tab: Browser, figure: str) -> int:
    return int(tab.run(f"document.querySelectorAll('#{figure} .live .mark-line path').length"))


def saved(tab: Browser, selector: str) -> tuple[str, str]:
    """Name and text of the file that a button saves; of a PNG the text is its bytes as Latin-1."""
    tab.run(CATCH_FILES)
    press(tab, selector)
    tab.until("window.files.some(file => file.saved)")
    script = (
        "(async f => [f.saved, [...new Uint8Array(await f.arrayBuffer())]])(window.files.find(f => f.saved))"
    )
    name, content = tab.run(script)
    return name, bytes(content).decode("latin-1" if name.endswith("png") else "utf-8")


def test_series_scale_and_reset_of_a_plot(tab: Browser, reports: Reports, tmp_path: Path) -> None:
    show(tab, written(reports("steady"), tmp_path))
    alive(tab, "iops-a1-rw0-plot")
    assert lines(tab, "iops-a1-rw0-plot") == 8
    press(tab, "#iops-a1-rw0-plot .series")
    tab.until("document.querySelectorAll('#iops-a1-rw0-plot .live .mark-line path').length === 7")
    assert tab.run("document.querySelector('#iops-a1-rw0-plot .series').ariaPressed") == "false"
    logarithmic = ticks(tab, "iops-a1-rw0-plot", "y").split("|")
    press(tab, "#iops-a1-rw0-plot [data-do=scale]")
    tab.until(f"{TICKS % ('iops-a1-rw0-plot', 'y')}[0] === '0'")
    linear = [float(text.replace(",", "")) for text in ticks(tab, "iops-a1-rw0-plot", "y").split("|")]
    assert len({round(upper - lower) for lower, upper in pairwise(linear)}) == 1
    press(tab, "#iops-a1-rw0-plot [data-do=reset]")
    tab.until("document.querySelectorAll('#iops-a1-rw0-plot .live .mark-line path').length === 8")
    assert ticks(tab, "iops-a1-rw0-plot", "y").split("|") == logarithmic
    assert tab.run("document.querySelectorAll('#iops-a1-rw0-plot .view [aria-pressed=true]').length") == 0


def test_the_tooltip_lists_all_series_in_the_plot_s_order_with_units(
    tab: Browser, reports: Reports, tmp_path: Path
) -> None:
    report = reports("steady")
    show(tab, written(report, tmp_path))
    alive(tab, "iops-a1-rw0-plot")
    figure = next(figure for figure in report.figures() if figure.id == "iops-a1-rw0-plot")
    table = report.tables()[figure.table_id]
    place, *told = hover(tab, figure.id, 0.5)
    number = re.fullmatch(r"Round (\d+)", place)
    assert number
    column = [column.value for column in table.columns].index(float(number[1]))
    expected = [
        [series.label, f"{table.rows[series.lines[0]].cells[column].text} IOPS"] for series in figure.series
    ]
    assert [told[n : n + 2] for n in range(0, len(told), 2)] == expected
    tab.point(2, 2)
    tab.until("!document.querySelector('.tip')")


def test_keys_step_through_the_values_and_zoom(tab: Browser, gallery_page: Path) -> None:
    show(tab, gallery_page)
    alive(tab, "nines")
    tab.run("document.querySelector('#nines .drawing').focus()")
    for _ in range(5):
        tab.press("ArrowRight")
    tab.until("document.querySelector('#nines .readout').textContent.includes('99.9:')")
    assert readout(tab, "nines") == "Confidence level 99.9: RW 0 0.2 ms; RW 65 0.5 ms"
    tab.press("Home")
    tab.until("document.querySelector('#nines .readout').textContent.startsWith('Confidence level 0:')")
    tab.press("ArrowLeft")
    assert readout(tab, "nines").startswith("Confidence level 0:")
    tab.press("End")
    tab.until("document.querySelector('#nines .readout').textContent.startsWith('Confidence level 99.999:')")
    whole = ticks(tab, "nines", "x")
    tab.press("+")
    tab.until(f"{json.dumps(whole)} !== {TICKS % ('nines', 'x')}.join('|')")
    tab.press("Escape")
    tab.until(f"{json.dumps(whole)} === {TICKS % ('nines', 'x')}.join('|')")
    assert readout(tab, "nines") == ""


def test_a_histogram_tells_share_and_confidence_level(tab: Browser, gallery_page: Path) -> None:
    show(tab, gallery_page)
    alive(tab, "clp")
    table = gallery().tables()["clp-values"]
    counts = [row.cells[0].value for row in table.rows[:-1]]
    tab.run("document.querySelector('#clp .drawing').focus()")
    for _ in range(15):
        tab.press("ArrowRight")
    tab.until("document.querySelector('#clp .readout').textContent")
    text = readout(tab, "clp")
    found = re.search(
        r"Response time (\S+) to (\S+) ms: .* ([\d,.]+); Share (\S+) %; Confidence level (\S+) %", text
    )
    assert found, text
    total = sum(count or 0 for count in counts)
    assert [found[1], found[2]] == [table.rows[14].head.text, table.rows[15].head.text]
    assert float(found[3].replace(",", "")) == counts[14]
    assert float(found[4]) == pytest.approx(100 * (counts[14] or 0) / total, rel=0.01)
    assert float(found[5]) == pytest.approx(100 * sum(count or 0 for count in counts[:15]) / total, abs=0.05)


def test_dragging_shows_the_seconds_and_fits_y_to_them(tab: Browser, gallery_page: Path) -> None:
    show(tab, gallery_page)
    alive(tab, "wsat")
    whole_x, whole_y = ticks(tab, "wsat", "x"), ticks(tab, "wsat", "y")
    assert whole_y.startswith("0|")
    zoom(tab, "wsat", 0.75, 0.9)
    numbers = [float(text) for text in ticks(tab, "wsat", "x").split("|")]
    assert 4.4 < min(numbers) < max(numbers) < 5.5
    highest = max(float(text.replace(",", "")) for text in ticks(tab, "wsat", "y").split("|"))
    assert highest < 60_000, "y goes up to 200,000 in the whole"
    assert "4 x user capacity" in tab.run("document.querySelector('#wsat .live').textContent")
    zoom(tab, "wsat", 0.5, 0.9)
    assert "4 x user capacity" not in tab.run("document.querySelector('#wsat .live').textContent")
    press(tab, "#wsat [data-do=reset]")
    tab.until(f"{json.dumps(whole_x)} === {TICKS % ('wsat', 'x')}.join('|')")
    assert ticks(tab, "wsat", "y") == whole_y


def test_a_double_click_shows_the_whole_again(tab: Browser, gallery_page: Path) -> None:
    show(tab, gallery_page)
    alive(tab, "prewrites")
    whole = ticks(tab, "prewrites", "x")
    zoom(tab, "prewrites", 0.2, 0.3)
    left, top, right, bottom = box(tab, "prewrites")
    for clicks in (1, 2):
        tab.point((left + right) / 2, (top + bottom) / 2, "mousePressed", clicks=clicks)
        tab.point((left + right) / 2, (top + bottom) / 2, "mouseReleased", clicks=clicks)
    tab.until(f"{json.dumps(whole)} === {TICKS % ('prewrites', 'x')}.join('|')")


def test_figures_of_a_group_zoom_together(tab: Browser, tmp_path: Path) -> None:
    wsat = next(figure for figure in gallery().figures() if figure.id == "wsat")
    report = changed(
        gallery(),
        wsat={"zoom_group": "time"},
        hir={"zoom_group": "time", "x": wsat.x},
        prewrites={"height_px": 300},
    )
    show(tab, written(report, tmp_path))
    for figure in ("prewrites", "hir", "wsat"):
        alive(tab, figure)
    alone = ticks(tab, "prewrites", "x")
    zoom(tab, "wsat", 0.1, 0.4)
    alive(tab, "hir")
    tab.until(f"{TICKS % ('hir', 'x')}.join('|') === {TICKS % ('wsat', 'x')}.join('|')")
    assert ticks(tab, "prewrites", "x") == alone


def test_axes_can_be_read_in_other_units(tab: Browser, tmp_path: Path) -> None:
    show(tab, written(changed(gallery(), wsat={"transfer_bytes": 4096}), tmp_path))
    alive(tab, "clp")
    before = ticks(tab, "clp", "x").split("|")
    press(tab, "#clp [data-unit=time]")
    tab.until("document.querySelector('#clp .live').textContent.includes('Response time (us)')")
    after = ticks(tab, "clp", "x").split("|")
    assert [float(text.replace(",", "")) for text in after] == [
        pytest.approx(1000 * float(text)) for text in before
    ]
    assert hover(tab, "clp", 0.3)[0].endswith(" us")
    alive(tab, "wsat")
    iops = hover(tab, "wsat", 0.5)
    press(tab, "#wsat [data-unit=rate]")
    tab.until("document.querySelector('#wsat .live').textContent.includes('Throughput (MB/s)')")
    rate = hover(tab, "wsat", 0.5)
    assert iops[2].endswith(" IOPS")
    assert rate[2].endswith(" MB/s")
    wanted = float(iops[2].split()[0].replace(",", "")) * 4096 / 1e6
    assert float(rate[2].split()[0].replace(",", "")) == pytest.approx(wanted, rel=0.001)
    assert not tab.run("document.querySelector('#hir [data-unit=rate]')"), "nobody told the size of its I/Os"


def test_tables_sort_by_value_and_come_back(tab: Browser, reports: Reports, tmp_path: Path) -> None:
    show(tab, written(reports("steady"), tmp_path))
    head = "#iops-iops-table .heads th:nth-child(2)"
    first = "document.querySelector('#iops-iops-table tbody tr th').textContent"
    press(tab, f"{head} .sort")
    tab.until(f"{first} === '1024'")
    assert tab.run(f"document.querySelector('{head}').ariaSort") == "ascending"
    press(tab, f"{head} .sort")
    tab.until(f"{first} === '4'")
    assert tab.run(f"document.querySelector('{head}').ariaSort") == "descending"
    press(tab, f"{head} .sort")
    tab.until(f"{first} === '0.5'")
    assert tab.run(f"document.querySelector('{head}').ariaSort") is None


def test_colours_tell_small_from_large(tab: Browser, reports: Reports, tmp_path: Path) -> None:
    show(tab, written(reports("steady"), tmp_path))
    place = "document.querySelector('#iops-iops-table tbody tr:nth-child(%d) td')"
    cell = f"getComputedStyle({place}).backgroundColor"
    plain = tab.run(cell % 2)
    press(tab, "#iops-iops-table caption button")
    tab.until(f"{cell % 2} !== {json.dumps(plain)}")
    assert tab.run(cell % 2) != tab.run(cell % 8)
    press(tab, "#iops-iops-table caption button")
    tab.until(f"{cell % 2} === {json.dumps(plain)}")


def test_a_row_marks_its_series_in_the_plot(tab: Browser, reports: Reports, tmp_path: Path) -> None:
    show(tab, written(reports("steady"), tmp_path))
    alive(tab, "iops-a1-rw0-plot")
    tab.run("document.querySelector('#iops-a1-rw0-values').scrollIntoView({ block: 'end' })")
    cell = "document.querySelector('#iops-a1-rw0-values tbody tr:nth-child(3) td')"
    x, y = tab.run(f"(r => [r.left + 5, r.top + 5])({cell}.getBoundingClientRect())")
    tab.point(x, y)
    bright = "[...document.querySelectorAll('#iops-a1-rw0-plot [data-series]:not(.dim)')]"
    marked = f"[...new Set({bright}.map(group => group.dataset.series))].join()"
    tab.until(f"{marked} === 's2'")
    tab.point(2, 2)
    tab.until("!document.querySelector('#iops-a1-rw0-plot .dim')")


def test_the_theme_is_the_system_s_until_one_is_chosen_and_that_is_kept(
    tab: Browser, gallery_page: Path
) -> None:
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


def parsed(text: str) -> list[list[str | float]]:
    """Rows of a CSV: numbers as such, for 1.0 and 1 are one."""

    def value(field: str) -> str | float:
        try:
            return float(field)
        except ValueError:
            return field

    return [[value(field) for field in row] for row in csv.reader(io.StringIO(text))]


@pytest.mark.parametrize("case", ["simulated", "hostile"])
def test_saved_tables_hold_what_the_data_files_hold(
    tab: Browser, reports: Reports, tmp_path: Path, case: str
) -> None:
    report = reports(case)
    show(tab, written(report, tmp_path))
    files = csv_files(report)
    for table in ("iops-iops-table", "setup-dut", "conformance-deviations"):
        if table not in report.tables():
            continue
        name, text = saved(tab, f"#{table} caption button:last-child")
        assert name.endswith(f"{table}.csv")
        assert parsed(text) == parsed(files[f"data/{table}.csv"])
    assert "iops-iops-table" in report.tables()
    _, text = saved(tab, "#iops-a7-plot [data-do=csv]")
    assert parsed(text) == parsed(files["data/iops-iops-table.csv"])


def test_a_saved_drawing_stands_alone_and_bears_the_red_line(
    tab: Browser, reports: Reports, tmp_path: Path
) -> None:
    show(tab, written(reports("simulated"), tmp_path))
    for figure in ("iops-a1-rw0-plot", "iops-a8-plot"):
        tab.run(f"document.getElementById('{figure}').scrollIntoView()")
        name, text = saved(tab, f"#{figure} [data-do=svg]")
        assert name.endswith(f"{figure}.svg")
        words = re.sub(r"\s+", " ", " ".join(re.findall(r">([^<>]+)</text>", text)))
        assert MARK in words
        assert "var(" not in text
        assert re.match(r'<svg xmlns="http://www.w3.org/2000/svg"', text)
    name, content = saved(tab, "#iops-a1-rw0-plot [data-do=png]")
    data = content.encode("latin-1")
    assert data.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width > 1400
    assert height > 760


def test_the_model_can_be_saved_whole(tab: Browser, reports: Reports, tmp_path: Path) -> None:
    report = reports("steady")
    show(tab, written(report, tmp_path))
    name, text = saved(tab, "[data-do=json]")
    assert name.endswith("report.json")
    assert msgspec.json.decode(text, type=Report) == report


def test_long_series_are_thinned_and_keep_their_extremes_unless_wanted_whole(
    tab: Browser, tmp_path: Path
) -> None:
    report = gallery()
    values = [y for _, y in points_of(report.figures()[0].series[0], report.tables()["wsat-values"])]
    for full in (False, True):
        folder = tmp_path / str(full)
        folder.mkdir()
        show(tab, written(report, folder, embed_full=full))
        name, text = saved(tab, "[data-do=json]")
        held = msgspec.json.decode(text, type=Report).tables()["wsat-values"]
        if full:
            assert held == report.tables()["wsat-values"]
            continue
        assert name.endswith("report-thinned.json")
        assert len(held.rows) <= 5000
        lows = [row.cells[2].value for row in held.rows]
        highs = [row.cells[4].value for row in held.rows]
        assert min(low for low in lows if low is not None) == min(values)
        assert max(high for high in highs if high is not None) == max(values)
        means = [row.cells[0].value for row in held.rows]
        assert sum(mean or 0 for mean in means) / len(means) == pytest.approx(sum(values) / SECONDS, rel=1e-9)


def test_a_long_table_opens_on_demand(tab: Browser, gallery_page: Path) -> None:
    show(tab, gallery_page)
    assert "data/hir-values.csv beside the report" in tab.run(
        "document.querySelector('#hir-values').textContent"
    )
    press(tab, "#hir-values summary")
    tab.until("document.querySelector('#hir-values tbody')")
    assert tab.run("document.querySelectorAll('#hir-values tbody tr').length") == 3600
    table = gallery().tables()["hir-values"]
    texts = tab.run("[...document.querySelectorAll('#hir-values tbody tr')].map(r => r.cells[1].textContent)")
    assert texts == [row.cells[0].text for row in table.rows]


def test_every_control_is_reached_and_shown_by_tab(tab: Browser, gallery_page: Path) -> None:
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


def test_without_scripts_the_same_is_to_be_read(tab: Browser, reports: Reports, tmp_path: Path) -> None:
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
    drawn = sum(width > 300 for width in widths)
    assert drawn == len(reports("steady").figures())


def test_a_browser_that_unpacks_nothing_says_so(tab: Browser, gallery_page: Path) -> None:
    script = tab.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")
    try:
        show(tab, gallery_page)
    finally:
        tab.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    assert tab.run("document.querySelector('#static-only').checkVisibility()")
    assert not tab.run("document.querySelector('.tools').checkVisibility()")
    assert tab.run("document.querySelector('[data-theme-choice=dark]').checkVisibility()")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_kinds_of_figures_come_alive_in_both_themes(tab: Browser, gallery_page: Path, dark: bool) -> None:
    tab.media(dark=dark, still=True)
    show(tab, gallery_page)
    for figure in gallery().figures():
        if figure.kind != "columns3d":
            alive(tab, figure.id)
            assert (
                tab.run(f"document.querySelector('#{figure.id} .live svg').getAttribute('aria-label')")
                == figure.alt
            )
    assert tab.run("document.getAnimations().length") == 0
    ground = "rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)"
    assert tab.run("getComputedStyle(document.body).backgroundColor") == ground


@pytest.mark.parametrize("width", [500, 1400])
def test_nothing_is_wider_than_the_window(tab: Browser, reports: Reports, tmp_path: Path, width: int) -> None:
    tab.window(width, 900)
    show(tab, written(reports("hostile"), tmp_path))
    alive(tab, "iops-a1-rw0-plot")
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("document.querySelector('nav > details').open") is (width > 900)


def test_small_figures_stand_side_by_side(tab: Browser, tmp_path: Path) -> None:
    report = gallery()
    section = report.sections[0]
    small = [
        msgspec.structs.replace(block, width_px=240, height_px=200)
        for page in section.pages
        for block in page.blocks
        if isinstance(block, Figure) and block.id in {"wsat", "nines", "prewrites"}
    ]
    page = msgspec.structs.replace(section.pages[0], blocks=tuple(small))
    rest = (table for table in report.tables().values())
    data = msgspec.structs.replace(section.pages[1], blocks=tuple(rest))
    report = msgspec.structs.replace(report, sections=(msgspec.structs.replace(section, pages=(page, data)),))
    show(tab, written(report, tmp_path))
    for figure in small:
        alive(tab, figure.id)
    boxes = "[...document.querySelectorAll('.beside figure')].map(figure => figure.getBoundingClientRect())"
    places = tab.run(f"{boxes}.map(box => [box.left, box.bottom])")
    assert len(places) == 3
    assert places[0][0] < places[1][0] < places[2][0]
    assert len({round(bottom) for _, bottom in places}) == 1
    assert tab.run("document.documentElement.scrollWidth") <= 1400


def test_links_and_struck_claims(tab: Browser, reports: Reports, tmp_path: Path) -> None:
    report = reports("steady")
    page = report.front[0]
    table = next(block for block in page.blocks if isinstance(block, Table))
    row = msgspec.structs.replace(table.rows[0], cells=(Cell("1,000 MB/s", 1000.0, struck=True),))
    link = msgspec.structs.replace(table.rows[1], cells=(Cell("", link=report.pages()[-1].id),))
    table = msgspec.structs.replace(table, rows=(row, link))
    blocks = tuple(
        table if isinstance(block, Table) and block.id == table.id else block for block in page.blocks
    )
    front = (msgspec.structs.replace(page, blocks=blocks), *report.front[1:])
    show(tab, written(msgspec.structs.replace(report, front=front), tmp_path))
    assert tab.run(f"document.querySelector('#{table.id} s').textContent") == "1,000 MB/s"
    assert "struck through" in tab.run(f"document.querySelector('#{table.id} td').textContent")
    assert tab.run(f"document.querySelector('#{table.id} td a').ariaLabel") == report.pages()[-1].title
    press(tab, f"#{table.id} td a")
    assert tab.run("location.hash") == f"#{report.pages()[-1].id}"


def test_a_practice_test_has_no_header_of_the_specification(
    tab: Browser, reports: Reports, tmp_path: Path
) -> None:
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


def test_printed_pages_have_header_red_line_and_no_controls(
    tab: Browser, reports: Reports, tmp_path: Path
) -> None:
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
    for number in range(1, len(pages) + 1):
        assert f"{number} of {len(pages)}" in words
    assert words.count(MARK) >= len(report.pages())
    for control in ("Log / linear", "PNG", "Reset", "report.json", "Contents"):
        assert control not in words


@pytest.mark.parametrize("case", ["hostile", "nothing", "two rounds", "fast"])
def test_pages_of_all_kinds_open_in_silence(
    tab: Browser, reports: Reports, tmp_path: Path, case: str
) -> None:
    tab.call("Page.addScriptToEvaluateOnNewDocument", source="window.alert = () => console.log('ran')")
    report = reports(case)
    show(tab, written(report, tmp_path))
    for figure in report.figures():
        if figure.kind != "columns3d":
            alive(tab, figure.id)
    assert report.title in tab.run("document.title")
