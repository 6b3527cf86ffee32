"""Axes of plots, and what needs room beside them: labels at the ends of lines, panels that share their x."""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts_pages.model import Axis, Figure, Page, Section, Series, Table, points_of
from openpts_pages.plots.theme import PLOT_TEXT_PX, text_width_px

Spec = dict[str, Any]

PADDING: Final = {"left": 4, "top": 8, "right": 6, "bottom": 4}
NUMBER: Final = ",~f"
LINE_PX: Final = PLOT_TEXT_PX + 3
END_LABEL_PX: Final = 31  # from the plot's edge to the text of an end label
_PLAIN: Final = "~f"
_TITLE_AND_TICKS_PX: Final = 4 + 5 + 10 + 14
_BELOW_PX: Final = 45
_NEAR_END: Final = 0.95


def place(value: float, axis: Axis) -> float:
    """The place of a value on the axis: on a nines scale the count of nines, at most that of its end."""
    return value if axis.scale != "nines" else _nines(min(value, axis.domain[1]))


def _nines(pct: float) -> float:
    return round(-math.log10(max(1 - pct / 100, 1e-12)), 9) + 0.0


def share(value: float, axis: Axis) -> float:
    """Where a value is on the axis: 0 at its start, 1 at its end. A logarithmic one has no place for 0."""
    return shares(axis)(value)


def shares(axis: Axis) -> Callable[[float], float]:
    """``share`` for an axis of a hundred thousand points."""
    low, high = (place(end, axis) for end in axis.domain)
    if axis.scale == "log":
        span = math.log(high / low)
        return lambda value: math.log(value / low) / span if value > 0 else -math.inf
    if axis.scale == "nines":
        return lambda value: (place(value, axis) - low) / (high - low)
    return lambda value: (value - low) / (high - low)


def value_at(where: float, axis: Axis) -> float:
    """The place on the axis, as ``place`` gives it, for a share of its length."""
    low, high = (place(end, axis) for end in axis.domain)
    return low * (high / low) ** where if axis.scale == "log" else low + where * (high - low)


def shows(value: float, axis: Axis) -> bool:
    """Whether the axis has a place for the value at all."""
    return axis.scale != "log" or value > 0


def tick_texts(axis: Axis) -> list[str]:
    """The texts at the ticks."""
    if axis.labels:
        return list(axis.labels)
    # through their decimal text: a float's own text may have an exponent
    return [f"{Decimal(f'{tick:.9e}').normalize():{',' if axis.commas else ''}f}" for tick in axis.ticks]


def field(name: str, axis: Axis, *, right: bool = False) -> Spec:
    """A position channel that reads a field, or the category of that name."""
    return {"field": name, **_position(axis, right)}


def datum(value: float, axis: Axis) -> Spec:
    """A position channel at a fixed value of the axis."""
    return {"datum": place(value, axis), **_position(axis, right=False)}


def _position(axis: Axis, right: bool) -> Spec:
    if axis.scale == "category":
        return {
            "type": "ordinal",
            "title": axis.title,
            "scale": {"domain": list(axis.labels)},
            "axis": {"labelAngle": 0, "ticks": False, "domain": False, "grid": False},
        }
    drawn: Spec = {
        "values": [place(tick, axis) for tick in axis.ticks],
        "format": NUMBER if axis.commas else _PLAIN,
        "tickSize": 4,
    }
    if axis.labels:
        drawn["labelExpr"] = f"{json.dumps(axis.labels)}[indexof({drawn['values']}, datum.value)]"
    if right:
        drawn |= {"orient": "right", "grid": False}
    return {
        "type": "quantitative",
        "title": axis.title,
        "scale": {
            "type": "log" if axis.scale == "log" else "linear",
            "domain": [place(end, axis) for end in axis.domain],
            "nice": False,
        },
        "axis": drawn,
    }


def left_px(figure: Figure) -> float:
    """Width of the y axis with its numbers and its title."""
    return max(_axis_px(figure.y), figure.sides_px[0])


def right_px(figure: Figure, longest_label_px: float) -> float:
    """Width of the parts to the right of the plot: a second axis, or the labels of its lines."""
    if figure.y2 is not None:
        return max(_axis_px(figure.y2), figure.sides_px[1])
    labels, beyond_end, x = 0.0, 0.0, figure.x
    if longest_label_px:
        labels = END_LABEL_PX + longest_label_px
    if x.ticks and share(x.ticks[-1], x) >= _NEAR_END:
        beyond_end = text_width_px(tick_texts(x)[-1]) / 2  # of the last number below the plot
    return max(labels, beyond_end, figure.sides_px[1])


def _axis_px(axis: Axis) -> float:
    return max((text_width_px(text) for text in tick_texts(axis)), default=0.0) + _TITLE_AND_TICKS_PX


def inner_size_px(figure: Figure, longest_label_px: float, rows_above: int) -> tuple[float, float]:
    """Width and height left for the data; a little less than Vega will find, so that labels keep apart."""
    sides = left_px(figure) + right_px(figure, longest_label_px) + PADDING["left"] + PADDING["right"]
    above = PADDING["top"] + rows_above * LINE_PX + PADDING["bottom"]
    return max(40, figure.width_px - sides - 6), max(40, figure.height_px - above - _BELOW_PX)


