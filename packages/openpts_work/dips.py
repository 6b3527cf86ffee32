"""Where a course of rates breaks: segments of constant rate, and dips below the running median.

The logarithms of the rates are cut so that the sum of their distances from the segments' medians, plus a
penalty for each break, is the least of all ways to cut them (exact, by dynamic programming). Distances are
not squared, so that a single stall is no segment. A point between two segments whose rate lies between those
of its neighbors may belong to neither, for the same penalty: the rate changed within it. Then neighbors
whose median rates differ by less than 10 % are put together, the nearest first.
"""

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from msgspec import Struct

SHORTEST: Final = 2
"""Points of a segment at the least: a single one is an outlier, or a change."""

LEAST_CHANGE_PCT: Final = 10.0
"""Segments whose rates are nearer than that are one."""

LEAST_NOISE: Final = 0.01
"""The noise of a course is taken for 1 % at the least, so that a smooth one is not cut into nothing."""

_PENALTY: Final = 3.0

RULE: Final = (
    "Break points: the logarithms of the rates are cut into segments of the least cost. The cost is the sum "
    "of their distances from the segments' medians, plus 3 s ln n for each break (n points; s: their noise, "
    f"the median difference of neighbors / √2, at least {100 * LEAST_NOISE:g} %). Segments have {SHORTEST} "
    "points at least; a point within which the rate changes may be left out between two, for as much as a "
    f"break; neighbors that differ by less than {LEAST_CHANGE_PCT:g} % are one."
)


class Segment(Struct, frozen=True):
    """Points ``start`` to before ``end``, and the median of their rates; a point may lie between two."""

    start: int
    end: int
    rate: float


def segments_of(rates: Sequence[float]) -> tuple[Segment, ...]:
    """The segments of a course of positive rates, in order. Raises ValueError for a rate that is not."""
    if any(rate <= 0 for rate in rates):
        raise ValueError("a course of rates has only positive ones")
    if not rates:
        return ()
    logs = [math.log(rate) for rate in rates]
    noise = max(LEAST_NOISE, _noise(logs))
    spans = _best_spans(logs, _PENALTY * noise * math.log(len(logs)))
    return tuple(_merged([_segment(logs, *span) for span in spans], logs))


def _segment(logs: Sequence[float], start: int, end: int) -> Segment:
    return Segment(start, end, math.exp(median(logs[start:end])))


def _noise(logs: Sequence[float]) -> float:
    """The usual distance of a point from its level: breaks are few, so the median difference misses them."""
    differences = [abs(b - a) for a, b in pairwise(logs)]
    return median(differences) / math.sqrt(2) if differences else 0.0


def _best_spans(logs: Sequence[float], penalty: float) -> list[tuple[int, int]]:
    """The cheapest segments, each from a point to before another."""
    costs = [list(_costs(logs[start:])) for start in range(len(logs))]
    # best[end]: the cheapest way to cut the first `end` points, where its last segment starts, and where the
    # segment before that ends.
    best: dict[int, tuple[float, int, int]] = {0: (-penalty, 0, 0)}
    for end in range(1, len(logs) + 1):
        ways = [
            (best[before][0] + (1 + start - before) * penalty + costs[start][end - start - 1], start, before)
            for start in range(end)
            if end - start >= SHORTEST or (start, end) == (0, len(logs))
            for before in (start, start - 1)
            if before in best and (before == start or _changes_in(logs, before))
        ]
        if ways:
            best[end] = min(ways)
    spans: list[tuple[int, int]] = []
    end = len(logs)
    while end:
        _, start, before = best[end]
        spans.append((start, end))
        end = before
    return spans[::-1]


def _costs(logs: Sequence[float]) -> Iterator[float]:
    """Sums of distances from their median, of the first point, the first two, and so on."""
    ordered: list[float] = []
    for value in logs:
        insort(ordered, value)
        half = len(ordered) // 2
        yield math.fsum(ordered[-half:]) - math.fsum(ordered[:half]) if half else 0.0


def _changes_in(logs: Sequence[float], index: int) -> bool:
    """Whether the rate of a point lies between those of its neighbors: it may have changed within it."""
    if not 0 < index < len(logs) - 1:
        return False
    low, high = sorted((logs[index - 1], logs[index + 1]))
    return low < logs[index] < high


def _merged(segments: list[Segment], logs: Sequence[float]) -> list[Segment]:
    """Neighbors put together, the nearest first, until all that are left differ enough."""
    least = math.log1p(LEAST_CHANGE_PCT / 100)
    while len(segments) > 1:
        changes = [abs(math.log(b.rate / a.rate)) for a, b in pairwise(segments)]
        nearest = min(range(len(changes)), key=changes.__getitem__)
        if changes[nearest] >= least:
            break
        whole = _segment(logs, segments[nearest].start, segments[nearest + 1].end)
        segments = [*segments[:nearest], whole, *segments[nearest + 2 :]]
    return segments


SHARE: Final = 0.7
"""Below this share of the running median a throughput has dipped."""

WINDOW: Final = 61
"""The running median is that of so many values before."""

_FEWEST: Final = 10
# A load has recovered when so many values in a row are no longer low.
_RECOVERED: Final = 5
_AFTER: Final = 31


class Dip(Struct, frozen=True):
    """Points ``first`` to ``last`` of a load, both inclusive.

    ``median`` is the running median before it, ``lowest`` its lowest point. ``lasts``: what came after it
    stayed as low, so that the load has changed its level for good.
    """

    first: int
    last: int
    median: float
    lowest: float
    lasts: bool


def dips_of(rates: Iterable[float]) -> tuple[Dip, ...]:
    """The dips of a load's throughput, one value for each of equally long intervals.

    The median is that of the 61 values before, of at least 10. A dip ends before five values in a row that
    are not below 70 % of it: the load has recovered, or the lower level has become the usual one.
    """
    values = list(rates)
    return tuple(_dips(values))


def _dips(values: list[float]) -> Iterator[Dip]:
    window: deque[float] = deque()
    ordered: list[float] = []
    begun: tuple[int, float] | None = None
    last_low = 0
    for place, value in enumerate(values):
        usual = ordered[len(ordered) // 2] if len(ordered) >= _FEWEST else 0.0
        if value < SHARE * usual:
            begun, last_low = begun or (place, usual), place
        elif begun is not None and place - last_low >= _RECOVERED:
            yield _dip(values, begun, last_low + 1)
            begun = None
        window.append(value)
        insort(ordered, value)
        if len(window) > WINDOW:
            del ordered[bisect_left(ordered, window.popleft())]
    if begun is not None:
        yield _dip(values, begun, last_low + 1)


def _dip(values: list[float], begun: tuple[int, float], end: int) -> Dip:
    first, usual = begun
    after = values[end : end + _AFTER] or values[max(first, end - _AFTER) : end]
    return Dip(first, end - 1, usual, min(values[first:end]), median(after) < SHARE * usual)
