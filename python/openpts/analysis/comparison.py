"""Differences of two results, and the spread of repeated ones."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev


def gain_pct(basis: float, comparison: float) -> float | None:
    """The increase from the basis to the comparison, in per cent of the basis; None for a basis of 0. For
    rates this is the gain in speed; for times, exchange the two arguments.
    """
    return 100 * (comparison / basis - 1) if basis else None


def share_pct(part: float, whole: float) -> float | None:
    """The part in per cent of the whole, such as settled performance of fresh performance."""
    return 100 * part / whole if whole else None


def relative_standard_error_pct(values: Sequence[float]) -> float | None:
    """Standard error of the mean in per cent of the mean, with the sample's standard deviation (N - 1).

    None for fewer than two values, or a mean of 0.
    """
    if len(values) < 2 or not (mean := fmean(values)):
        return None
    return abs(100 * stdev(values) / (mean * sqrt(len(values))))
