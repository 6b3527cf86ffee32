"""Labels at the ends of lines: each beside its line, none over another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from openpts.report.model import Axis, Figure, Table, points_of
from openpts.report.theme import PLOT_TEXT_PX

_LINE_PX = PLOT_TEXT_PX + 3
_AXIS_AND_MARGINS_PX = 60


@dataclass(frozen=True, slots=True)
class EndLabel:
    """A label: ``y`` is its place in the axis's unit; ``style`` is ``measured`` or a line style."""

    text: str
    y: float
    style: str
    key: str = ""
    color: int = 0
    bold: bool = False


def end_labels(figure: Figure, table: Table) -> list[EndLabel]:
    """One label for each series and each constant line, moved apart where they would touch."""
    labels = [
        EndLabel(series.label, points[-1][1], series.style, f"s{n}", series.color, series.emphasis)
        for n, series in enumerate(figure.series)
        if (points := visible(points_of(series, table), figure.y))
    ]
    labels += [EndLabel(rule.label, rule.value, rule.style) for rule in figure.rules]
    labels.sort(key=lambda label: label.y)
    places = _apart([_share(label.y, figure.y) for label in labels], figure.height_px)
    return [
        EndLabel(label.text, _value(place, figure.y), label.style, label.key, label.color, label.bold)
        for label, place in zip(labels, places, strict=True)
    ]


def visible(points: Sequence[tuple[float, float]], y: Axis) -> list[tuple[float, float]]:
    """The points that the axis can show: a logarithmic one has no place for 0."""
    return [point for point in points if y.scale != "log" or point[1] > 0]


def _share(value: float, axis: Axis) -> float:
    """Place on the axis, 0 at its start and 1 at its end."""
    low, high = axis.domain
    if axis.scale == "log":
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _value(share: float, axis: Axis) -> float:
    low, high = axis.domain
    return low * (high / low) ** share if axis.scale == "log" else low + share * (high - low)


@dataclass(frozen=True, slots=True)
class _Stack:
    """Labels that touch each other, stacked around the mean of their places, inside the plot."""

    mean: float
    members: int

    def places(self, gap: float) -> list[float]:
        """Where its labels stand, lowest first."""
        half = (self.members - 1) / 2 * gap
        centre = min(max(self.mean, half), 1 - half)
        return [centre - half + n * gap for n in range(self.members)]

    def joined(self, other: "_Stack") -> "_Stack":
        """Both in one stack, each label with the same weight."""
        members = self.members + other.members
        return _Stack((self.mean * self.members + other.mean * other.members) / members, members)


def _apart(places: Sequence[float], height_px: int) -> list[float]:
    """Ascending places, pushed apart to a line's height and kept inside the plot."""
    gap = _LINE_PX / max(1, height_px - _AXIS_AND_MARGINS_PX)
    stacks: list[_Stack] = []
    for place in places:
        stacks.append(_Stack(place, 1))
        while len(stacks) > 1 and _touch(stacks[-2], stacks[-1], gap):
            upper = stacks.pop()
            stacks.append(stacks.pop().joined(upper))
    return [place for stack in stacks for place in stack.places(gap)]


def _touch(lower: _Stack, upper: _Stack, gap: float) -> bool:
    return upper.places(gap)[0] - lower.places(gap)[-1] < gap
