"""Where a figure over a grid crosses a limit: lines between the points that keep it and those that don't."""

import math
from collections.abc import Iterator, Mapping, Sequence

Place = tuple[float, float]
"""Column and row of a grid, counted from 0; between two of them, where a line crosses."""

Values = Sequence[Sequence[float | None]]
"""Rows of a grid; infinity breaks every limit, None was not measured."""

_Node = tuple[int, int]
_Edge = tuple[_Node, _Node]


def contour(values: Values, limit: float) -> tuple[tuple[Place, ...], ...]:
    """The lines between what is at or below the limit and what is above it.

    A crossing between two neighbors is interpolated in the logarithm of the figure; beside an infinite one it
    is at the neighbor that keeps the limit. Where all four corners of a square differ from their neighbors,
    those that keep the limit are held apart.
    """
    links: dict[_Edge, list[_Edge]] = {}
    for one, other in _segments(values, limit):
        links.setdefault(one, []).append(other)
        links.setdefault(other, []).append(one)
    lines = []
    # open lines begin at an end; what is left of the rest are rings
    for start in sorted(links, key=lambda edge: (len(links[edge]), edge)):
        line = _line_from(start, links)
        if len(line) > 1:
            lines.append(tuple(_place(edge, values, limit) for edge in line))
    return tuple(lines)


def _line_from(start: _Edge, links: Mapping[_Edge, list[_Edge]]) -> list[_Edge]:
    """Edges from the start on, as long as there is a link; links that are taken are gone."""
    line = [start]
    while links[line[-1]]:
        before, after = line[-1], links[line[-1]].pop()
        links[after].remove(before)
        line.append(after)
    return line


def _segments(values: Values, limit: float) -> Iterator[tuple[_Edge, _Edge]]:
    """The pieces of lines in each square, from one of its edges to another."""
    for row in range(len(values) - 1):
        for column in range(len(values[row]) - 1):
            around: list[_Node] = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)]
            corners = [values[r][c] for r, c in around]
            kept = [corner <= limit for corner in corners if corner is not None]
            if len(kept) < len(corners):
                continue
            sides = [(around[n], around[(n + 1) % 4]) for n in range(4)]
            crossed = [n for n in range(4) if kept[n] != kept[(n + 1) % 4]]
            if len(crossed) == 4 and kept[0]:  # a piece around corner 0 and one around 2, else around 1 and 3
                crossed = [3, 0, 1, 2]
            for one, other in zip(crossed[::2], crossed[1::2], strict=True):
                yield _ordered(sides[one]), _ordered(sides[other])


def _ordered(edge: _Edge) -> _Edge:
    return min(edge), max(edge)


def _place(edge: _Edge, values: Values, limit: float) -> Place:
    (row, column), (other_row, other_column) = edge
    share = _share(values[row][column], values[other_row][other_column], limit)
    return column + share * (other_column - column), row + share * (other_row - row)


def _share(first: float | None, second: float | None, limit: float) -> float:
    """How far from the first to the second neighbor the limit is crossed."""
    assert first is not None  # noqa: S101 edges are made of measured values
    assert second is not None  # noqa: S101
    if math.isinf(first) or math.isinf(second):
        return float(math.isinf(first))
    low, at, high = (math.log(max(value, 1e-9)) for value in (first, limit, second))
    # values that differ by a last digit have one logarithm
    return (at - low) / (high - low) if high != low else 0.5
