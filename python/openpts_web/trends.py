"""A measure over runs in the order of their time, with the limits of an individuals chart.

The center is the mean; the limits are 2.66 times the mean moving range away from it (3 / d2 of two values,
d2 = 1.128; Shewhart, as in ISO 7870-2). Each group, such as a firmware or a lot, has its own.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import fsum
from statistics import fmean
from typing import Any, Final, Self

from msgspec import Struct, structs

from openpts.vocabulary.document import Document

LIMIT_FACTOR: Final = 2.66
FEWEST: Final = 3
"""Two values have one moving range, and limits that neither can pass."""


class Point(Struct, frozen=True):
    """A run's value; ``state`` says that it is not of steady state. ``is_outside``: beyond a control limit."""

    id: str
    run: str
    started_at: str
    value: float
    group: str
    state: str = ""
    is_outside: bool = False


class ControlLimits(Struct, frozen=True):
    """A group's chart; what needs more runs is None."""

    group: str
    runs: int
    mean: float
    mean_moving_range: float | None
    low: float | None
    high: float | None
    outside: int = 0

    @classmethod
    def of(cls, group: str, values: Sequence[float]) -> Self:
        """Limits of values in the order of their time."""
        mean = fmean(values)
        if len(values) < FEWEST:
            return cls(group, len(values), mean, None, None, None)
        moving = fsum(abs(b - a) for a, b in pairwise(values)) / (len(values) - 1)
        low, high = mean - LIMIT_FACTOR * moving, mean + LIMIT_FACTOR * moving
        return cls(group, len(values), mean, moving, low, high, sum(not low <= one <= high for one in values))

    def holds(self, value: float) -> bool:
        """Whether a value is within the limits; any is where there are none."""
        return self.low is None or self.high is None or self.low <= value <= self.high


class Trend(Document, frozen=True, kw_only=True, tag="openpts.web-trend/1"):
    """A measure over runs. ``conditions`` are so many different ones, under which the runs were made."""

    test: str
    key: str
    label: str
    unit: str
    by: str
    conditions: int
    limits: tuple[ControlLimits, ...]
    points: tuple[Point, ...]


def control_chart(points: Sequence[Point]) -> tuple[tuple[ControlLimits, ...], tuple[Point, ...]]:
    """The limits of each group, in the order of its first run, and the points, those outside marked."""
    groups: dict[str, list[float]] = {}
    for one in points:
        groups.setdefault(one.group, []).append(one.value)
    limits = {group: ControlLimits.of(group, values) for group, values in groups.items()}
    marked = (structs.replace(one, is_outside=not limits[one.group].holds(one.value)) for one in points)
    return tuple(limits.values()), tuple(marked)


def chart_spec(trend: Trend) -> dict[str, Any]:
    """The chart in Vega-Lite: runs one beside the other in the order of their time, colored by group."""
    number = {one.id: place for place, one in enumerate(trend.points, start=1)}
    rows = [
        {"n": number[one.id], "value": one.value, "group": one.group or "all", "run": one.run,
         "at": one.started_at, "outside": one.is_outside}
        for one in trend.points
    ]  # fmt: skip
    places: dict[str, list[int]] = {}
    for one in trend.points:
        places.setdefault(one.group, []).append(number[one.id])
    rules = [
        {"group": each.group or "all", "from": min(places[each.group]) - 0.4, "to": max(places[each.group]) + 0.4,
         "mean": each.mean, "low": each.low, "high": each.high}
        for each in trend.limits
    ]  # fmt: skip
    y = {"type": "quantitative", "title": f"{trend.label} ({trend.unit})" if trend.unit else trend.label}
    x = {"field": "n", "type": "quantitative", "title": "Runs in the order of their time",
         "scale": {"domain": [0.5, len(rows) + 0.5], "nice": False}, "axis": {"tickMinStep": 1, "format": "d"}}  # fmt: skip
    color = {"field": "group", "type": "nominal", "scale": {"range": "category"}, "sort": None}
    color |= {"legend": {} if len(places) > 1 else None}
    zero = {"zero": False}
    lines = [
        {"data": {"values": rules}, "mark": {"type": "rule", "style": style},
         "encoding": {"x": {**x, "field": "from"}, "x2": {"field": "to"}, "y": {**y, "field": name, "scale": zero}}}
        for name, style in (("mean", "average"), ("low", "limit"), ("high", "limit"))
    ]  # fmt: skip
    spot = {"x": x, "y": {**y, "field": "value", "scale": zero}, "color": color}
    told = [{"field": "run", "title": "Run"}, {"field": "at", "title": "Begun"}, {"field": "value"}]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": f"{trend.label} of {len(rows)} runs, with control limits",
        "width": "container",
        "height": 320,
        "data": {"values": rows},
        "layer": [
            *lines,
            {"mark": {"type": "line", "strokeWidth": 1, "opacity": 0.5}, "encoding": spot},
            {"mark": {"type": "point", "filled": True, "size": 40}, "encoding": {**spot, "tooltip": told}},
            {"transform": [{"filter": "datum.outside"}], "encoding": spot,
             "mark": {"type": "point", "style": "ring", "size": 160}},
        ],
    }  # fmt: skip
