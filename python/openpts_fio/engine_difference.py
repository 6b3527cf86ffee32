"""Whether two engines measure the same: the ratio of paired figures, with its confidence interval.

A pair are two figures of the same stimulus, measured one right after the other, so that drift of the device
or the host is in both. The order within pairs alternates (A B, B A), so that neither engine always comes
first.
"""

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from statistics import fmean, stdev
from typing import Final

from msgspec import Struct

from openpts.analysis.student_t import critical_value

CONFIDENCE: Final = 0.95


class Agreement(StrEnum):
    """The interval compared with a limit."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


class PairedRatio(Struct, frozen=True):
    """First figure through second: geometric mean over the pairs, and the ends of its interval.

    Less than two pairs have no interval: it reaches from 0 to infinity.
    """

    first_mean: float
    second_mean: float
    ratio: float
    low: float
    high: float
    pairs: int

    def agrees_within(self, limit_pct: float) -> Agreement:
        """Yes if the whole interval is within the limit in either direction, no if all of it is outside."""
        most = 1 + limit_pct / 100
        if 1 / most <= self.low and self.high <= most:
            return Agreement.YES
        if self.high < 1 / most or self.low > most:
            return Agreement.NO
        return Agreement.UNDECIDED


def paired_ratio(first: Sequence[float], second: Sequence[float]) -> PairedRatio:
    """The t interval of the mean logarithm of the pairs' ratios, turned back into a ratio.

    Raises ValueError unless there are as many positive figures on both sides.
    """
    if len(first) != len(second) or not first or min(*first, *second) <= 0:
        raise ValueError("a ratio needs pairs of positive figures")
    logs = [math.log(a / b) for a, b in zip(first, second, strict=True)]
    middle = fmean(logs)
    half = math.inf
    if len(logs) > 1:
        half = critical_value(CONFIDENCE, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return PairedRatio(
        first_mean=_geometric_mean(first),
        second_mean=_geometric_mean(second),
        ratio=math.exp(middle),
        low=math.exp(middle - half),
        high=math.inf if math.isinf(half) else math.exp(middle + half),
        pairs=len(logs),
    )


def alternating_order(stimuli: int, repeats: int) -> Iterator[tuple[int, bool]]:
    """Which stimulus comes next, and whether the first engine begins: one pair of each, again and again."""
    for repeat in range(repeats):
        for stimulus in range(stimuli):
            yield stimulus, repeat % 2 == 0


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(fmean(math.log(value) for value in values))
