"""Plots on category axes as layers of Vega-Lite: strips of points, bars side by side, heat maps."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from openpts_pages.model import Cell, Figure, Series, Table
from openpts_pages.plots.axes import LINE_PX, Spec, field, inner_size_px
from openpts_pages.plots.series import SHOWN, marker, slot_color, slot_of
from openpts_pages.plots.theme import text_width_px

_LEAST_GAP: Final = 0.2  # of a category's width
_WIDEST_BAR_PX: Final = 110
_ABOVE_BAR_PX: Final = 5
_BELOW_POINT_PX: Final = 13


def strip_layers(figure: Figure, table: Table, interactive: bool) -> list[Spec]:
    """Points of each category side by side: x the category, offset and color the series.

    What is beyond the axis is at its edge, with its value.
    """
    low, high = figure.y.domain
    rows: list[dict[str, Any]] = [
        {
            "category": label,
            "y": cell.value,
            "slot": slot_of(series.color, figure),
            "key": f"s{n}",
            "name": series.label,
            "round": column.label,
        }
        for n, series in enumerate(figure.series)
        for label, line in zip(figure.x.labels, series.lines, strict=True)
        for column, cell in zip(table.columns, table.rows[line].cells, strict=True)
        if cell.value is not None
    ]
    cut = any(not low <= row["y"] <= high for row in rows)
    if cut:
        rows = [{**row, "y": min(max(row["y"], low), high), "value": row["y"]} for row in rows]
    slots = [slot_of(series.color, figure) for series in figure.series]
    points: Spec = {
        "data": {"values": rows},
        "mark": {"type": "point", "size": 26},
        "encoding": {
            "x": field("category", figure.x),
            "xOffset": {"field": "slot", "type": "nominal", "scale": {"domain": slots}},
            "y": field("y", figure.y),
            **marker(figure),
        },
    }
    if interactive:
        points["transform"] = [{"filter": SHOWN}]
        points["encoding"]["tooltip"] = [
            {"field": "category", "type": "nominal", "title": figure.x.title},
            {"field": "name", "type": "nominal", "title": "Series"},
            {"field": "round", "type": "nominal", "title": table.group or "Round"},
            {
                "field": "value" if cut else "y",
                "type": "quantitative",
                "title": figure.y.title,
                "format": ",.2f",
            },
        ]
    beyond = _beyond(figure, rows, points["encoding"]["xOffset"]) if cut else []
    if interactive:
        for layer in beyond:
            layer["transform"] = [{"filter": SHOWN}]
    return [points, *beyond]


def _beyond(figure: Figure, rows: list[dict[str, Any]], offset: Spec) -> list[Spec]:
    """The values of points at an edge, those of a series in a category together, one below the other."""
    at_edge: dict[tuple[str, bool], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        if row["value"] != row["y"]:
            of_series = at_edge.setdefault((row["category"], row["y"] == figure.y.domain[1]), {})
            of_series.setdefault(row["key"], []).append(row)
    layers: list[Spec] = []
    for (_, is_top), of_series in at_edge.items():
        for place, own in enumerate(of_series.values()):
            ends = dict.fromkeys(f"{end(row['value'] for row in own):,.0f}" for end in (min, max))
            dy = (1 if is_top else -1) * (_BELOW_POINT_PX + place * LINE_PX)
            layers.append(
                {
                    "data": {"values": [{**own[0], "text": " to ".join(ends)}]},
                    "mark": {"type": "text", "baseline": "middle", "dy": dy, "clip": False},
                    "encoding": {
                        "x": field("category", figure.x),
                        "xOffset": offset,
                        "y": field("y", figure.y),
                        "text": {"field": "text"},
                    },
                }
            )
    return layers


def bar_layers(figure: Figure, table: Table, interactive: bool) -> list[Spec]:
    """Bars with their values, and the points and whiskers that belong to them."""
    bars = [(n, series) for n, series in enumerate(figure.series) if series.style == "bars"]
    others = [(n, series) for n, series in enumerate(figure.series) if series.style != "bars"]
    rows = [
        {"category": label, "y": cell.value, "text": cell.text, "key": f"s{n}", **_named(series, figure)}
        for n, series in bars
        for label, (cell,) in _cells_by_category(series, figure, table)
        if cell.value is not None
    ]
    layers = [_bars(figure, rows, interactive, grouped=len(bars) > 1)]
    layers += [_beside_bars(n, series, figure, table) for n, series in others]
    if bars and not others:
        layers.append(_bar_texts(figure, rows, len(bars)))
    if interactive:
        for layer in layers:
            layer["transform"] = [{"filter": SHOWN}]
    return layers


def _named(series: Series, figure: Figure) -> dict[str, Any]:
    return {"slot": slot_of(series.color, figure), "name": series.label}


def _cells_by_category(series: Series, figure: Figure, table: Table) -> list[tuple[str, tuple[Cell, ...]]]:
    """The cells of each category that a series has: of one line a cell each, or a line each."""
    lines = [row.cells for row in table.rows]
    if series.by == "column":
        lines = list(zip(*lines, strict=True))
    own = [lines[line] for line in series.lines]
    if len(own) == 1:
        own = [(cell,) for cell in own[0]]
    return list(zip(figure.x.labels, own, strict=True))


def _ends_by_category(series: Series, figure: Figure, table: Table) -> list[tuple[str, tuple[Cell, ...]]]:
    """Low and high end of each category's range."""
    lines = [row.cells for row in table.rows]
    if series.by == "column":
        lines = list(zip(*lines, strict=True))
    low, high = (lines[line] for line in series.lines)
    return list(zip(figure.x.labels, zip(low, high, strict=True), strict=True))


