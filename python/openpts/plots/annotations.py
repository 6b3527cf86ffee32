"""The parts in and around a plot besides its series: ranges, constant lines, rings, and all labels."""

from collections.abc import Sequence
from typing import Final

from openpts.pages.model import Figure, Table
from openpts.plots.axes import END_LABEL_PX, LINE_PX, Spec, datum, field, place
from openpts.plots.labels_above import LegendEntry, labels_above, legend, vertical_rules
from openpts.plots.line_labels import EndLabel
from openpts.plots.mark_labels import RING_PX, placed_marks
from openpts.plots.series import DASHES, SHOWN, marker, marker_size, slot_color, slot_of

_FIRST_ROW_PX: Final = 5  # from the plot to the text's lower edge
_WITH_MARKER: Final = {"measured", "points", "spline"}
_COLORED_STROKE: Final = {"line", "dashed", "mean"}


def bands(figure: Figure) -> list[Spec]:
    """Shaded ranges."""
    return [
        {
            "mark": {"type": "rect", "style": band.style, "clip": True},
            "encoding": {
                band.axis: datum(band.start, figure.x if band.axis == "x" else figure.y),
                f"{band.axis}2": {"datum": place(band.end, figure.x if band.axis == "x" else figure.y)},
            },
        }
        for band in figure.bands
        if band.style != "plain"
    ]


def rules(figure: Figure) -> list[Spec]:
    """Constant lines of y."""
    return [
        {
            "mark": {"type": "rule", "style": rule.style, "clip": True},
            "encoding": {"y": datum(rule.value, figure.y)},
        }
        for rule in figure.rules
        if rule.axis == "y"
    ]


def rules_and_labels_above(figure: Figure, width_px: float) -> list[Spec]:
    """Lines at places of x up to their labels, and the labels of ranges."""
    labels = labels_above(figure, width_px)
    tops = {(label.text, label.x): label.row for label in labels}
    layers: list[Spec] = []
    for rule in vertical_rules(figure):
        x = datum(rule.value, figure.x)
        row = tops[rule.label, x["datum"]]
        top = {"value": -_FIRST_ROW_PX - (row + 1) * LINE_PX + 4}
        mark = {"type": "rule", "style": rule.style, "clip": False}
        layers.append({"mark": mark, "encoding": {"x": x, "y": top, "y2": {"value": "height"}}})
    for label in labels:
        shift = {"left": 3, "right": -3, "center": 0}[label.align]
        mark = {
            "type": "text",
            "style": "annotation",
            "text": label.text,
            "align": label.align,
            "baseline": "bottom",
            "xOffset": shift,
            "clip": False,
        }
        x = {"datum": label.x, "type": "quantitative"}
        y = {"value": -_FIRST_ROW_PX - label.row * LINE_PX}
        layers.append({"mark": mark, "encoding": {"x": x, "y": y}})
    return layers


def marks(figure: Figure, table: Table, size_px: tuple[float, float]) -> list[Spec]:
    """Rings around points, and their labels."""
    layers: list[Spec] = []
    for placed in placed_marks(figure, table, size_px):
        where = {"x": datum(placed.mark.x, figure.x), "y": datum(placed.mark.y, figure.y)}
        ring = {"type": "point", "style": "ring", "size": (2 * RING_PX) ** 2, "clip": False}
        text = {
            "type": "text",
            "style": "ring-label",
            "text": placed.mark.label,
            "align": "center",
            "baseline": "middle",
            "dx": placed.dx_px,
            "dy": placed.dy_px,
            "clip": False,
        }
        layers += [{"mark": ring, "encoding": where}, {"mark": text, "encoding": where}]
    return layers


