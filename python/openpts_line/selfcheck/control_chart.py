"""Control charts of individual values (Shewhart): which of them are no chance."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Final

from msgspec import Struct

_REACH: Final = 2.66
"""Limits lie so many mean moving ranges from the mean: three sigma (3 / 1.128)."""


class Chart(Struct, frozen=True, kw_only=True):
    """A figure over all self-checks of a host: values outside ``low`` to ``high`` are no chance.

    ``outside`` has the moments of those; the limits are None with fewer than two values.
    """

    figure: str
    checks: int
    mean: float
    low: float | None
    high: float | None
    last: float
    outside: tuple[str, ...]


def chart_of(name: str, dated: Sequence[tuple[str, float]]) -> Chart:
    """The chart of at least one value, each with its moment."""
    values = [value for _, value in dated]
    mean, checks, last = fmean(values), len(values), values[-1]
    if checks == 1:
        return Chart(figure=name, checks=1, mean=mean, low=None, high=None, last=last, outside=())
    reach = _REACH * fmean(abs(later - earlier) for earlier, later in pairwise(values))
    low, high = mean - reach, mean + reach
    outside = tuple(at for at, value in dated if not low <= value <= high)
    return Chart(figure=name, checks=checks, mean=mean, low=low, high=high, last=last, outside=outside)
