"""The parts in and around a plot besides its series: ranges, constant lines, rings, and all labels."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts_pages.model import Band, Figure, Mark, PlotRule, Table, points_of
from openpts_pages.plots.axes import (
    END_LABEL_PX,
    LINE_PX,
    EndLabel,
    Spec,
    datum,
    field,
    has_end_labels,
    inner_size_px,
    place,
    share,
    shares,
    visible,
)
from openpts_pages.plots.series import DASHES, marker, marker_size, only_shown, slot_color, slot_of
from openpts_pages.plots.theme import text_width_px

_GAP_PX: Final = 7
_BESIDE_LINE_PX: Final = 3
_SYMBOL_PX: Final = 24
_BETWEEN_ENTRIES_PX: Final = 16


class LabelAbove(Struct):
    """A label in row 0 (next to the plot) or above, and the pixels that it covers.

    ``align`` is left or right of a line, or center; ``line`` is where its own vertical line is, if any.
    """

    text: str
    x: float
    align: str
    start: float
    end: float
    line: float | None
    row: int = 0


class LegendEntry(Struct, frozen=True):
    """An entry of the legend: ``x_px`` from the plot's left, in row 0 (the lowest) or above."""

    text: str
    style: str
    color: int = 0
    x_px: float = 0.0
    row: int = 0


def labels_above(figure: Figure, width_px: float) -> list[LabelAbove]:
    """Labels of the ranges and vertical lines of x; ``width_px`` is that of the plot's inside."""
    labels = [
        *(_of_band(band, figure, width_px) for band in figure.bands if band.axis == "x" and band.label),
        *_of_rules(vertical_rules(figure), figure, width_px),
    ]
    _raise_where_they_touch(labels)
    return labels


def vertical_rules(figure: Figure) -> list[PlotRule]:
    """The constant lines at places of x that the axis has."""
    return [rule for rule in figure.rules if rule.axis == "x" and 0 <= share(rule.value, figure.x) <= 1]


def _of_band(band: Band, figure: Figure, width_px: float) -> LabelAbove:
    low, high = (min(max(share(end, figure.x), 0), 1) for end in (band.start, band.end))
    half = text_width_px(band.label) / 2
    middle = (low + high) / 2 * width_px
    x = (place(band.start, figure.x) + place(band.end, figure.x)) / 2
    return LabelAbove(band.label, x, "center", middle - half, middle + half, None)


def _of_rules(rules: Sequence[PlotRule], figure: Figure, width_px: float) -> list[LabelAbove]:
    """Labels to the right of their lines; at the right edge, to the left of them."""
    texts: list[LabelAbove] = []
    limit = width_px
    for rule in sorted(rules, key=lambda rule: -rule.value):
        line = share(rule.value, figure.x) * width_px
        width = text_width_px(rule.label) + _BESIDE_LINE_PX
        x = place(rule.value, figure.x)
        if line + width <= limit:
            texts.append(LabelAbove(rule.label, x, "left", line, line + width, line))
        else:
            texts.append(LabelAbove(rule.label, x, "right", line - width, line, line))
            limit = line  # a text that reached over this line would face one that reaches back
    return texts


def _raise_where_they_touch(labels: Sequence[LabelAbove]) -> None:
    """To the lowest rows in which no text lies over another, and no line goes through one."""
    for _ in range(len(labels) ** 2):
        moved = False
        for i, label in enumerate(labels):
            for j, other in enumerate(labels):
                if i != j and _must_rise(label, other, first=i < j):
                    label.row, moved = other.row + 1, True
        if not moved:
            break


def _must_rise(label: LabelAbove, other: LabelAbove, *, first: bool) -> bool:
    if _goes_through(other.line, label):
        return label.row <= other.row
    if _goes_through(label.line, other):
        return False
    overlap = label.start < other.end + _GAP_PX and other.start < label.end + _GAP_PX
    return first and overlap and label.row == other.row


def _goes_through(line: float | None, text: LabelAbove) -> bool:
    return line is not None and text.start < line < text.end


def legend(figure: Figure) -> list[LegendEntry]:
    """Names of series and constant lines where they have no labels at their ends; one alone needs none."""
    if has_end_labels(figure):
        return []
    entries = [LegendEntry(one.label, one.style, one.color) for one in figure.series if one.label]
    if figure.y2 is not None:
        entries += [LegendEntry(rule.label, rule.style) for rule in figure.rules if rule.axis == "y"]
    if len(entries) < 2:
        return []
    placed, x, row = [], 0.0, 0
    for entry in entries:
        width = _SYMBOL_PX + text_width_px(entry.text) + _BETWEEN_ENTRIES_PX
        if x and x + width > figure.width_px * 0.86:
            x, row = 0.0, row + 1
        placed.append(replace(entry, x_px=x, row=row))
        x += width
    return [replace(entry, row=row - entry.row) for entry in placed]


def row_count(figure: Figure, longest_label_px: float) -> tuple[int, int]:
    """How many rows of labels, and of the legend above them, the figure needs."""
    width, _ = inner_size_px(figure, longest_label_px, 0)
    labels = max((label.row + 1 for label in labels_above(figure, width)), default=0)
    return labels, max((entry.row + 1 for entry in legend(figure)), default=0)