def _bars(figure: Figure, rows: list[dict[str, Any]], interactive: bool, *, grouped: bool) -> Spec:
    layer: Spec = {
        "data": {"values": rows},
        "mark": {"type": "bar", "clip": True},
        "encoding": {
            "x": _category(figure),
            "y": {**field("y", figure.y), "stack": None},
            "fill": slot_color(figure),
        },
    }
    if grouped:
        layer["encoding"] |= _offset(figure)
    if interactive:
        layer["encoding"]["tooltip"] = [
            {"field": "category", "type": "nominal", "title": figure.x.title},
            {"field": "name", "type": "nominal", "title": "Series"},
            {"field": "text", "type": "nominal", "title": figure.y.title},
        ]
    return layer


def _category(figure: Figure) -> Spec:
    """The places of the bars, with more air between them where they would be wider than they need."""
    channel = field("category", figure.x)
    gap = _gap_share(figure)
    channel["scale"] |= {"paddingInner": gap, "paddingOuter": gap / 2}
    widths_px = [text_width_px(label) for label in figure.x.labels]
    if any(sum(pair) / 2 > _category_px(figure) for pair in pairwise(widths_px)):
        channel["axis"] |= {"labelAngle": -40, "labelAlign": "right", "labelBaseline": "middle"}
    return channel


def _category_px(figure: Figure) -> float:
    width, _ = inner_size_px(figure, 0, 0)
    return width / max(1, len(figure.x.labels))


def _gap_share(figure: Figure) -> float:
    bars = sum(series.style == "bars" for series in figure.series)
    return max(_LEAST_GAP, 1 - bars * _WIDEST_BAR_PX / _category_px(figure))


def _offset(figure: Figure) -> Spec:
    slots = [slot_of(series.color, figure) for series in figure.series if series.style == "bars"]
    return {"xOffset": {"field": "slot", "type": "nominal", "scale": {"domain": slots}}}


def _bar_texts(figure: Figure, rows: list[dict[str, Any]], series_count: int) -> Spec:
    """The values above their bars: upright where there is room for the widest, else along the bar."""
    room = _category_px(figure) * (1 - _gap_share(figure)) / series_count
    widest = max((text_width_px(row["text"]) for row in rows), default=0.0)
    mark: Spec = {"type": "text", "clip": False, "baseline": "bottom", "dy": -_ABOVE_BAR_PX}
    if widest > room:
        upright = {"angle": 270, "align": "left", "baseline": "middle", "dx": _ABOVE_BAR_PX}
        mark = {"type": "text", "clip": False, **upright}
    layer: Spec = {
        "data": {"values": rows},
        "mark": mark,
        "encoding": {
            "x": _category(figure),
            "y": {**field("y", figure.y), "stack": None},
            "text": {"field": "text"},
        },
    }
    if series_count > 1:
        layer["encoding"] |= _offset(figure)
    return layer


def _beside_bars(number: int, series: Series, figure: Figure, table: Table) -> Spec:
    """Points, or whiskers: from the least to the largest of them, or of a range from one line to another."""
    found = {
        label: [cell.value for cell in cells if cell.value is not None]
        for label, cells in (
            _ends_by_category(series, figure, table)
            if series.style == "range"
            else _cells_by_category(series, figure, table)
        )
    }
    common = {"key": f"s{number}", "slot": slot_of(series.color, figure)}
    x = {"x": _category(figure)}
    if series.style in {"whiskers", "range"}:
        rows = [
            {"category": label, "y": min(values), "high": max(values), **common}
            for label, values in found.items()
            if values
        ]
        return {
            "data": {"values": rows},
            "mark": {"type": "rule", "style": "whisker", "clip": True},
            "encoding": {**x, "y": field("y", figure.y), "y2": {"field": "high"}},
        }
    rows = [{"category": label, "y": value, **common} for label, values in found.items() for value in values]
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "size": 26, "clip": True},
        "encoding": {**x, "y": field("y", figure.y), **marker(figure)},
    }


