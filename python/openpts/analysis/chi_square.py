"""Pearson's chi-square test of counts against shares: no table and no approximation, the series is finite."""

import math
from collections.abc import Sequence


def statistic(counts: Sequence[float], expected: Sequence[float]) -> float:
    """Sum of (count - expected)^2 / expected. Raises ValueError unless both are equally long."""
    return sum((count - mean) ** 2 / mean for count, mean in zip(counts, expected, strict=True))


def survival(value: float, degrees_of_freedom: int) -> float:
    """The probability that a chi-square variable of so many degrees of freedom exceeds ``value``.

    For whole degrees of freedom the incomplete gamma function is a finite sum (integration by parts).
    Raises ValueError for less than one degree of freedom or a negative value.
    """
    if degrees_of_freedom < 1 or value < 0:
        raise ValueError(f"invalid chi-square {value} with {degrees_of_freedom} degrees of freedom")
    half = value / 2
    if half == 0:
        return 1.0
    odd = degrees_of_freedom % 2
    total = math.erfc(math.sqrt(half)) if odd else 0.0
    for term in range(degrees_of_freedom // 2):
        # half^(term + odd/2) exp(-half) / Gamma(term + odd/2 + 1), in logarithms against overflow
        power = term + odd / 2
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return min(1.0, total)
