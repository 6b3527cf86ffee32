"""Long series in few points: minimum, maximum and mean of each column of a plot, so that no spike is lost."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from openpts.pages.model import Axis
from openpts.plots.axes import shares, value_at

Point = tuple[float, float]


class Column(NamedTuple):
    """The values of a series between two places of x; ``x`` is in the middle between them."""

    x: float
    low: float
    high: float
    mean: float


def envelope(points: Sequence[Point], x: Axis, columns: int) -> list[Column]:
    """One column for each of so many equal parts of the axis that holds a point."""
    found: dict[int, list[float]] = {}
    part_of = shares(x)
    for where, value in points:
        if 0 <= (part := part_of(where)) <= 1:
            found.setdefault(min(columns - 1, int(part * columns)), []).append(value)
    return [
        Column(
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
