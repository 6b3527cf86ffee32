"""What plots show: every value in its place, nothing over anything else, and long series in few bytes."""

import json
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
import typst
from hypothesis import given, settings
from hypothesis import strategies as st

from openpts_pages import ticks
from openpts_pages.html import render_html
from openpts_pages.model import (
    Axis,
    Band,
    Cell,
    Column,
    Figure,
    Mark,
    PlotRule,
    Row,
    Series,
    Table,
    bars_of,
    points_of,
)
from openpts_pages.plots.annotations import labels_above, marks
from openpts_pages.plots.axes import LINE_PX, place, share
from openpts_pages.plots.series import distinct, envelope, turning
from openpts_pages.plots.svg import draw_figures
from openpts_pages.plots.theme import FONT, FONT_DIRECTORY, LIGHT, PLOT_TEXT_PX, PLOT_WIDTH_PX, text_width_px
from openpts_pages.plots.vega_lite import bar_layers, vega_lite_spec
from tests.support.drawn_texts import text_boxes
from tests.support.sample_figures import SECONDS, all_figures, gallery, response_times, table_of

FIGURES = {figure.id: (figure, table) for figure, table in all_figures()}
LINEAR = Axis("x", "linear", (0, 1000), ())
points = st.lists(st.tuples(st.floats(0, 1000), st.floats(-1e6, 1e6)), min_size=1, max_size=300)


@pytest.fixture(scope="module")
def drawings() -> dict[str, str]:
    return draw_figures(gallery())


@given(points, st.integers(1, 40))
def test_an_envelope_keeps_every_extreme_and_the_exact_means(values, columns) -> None:
    found = envelope(values, LINEAR, columns)
    assert len(found) <= columns
    assert min(c.low for c in found) == min(y for _, y in values)
    assert max(c.high for c in found) == max(y for _, y in values)
    for column in found:
        inside = [
            y
            for x, y in values
            if min(int(x / 1000 * columns), columns - 1) == int(column.x / 1000 * columns)
        ]
        assert (column.low, column.high) == (min(inside), max(inside))
        exact = float(sum(map(Fraction, inside)) / len(inside))
        assert column.mean == pytest.approx(exact, rel=1e-12, abs=1e-9)


@given(points)
def test_points_left_out_lie_under_others(values) -> None:
    y = Axis("y", "linear", (-1e6, 1e6), ())
    kept = distinct(values, LINEAR, y, (100, 100))
    assert set(kept) <= set(values)
    for across, up in values:
        assert any(abs(across - a) <= 10.01 and abs(up - u) <= 20_020 for a, u in kept)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=300))
def test_a_line_without_the_middles_of_level_stretches_is_the_same(levels) -> None:
    line = [(float(x), float(y)) for x, y in enumerate(levels)]
    kept = turning(line)
    assert np.interp(range(len(line)), *zip(*kept, strict=True)).tolist() == levels
    assert not any(a[1] == b[1] == c[1] for a, b, c in zip(kept, kept[1:], kept[2:], strict=False))


def test_nines_are_equally_far_apart() -> None:
    axis = ticks.nines_axis("Confidence", 6)
    assert axis.ticks == (0, 90, 99, 99.9, 99.99, 99.999, 99.9999)
    assert axis.labels == ("0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %")
    assert [place(tick, axis) for tick in axis.ticks] == [0, 1, 2, 3, 4, 5, 6]
    assert place(50, axis) == pytest.approx(math.log10(2), abs=1e-9)
    assert share(100, axis) == 1.0


@given(st.floats(1e6, 1e16), st.floats(-10, 10))
def test_time_has_round_ticks_in_the_unit_that_suits_it(span_ns, spans_before) -> None:
    start_ns = spans_before * span_ns
    end_ns = start_ns + span_ns
    time = ticks.time_axis("Time", start_ns, end_ns)
    limits = {"s": (0, 180e9), "min": (180e9, 10_800e9), "h": (10_800e9, math.inf)}
    low, high = limits[time.unit_name]
    assert low * 0.999 <= span_ns <= high * 1.001
    assert time.axis.title == f"Time ({time.unit_name})"
    assert time.axis.domain == (time.place(start_ns), time.place(end_ns))
    margin = 1e-6 * time.place(span_ns)
    assert all(
        time.place(start_ns) - margin <= tick <= time.place(end_ns) + margin for tick in time.axis.ticks
    )
    assert 2 <= len(time.axis.ticks) <= 11