def heat_map(
    figure: Figure, table: Table, details: Table, contours: Table | None, *, interactive: bool
) -> Spec:
    """The cells, and the lines of ``contours`` among them."""
    layers = _cells(figure, table, details, interactive)
    if contours is None or not contours.rows:
        return {"layer": layers}
    # cells are categories, lines lie between them: on scales of their own, a cell wide each
    return {
        "layer": [{"layer": layers}, {"layer": _lines(figure, table, contours)}],
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
    }


def _cells(figure: Figure, table: Table, details: Table, interactive: bool) -> list[Spec]:
    """A cell per value: shade, the value, and a second value below it."""
    rows = [
        {
            "x": column,
            "y": row.head.text,
            "shade": math.log10(cell.value) if cell.value and cell.value > 0 else None,
            "text": cell.text,
            "detail": f"{detail.text} %" if detail.value is not None else "",
        }
        for row, detail_row in zip(table.rows, details.rows, strict=True)
        for column, cell, detail in zip(figure.x.labels, row.cells, detail_row.cells, strict=True)
    ]
    rect: Spec = {
        "mark": {"type": "rect", "style": "heat-cell"},
        "encoding": {
            "color": {"field": "shade", "type": "quantitative", "legend": None, "scale": {"range": "heatmap"}}
        },
    }
    if interactive:
        rect["encoding"]["tooltip"] = [
            {"field": "y", "type": "nominal", "title": figure.y.title},
            {"field": "x", "type": "nominal", "title": figure.x.title},
            {"field": "text", "type": "nominal", "title": table.title},
            {"field": "detail", "type": "nominal", "title": details.title},
        ]
    layers: list[Spec] = [
        rect,
        {"mark": {"type": "text", "dy": -6, "fontWeight": "bold"}, "encoding": {"text": {"field": "text"}}},
        {"mark": {"type": "text", "dy": 9}, "encoding": {"text": {"field": "detail"}}},
    ]
    for layer in layers:
        layer["data"] = {"values": rows}
        layer["encoding"] |= {"x": field("x", figure.x), "y": field("y", figure.y)}
    return layers


def _lines(figure: Figure, table: Table, contours: Table) -> list[Spec]:
    """A line for each contour, with its name at the first of its points."""
    columns = [column.value for column in table.columns]
    heads = [row.head.value for row in table.rows]
    rows = [
        {
            "x": _in_cells(row.cells[1].value, columns),
            "y": _in_cells(row.cells[2].value, heads),
            "line": f"{row.head.text} {row.cells[0].text}",
            "name": row.head.text,
            "order": n,
        }
        for n, row in enumerate(contours.rows)
    ]
    firsts = {row["line"]: row for row in reversed(rows)}
    position = {
        "x": _place("x", len(figure.x.labels)),
        "y": {**_place("y", len(figure.y.labels)), "sort": None},
    }
    position["y"]["scale"]["reverse"] = True
    line: Spec = {
        "data": {"values": rows},
        "mark": {"type": "line", "style": "limit", "strokeDash": [1, 0], "strokeWidth": 2.4, "clip": True},
        "encoding": {
            **position,
            "detail": {"field": "line", "type": "nominal"},
            "order": {"field": "order", "type": "quantitative"},
        },
    }
    name: Spec = {
        "data": {"values": list(firsts.values())},
        "mark": {"type": "text", "style": "ring-label", "align": "left", "dx": 6, "dy": -22},
        "encoding": {**position, "text": {"field": "name"}},
    }
    return [line, name]


def _place(name: str, cells: int) -> Spec:
    scale = {"type": "linear", "domain": [0, cells], "nice": False, "zero": False}
    return {"field": name, "type": "quantitative", "axis": None, "scale": scale}


def _in_cells(value: float | None, centers: Sequence[float | None]) -> float:
    """Where a value lies among cells with these values at their centers: 0.5 is the center of the first."""
    known = [center for center in centers if center is not None]
    assert value is not None  # noqa: S101 a contour is made of numbers
    for at, (one, other) in enumerate(pairwise(known)):
        if min(one, other) <= value <= max(one, other):
            return at + 0.5 + (value - one) / (other - one)
    return math.nan
