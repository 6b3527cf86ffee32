"""What a sample of drives says of those that were not tested: order statistics, free of any distribution.

Wilks, Ann. Math. Stat. 12 (1941): the share of a population that lies beyond the smallest of n values has a
Beta(n, 1) distribution, whatever the values are like. Shares have the bounds of Clopper and Pearson.
The drives are taken as drawn at random from the population.
"""

import math
from collections.abc import Callable, Sequence
from math import comb
from statistics import fmean, median, variance
from typing import Final

from msgspec import Struct

from openpts.analysis.ratio import spread_within

CONFIDENCE: Final = 0.95
COVERED: Final = 0.9
MAD_TO_SIGMA: Final = 1.482602218505602
"""The standard deviation of normal values over the median of their distances from the median."""


def spread_of(values: Sequence[float]) -> float:
    """The median distance from the median, scaled to the standard deviation of normal values."""
    middle = median(values)
    return MAD_TO_SIGMA * median(abs(value - middle) for value in values)


def confidence_beyond_one_end(drives: int, share: float = COVERED) -> float:
    """The confidence that so much of the population is at or above the smallest of the drives."""
    return -math.expm1(drives * math.log(share))


def confidence_between_ends(drives: int, share: float = COVERED) -> float:
    """The confidence that so much of the population is between the smallest and the largest."""
    return 1 - drives * share ** (drives - 1) + (drives - 1) * share**drives


def missed_share(drives: int, confidence: float = CONFIDENCE) -> float:
    """The largest share of bad drives in the population of which none may be among so many drives."""
    return -math.expm1(math.log1p(-confidence) / drives)


def share_bounds(found: int, drives: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Between which shares of the population have a property that so many of the drives have."""
    error = (1 - confidence) / 2
    low = _root(lambda share: 1 - _at_most(found - 1, drives, share) - error) if found else 0.0
    high = _root(lambda share: error - _at_most(found, drives, share)) if found < drives else 1.0
    return low, high


def _at_most(count: int, drives: int, share: float) -> float:
    return sum(comb(drives, k) * share**k * (1 - share) ** (drives - k) for k in range(count + 1))


def _root(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


class Repeatability(Struct, frozen=True):
    """The spread of single runs of one drive, and that between drives without it, as standard deviations."""

    within: float
    between: float


def repeatability(runs_of_drives: Sequence[Sequence[float]]) -> Repeatability | None:
    """From drives with several runs, by an analysis of variance; None where no drive has two runs."""
    if len(runs_of_drives) < 2 or all(len(runs) < 2 for runs in runs_of_drives):
        return None
    within = spread_within(runs_of_drives)
    of_means = within**2 * fmean(1 / len(runs) for runs in runs_of_drives)
    between = max(0.0, variance([fmean(runs) for runs in runs_of_drives]) - of_means)
    return Repeatability(within, math.sqrt(between))