def test_time_axes_of_the_tests() -> None:
    hour = 3600 * 10**9
    assert ticks.time_axis("Time", 0, 6 * hour).axis.ticks == (0, 1, 2, 3, 4, 5, 6)
    change = ticks.time_axis("Time", -hour / 6, hour)
    assert (change.unit_name, change.axis.ticks) == ("min", (-10, 0, 10, 20, 30, 40, 50, 60))
    assert ticks.time_axis("Time", 0, 22 * hour).axis.ticks == (0, 3, 6, 9, 12, 15, 18, 21)
    assert ticks.time_axis("Time", 0, 9e9).unit_name == "s"


def bar_table(values: Sequence[float | None]) -> Table:
    rows = tuple(Row(Cell(str(n), 10.0**n), (Cell("", value),)) for n, value in enumerate(values))
    return Table("t", "t", Column("x"), (Column("n"),), rows)


def test_bars_reach_to_the_next_place() -> None:
    series = Series("n", "column", (0,), 0, style="bars")
    assert bars_of(series, bar_table([5, None, 7, None])) == [(1, 10, 5), (100, 1000, 7)]
    assert bars_of(series, bar_table([5, 6])) == [(1, 10, 5), (10, 19, 6)]
    assert bars_of(series, bar_table([])) == []


WORDS = [
    "I/Os, N = 8,862,500",
    "99.9999 %",
    "Wait state 10: 50 s idle",
    "MaxIOPS",
    "±10 % (Grüße)",
    "WAVE. To",
]


def measured_by_typst(texts: Sequence[str], weight: str) -> list[float]:
    """Widths in pixels as another program sets the same font."""
    look = f'size: {PLOT_TEXT_PX}pt, weight: "{weight}", kerning: false, ligatures: false'
    asked = "".join(f'#metadata(measure(text("{text}")).width.pt()) <w>' for text in texts)
    code = f'#set text(font: "{FONT}", {look})\n#context [{asked}]'
    found = typst.query(
        code.encode(), "<w>", field="value", font_paths=[str(FONT_DIRECTORY)], ignore_system_fonts=True
    )
    return [float(width) for width in json.loads(found)]


@pytest.mark.parametrize(("bold", "weight"), [(False, "regular"), (True, "bold")])
def test_widths_of_texts_are_those_of_another_setter(bold, weight) -> None:
    own = [text_width_px(text, bold=bold) for text in WORDS]
    assert own == pytest.approx(measured_by_typst(WORDS, weight), rel=0.02)


def figure_with(rules: Sequence[PlotRule], bands: Sequence[Band]) -> Figure:
    return Figure("f", "1", "t", "lines", "t", LINEAR, LINEAR, "alt", rules=tuple(rules), bands=tuple(bands))


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(st.floats(0, 1000), st.sampled_from(WORDS)), max_size=7, unique_by=lambda r: round(r[0])
    ),
    st.lists(st.tuples(st.floats(0, 900), st.sampled_from(WORDS)), max_size=4),
)
def test_labels_above_neither_overlap_nor_are_struck_out(lines, ranges) -> None:
    width = 560.0
    rules = [PlotRule(text, x, "limit", "x") for x, text in lines]
    bands = [Band("x", x, x + 100, "window", text) for x, text in ranges]
    labels = labels_above(figure_with(rules, bands), width)
    assert len(labels) == len(rules) + len(bands)
    boxes = []
    for label in labels:
        x, long = label.x / 1000 * width, text_width_px(label.text)
        left = {"left": x + 3, "right": x - 3 - long, "center": x - long / 2}[label.align]
        boxes.append((label.row, left, left + long))
    for one, other in combinations(boxes, 2):
        assert one[0] != other[0] or one[1] >= other[2] - 1e-6 or other[1] >= one[2] - 1e-6
    rows = {(label.text, label.x): label.row for label in labels if label.align != "center"}
    for x, text in lines:
        at, top = x / 1000 * width, rows[text, x]
        assert not any(row <= top and left + 0.5 < at < right - 0.5 for row, left, right in boxes)


