"""The places of the labels of ringed points: beside their rings, clear of each other and of the data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from openpts.pages.model import Figure, Mark, Table, points_of
from openpts.plots.axes import LINE_PX, shares
from openpts.plots.line_labels import visible
from openpts.plots.text_width import text_width_px

RING_PX: Final = 7
_CLEARANCE_PX: Final = 3
_MARKER_PX: Final = 4
_MOST_BETWEEN: Final = 100
_FARTHEST: Final = 4  # rings of places that are tried, each a line further out


@dataclass(frozen=True, slots=True)
class PlacedMark:
    """A mark with the middle of its label, in pixels to the right of and below the ring's middle."""

    mark: Mark
    dx_px: float
    dy_px: float


@dataclass(frozen=True, slots=True)
class _Box:
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
        """Whether a marker there would reach into it."""
        across = self.left - _MARKER_PX < x < self.right + _MARKER_PX
        return across and self.top - _MARKER_PX < y < self.bottom + _MARKER_PX


def placed_marks(figure: Figure, table: Table, size_px: tuple[float, float]) -> list[PlacedMark]:
    """All marks with places for their labels; ``size_px`` is that of the plot's inside."""
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
    taken = [_around(ring, 2 * RING_PX, 2 * RING_PX) for ring in rings]
    inside = _Box(0, 0, width, height)
    placed: list[PlacedMark] = []
    for mark, ring in zip(figure.marks, rings, strict=True):
        choices = [
            (_around((ring[0] + dx, ring[1] + dy), text_width_px(mark.label, bold=True), LINE_PX - 2), dx, dy)
            for dx, dy in _offsets(text_width_px(mark.label, bold=True))
        ]
        near = _near(dots, [box for box, *_ in choices])
        box, dx, dy = min(choices, key=lambda choice: _cost(choice[0], inside, taken, near))
        taken.append(box)
        placed.append(PlacedMark(mark, dx, dy))
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
    beside = RING_PX + _CLEARANCE_PX + text_px / 2
    shoulder = max(0.0, text_px / 2 - RING_PX)
    for n in range(_FARTHEST):
        up = RING_PX + _CLEARANCE_PX + (n + 0.5) * LINE_PX
        found += [(0.0, -up), (0.0, up)]
        if n == 0:
            found += [(side, dy) for dy in (0.0, LINE_PX / 2, -LINE_PX / 2) for side in (beside, -beside)]
        found += [(shoulder, -up), (-shoulder, -up), (shoulder, up), (-shoulder, up)]
    return found


def _around(middle: tuple[float, float], width: float, height: float) -> _Box:
    x, y = middle
    return _Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _near(dots: Sequence[tuple[float, float]], boxes: Sequence[_Box]) -> list[tuple[float, float]]:
    """Those that any of the boxes may touch."""
    around = _Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )
    return [(x, y) for x, y in dots if around.touches(x, y)]


def _cost(box: _Box, inside: _Box, taken: Sequence[_Box], dots: Sequence[tuple[float, float]]) -> int:
    outside = box.left < inside.left or box.right > inside.right
    outside = outside or box.top < inside.top or box.bottom > inside.bottom
    covered = sum(box.overlaps(other) for other in taken)
    return 10_000 * outside + 1_000 * covered + sum(box.touches(x, y) for x, y in dots)