_MOST_END_LABELS = 8


class EndLabel(Struct, frozen=True):
    """A label: ``y`` is its place in the axis's unit; ``style`` is that of the series or constant line."""

    text: str
    y: float
    style: str
    key: str = ""
    color: int = 0
    bold: bool = False


def has_end_labels(figure: Figure) -> bool:
    """Whether lines are named at their ends: not where an axis is there, bars end, or too many would."""
    bars = any(series.style == "bars" for series in figure.series)
    crowded = bars or len(figure.series) > _MOST_END_LABELS
    return figure.kind == "lines" and figure.y2 is None and not crowded


def end_labels(figure: Figure, table: Table, rows_above: int = 0) -> list[EndLabel]:
    """One label for each series and each constant line, moved apart where they would touch."""
    labels = _of_series(figure, table)
    if figure.y2 is None:
        labels += [EndLabel(rule.label, rule.value, rule.style) for rule in figure.rules if rule.axis == "y"]
    labels.sort(key=lambda label: label.y)
    _, height = inner_size_px(figure, 1, rows_above)
    places = _apart([share(label.y, figure.y) for label in labels], height)
    moved = zip(labels, places, strict=True)
    return [replace(label, y=value_at(where, figure.y)) for label, where in moved]


def _of_series(figure: Figure, table: Table) -> list[EndLabel]:
    if not has_end_labels(figure):
        return []
    return [
        EndLabel(series.label, points[-1][1], series.style, f"s{n}", series.color, series.emphasis)
        for n, series in enumerate(figure.series)
        if series.label and (points := visible(points_of(series, table), figure.y))
    ]


def visible(points: Sequence[tuple[float, float]], y: Axis) -> list[tuple[float, float]]:
    """The points that the axis can show: a logarithmic one has no place for 0."""
    return [point for point in points if shows(point[1], y)]


def placed(points: Sequence[tuple[float, float]], x: Axis, y: Axis) -> list[tuple[float, float]]:
    """The points as places on the axes."""
    return [(place(across, x), place(up, y)) for across, up in points]


def drawn_last(series: Series) -> int:
    """In which order series are painted: dots below lines, and means and fits on top."""
    order = ("range", "bars", "points", "line", "dashed", "measured", "spline", "mean", "fit")
    return order.index(series.style)


class _Stack(Struct, frozen=True):
    """Labels that touch each other, stacked around the mean of their places, inside the plot."""

    mean: float
    members: int

    def places(self, gap: float) -> list[float]:
        """The places of its labels, lowest first."""
        half = (self.members - 1) / 2 * gap
        centre = min(max(self.mean, half), 1 - half)
        return [centre - half + n * gap for n in range(self.members)]

    def joined(self, other: "_Stack") -> "_Stack":
        """Two stacks as one, each label with the same weight."""
        members = self.members + other.members
        return _Stack((self.mean * self.members + other.mean * other.members) / members, members)


def _apart(places: Sequence[float], height_px: float) -> list[float]:
    """Ascending places, pushed apart to a line's height and kept inside the plot."""
    gap = LINE_PX / max(1.0, height_px)
    stacks: list[_Stack] = []
    for where in places:
        stacks.append(_Stack(where, 1))
        while len(stacks) > 1 and stacks[-1].places(gap)[0] - stacks[-2].places(gap)[-1] < gap:
            upper = stacks.pop()
            stacks.append(stacks.pop().joined(upper))
    return [where for stack in stacks for where in stack.places(gap)]


def longest_label_px(figure: Figure, table: Table) -> float:
    """Width of the widest label at the lines' ends; 0 without any."""
    labels = end_labels(figure, table)
    return max((text_width_px(label.text, bold=label.bold) for label in labels), default=0.0)


def with_aligned_panels(section: Section) -> Section:
    """The section with the same room beside all plots of a page that are zoomed together."""
    tables = {block.id: block for page in section.pages for block in page.blocks if isinstance(block, Table)}
    return replace(section, pages=tuple(_aligned(page, tables) for page in section.pages))


def aligned_page(page: Page) -> Page:
    """As ``with_aligned_panels``, for a page that holds the tables of its plots."""
    return _aligned(page, {block.id: block for block in page.blocks if isinstance(block, Table)})


def _aligned(page: Page, tables: Mapping[str, Table]) -> Page:
    groups: dict[tuple[str, int], list[Figure]] = defaultdict(list)
    for block in page.blocks:
        if isinstance(block, Figure) and block.kind == "lines" and block.zoom_group:
            groups[block.zoom_group, block.width_px].append(block)
    sides = {
        figure.id: (
            max(map(left_px, figures)),
            max(right_px(one, longest_label_px(one, tables[one.table_id])) for one in figures),
        )
        for figures in groups.values()
        if len(figures) > 1
        for figure in figures
    }
    if not sides:
        return page
    blocks = (
        replace(block, sides_px=sides[block.id]) if isinstance(block, Figure) and block.id in sides else block
        for block in page.blocks
    )
    return replace(page, blocks=tuple(blocks))
