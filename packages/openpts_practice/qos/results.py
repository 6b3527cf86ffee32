"""Searches for the highest load of a mix that keeps a limit, and the contours of a map."""

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from openpts.units import format_latency_ms
from openpts_pages import cells
from openpts_pages.model import Cell
from openpts_practice.qos import Limit, QosConditions, mix_text
from openpts_practice.qos.points import Bracket, Point


class Search(Struct, frozen=True):
    """The highest load of a mix that keeps a limit, as far as it was found."""

    mix: "Mix"
    limit: Limit
    bracket: Bracket
    late_pct: float

    @property
    def name(self) -> str:
        """``70/30, p99 of reads <= 1.00 ms``."""
        return f"{self.mix}, {self.limit}"

    @property
    def is_judged(self) -> bool:
        """Whether loads were measured, and the I/Os of the lowest one suffice to say what became of it."""
        kept, broken = self.bracket.kept, self.bracket.broken
        return kept is not None or (
            broken is not None and broken.keeps(self.limit, self.late_pct) is not None
        )

    @property
    def absence(self) -> str:
        """Why there is no highest load; empty where there is one."""
        kept, broken = self.bracket.kept, self.bracket.broken
        if kept is not None and broken is not None:
            return ""
        if kept is not None:
            return f"not reached: the highest load, {kept.ios_per_s:,.1f} IOPS, keeps the limit"
        if broken is None:
            return "not measured"
        if not self.is_judged:
            return f"not judged: too few I/Os at {broken.ios_per_s:,.1f} IOPS"
        return f"not reached: the lowest load, {broken.ios_per_s:,.1f} IOPS, breaks the limit"

    def doubt(self, conditions: QosConditions) -> str:
        """Why a highest load is not known as well as asked for; empty where it is."""
        kept, broken = self.bracket.kept, self.bracket.broken
        if kept is None or broken is None:
            return ""
        found = []
        if self.bracket.next_load(conditions) is not None:
            found.append(f"not narrowed to {conditions.width_pct:g} % or not measured often enough")
        if self.bracket.broken_below:
            loads = f"{self.bracket.broken_below} lower load{'s' if self.bracket.broken_below > 1 else ''}"
            found.append(f"{loads} did not keep the limit")
        if kept.is_limited_by_host or broken.is_limited_by_host:
            found.append("the host was late or its processors were full: the drive may take more")
        return "; ".join(found)

    def at(self, point: Point) -> int | None:
        """The limit's percentile at a load, of all measurements together; None with too few I/Os."""
        return point.percentile_ns(self.limit.operation, self.limit.percentile)

    def range_at(self, point: Point) -> tuple[int, int] | None:
        """The lowest and the highest of single measurements of a load; None with fewer than two."""
        alone = (Point(point.reads_per_s, point.writes_per_s, (sample,)) for sample in point.samples)
        known = [value_ns for one in alone if (value_ns := self.at(one)) is not None]
        return (min(known), max(known)) if len(known) > 1 else None

    def highest_cell(self, note: str = "") -> Cell:
        """The highest load that keeps the limit, IOPS, or why there is none."""
        kept = self.bracket.kept
        if kept is None or self.absence:
            return cells.missing(self.absence)
        return cells.number(kept.ios_per_s, 1, note=note)

    @property
    def share_cell(self) -> Cell:
        """The highest load that was measured to keep the limit, in per cent of the peak."""
        kept = self.bracket.kept
        share_pct = None if kept is None else self.mix.share_pct(kept.ios_per_s)
        return cells.number_or("no load keeps it" if kept is None else "no peak", share_pct, 1)

    @property
    def broken_cell(self) -> Cell:
        """The next load above it, IOPS."""
        broken = self.bracket.broken
        if broken is None:
            return cells.none()
        return cells.number(broken.ios_per_s, 1) if self.is_judged else cells.missing("too few I/Os")

    def percentile_cell(self, point: Point | None) -> Cell:
        """The limit's percentile at a load, with the range of single measurements."""
        if point is None:
            return cells.none()
        value_ns, each = self.at(point), self.range_at(point)
        if value_ns is None:
            return cells.missing("too few I/Os")
        low, high = map(format_latency_ms, each or (value_ns, value_ns))
        return cells.latency(value_ns, note=f"{low} to {high}" if each else "")

    @property
    def times_cell(self) -> Cell:
        """How often each end was measured."""
        ends = (self.bracket.kept, self.bracket.broken)
        return Cell(" and ".join(str(len(end.samples)) for end in ends if end is not None) or "-")


class Mix(Struct, frozen=True):
    """A mix with its loads from the least to the highest; ``peak_per_s`` is None if it was not measured."""

    read_pct: int
    peak_per_s: float | None
    points: tuple[Point, ...]

    def __str__(self) -> str:
        return mix_text(self.read_pct)

    def share_pct(self, ios_per_s: float) -> float | None:
        """A load in per cent of the mix's peak."""
        return 100 * ios_per_s / self.peak_per_s if self.peak_per_s else None


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
