"""Dips of a throughput: where it is far below its running median."""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Final

from msgspec import Struct

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
