"""Turns a figure of the model into a Vega-Lite specification: the one grammar of all plots.

A specification names styles and ranges, never colors (the theme's configuration has them), and
carries only values of the figure's tables. The interactive form has tooltips and a ``hidden`` signal with
the keys of the series that are switched off; on numeric axes it names the series' data (``s0``, ``s1``, ...),
which the page has in its tables.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from openpts_pages.model import Cell, Figure, Series, Table
from openpts_pages.plots.annotations import (
    bands,
    end_label_layers,
    legend_layers,
    marks,
    row_count,
    rules,
    rules_and_labels_above,
)
from openpts_pages.plots.axes import (
    LINE_PX,
    PADDING,
    Spec,
    end_labels,
    field,
    inner_size_px,
    left_px,
    longest_label_px,
)
from openpts_pages.plots.series import marker, only_shown, series_layers, slot_color, slot_of
from openpts_pages.plots.theme import LIGHT, text_width_px, vega_config

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_ONE_ROW: Final[Spec] = {"values": [{}]}  # for layers that draw fixed values once
_SHARED_FROM_ROWS: Final = 20


def vega_lite_spec(figure: Figure, tables: Mapping[str, Table], *, interactive: bool = False) -> Spec:
    """The specification of a figure of any kind but columns3d. Raises KeyError without its table."""
    table = tables[figure.table_id]
    match figure.kind:
        case "lines":
            drawn = _lines(figure, table, interactive)
        case "heat":
            drawn = _heat_map(figure, tables, interactive)
        case kind:
            draw = {"strip": _strip_layers, "bars": bar_layers}[kind]
            drawn = _on_categories(figure, table, draw(figure, table, interactive))
    fixed = figure.kind == "lines" and not interactive
    return {
        "$schema": _SCHEMA,
        "description": figure.alt,
        **(_fixed_frame(figure, table) if fixed else _fitting_frame(figure)),
        **({"params": [{"name": "hidden", "value": []}]} if interactive else {}),
        "data": _ONE_ROW,
        **_sharing_data(drawn),
    }


def _fitting_frame(figure: Figure) -> Spec:
    """Vega finds the room for the axes' texts: on a page the reader's own fonts decide."""
    fit = {"type": "fit", "contains": "padding"}
    return {"width": figure.width_px, "height": figure.height_px, "autosize": fit, "padding": PADDING}


def _fixed_frame(figure: Figure, table: Table) -> Spec:
    """On paper the fonts are ours: the room is known, and Vega need not measure and lay out texts twice."""
    longest = longest_label_px(figure, table)
    rows_above = sum(row_count(figure, longest))
    width, height = inner_size_px(figure, longest, rows_above)
    left, top = left_px(figure) + PADDING["left"], PADDING["top"] + rows_above * LINE_PX
    sides = {"right": figure.width_px - width - left, "bottom": figure.height_px - height - top}
    return {
        "width": width,
        "height": height,
        "autosize": {"type": "none"},
        "padding": {"left": left, "top": top, **sides},
    }


def _on_categories(figure: Figure, table: Table, layers: list[Spec]) -> Spec:
    labels = end_label_layers(figure, end_labels(figure, table), interactive=False)
    return {"layer": [*bands(figure), *rules(figure), *layers, *labels, *legend_layers(figure, 0)]}


def _lines(figure: Figure, table: Table, interactive: bool) -> Spec:
    longest = longest_label_px(figure, table)
    label_rows, legend_rows = row_count(figure, longest)
    size = inner_size_px(figure, longest, label_rows + legend_rows)
    left = [
        *bands(figure),
        *rules(figure),
        *series_layers(figure, table, interactive, right=False),
        *rules_and_labels_above(figure, size[0]),
        *marks(figure, table, size),
        *end_label_layers(figure, end_labels(figure, table, label_rows + legend_rows), interactive),
        *legend_layers(figure, label_rows),
    ]
    if figure.y2 is None:
        return {"layer": left}
    right = series_layers(figure, table, interactive, right=True)
    sides = [{"layer": left}, {"layer": right}]
    return {"layer": sides, "resolve": {"scale": {"y": "independent"}}}


def _sharing_data(drawn: Spec) -> Spec:
    """Long rows that several layers draw are included once, under a name."""
    datasets: Spec = {}
    names: dict[int, str] = {}
    for layer in _leaves(drawn["layer"]):
        rows = layer.get("data", {}).get("values")
        if rows is not None and len(rows) >= _SHARED_FROM_ROWS:
            name = names.setdefault(id(rows), f"points_{len(names)}")
            datasets[name] = rows
            layer["data"] = {"name": name}
    return {**drawn, **({"datasets": datasets} if datasets else {})}


def _leaves(layers: Sequence[Spec]) -> list[Spec]:
    return [leaf for layer in layers for leaf in (_leaves(layer["layer"]) if "layer" in layer else [layer])]


_LEAST_GAP: Final = 0.2  # of a category's width
_WIDEST_BAR_PX: Final = 110
_ABOVE_BAR_PX: Final = 5
_BELOW_POINT_PX: Final = 13


def _strip_layers(figure: Figure, table: Table, interactive: bool) -> list[Spec]:
    """Points of each category side by side: x the category, offset and color the series.

    What is beyond the axis is at its edge, with its value.
    """
    low, high = figure.y.domain
    rows: list[Spec] = [
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
        value = {"field": "value" if cut else "y", "type": "quantitative", "title": figure.y.title}
        points["encoding"]["tooltip"] = [
            *_tooltip(category=figure.x.title, name="Series", round=table.group or "Round"),
            {**value, "format": ",.2f"},
        ]
    layers = [points, *(_beyond(figure, rows, points["encoding"]["xOffset"]) if cut else ())]
    return only_shown(layers) if interactive else layers


def _tooltip(**titles: str) -> list[Spec]:
    """Texts of a row by its fields."""
    return [{"field": name, "type": "nominal", "title": title} for name, title in titles.items()]


def _beyond(figure: Figure, rows: list[Spec], offset: Spec) -> list[Spec]:
    """The values of points at an edge, those of a series in a category together, one below the other."""
    at_edge: dict[tuple[str, bool], dict[str, list[Spec]]] = {}
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
    return only_shown(layers) if interactive else layers


def _named(series: Series, figure: Figure) -> Spec:
    return {"slot": slot_of(series.color, figure), "name": series.label}


def _cells_by_category(series: Series, figure: Figure, table: Table) -> list[tuple[str, tuple[Cell, ...]]]:
    """The cells of each category: of one line a cell each, or a line each; of a range one of both lines."""
    lines = [row.cells for row in table.rows]
    if series.by == "column":
        lines = list(zip(*lines, strict=True))
    own = [lines[line] for line in series.lines]
    if len(own) == 1 or series.style == "range":
        own = list(zip(*own, strict=True))
    return list(zip(figure.x.labels, own, strict=True))


def _bars(figure: Figure, rows: list[Spec], interactive: bool, *, grouped: bool) -> Spec:
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
        titles = {"category": figure.x.title, "name": "Series", "text": figure.y.title}
        layer["encoding"]["tooltip"] = _tooltip(**titles)
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


def _bar_texts(figure: Figure, rows: list[Spec], series_count: int) -> Spec:
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
        for label, cells in _cells_by_category(series, figure, table)
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


def _heat_map(figure: Figure, tables: Mapping[str, Table], interactive: bool) -> Spec:
    """The cells, and the lines of a table of contours among them."""
    table, contours = tables[figure.table_id], tables.get(figure.contour_table_id)
    layers = _cells(figure, table, tables[figure.detail_table_id], interactive)
    if contours is None or not contours.rows:
        return {"layer": layers}
    # cells are categories, lines lie between them: on scales of their own, a cell wide each
    return {
        "layer": [{"layer": layers}, {"layer": _contour_lines(figure, table, contours)}],
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
        titles = {"y": figure.y.title, "x": figure.x.title, "text": table.title, "detail": details.title}
        rect["encoding"]["tooltip"] = _tooltip(**titles)
    layers: list[Spec] = [
        rect,
        {"mark": {"type": "text", "dy": -6, "fontWeight": "bold"}, "encoding": {"text": {"field": "text"}}},
        {"mark": {"type": "text", "dy": 9}, "encoding": {"text": {"field": "detail"}}},
    ]
    for layer in layers:
        layer["data"] = {"values": rows}
        layer["encoding"] |= {"x": field("x", figure.x), "y": field("y", figure.y)}
    return layers


def _contour_lines(figure: Figure, table: Table, contours: Table) -> list[Spec]:
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
    """Where a value is among cells with these values at their centers: 0.5 is the center of the first."""
    known = [center for center in centers if center is not None]
    assert value is not None  # noqa: S101 a contour is made of numbers
    for at, (one, other) in enumerate(pairwise(known)):
        if min(one, other) <= value <= max(one, other):
            return at + 0.5 + (value - one) / (other - one)
    return math.nan


_OF_PALETTE: Final = ("scale", "legend")


def standalone(spec: Spec) -> Spec:
    """The specification of a figure that is drawn on paper, by itself; the drawing is the same.

    Vega draws a constant with a scale of its own, and an ``order`` of no value; the schema knows neither.
    """
    layers = [_layer(layer) for layer in spec["layer"]]
    whole = {**spec, "layer": layers, "config": vega_config(LIGHT)}
    plain: Spec = msgspec.json.decode(msgspec.json.encode(whole))  # no tuples, which the schema refuses
    return plain


def _layer(layer: Spec) -> Spec:
    if "layer" in layer:
        return {**layer, "layer": [_layer(inner) for inner in layer["layer"]]}
    encoding, mark = dict(layer.get("encoding", {})), layer["mark"]
    if encoding.get("order") == {"value": None}:
        del encoding["order"]
        mark = {**mark, "order": False}
    fields = {}
    for channel, one in encoding.items():
        if "datum" in one and any(name in one for name in _OF_PALETTE):
            fields[f"constant_{channel}"] = one["datum"]
            encoding[channel] = _of_field(one, f"constant_{channel}")
    constants = [{"calculate": repr(value), "as": name} for name, value in fields.items()]
    transform = {"transform": [*layer.get("transform", ()), *constants]} if constants else {}
    return {**layer, **transform, "mark": mark, "encoding": encoding}


def _of_field(channel: Spec, name: str) -> Spec:
    return {"field": name, **{key: value for key, value in channel.items() if key != "datum"}}
