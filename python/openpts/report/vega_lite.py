"""Turns a figure of the model into a Vega-Lite specification: the one grammar of all plots.

A specification names styles and ranges, never colours (the theme's configuration has them), and
carries only values of the figure's tables. The interactive form adds tooltips, zoom and a ``hidden``
signal with the keys of the series that are switched off.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from openpts.report.line_labels import EndLabel, end_labels, visible
from openpts.report.model import Axis, Figure, Series, Table, points_of
from openpts.report.theme import MARKERS, PLOT_WIDTH_PX

Spec = dict[str, Any]

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_NUMBER: Final = ",~f"
_PLAIN: Final = "~f"
_ONE_ROW: Final[Spec] = {"values": [{}]}  # for layers that draw fixed values once
_PADDING: Final = {"left": 4, "top": 12, "right": 6, "bottom": 4}
_SLOTS: Final = list(range(len(MARKERS)))
_RANGE_OF_PALETTE: Final = {"series": "category", "mix": "ordinal"}
_SHOWN: Final = "indexof(hidden, datum.key) < 0"


def vega_lite_spec(figure: Figure, tables: Mapping[str, Table], *, interactive: bool = False) -> Spec:
    """The specification of a figure of kind lines, strip or heat. Raises KeyError without its table."""
    draw = {"lines": _lines, "strip": _strip, "heat": _heat}[figure.kind]
    spec = draw(figure, tables, interactive)
    return {
        "$schema": _SCHEMA,
        "description": figure.alt,
        "width": PLOT_WIDTH_PX,
        "height": figure.height_px,
        "autosize": {"type": "fit", "contains": "padding"},
        **spec,
    }


def _lines(figure: Figure, tables: Mapping[str, Table], interactive: bool) -> Spec:
    table = tables[figure.table_id]
    layers = [
        *_bands(figure),
        *_rules(figure),
        *_measured(figure, table, interactive),
        *_fits(figure, table),
        *_end_label_layers(figure, end_labels(figure, table), interactive),
    ]
    if interactive:
        layers.append(_cursor(figure, table))
    return {"padding": _PADDING, **_signals(interactive), "data": _ONE_ROW, "layer": layers}


def _signals(interactive: bool) -> Spec:
    return {"params": [{"name": "hidden", "value": []}]} if interactive else {}


def _field(name: str, axis: Axis) -> Spec:
    """A position channel that reads a field, or the category of that name."""
    return {"field": name, **_position(axis)}


def _datum(value: float, axis: Axis) -> Spec:
    """A position channel at a fixed value of the axis."""
    return {"datum": value, **_position(axis)}


def _position(axis: Axis) -> Spec:
    if axis.scale == "category":
        return {
            "type": "ordinal",
            "title": axis.title,
            "scale": {"domain": list(axis.labels)},
            "axis": {"labelAngle": 0, "ticks": False, "domain": False},
        }
    return {
        "type": "quantitative",
        "title": axis.title,
        "scale": {"type": axis.scale, "domain": list(axis.domain), "nice": False},
        "axis": {"values": list(axis.ticks), "format": _NUMBER if axis.commas else _PLAIN, "tickSize": 4},
    }


def _bands(figure: Figure) -> list[Spec]:
    layers: list[Spec] = []
    for band in figure.bands:
        axis = figure.x if band.axis == "x" else figure.y
        ends = {band.axis: _datum(band.start, axis), f"{band.axis}2": {"datum": band.end}}
        layers.append({"mark": {"type": "rect", "style": band.style, "clip": True}, "encoding": ends})
        if band.label:
            middle = {band.axis: _datum((band.start + band.end) / 2, axis), "y": {"value": 6}}
            mark = {
                "type": "text",
                "style": "annotation",
                "text": band.label,
                "baseline": "top",
                "clip": False,
            }
            layers.append({"mark": mark, "encoding": middle})
    return layers


def _rules(figure: Figure) -> list[Spec]:
    return [
        {
            "mark": {"type": "rule", "style": rule.style, "clip": True},
            "encoding": {"y": _datum(rule.value, figure.y)},
        }
        for rule in figure.rules
    ]


def _measured(figure: Figure, table: Table, interactive: bool) -> list[Spec]:
    rows = [
        {"x": x, "y": y, "key": f"s{n}", "slot": series.color, "bold": series.emphasis}
        for n, series in enumerate(figure.series)
        if series.style == "measured"
        for x, y in visible(points_of(series, table), figure.y)
    ]
    source: Spec = {"data": {"values": rows}}
    if interactive:
        source["transform"] = [{"filter": _SHOWN}]
    position = {"x": _field("x", figure.x), "y": _field("y", figure.y)}
    line: Spec = {
        **source,
        "mark": {"type": "line", "clip": True},
        "encoding": {
            **position,
            "detail": {"field": "key"},
            "color": _slot_color(figure),
            "strokeWidth": {"condition": {"test": "datum.bold", "value": 3}, "value": 1.6},
        },
    }
    marker: Spec = {
        **source,
        "mark": {"type": "point", "clip": True},
        "encoding": {**position, **_marker(figure), "size": _marker_size()},
    }
    if interactive:
        zoom = {"type": "interval", "encodings": ["x"], "zoom": "wheel![event.shiftKey]"}
        marker["params"] = [{"name": "zoom", "select": zoom, "bind": "scales"}]
    return [line, marker]


def _slot_color(figure: Figure) -> Spec:
    return {
        "field": "slot",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": _SLOTS, "range": _RANGE_OF_PALETTE[figure.palette]},
    }


def _marker(figure: Figure) -> Spec:
    """Colour and shape together: a series is never told by colour alone."""
    color = _slot_color(figure)
    shape = {
        "field": "slot",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": _SLOTS, "range": "symbol"},
    }
    return {"fill": color, "stroke": color, "shape": shape}


def _marker_size() -> Spec:
    return {"condition": {"test": "datum.bold", "value": 62}, "value": 42}


def _fits(figure: Figure, table: Table) -> list[Spec]:
    return [
        {
            "data": {"values": [{"x": x, "y": y} for x, y in points_of(series, table)]},
            "mark": {"type": "line", "style": series.style, "clip": True},
            "encoding": {"x": _field("x", figure.x), "y": _field("y", figure.y)},
        }
        for series in figure.series
        if series.style != "measured"
    ]


def _end_label_layers(figure: Figure, labels: Sequence[EndLabel], interactive: bool) -> list[Spec]:
    """Beside each line's end: a piece of the line or its marker, then its name.

    Zooming clips all marks to the plot unless they say otherwise, and these stand outside it.
    """
    edge = {"x": {"value": "width"}, "y": _field("y", figure.y)}
    measured = [label for label in labels if label.style == "measured"]
    layers: list[Spec] = []
    if measured:
        rows = [
            {"y": label.y, "key": label.key, "slot": label.color, "bold": label.bold} for label in measured
        ]
        layers.append(
            {
                "data": {"values": rows},
                "mark": {"type": "point", "xOffset": 16, "clip": False},
                "encoding": {**edge, **_marker(figure), "size": _marker_size()},
            }
        )
    layers += [
        {
            "data": {"values": [{"y": label.y}]},
            "mark": {"type": "rule", "style": label.style, "xOffset": 6, "x2Offset": 26, "clip": False},
            "encoding": {**edge, "x2": {"value": "width"}},
        }
        for label in labels
        if label.style != "measured"
    ]
    for bold in (False, True):
        rows = [
            {"y": label.y, "text": label.text, "key": label.key} for label in labels if label.bold is bold
        ]
        weight = "bold" if bold else "normal"
        mark = {
            "type": "text",
            "align": "left",
            "baseline": "middle",
            "xOffset": 31,
            "fontWeight": weight,
            "clip": False,
        }
        layers.append(
            {"data": {"values": rows}, "mark": mark, "encoding": {**edge, "text": {"field": "text"}}}
        )
    if interactive:
        for layer in layers:
            layer["transform"] = [{"filter": _SHOWN}]
    return layers


def _cursor(figure: Figure, table: Table) -> Spec:
    """A vertical line that snaps to the nearest measured x and lists all series there."""
    rows = [
        {"x": x, "y": y, "key": f"s{n}"}
        for n, series in enumerate(figure.series)
        for x, y in points_of(series, table)
    ]
    number = _tooltip_format([row["y"] for row in rows if isinstance(row["y"], float)])
    return {
        "data": {"values": rows},
        "transform": [{"filter": _SHOWN}, {"pivot": "key", "value": "y", "groupby": ["x"]}],
        "mark": {"type": "rule", "style": "cursor", "tooltip": True},
        "encoding": {
            "x": _field("x", figure.x),
            "opacity": {"condition": {"param": "cursor", "empty": False, "value": 1}, "value": 0},
            "tooltip": [
                {"field": "x", "type": "quantitative", "title": figure.x.title, "format": _NUMBER},
                *(_tooltip(f"s{n}", series, number) for n, series in enumerate(figure.series)),
            ],
        },
        "params": [
            {
                "name": "cursor",
                "select": {
                    "type": "point",
                    "fields": ["x"],
                    "nearest": True,
                    "on": "pointerover",
                    "clear": "pointerout",
                },
            }
        ],
    }


def _tooltip(field: str, series: Series, number: str) -> Spec:
    return {"field": field, "type": "quantitative", "title": series.label, "format": number}


def _tooltip_format(values: Sequence[float]) -> str:
    return ",.1f" if max((abs(value) for value in values), default=0) >= 10 else ",.3~r"


def _strip(figure: Figure, tables: Mapping[str, Table], interactive: bool) -> Spec:
    """Points of each category side by side: x the category, offset and colour the series."""
    table = tables[figure.table_id]
    rows = [
        {
            "category": label,
            "y": cell.value,
            "slot": series.color,
            "key": f"s{n}",
            "name": series.label,
            "round": column.label,
        }
        for n, series in enumerate(figure.series)
        for label, line in zip(figure.x.labels, series.lines, strict=True)
        for column, cell in zip(table.columns, table.rows[line].cells, strict=True)
        if cell.value is not None
    ]
    labels = [EndLabel(rule.label, rule.value, rule.style) for rule in figure.rules]
    slots = [series.color for series in figure.series]
    points: Spec = {
        "data": {"values": rows},
        "mark": {"type": "point", "size": 26},
        "encoding": {
            "x": _field("category", figure.x),
            "xOffset": {"field": "slot", "type": "nominal", "scale": {"domain": slots}},
            "y": _field("y", figure.y),
            **_marker(figure),
        },
    }
    for channel in ("fill", "stroke", "shape"):
        points["encoding"][channel] = {**points["encoding"][channel], "legend": _slot_legend(figure)}
    if interactive:
        points["transform"] = [{"filter": _SHOWN}]
        points["encoding"]["tooltip"] = [
            {"field": "category", "type": "nominal", "title": figure.x.title},
            {"field": "name", "type": "nominal", "title": "Series"},
            {"field": "round", "type": "nominal", "title": "Round"},
            {"field": "y", "type": "quantitative", "title": figure.y.title, "format": ",.2f"},
        ]
    layers = [*_bands(figure), *_rules(figure), points, *_end_label_layers(figure, labels, False)]
    return {"padding": _PADDING, **_signals(interactive), "data": _ONE_ROW, "layer": layers}


def _slot_legend(figure: Figure) -> Spec:
    """A legend row above the plot, in the order of the data."""
    names = {series.color: series.label for series in figure.series}
    texts = ", ".join(f"'{names.get(slot, '')}'" for slot in _SLOTS)
    return {"values": sorted(names), "labelExpr": f"[{texts}][datum.value]"}


def _heat(figure: Figure, tables: Mapping[str, Table], interactive: bool) -> Spec:
    """A cell per value: shade, the value, and a second value below it."""
    table, details = tables[figure.table_id], tables[figure.detail_table_id]
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
            {"field": "text", "type": "nominal", "title": "IOPS"},
            {"field": "detail", "type": "nominal", "title": "Range of the Rounds"},
        ]
    position = {"x": _field("x", figure.x), "y": _field("y", figure.y)}
    layers: list[Spec] = [
        rect,
        {"mark": {"type": "text", "dy": -6, "fontWeight": "bold"}, "encoding": {"text": {"field": "text"}}},
        {"mark": {"type": "text", "dy": 9}, "encoding": {"text": {"field": "detail"}}},
    ]
    for layer in layers:
        layer["encoding"] |= position
    return {"padding": _PADDING, "data": {"values": rows}, "layer": layers}
