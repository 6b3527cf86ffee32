"""The series of a plot on numeric axes, as layers of Vega-Lite: lines, points, bars, envelopes."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec.structs import replace

from openpts_pages.model import Axis, Figure, Series, Table, bars_of, points_of
from openpts_pages.plots.axes import Spec, drawn_last, field, place, placed, shares, shows, value_at, visible
from openpts_pages.plots.theme import MARKERS

DASHES: Final = (5, 4)
SLOTS: Final = list(range(len(MARKERS)))
_RANGE_OF_PALETTE: Final = {"series": "category", "mix": "ordinal"}
_PALETTE_LENGTH: Final = {"series": 8, "mix": 7}
_LONG: Final = 2_000
_COLUMNS_ON_PAPER: Final = 560
_SCREEN_PX: Final = (560, 250)
_DIGITS: Final = 7
_MARKER: Final = 42
_BOLD_MARKER: Final = 62
_CLOSE: Final = 150  # points of a series from which on markers would hide its line
Point = tuple[float, float]


def series_layers(figure: Figure, table: Table, interactive: bool, *, right: bool) -> list[Spec]:
    """All series of one of the figure's sides, those below others first.

    An interactive one names its data, ``s0`` for the first series: the page has them in its tables.
    """
    y = figure.y if not right or figure.y2 is None else figure.y2
    chosen = [(n, s) for n, s in enumerate(figure.series) if s.second_axis is right]
    layers: list[Spec] = []
    for n, series in sorted(chosen, key=lambda item: drawn_last(item[1])):
        own = _layers_of(series, figure, table, y, {"name": f"s{n}"} if interactive else None)
        if interactive:
            for part, layer in enumerate(own):
                layer["name"] = f"s{n}_{part}"
                layer["transform"] = [{"filter": f"indexof(hidden, 's{n}') < 0"}]
        layers += own
    return layers


def only_shown(layers: list[Spec]) -> list[Spec]:
    """Layers whose rows are hidden with their series, on a page."""
    for layer in layers:
        layer["transform"] = [{"filter": "indexof(hidden, datum.key) < 0"}]
    return layers


def is_long(series: Series, table: Table) -> bool:
    """Whether the series is drawn as an envelope."""
    return series.style == "line" and len(points_of(series, table)) > _LONG


def slot_color(figure: Figure, slot: int | None = None) -> Spec:
    """The color channel of a slot of the palette, or of rows with a field of that name."""
    scale = {"domain": SLOTS, "range": _RANGE_OF_PALETTE[figure.palette]}
    source: Spec = {"field": "slot"} if slot is None else {"datum": slot}
    return {**source, "type": "nominal", "legend": None, "scale": scale}


def slot_of(color: int, figure: Figure) -> int:
    """The palette's slot of a color: beyond its end it begins again."""
    return color % _PALETTE_LENGTH[figure.palette]


def marker(figure: Figure, slot: int | None = None) -> Spec:
    """Color and shape together: a series is never distinguished by color alone."""
    color = slot_color(figure, slot)
    return {"fill": color, "stroke": color, "shape": {**color, "scale": {"domain": SLOTS, "range": "symbol"}}}


def marker_size() -> Spec:
    """Markers of rows that are bold are larger."""
    return {"condition": {"test": "datum.bold", "value": _BOLD_MARKER}, "value": _MARKER}


def _layers_of(series: Series, figure: Figure, table: Table, y: Axis, named: Spec | None) -> list[Spec]:
    if series.style == "bars":
        return [_bars(series, figure, y, named or {"values": _bar_rows(series, figure, table, y)})]
    if series.style == "range":
        ends = [one for line in series.lines for one in points_of(replace(series, lines=(line,)), table)]
        strip, *_ = _envelope(series, figure, named or {"values": _envelope_rows(figure, visible(ends, y))})
        return [strip]
    points = visible(points_of(series, table), y)
    if is_long(series, table):
        return _envelope(series, figure, named or {"values": _envelope_rows(figure, points)})
    source = {
        "data": named or {"values": _point_rows(placed(_thinned(series, points, figure, y), figure.x, y))}
    }
    position = {"x": field("x", figure.x), "y": field("y", y, right=series.second_axis)}
    lines = {"measured", "line", "dashed", "spline", "mean"} & {series.style}
    layers: list[Spec] = []
    if series.style == "fit":
        return [{**source, "mark": {"type": "line", "style": "fit", "clip": True}, "encoding": position}]
    if lines:
        layers.append(_line(series, figure, points, {**source, "encoding": position}))
    if series.style in {"points", "spline"} or (series.style == "measured" and len(points) <= _CLOSE):
        layers.append(_markers(series, figure, source, position, close=len(points) > _CLOSE))
    return layers


def _markers(series: Series, figure: Figure, source: Spec, position: Spec, *, close: bool) -> Spec:
    slot = slot_of(series.color, figure)
    if close:  # too small for a shape
        mark: Spec = {"type": "point", "shape": "square", "strokeWidth": 0, "size": 8, "clip": True}
        color = slot_color(figure, slot)
        return {**source, "mark": mark, "encoding": {**position, "fill": color, "stroke": color}}
    size = {"value": _BOLD_MARKER if series.emphasis else _MARKER}
    encoding = {**position, **marker(figure, slot), "size": size}
    return {**source, "mark": {"type": "point", "clip": True}, "encoding": encoding}


def _point_rows(points: Sequence[tuple[float, float]]) -> list[Spec]:
    brief = len(points) > _CLOSE
    return [{"x": _brief(x), "y": _brief(y)} if brief else {"x": x, "y": y} for x, y in points]