_RING_PX: Final = 7
_CLEARANCE_PX: Final = 3
_MARKER_PX: Final = 4
_MOST_BETWEEN: Final = 100
_FARTHEST: Final = 4  # rings of places that are tried, each a line further out


class _Box(Struct, frozen=True):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "_Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def touches(self, x: float, y: float) -> bool:
        """Whether a marker centered at x, y would overlap the box."""
        across = self.left - _MARKER_PX < x < self.right + _MARKER_PX
        return across and self.top - _MARKER_PX < y < self.bottom + _MARKER_PX


def _placed_marks(
    figure: Figure, table: Table, size_px: tuple[float, float]
) -> list[tuple[Mark, float, float]]:
    """All marks, with the middles of their labels in pixels to the right of and below the rings' middles.

    ``size_px`` is that of the plot's inside.
    """
    if not figure.marks:
        return []
    width, height = size_px
    across, up = shares(figure.x), shares(figure.y)

    def pixel(x: float, y: float) -> tuple[float, float]:
        return across(x) * width, (1 - up(y)) * height

    found: set[tuple[float, float]] = set()  # each place once: thousands of points share their pixels
    for series in figure.series:
        if not series.second_axis:
            points = [pixel(x, y) for x, y in visible(points_of(series, table), figure.y)]
            among = points if series.style == "points" else _along(points)
            found.update((round(x), round(y)) for x, y in among if math.isfinite(x) and math.isfinite(y))
    dots = sorted(found)
    rings = [pixel(mark.x, mark.y) for mark in figure.marks]
    occupied = [_around(ring, 2 * _RING_PX, 2 * _RING_PX) for ring in rings]
    inside = _Box(0, 0, width, height)
    placed: list[tuple[Mark, float, float]] = []
    for mark, ring in zip(figure.marks, rings, strict=True):
        choices = [
            (_around((ring[0] + dx, ring[1] + dy), text_width_px(mark.label, bold=True), LINE_PX - 2), dx, dy)
            for dx, dy in _offsets(text_width_px(mark.label, bold=True))
        ]
        near = _near(dots, [box for box, *_ in choices])
        box, dx, dy = min(choices, key=lambda choice: _cost(choice[0], inside, occupied, near))
        occupied.append(box)
        placed.append((mark, dx, dy))
    return placed


def _along(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Places on the line through the points, close enough that no label fits between two of them."""
    places = list(points)
    for (x, y), (next_x, next_y) in pairwise(points):
        count = min(_MOST_BETWEEN, int(max(abs(next_x - x), abs(next_y - y)) / LINE_PX * 2))
        places += [
            (x + (next_x - x) * n / (count + 1), y + (next_y - y) * n / (count + 1))
            for n in range(1, count + 1)
        ]
    return places


def _offsets(text_px: float) -> list[tuple[float, float]]:
    """Places around a ring, the best first: above, below, beside it, over its shoulders; then further out."""
    found = []
    beside = _RING_PX + _CLEARANCE_PX + text_px / 2
    shoulder = max(0.0, text_px / 2 - _RING_PX)
    for n in range(_FARTHEST):
        up = _RING_PX + _CLEARANCE_PX + (n + 0.5) * LINE_PX
        found += [(0.0, -up), (0.0, up)]
        if n == 0:
            found += [(side, dy) for dy in (0.0, LINE_PX / 2, -LINE_PX / 2) for side in (beside, -beside)]
        # at the plot's edge a shoulder reaches out of it, and a text that ends at the ring's middle does not
        for along in (shoulder, text_px / 2):
            found += [(along, -up), (-along, -up), (along, up), (-along, up)]
    return found


def _around(middle: tuple[float, float], width: float, height: float) -> _Box:
    x, y = middle
    return _Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _near(dots: Sequence[tuple[float, float]], boxes: Sequence[_Box]) -> list[tuple[float, float]]:
    """Dots that any of the boxes may touch."""
    around = _Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )
    return [(x, y) for x, y in dots if around.touches(x, y)]


def _cost(box: _Box, inside: _Box, occupied: Sequence[_Box], dots: Sequence[tuple[float, float]]) -> int:
    outside = box.left < inside.left or box.right > inside.right
    outside = outside or box.top < inside.top or box.bottom > inside.bottom
    covered = sum(box.overlaps(other) for other in occupied)
    return 10_000 * outside + 1_000 * covered + sum(box.touches(x, y) for x, y in dots)


_FIRST_ROW_PX: Final = 5  # from the plot to the text's lower edge
_WITH_MARKER: Final = {"measured", "points", "spline"}
_COLORED_STROKE: Final = {"line", "dashed", "mean", "range"}


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
    for placed, dx_px, dy_px in _placed_marks(figure, table, size_px):
        where = {"x": datum(placed.x, figure.x), "y": datum(placed.y, figure.y)}
        ring = {"type": "point", "style": "ring", "size": (2 * _RING_PX) ** 2, "clip": False}
        text = {
            "type": "text",
            "style": "ring-label",
            "text": placed.label,
            "align": "center",
            "baseline": "middle",
            "dx": dx_px,
            "dy": dy_px,
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
    return only_shown(layers) if interactive else layers


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
    if style == "range":
        return {"strokeWidth": LINE_PX - 4, "opacity": 0.32}
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
