"""Outliers of a lot: against SciPy's F, by drawing lots, and beside values that come in steps."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from openpts_many.population.outliers import find_outliers

EVEN = [float(value) for value in stats.norm.ppf((np.arange(1, 31) - 0.5) / 30)]
ERROR = 0.01


def places(values: list[float], error: float = ERROR) -> list[int]:
    return [one.place for one in find_outliers(values, error).outliers]


@pytest.mark.parametrize(("far", "rank"), [([20.0], 1), ([20.0, 21.0], 2), ([20.0, 22.0, 24.0], 3)])
def test_the_chance_of_a_gap_is_that_of_f(far: list[float], rank: int) -> None:
    """Of a gap below so many values over the twelve spacings below it, for both ends and all ranks."""
    values = sorted([*EVEN, *far])
    found = find_outliers(values, ERROR)
    assert {one.place for one in found.outliers} == set(range(30, 30 + rank))
    ordered, step = np.array(values[::-1]), min(np.diff(values))
    weighted = (ordered[:-1] - ordered[1:]) * np.arange(1, len(ordered))
    ratio = rank * (ordered[rank - 1] - ordered[rank] - step) / weighted[rank : rank + 12].mean()
    share = 0.75 * 0.25 ** (rank - 1) / 2
    innermost = next(one for one in found.outliers if one.place == 30)
    assert innermost.chance == pytest.approx(stats.f.sf(ratio, 2, 24) / share, rel=1e-6)


def test_the_bounds_are_where_the_next_drive_would_be_named() -> None:
    judged = find_outliers(EVEN, ERROR)
    assert judged.high is not None
    assert judged.low == pytest.approx(-judged.high)
    for beyond, named in ((0.98, []), (1.02, [30])):
        assert places([*EVEN, judged.high * beyond]) == named
        assert places([*EVEN, -judged.high * beyond]) == named


def test_several_outliers_do_not_hide_each_other() -> None:
    assert sorted(places([*EVEN, 15.0, 15.2, 15.1])) == [30, 31, 32]
    assert sorted(places([*EVEN, 15.0, 150.0])) == [30, 31]
    assert sorted(places([*EVEN, 15.0, -15.2])) == [30, 31]


def test_a_tail_that_thins_out_names_no_drive_where_a_gap_of_it_does() -> None:
    tail = [float(value) for value in stats.expon.ppf((np.arange(1, 31) - 0.5) / 30)]
    assert places(tail, 0.5) == []
    assert places([*tail, 40.0]) == [30]


def test_values_in_steps_are_no_outliers_next_to_many_equal_ones() -> None:
    assert places([45.0] * 29 + [46.0]) == []
    assert places([45.0] * 29 + [70.0]) == []  # the only step that is known
    wide = find_outliers([45.0] * 29 + [70.0], ERROR, resolution=1.0)
    assert [one.place for one in wide.outliers] == [29]
    assert places([45.0] * 10 + [46.0] * 10 + [44.0] * 9 + [49.0]) == []
    assert places([45.0] * 10 + [46.0] * 10 + [44.0] * 9 + [70.0]) == [29]


@pytest.mark.parametrize(
    ("values", "reason"), [([1.0] * 12, "all values are equal"), ([1.0, 2.0, 9.0], "fewer than 5 values")]
)
def test_where_nothing_can_be_said_the_reason_is(values: list[float], reason: str) -> None:
    judged = find_outliers(values, ERROR)
    assert (judged.outliers, judged.low, judged.high, judged.reason) == ((), None, None, reason)


LAWS: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda draw: draw.gauss(0, 1),
    "exponential": lambda draw: draw.expovariate(1),
    "Laplace": lambda draw: draw.choice([-1, 1]) * draw.expovariate(1),
    "logarithm of exponential": lambda draw: math.log(draw.expovariate(1)),
    "rounded exponential": lambda draw: round(2 * draw.expovariate(1)) / 2,
    "two makers": lambda draw: draw.gauss(draw.choice([0, 6]), 1),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("drives", [6, 24])
def test_sound_drives_are_named_no_more_often_than_stated(law: str, drives: int) -> None:
    """At 10 %, where a few hundred lots show it: more than 45 of 300 have a chance of 1 in 300."""
    draw = random.Random(law)
    alarms = sum(bool(places([LAWS[law](draw) for _ in range(drives)], 0.1)) for _ in range(300))
    assert alarms <= 45


@pytest.mark.parametrize(("drives", "sigmas"), [(100, 12), (24, 17)])
def test_a_drive_that_is_far_off_is_named(drives: int, sigmas: float) -> None:
    """With the share of one of ten values in 0.5 %."""
    draw = random.Random(7)
    lots = [[draw.gauss(0, 1) for _ in range(drives - 1)] + [sigmas] for _ in range(40)]
    assert sum(drives - 1 in places(lot, 0.0005) for lot in lots) >= 30
