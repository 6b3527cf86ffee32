"""Results beside each other: how far they lie apart, and chances of many lines together."""

from collections.abc import Sequence
from itertools import accumulate
from math import sqrt
from statistics import fmean, stdev
from typing import Final


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


FALSE_ALARM_LIMIT: Final = 0.05
"""A line is called different if the probability of a false alarm in any line is at most this."""


def holm(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Each probability corrected for all of them, by Holm's step-down method.

    The least is multiplied by their number, the next by one less, and so on; none is below the one before,
    or above 1. What is then at or below a limit is a false alarm in any of the lines no more often than
    that, however the lines depend on each other.
    """
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    steps = (min(1.0, (len(order) - place) * probabilities[index]) for place, index in enumerate(order))
    corrected = dict(zip(order, accumulate(steps, max), strict=True))
    return tuple(corrected[index] for index in range(len(probabilities)))
