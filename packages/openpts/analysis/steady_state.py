"""Steady state exactly as definition 2.1.24 of the PTS has it.

In a window of five rounds, (a) maximum minus minimum of the tracked variable is at most 20 % of its
average, and (b) the best linear fit rises or falls over the window by at most 10 % of the average.
"""

from collections.abc import Collection, Iterable, Sequence
from math import fsum
from typing import Final

from openpts.vocabulary.sample import Sample
from openpts.vocabulary.verdict import SteadyStateReport

WINDOW_ROUNDS: Final = 5
RANGE_LIMIT: Final = 0.20
SLOPE_LIMIT: Final = 0.10
BAND: Final = 0.10

# Both limits are inclusive; a relative slack keeps binary rounding from deciding a case at the edge.
_ROUNDING: Final = 1e-9


def judge(
    rounds: Sequence[int], values: Sequence[float], disturbed: Collection[int] = ()
) -> SteadyStateReport:
    """Judge one window: ``values[i]`` was measured in round ``rounds[i]``; a window with a ``disturbed``
    round is not steady.

    Raises ValueError unless both have the same length, of two or more.
    """
    if len(rounds) != len(values) or len(values) < 2:
        raise ValueError(f"cannot judge a window: {len(values)} values for {len(rounds)} rounds")
    average = fsum(values) / len(values)
    slope, intercept = least_squares(rounds, values)
    slope_excursion = abs(slope) * (max(rounds) - min(rounds))
    minimum, maximum = min(values), max(values)
    slack = abs(average) * _ROUNDING
    return SteadyStateReport(
        rounds=tuple(rounds),
        values=tuple(values),
        average=average,
        minimum=minimum,
        maximum=maximum,
        allowed_range=RANGE_LIMIT * average,
        slope=slope,
        intercept=intercept,
        slope_excursion=slope_excursion,
        allowed_slope_excursion=SLOPE_LIMIT * average,
        r=_pearson(rounds, values),
        range_ok=maximum - minimum <= RANGE_LIMIT * average + slack,
        slope_ok=slope_excursion <= SLOPE_LIMIT * average + slack,
        inside_band=average * (1 - BAND) - slack <= minimum and maximum <= average * (1 + BAND) + slack,
        disturbed=tuple(number for number in rounds if number in disturbed),
    )


def window_ending_at(
    values: Sequence[float], last_round: int, disturbed: Collection[int] = ()
) -> SteadyStateReport:
    """Judge rounds ``last_round - 4`` to ``last_round`` of a series; ``values[0]`` is round 1.

    Raises ValueError if the series does not reach that far or the window would begin before round 1.
    """
    first_round = last_round - WINDOW_ROUNDS + 1
    if first_round < 1 or last_round > len(values):
        raise ValueError(
            f"cannot judge round {last_round} of {len(values)}: no window of {WINDOW_ROUNDS} rounds ends "
            "there"
        )
    return judge(range(first_round, last_round + 1), values[first_round - 1 : last_round], disturbed)


def disturbed_rounds(tracked: Iterable[Iterable[Sample]]) -> frozenset[int]:
    """Rounds in whose tracked samples openpts itself stood still; the first of them is round 1."""
    return frozenset(
        number for number, samples in enumerate(tracked, start=1) if any(s.standstills for s in samples)
    )


def least_squares(x: Sequence[int], y: Sequence[float]) -> tuple[float, float]:
    """Slope and intercept. Sums are exact: ``sum`` itself rounds otherwise from Python 3.12 on."""
    mean_x, mean_y = fsum(x) / len(x), fsum(y) / len(y)
    slope = _co_moment(x, y) / _co_moment(x, x)
    return slope, mean_y - slope * mean_x


def _pearson(x: Sequence[int], y: Sequence[float]) -> float | None:
    if min(y) == max(y):
        return None
    return float(_co_moment(x, y) / (_co_moment(x, x) * _co_moment(y, y)) ** 0.5)


def _co_moment(x: Sequence[float], y: Sequence[float]) -> float:
    mean_x, mean_y = fsum(x) / len(x), fsum(y) / len(y)
    return fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
