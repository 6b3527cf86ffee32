"""Plots in a real browser, worked by pointer and keys: values, zoom, units, series, themes."""

import json
import re
from itertools import pairwise

import pytest

from tests.support.report_page import (
    TICKS,
    alive,
    changed,
    hover,
    lines,
    press,
    readout,
    show,
    ticks,
    written,
    zoom,
)
from tests.support.sample_figures import gallery


@pytest.mark.slow
def test_series_scale_and_reset_of_a_plot(tab, reports, tmp_path) -> None:
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


@pytest.mark.slow  # keys on a histogram show theirs through the same code
def test_the_tooltip_lists_all_series_in_the_plot_s_order_with_units(tab, reports, tmp_path) -> None:
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


@pytest.mark.slow
def test_keys_step_through_the_values_and_zoom(tab, gallery_page) -> None:
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


def test_a_histogram_tells_share_and_confidence_level(tab, gallery_page) -> None:
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


def test_dragging_shows_the_seconds_and_fits_y_to_them(tab, gallery_page) -> None:
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


@pytest.mark.slow
def test_figures_of_a_group_zoom_together(tab, tmp_path) -> None:
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


def test_axes_can_be_read_in_other_units(tab, tmp_path) -> None:
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
    assert not tab.run("document.querySelector('#hir [data-unit=rate]')"), "the size of its I/Os is not known"


@pytest.mark.slow
def test_a_row_marks_its_series_in_the_plot(tab, reports, tmp_path) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_kinds_of_figures_come_alive_in_both_themes(tab, gallery_page, dark) -> None:
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