def end_label_layers(figure: Figure, labels: Sequence[EndLabel], interactive: bool) -> list[Spec]:
    """Beside each line's end: a piece of the line or its marker, then its name.

    They are outside the plot, so they are not clipped to it.
    """
    edge = {"x": {"value": "width"}, "y": field("y", figure.y)}
    layers: list[Spec] = []
    marked = [label for label in labels if label.style in _WITH_MARKER]
    if marked:
        mark = {"type": "point", "xOffset": 16, "clip": False}
        encoding = {**edge, **marker(figure), "size": marker_size()}
        layers.append({"data": {"values": _rows(figure, marked)}, "mark": mark, "encoding": encoding})
    for label in labels:
        if label.style not in _WITH_MARKER:
            stroke = _stroke(label.style)
            layers.append(
                {
                    "data": {"values": _rows(figure, [label])},
                    "mark": {"type": "rule", **stroke, "xOffset": 6, "x2Offset": 26, "clip": False},
                    "encoding": {**edge, "x2": {"value": "width"}, **_stroke_color(figure, label.style)},
                }
            )
    for bold in (False, True):
        mark = {
            "type": "text",
            "align": "left",
            "baseline": "middle",
            "xOffset": END_LABEL_PX,
            "fontWeight": "bold" if bold else "normal",
            "clip": False,
        }
        rows = _rows(figure, [label for label in labels if label.bold is bold])
        if rows:
            encoding = {**edge, "text": {"field": "text"}}
            layers.append({"data": {"values": rows}, "mark": mark, "encoding": encoding})
    if interactive:
        for layer in layers:
            layer["transform"] = [{"filter": SHOWN}]
    return layers


def _rows(figure: Figure, labels: Sequence[EndLabel]) -> list[Spec]:
    return [
        {
            "y": label.y,
            "text": label.text,
            "key": label.key,
            "slot": slot_of(label.color, figure),
            "bold": label.bold,
        }
        for label in labels
    ]


def _stroke(style: str) -> Spec:
    if style not in _COLORED_STROKE:
        return {"style": style}
    dashes = {"strokeDash": DASHES} if style == "dashed" else {}
    return {"strokeWidth": 2.4 if style == "mean" else 1.6, **dashes}


def _stroke_color(figure: Figure, style: str) -> Spec:
    return {"color": slot_color(figure)} if style in _COLORED_STROKE else {}


def legend_layers(figure: Figure, rows_below: int) -> list[Spec]:
    """The legend's rows above the plot and all labels there."""
    layers: list[Spec] = []
    for entry in legend(figure):
        middle = -_FIRST_ROW_PX - (rows_below + entry.row + 0.5) * LINE_PX - 2
        layers.append(_legend_symbol(figure, entry, middle))
        mark = {"type": "text", "align": "left", "baseline": "middle", "text": entry.text, "clip": False}
        where = {"x": {"value": entry.x_px + 19}, "y": {"value": middle}}
        layers.append({"mark": mark, "encoding": where})
    return layers


def _legend_symbol(figure: Figure, entry: LegendEntry, y: float) -> Spec:
    source: Spec = {"data": {"values": [{"slot": slot_of(entry.color, figure), "bold": False}]}}
    middle = {"x": {"value": entry.x_px + 7}, "y": {"value": y}}
    if entry.style in _WITH_MARKER:
        encoding = {**middle, **marker(figure), "size": marker_size()}
        return {**source, "mark": {"type": "point", "clip": False}, "encoding": encoding}
    if entry.style == "bars":
        encoding = {**middle, "fill": slot_color(figure)}
        mark = {"type": "point", "shape": "square", "size": 80, "strokeWidth": 0, "clip": False}
        return {**source, "mark": mark, "encoding": encoding}
    if entry.style in {"whiskers", "range"}:
        ends = {**middle, "y": {"value": y - 5}, "y2": {"value": y + 5}}
        return {"mark": {"type": "rule", "style": "whisker", "clip": False}, "encoding": ends}
    ends = {"x": {"value": entry.x_px}, "x2": {"value": entry.x_px + 15}, "y": {"value": y}}
    mark = {"type": "rule", "clip": False, **_stroke(entry.style)}
    return {**source, "mark": mark, "encoding": {**ends, **_stroke_color(figure, entry.style)}}
