"""Heat maps as layers of Vega-Lite: shaded cells with their values, and contours over them."""

import math
from collections.abc import Sequence
from itertools import pairwise

from openpts_pages.model import Figure, Table
from openpts_pages.plots.axes import Spec, field


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
