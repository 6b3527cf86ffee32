"""The ratio of two sets of runs: its interval by Student's t, when it decides, which change it would find.

Runs are the unit, since rounds of a run share its state. The logarithms of a figure are taken as normal, with
the same spread on either side: where nothing has changed, that holds by definition, and then Student's
interval of their difference is exact for any numbers of runs, a single one against several included. Its
bounds are those of the ratio of the geometric means. Where the sides were made apart (``sessions``), a shift
between sessions is in the difference: it is taken to vary as runs do, so that the interval stays exact.

A gate may look at the same limit again with more runs. Each number of runs of the candidate is one look, and
has an equal share of the errors: they add up to no more than the whole, however the looks depend on each
other (Bonferroni).
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from math import fsum
from statistics import NormalDist, fmean, variance
from typing import Final

from msgspec import Struct


def central_probability(t: float, degrees_of_freedom: int) -> float:
    """Probability that |T| stays below ``t`` (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees_of_freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees_of_freedom % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for step in range(1, degrees_of_freedom, 2):
        total += term
        numerator, denominator = (step + 1, step + 2) if odd else (step, step + 1)
        term *= cosine * cosine * numerator / denominator
    if not odd:
        return sine * total
    # the series of an odd number begins behind the angle itself: for one degree there is nothing else
    return 2 / math.pi * (angle + (sine * total if degrees_of_freedom > 1 else 0.0))


@lru_cache(maxsize=1024)
def critical_value(confidence: float, degrees_of_freedom: int) -> float:
    """The t that |T| stays below with that probability, such as 2.571 for 0.95 and 5.

    Raises ValueError unless 0 < confidence < 1 and there is a degree of freedom.
    """
    if not 0 < confidence < 1 or degrees_of_freedom < 1:
        raise ValueError(f"no t for confidence {confidence} and {degrees_of_freedom} degrees of freedom")
    low, high = 0.0, math.pi / 2
    # bisection of the angle, which is bounded: until two doubles are neighbors
    while low < (middle := (low + high) / 2) < high:
        t = math.sqrt(degrees_of_freedom) * math.tan(middle)
        if central_probability(t, degrees_of_freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees_of_freedom) * math.tan(high)


MOST_RUNS: Final = 7
"""Of a set: more mend nothing (Solidigm guide 4.2)."""
POWER: Final = 0.95
_PANELS: Final = 400
_FARTHEST: Final = 9.0
_NORMAL: Final = NormalDist()
_LARGEST_EXPONENT: Final = 600.0


class ErrorRule(Struct, frozen=True):
    """Errors of a gate over all its looks: limits that are kept and called failed, and the other way round.

    ``rows`` are relative limits judged together: a false alarm in any of them counts. A miss is one limit's.
    """

    false_alarm: float = 0.005
    miss: float = 0.05
    most_runs: int = MOST_RUNS
    rows: int = 1

    @property
    def alarm_share(self) -> float:
        """The false alarms of one limit at one look."""
        return self.false_alarm / self.rows / self.most_runs

    @property
    def miss_share(self) -> float:
        """The misses of one limit at one look."""
        return self.miss / self.most_runs


class Ratio(Struct, frozen=True):
    """The candidate's geometric mean over the base's, with its uncertainty on the scale of logarithms.

    ``spread`` is the standard deviation of a single run's logarithm: the spread between runs; ``apart``, that
    of a session's shift, too.
    """

    value: float
    spread: float
    base_runs: int
    runs: int
    apart: bool = False

    @property
    def degrees_of_freedom(self) -> int:
        """Of the spread: runs but two."""
        return self.runs + self.base_runs - 2

    @property
    def spread_pct(self) -> float:
        """The spread between runs in per cent."""
        return 100 * math.expm1(self.spread)

    def low(self, error: float) -> float:
        """The true ratio is below this with that probability at most."""
        return self.value * math.exp(-self._reach(error))

    def high(self, error: float) -> float:
        """The true ratio is above this with that probability at most; infinite beyond what a float holds."""
        reach = self._reach(error)
        return self.value * math.exp(reach) if reach < _LARGEST_EXPONENT else math.inf

    def _reach(self, error: float) -> float:
        t = critical_value(1 - 2 * error, self.degrees_of_freedom)
        return t * self.spread * _unit_error(self.base_runs, self.runs, apart=self.apart)


def ratio_of(base: Sequence[float], candidate: Sequence[float], *, apart: bool = False) -> Ratio | None:
    """The ratio of two sets; None for single runs on either side, and for a value that is not above 0."""
    if min(*base, *candidate) <= 0 or len(base) + len(candidate) < 3:
        return None
    spread = pooled_spread((base, candidate))
    assert spread is not None  # noqa: S101 three values on two sides have one
    return Ratio(
        value=math.exp(fmean(map(math.log, candidate)) - fmean(map(math.log, base))),
        spread=spread,
        base_runs=len(base),
        runs=len(candidate),
        apart=apart,
    )


def chance_of(base: Sequence[float], candidate: Sequence[float], *, apart: bool = False) -> float | None:
    """How often two sets lie so far apart, or farther, where nothing differs: that of the gate's interval.

    It is two-sided, of the logarithms, or of the values themselves where one is not above 0. None for single
    runs on either side.
    """
    if len(base) + len(candidate) < 3:
        return None
    scale = math.log if min(*base, *candidate) > 0 else float
    sides = [[scale(value) for value in values] for values in (base, candidate)]
    distance, degrees = abs(fmean(sides[0]) - fmean(sides[1])), len(base) + len(candidate) - 2
    error = _spread_within(sides) * _unit_error(len(base), len(candidate), apart=apart)
    if not error:
        return 0.0 if distance else 1.0
    return max(0.0, 1 - central_probability(distance / error, degrees))


def pooled_spread(sides: Sequence[Sequence[float]]) -> float | None:
    """Standard deviation of a run's logarithm, of all sides together; None where each has one run."""
    logs = [[math.log(value) for value in values] for values in sides]
    return _spread_within(logs) if any(len(values) > 1 for values in logs) else None


def _spread_within(sides: Sequence[Sequence[float]]) -> float:
    """Standard deviation within sides, of all together; one side at least has several values."""
    several = [values for values in sides if len(values) > 1]
    degrees = sum(len(values) - 1 for values in several)
    return math.sqrt(fsum((len(values) - 1) * variance(values) for values in several) / degrees)


def spread_pct(values: Sequence[float]) -> float | None:
    """Standard deviation of the logarithms in per cent; None for one value, or one that is not above 0."""
    if len(values) < 2 or min(values) <= 0:
        return None
    return 100 * math.expm1(math.sqrt(variance(map(math.log, values))))


def alarm_probability(
    true_ratio: float, limit: float, spread: float, runs: tuple[int, int], error: float
) -> float:
    """How often a limit ``>= limit`` is called failed at one look, by the noncentral t distribution.

    ``runs`` are those of the base and of the candidate. For ``<= limit`` give the inverse of both ratios.
    """
    degrees = sum(runs) - 2
    if degrees < 1:
        return 0.0
    if not spread:
        return float(true_ratio < limit)
    shift = (math.log(limit) - math.log(true_ratio)) / (spread * _unit_error(*runs))
    return _beyond(critical_value(1 - 2 * error, degrees), degrees, shift)


def found_ratio(
    limit: float, spread: float, runs: tuple[int, int], error: float, *, apart: bool = False
) -> float | None:
    """The ratio that a limit ``>= limit`` calls failed in 95 % of all cases at one look; None if none is."""
    degrees = sum(runs) - 2
    if degrees < 1:
        return None
    threshold = critical_value(1 - 2 * error, degrees)
    low, high = 0.0, 1.0
    while _beyond(threshold, degrees, high) < POWER:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _beyond(threshold, degrees, middle) >= POWER else (middle, high)
    return limit * math.exp(-high * spread * _unit_error(*runs, apart=apart))


def _unit_error(base_runs: int, runs: int, *, apart: bool = False) -> float:
    return math.sqrt(1 / base_runs + 1 / runs + 2 * apart)


def _beyond(threshold: float, degrees: int, shift: float) -> float:
    """Probability that a noncentral t exceeds a threshold above 0: Simpson's rule over the normal part."""
    first = max(-shift, -_FARTHEST)
    if first >= _FARTHEST:
        return 0.0
    width = (_FARTHEST - first) / _PANELS
    total = 0.0
    for panel in range(_PANELS + 1):
        normal = first + panel * width
        weight = 1 if panel in {0, _PANELS} else 4 if panel % 2 else 2
        total += (
            weight
            * _NORMAL.pdf(normal)
            * (1 - chi_square_survival(degrees * ((normal + shift) / threshold) ** 2, degrees))
        )
    return min(1.0, total * width / 3)


def chi_square_survival(value: float, degrees_of_freedom: int) -> float:
    """Probability that chi square exceeds the value: the finite series (Abramowitz, Stegun 26.4.4, 5).

    Raises ValueError for less than one degree of freedom or a negative value.
    """
    if degrees_of_freedom < 1 or value < 0:
        raise ValueError(f"invalid chi-square {value} with {degrees_of_freedom} degrees of freedom")
    half = value / 2
    above, order = (math.erfc(math.sqrt(half)), 0.5) if degrees_of_freedom % 2 else (math.exp(-half), 1.0)
    while half and order < degrees_of_freedom / 2:  # each term in logarithms, against overflow
        above += math.exp(order * math.log(half) - half - math.lgamma(order + 1))
        order += 1
    return min(1.0, above)
