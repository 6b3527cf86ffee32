"""Whether values go with where and when a drive was tested: its slot, link, host, and place in the order.

The ways to deal drives out to places are drawn at random, and the values of the drives stay as
they are: no assumption on how values are distributed goes into it. All values of a drive move together, and
each value is held against the largest statistic of all values (Westfall, Young 1993), so that a place that
has no effect is called one with a probability of ``error`` at most, however many values there are.
"""

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import compress
from operator import mul
from statistics import fmean

_ORDERS = 1999
_SEED = 20010


def group_chances(values: Sequence[Sequence[float | None]], groups: Sequence[float]) -> list[float]:
    """Of each value the chance of differences between groups as large as found: Kruskal and Wallis's H.

    ``values`` are rows of one value for each drive, None where it has none; ``groups`` the drives' by number.
    """
    return _chances(values, groups, _between_groups)


def order_chances(values: Sequence[Sequence[float | None]], order: Sequence[float]) -> list[float]:
    """Of each value the chance of a trend along an order as strong as found: Spearman's correlation."""
    return _chances(values, _ranks(order), _trend)


_Statistic = Callable[[Sequence[float], Sequence[float]], float]


def _chances(
    values: Sequence[Sequence[float | None]], places: Sequence[float], statistic: _Statistic
) -> list[float]:
    rows = [_Row(row) for row in values]
    found = [row.statistic(places, statistic) for row in rows]
    at_least = [0] * len(rows)
    drawn, dealer = list(places), random.Random(_SEED)  # noqa: S311 chances, not secrets
    for _ in range(_ORDERS):
        dealer.shuffle(drawn)
        largest = max((row.statistic(drawn, statistic) for row in rows), default=0.0)
        for number, own in enumerate(found):
            at_least[number] += largest >= own - 1e-9
    return [(1 + count) / (1 + _ORDERS) for count in at_least]


class _Row:
    """The ranks of a value, without the drives that don't have it, around their mean and of unit variance."""

    def __init__(self, row: Sequence[float | None]) -> None:
        self._has = [value is not None for value in row]
        ranks = _ranks([value for value in row if value is not None])
        middle = fmean(ranks) if ranks else 0.0
        centred = [rank - middle for rank in ranks]
        norm = sum(map(mul, centred, centred)) ** 0.5
        self._scores = [one / norm for one in centred] if norm else []

    def statistic(self, places: Sequence[float], statistic: _Statistic) -> float:
        """0 where all values are equal."""
        return statistic(self._scores, list(compress(places, self._has))) if self._scores else 0.0


def _between_groups(scores: Sequence[float], groups: Sequence[float]) -> float:
    """H of Kruskal and Wallis."""
    sums: dict[float, float] = dict.fromkeys(groups, 0.0)
    counts = dict.fromkeys(groups, 0)
    for score, group in zip(scores, groups, strict=True):
        sums[group] += score
        counts[group] += 1
    return (len(scores) - 1) * sum(sums[group] ** 2 / counts[group] for group in sums)


def _trend(scores: Sequence[float], order: Sequence[float]) -> float:
    """The square of Spearman's correlation, times drives but one: comparable between values."""
    middle = fmean(order)
    squares = sum((place - middle) ** 2 for place in order)
    return (len(scores) - 1) * sum(map(mul, scores, order)) ** 2 / squares if squares else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1, equal values with the mean of theirs."""
    order = sorted(values)
    return [(bisect_left(order, value) + 1 + bisect_right(order, value)) / 2 for value in values]
