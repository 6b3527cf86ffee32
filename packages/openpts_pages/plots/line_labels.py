"""Labels at the ends of lines: each beside its line, none over another."""

from collections.abc import Sequence

from msgspec import Struct

from openpts_pages.model import Axis, Figure, Series, Table, points_of
from openpts_pages.plots.axes import LINE_PX, inner_size_px, place, share, shows, value_at
from openpts_pages.plots.font_metrics import text_width_px

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
    """Whether lines are named at their ends: not where an axis stands there, bars end, or too many would."""
    bars = any(series.style == "bars" for series in figure.series)
    crowded = bars or len(figure.series) > _MOST_END_LABELS
    return figure.kind == "lines" and figure.y2 is None and not crowded


def end_labels(figure: Figure, table: Table, rows_above: int = 0) -> list[EndLabel]:
    """One label for each series and each constant line, moved apart where they would touch."""
    labels = [*_of_series(figure, table), *_of_rules(figure)]
    labels.sort(key=lambda label: label.y)
    _, height = inner_size_px(figure, 1, rows_above)
    places = _apart([share(label.y, figure.y) for label in labels], height)
    return [
        EndLabel(label.text, value_at(where, figure.y), label.style, label.key, label.color, label.bold)
        for label, where in zip(labels, places, strict=True)
    ]


def _of_series(figure: Figure, table: Table) -> list[EndLabel]:
    if not has_end_labels(figure):
        return []
    return [
        EndLabel(series.label, points[-1][1], series.style, f"s{n}", series.color, series.emphasis)
        for n, series in enumerate(figure.series)
        if series.label and (points := visible(points_of(series, table), figure.y))
    ]


def _of_rules(figure: Figure) -> list[EndLabel]:
    if figure.y2 is not None:
        return []
    return [EndLabel(rule.label, rule.value, rule.style) for rule in figure.rules if rule.axis == "y"]


def visible(points: Sequence[tuple[float, float]], y: Axis) -> list[tuple[float, float]]:
    """The points that the axis can show: a logarithmic one has no place for 0."""
    return [point for point in points if shows(point[1], y)]


def placed(points: Sequence[tuple[float, float]], x: Axis, y: Axis) -> list[tuple[float, float]]:
    """The points as places on the axes."""
    return [(place(across, x), place(up, y)) for across, up in points]


def drawn_last(series: Series) -> int:
    """In which order series are painted: dots below lines, and means and fits on top."""
    order = ("bars", "points", "line", "dashed", "measured", "spline", "mean", "fit")
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
        while len(stacks) > 1 and _touch(stacks[-2], stacks[-1], gap):
            upper = stacks.pop()
            stacks.append(stacks.pop().joined(upper))
    return [where for stack in stacks for where in stack.places(gap)]


def _touch(lower: _Stack, upper: _Stack, gap: float) -> bool:
    return upper.places(gap)[0] - lower.places(gap)[-1] < gap


def longest_label_px(figure: Figure, table: Table) -> float:
    """Width of the widest label at the lines' ends; 0 without any."""
    labels = end_labels(figure, table)
    return max((text_width_px(label.text, bold=label.bold) for label in labels), default=0.0)