def leaves(layers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [leaf for layer in layers for leaf in (leaves(layer["layer"]) if "layer" in layer else [layer])]


def rows_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    named = spec.get("datasets", {})
    sources = [layer.get("data", {}) for layer in leaves(spec["layer"])]
    return [row for source in sources for row in source.get("values", named.get(source.get("name"), []))]


def test_a_day_of_seconds_is_small_and_keeps_its_extremes() -> None:
    figure, table = FIGURES["wsat"]
    spec = vega_lite_spec(figure, {table.id: table})
    rows = [row for row in rows_of(spec) if "low" in row]
    values = [y for _, y in points_of(figure.series[0], table)]
    assert len(values) == SECONDS
    assert len(rows) <= 1200
    assert min(row["low"] for row in rows) == pytest.approx(min(values), rel=1e-6)
    assert max(row["high"] for row in rows) == pytest.approx(max(values), rel=1e-6)


def test_a_band_reaches_from_its_first_column_to_its_second() -> None:
    ends = [(x, (100 - x, 100 + 2 * x)) for x in range(11)]
    table = table_of("band", ["least", "most"], ends)
    figure = Figure(
        "band", "1", "Band", "lines", "band", ticks.span_axis("n", 0, 10), ticks.linear_axis("n", 0, 120),
        "A band.", series=(Series("extremes", "column", (0, 1), 0, style="range"),),
    )  # fmt: skip
    rows = [row for row in rows_of(vega_lite_spec(figure, {table.id: table})) if "low" in row]
    assert [(row["low"], row["high"]) for row in rows] == [both for _, both in ends]
    assert [row["x"] for row in rows] == pytest.approx([x for x, _ in ends], abs=10 / 560)


def test_drawings_and_page_of_long_series_are_small(drawings) -> None:
    assert len(drawings["wsat"]) < 60_000
    assert len(drawings["hir"]) < 600_000
    html = render_html(gallery(), drawings)
    assert len(html.encode()) < 1_500_000


def test_an_interactive_specification_holds_no_value_of_a_numeric_plot() -> None:
    """The page has them in its tables, once."""
    for name, (figure, table) in FIGURES.items():
        if figure.kind == "lines":
            spec = vega_lite_spec(figure, {table.id: table}, interactive=True)
            assert "datasets" not in spec, name
            sources = {
                layer["data"]["name"] for layer in leaves(spec["layer"]) if "name" in layer.get("data", {})
            }
            assert sources == {f"s{number}" for number in range(len(figure.series))}
            assert len(rows_of(spec)) <= 2 * (len(figure.series) + len(figure.rules)), "labels only"


def test_a_spline_never_leaves_what_was_measured(drawings) -> None:
    """The control points of each piece lie between its ends, so that the curve does."""
    paths = re.findall(r'<g class="mark-line[^>]*><path d="(M[^"]*C[^"]*)"', drawings["di"])
    assert len(paths) == 7
    for path in paths:
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", path)]
        places = list(zip(numbers[::2], numbers[1::2], strict=True))
        for start, *controls, end in zip(
            places[0::3], places[1::3], places[2::3], places[3::3], strict=False
        ):
            for axis in (0, 1):
                low, high = sorted((start[axis], end[axis]))
                assert all(low - 0.02 <= control[axis] <= high + 0.02 for control in controls)


def test_bars_of_a_histogram_stand_between_their_edges() -> None:
    figure, table = response_times()
    bars = [row for row in rows_of(vega_lite_spec(figure, {table.id: table})) if "x2" in row]
    expected = [(start, end, value) for start, end, value in bars_of(figure.series[0], table) if value > 0]
    assert [(row["x"], row["x2"], row["y"]) for row in bars] == expected
    assert all(bar["x2"] == later["x"] for bar, later in pairwise(bars))


def test_a_second_axis_stands_on_the_right_with_per_cents(drawings) -> None:
    boxes = {text: left for text, left, *_ in text_boxes(drawings["clp"])}
    assert boxes["99.9 %"] > PLOT_WIDTH_PX * 0.8
    assert boxes["1,000,000"] < PLOT_WIDTH_PX * 0.2
    assert {"ART 0.0421 ms", "3 9s 0.109 ms", "4 9s 0.121 ms", "5 9s 0.84 ms", "MRT 3.51 ms"} <= boxes.keys()


def test_values_stand_at_their_bars(drawings) -> None:
    texts = [text for text, *_ in text_boxes(drawings["bars"])]
    assert {"476.4", "530.4", "465.9", "520.7", "SEQ 1024 KiB", "SEQ 128 KiB"} <= set(texts)
    figure, table = FIGURES["toio-values"]
    upright = [text for text, *_ in text_boxes(drawings["toio-values"])]
    assert {row.cells[0].text for row in table.rows} <= set(upright)
    assert len(figure.x.labels) == len(table.rows) == 18


def test_columns_in_space_have_their_own_words(drawings) -> None:
    texts = [text for text, *_ in text_boxes(drawings["cpu"])]
    assert {"Thread count", "Queue depth", "TC 32"} <= set(texts)
    assert "R/W mix %" not in drawings["cpu"]
    assert drawings["cpu"].count("<g><title>") == 49
    assert all(color in drawings["cpu"] for color in LIGHT.series[:7])


def test_points_of_one_place_need_no_span() -> None:
    table = table_of("one", ["n"], [(0.0, (5.0,))])
    figure = Figure(
        "one", "1", "One", "lines", "one", ticks.time_axis("Time", 0, 0).axis,
        ticks.linear_axis("n", 0, 5), "one", series=(Series("n", "column", (0,), 0, style="line"),),
    )  # fmt: skip
    assert any(row.get("y") == 5 for row in rows_of(vega_lite_spec(figure, {"one": table})))


def test_a_label_at_the_end_of_a_level_curve_is_not_struck_through() -> None:
    table = table_of("level", ["MB/s"], [(x, (130 + x % 2,)) for x in range(101)])
    level = Figure(
        "level", "Plot 1", "Level", "lines", table.id, ticks.span_axis("%", 0, 100),
        ticks.linear_axis("MB/s", 0, 1600), "A level curve.",
        series=(Series("Mean", "column", (0,), 0, style="mean"),),
        marks=(Mark("full: 64.0 GB", 100, 130),),
    )  # fmt: skip
    (text,) = (layer["mark"] for layer in marks(level, table, (440, 295)) if layer["mark"]["type"] == "text")
    assert abs(text["dy"]) > LINE_PX / 2, "beside the curve"
    assert text["dx"] + text_width_px(text["text"], bold=True) / 2 <= 0.5, "inside the plot"


@pytest.mark.parametrize(("names", "angle"), [(["boot", "mail"], 0), (["a trace of a long name"] * 20, -40)])
def test_names_of_bars_are_slanted_where_they_would_overlap(names, angle) -> None:
    labels = tuple(f"{name} {number}" for number, name in enumerate(names))
    shown = Table(
        id="t",
        title="t",
        head=Column("Trace"),
        columns=(Column("Score"),),
        rows=tuple(Row(Cell(label), (Cell("1", 1.0),)) for label in labels),
    )
    figure = Figure(
        id="f", number="1", title="f", kind="bars", table_id="t", alt="f",
        x=Axis("Trace", "category", (0, len(labels)), (), labels),
        y=Axis("Score", "linear", (0, 1), (0, 1)),
        series=(Series("Score", "column", (0,), 0, style="bars"),),
    )  # fmt: skip
    layers = bar_layers(figure, shown, interactive=False)
    assert {layer["encoding"]["x"]["axis"]["labelAngle"] for layer in layers} == {angle}
