"""An interval for a median that holds for any distribution."""

from collections.abc import Sequence
from math import comb
from typing import Final

_MISSES: Final = 0.05


def median_interval(ascending: Sequence[int]) -> tuple[int, int] | None:
    """The narrowest pair of order statistics, as far from both ends, around the median in 95 of 100 samples.

    None of fewer than six values: all of them miss the median too often. The number of values below the
    median is binomial, so no distribution is assumed.
    """
    count = len(ascending)
    missed, skipped = 0.0, 0
    while 2 * (missed + comb(count, skipped) / 2**count) <= _MISSES:
        missed += comb(count, skipped) / 2**count
        skipped += 1
    return (ascending[skipped - 1], ascending[count - skipped]) if skipped else None
