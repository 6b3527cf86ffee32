"""Values of drives that do not belong to the others, with a bound on how often a sound drive is named.

The spacings of ordered values, each times its rank from the end, are independent and equal in law if the
values are exponential (Sukhatme, Ann. Eugenics 8, 1937; Renyi, Acta Math. Hung. 4, 1953). A gap over the mean
of the spacings below it then has an F distribution. Values of any law whose hazard rate rises towards the end
are a concave function of exponential ones, so that spacings further out are smaller than those below, and the
gap is too wide no more often (Barlow and Proschan, Ann. Math. Stat. 37, 1966). Both ends of all log-concave
laws are such: normal, logistic, Laplace, Gumbel, gamma from shape 1 on; and with logarithms as values also
log-normal, Pareto, and Weibull and gamma of any shape. No more is assumed, for any number of values.

At each end a gap may be below any of the outermost fifth of the values, so that several outliers do not hide
each other. A gap below the outermost gets three quarters of the error, below the two outermost a quarter of
that, and so on: errors of all gaps of both ends add up to ``error``.

Values in steps, such as whole kelvins, are spread over their step first, and a gap counts as one step less: a
rounded value next to many equal ones is no outlier.
"""

import math
from collections.abc import Sequence
from itertools import groupby, pairwise
from statistics import fmean
from typing import Final

from msgspec import Struct

FEWEST: Final = 5
"""Values below which nothing can be said."""
_MOST_SHARE: Final = 5
_SPACINGS_LEAST: Final = 12


class Outlier(Struct, frozen=True):
    """The place of a value among those given, and the ``error`` at which it would just be an outlier."""

    place: int
    chance: float


class Judged(Struct, frozen=True):
    """Outliers, the farthest of the lower end first, and the bounds beyond which one more value would be one.

    ``reason`` says why nothing can be said, and then there are no bounds.
    """

    outliers: tuple[Outlier, ...] = ()
    low: float | None = None
    high: float | None = None
    reason: str = ""


def find_outliers(values: Sequence[float], error: float, resolution: float = math.inf) -> Judged:
    """The values that do not belong to the others; some are found in ``error`` of lots without outliers.

    ``resolution`` is the step of the values, where it is known; it is no larger than the smallest difference.
    """
    if len(values) < FEWEST:
        return Judged(reason=f"fewer than {FEWEST} values")
    order = sorted(range(len(values)), key=values.__getitem__)
    if values[order[0]] == values[order[-1]]:
        return Judged(reason="all values are equal")
    placed, step = _spread_over_steps([values[place] for place in order], resolution)
    upper, lower = _End(placed, step), _End([-value for value in reversed(placed)], step)
    low, high = lower.chances(error), upper.chances(error)
    return Judged(
        (
            *(Outlier(place, chance) for place, chance in zip(order, low, strict=False)),
            *(Outlier(place, chance) for place, chance in zip(reversed(order), high, strict=False)),
        ),
        -lower.bound(len(low), error),
        upper.bound(len(high), error),
    )


def _spread_over_steps(ordered: Sequence[float], resolution: float) -> tuple[list[float], float]:
    """Equal values evenly over the smallest step between different ones, and that step."""
    step = min(resolution, *(after - before for before, after in pairwise(ordered) if after > before))
    placed: list[float] = []
    for value, equal in groupby(ordered):
        count = len(list(equal))
        placed += [value + step * ((place + 0.5) / count - 0.5) for place in range(count)]
    return placed, step


class _End:
    """The upper end of ordered values that have a step."""

    def __init__(self, ordered: Sequence[float], step: float) -> None:
        self._ordered, self._step = ordered, step
        self._gaps = [after - before for before, after in pairwise(ordered)][::-1]
        self._spacings = [rank * gap for rank, gap in enumerate(self._gaps, start=1)]
        self._most = max(len(ordered) // _MOST_SHARE, _SPACINGS_LEAST)

    def chances(self, error: float) -> list[float]:
        """Of the outliers, the outermost first."""
        every = [self._chance(rank) for rank in range(1, len(self._ordered) // _MOST_SHARE + 1)]
        count = max((rank for rank, chance in enumerate(every, start=1) if chance <= error), default=0)
        return [min(every[first:count]) for first in range(count)]

    def bound(self, outliers: int, error: float) -> float:
        """Beyond which one more value above those that are no outliers would be one."""
        kept = self._ordered[: len(self._ordered) - outliers]
        mean, count = _End([*kept, kept[-1]], self._step).mean_spacing(1)
        return kept[-1] + self._step + mean * count * math.expm1(-math.log(error * _share(1)) / count)

    def _chance(self, rank: int) -> float:
        """The ``error`` at which so many values are just far enough from the others: of F with 2, 2 n."""
        mean, count = self.mean_spacing(rank)
        gap = max(0.0, self._gaps[rank - 1] - self._step)
        return min(1.0, math.exp(-count * math.log1p(rank * gap / (mean * count))) / _share(rank))

    def mean_spacing(self, rank: int) -> tuple[float, int]:
        """The mean of the spacings below so many values, and how many they are."""
        below = self._spacings[rank : rank + self._most]
        return max(fmean(below), self._step), len(below)


def _share(rank: int) -> float:
    """The share of the error for a gap below so many values; those of all gaps of both ends add up to 1."""
    return 1.5 * 0.25**rank