def _thinned(
    series: Series, points: list[tuple[float, float]], figure: Figure, y: Axis
) -> list[tuple[float, float]]:
    if len(points) <= _CLOSE:
        return points
    if series.style == "points":
        return distinct(points, figure.x, y, _SCREEN_PX)
    return points if series.style == "spline" else turning(points)


def _line(series: Series, figure: Figure, points: Sequence[tuple[float, float]], layer: Spec) -> Spec:
    mark: Spec = {"type": "line", "clip": True, **_curve(series, points)}
    mark["strokeWidth"] = 3 if series.emphasis else {"mean": 2.4, "line": 1.2}.get(series.style, 1.6)
    if series.style == "dashed":
        mark["strokeDash"] = DASHES
    layer["encoding"] = {
        **layer["encoding"],
        "color": slot_color(figure, slot_of(series.color, figure)),
        "order": {"value": None},  # as the table has them, not from left to right
    }
    return {**layer, "mark": mark}


def _curve(series: Series, points: Sequence[tuple[float, float]]) -> Spec:
    """A cubic that rises and falls only where the points do; straight lines where both x and y turn back."""
    if series.style != "spline":
        return {}
    for axis, orient in ((0, "vertical"), (1, "horizontal")):
        steps = [later[axis] - point[axis] for point, later in pairwise(points)]
        if all(step > 0 for step in steps) or all(step < 0 for step in steps):
            return {"interpolate": "monotone", "orient": orient}
    return {}


def _bar_rows(series: Series, figure: Figure, table: Table, y: Axis) -> list[Spec]:
    return [
        {"x": place(start, figure.x), "x2": place(end, figure.x), "y": place(value, y)}
        for start, end, value in bars_of(series, table)
        if value and shows(value, y)
    ]


def _bars(series: Series, figure: Figure, y: Axis, data: Spec) -> Spec:
    """A bar from each x to the next, standing on the plot's floor."""
    color = slot_color(figure, slot_of(series.color, figure))
    several = sum(other.style == "bars" for other in figure.series) > 1
    return {
        "data": data,
        "mark": {"type": "rect", "style": "bar-shared" if several else "bar-alone", "clip": True},
        "encoding": {
            "x": field("x", figure.x),
            "x2": {"field": "x2"},
            "y": field("y", y, right=series.second_axis),
            "y2": {"value": "height"},
            "fill": color,
            "stroke": color,
        },
    }


def _envelope_rows(figure: Figure, points: Sequence[tuple[float, float]]) -> list[Spec]:
    y = figure.y
    return [
        {
            "x": _brief(place(column.x, figure.x)),
            "low": _brief(place(column.low, y)),
            "high": _brief(place(column.high, y)),
            "y": _brief(place(column.mean, y)),
        }
        for column in envelope(points, figure.x, _COLUMNS_ON_PAPER)
    ]


def _envelope(series: Series, figure: Figure, data: Spec) -> list[Spec]:
    """A strip from minimum to maximum, and the means in it unless a series of its own has them."""
    y = figure.y
    color = slot_color(figure, slot_of(series.color, figure))
    x = {"x": field("x", figure.x)}
    strip: Spec = {
        "data": data,
        "mark": {"type": "area", "style": "envelope", "clip": True},
        "encoding": {**x, "y": field("high", y), "y2": {"field": "low"}, "fill": color, "stroke": color},
    }
    if any(other.style == "mean" for other in figure.series):
        return [strip]
    means: Spec = {
        "data": data,
        "mark": {"type": "line", "clip": True, "strokeWidth": 1.2},
        "encoding": {**x, "y": field("y", y), "color": color},
    }
    return [strip, means]


def _brief(value: float) -> float:
    """Value rounded to more digits than a picture can show, but few enough for a small file."""
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else value


class SeriesBin(NamedTuple):
    """The values of a series between two places of x; ``x`` is in the middle between them."""

    x: float
    low: float
    high: float
    mean: float


def envelope(points: Sequence[Point], x: Axis, columns: int) -> list[SeriesBin]:
    """One column for each of so many equal parts of the axis that holds a point: no spike is lost."""
    found: dict[int, list[float]] = {}
    part_of = shares(x)
    for where, value in points:
        if 0 <= (part := part_of(where)) <= 1:
            found.setdefault(min(columns - 1, int(part * columns)), []).append(value)
    return [
        SeriesBin(
            value_at((number + 0.5) / columns, x),
            min(values),
            max(values),
            min(max(math.fsum(values) / len(values), min(values)), max(values)),
        )
        for number, values in sorted(found.items())
    ]


def distinct(points: Sequence[Point], x: Axis, y: Axis, size: tuple[int, int]) -> list[Point]:
    """The points that don't lie on another one in a picture of so many pixels: the first of each pixel."""
    width, height = size
    seen: dict[tuple[int, int], Point] = {}
    across_of, up_of = shares(x), shares(y)
    for point in points:
        across, up = across_of(point[0]), up_of(point[1])
        if math.isfinite(across) and math.isfinite(up):
            seen.setdefault((round(across * width), round(up * height)), point)
    return list(seen.values())


def turning(points: Sequence[Point]) -> list[Point]:
    """The points of a line without those within its level stretches: of whole degrees there are thousands."""
    middle = (
        point
        for before, point, after in zip(points, points[1:], points[2:], strict=False)
        if not (before[1] == point[1] == after[1] and before[0] <= point[0] <= after[0])
    )
    return [points[0], *middle, points[-1]]
