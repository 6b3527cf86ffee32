"""Outliers of a lot: against SciPy's t and F, by drawing lots, and beside values that come in steps."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from openpts.analysis.outliers import find_outliers

EVEN = [float(value) for value in stats.norm.ppf((np.arange(1, 31) - 0.5) / 30)]


def places(values: list[float], error: float = 0.01, gap_error: float = 0.01) -> list[int]:
    return [one.place for one in find_outliers(values, error, gap_error).outliers]


def test_the_chance_of_a_single_outlier_is_grubbs() -> None:
    """One of the 31 is held against Student's t of the other 30, corrected for 31."""
    (found,) = find_outliers([*EVEN, 8.0], 0.01, 0.01).outliers
    step = min(np.diff(EVEN))
    # the value itself counts half a step nearer
    every = np.array([*EVEN, 8.0])
    shrunk = (8.0 - every.mean() - step / 2) / every.std(ddof=1)
    t = math.sqrt(29 * 31 * shrunk**2 / (30**2 - 31 * shrunk**2))
    assert found.place == 30
    assert found.chance == pytest.approx(31 * 2 * stats.t.sf(t, 29), rel=1e-3)


def test_the_bounds_are_where_the_next_drive_would_be_named() -> None:
    judged = find_outliers(EVEN, 0.01, 0.01)
    assert judged.high is not None
    assert judged.low is not None
    assert judged.low == pytest.approx(-judged.high)
    for beyond, named in ((0.98, []), (1.02, [30])):
        assert places([*EVEN, judged.high * beyond]) == named
        assert places([*EVEN, judged.low * beyond]) == named


def test_the_gap_that_is_asked_for_is_a_quantile_of_f() -> None:
    """Values so that the first rule asks for little: the bound is the gap's."""
    values = [float(value) for value in stats.expon.ppf((np.arange(1, 61) - 0.5) / 60)]
    judged = find_outliers(values, 0.4, 0.001)
    ordered = sorted(values)  # the new value is the first: that below it counts twice, and so on
    spacings = [(rank + 1) * (ordered[60 - rank] - ordered[59 - rank]) for rank in range(1, 12)]
    assert judged.high == pytest.approx(
        ordered[-1] + np.mean(spacings) * stats.f.isf(0.001, 2, 22) + min(np.diff(ordered))
    )


def test_several_outliers_do_not_hide_each_other() -> None:
    assert sorted(places([*EVEN, 9.0, 9.2, 9.1])) == [30, 31, 32]
    assert sorted(places([*EVEN, 9.0, -9.2])) == [30, 31]


def test_a_tail_that_thins_out_names_nobody_where_a_gap_of_it_does() -> None:
    tail = [float(value) for value in stats.expon.ppf((np.arange(1, 31) - 0.5) / 30)]
    error, gap_error = 0.02, 0.002
    assert places(tail, 1.0, 0.999)  # far from normal
    assert places(tail, error, gap_error) == []
    assert places([*tail, 40.0], error, gap_error) == [30]


def test_values_in_steps_are_no_outliers_next_to_many_equal_ones() -> None:
    assert places([45.0] * 29 + [46.0]) == []
    assert places([45.0] * 29 + [60.0]) == []  # the only step that is known
    wide = find_outliers([45.0] * 29 + [60.0], 0.01, 0.01, resolution=1.0)
    assert [one.place for one in wide.outliers] == [29]
    # even values have no tails that would tell how far the next one may be
    assert places([45.0] * 10 + [46.0] * 10 + [44.0] * 9 + [49.0]) == []
    assert places([45.0] * 10 + [46.0] * 10 + [44.0] * 9 + [56.0]) == [29]


@pytest.mark.parametrize(
    ("values", "reason"), [([1.0] * 12, "all values are equal"), ([1.0, 2.0, 9.0], "fewer than 6 values")]
)
def test_where_nothing_can_be_said_the_reason_is(values: list[float], reason: str) -> None:
    judged = find_outliers(values, 0.01, 0.01)
    assert (judged.outliers, judged.low, judged.high, judged.reason) == ((), None, None, reason)


LAWS: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda draw: draw.gauss(0, 1),
    "rounded": lambda draw: float(round(draw.gauss(0, 0.7))),
    "logarithm of a maximum": lambda draw: -math.log(draw.expovariate(1)),
    "two makers": lambda draw: draw.gauss(draw.choice([0, 6]), 1),
}


@pytest.mark.parametrize("law", LAWS)
def test_sound_drives_are_named_no_more_often_than_stated(law: str) -> None:
    """At 5 %, where a few hundred lots show it: more than 8 % of 300 have a chance of 1 in 70."""
    draw = random.Random(law)
    alarms = sum(bool(places([LAWS[law](draw) for _ in range(24)], 0.05, 0.05)) for _ in range(300))
    assert alarms <= 24


def test_a_drive_eight_sigmas_off_is_named_among_a_hundred() -> None:
    draw = random.Random(7)
    lots = [[draw.gauss(0, 1) for _ in range(99)] + [8.0] for _ in range(40)]
    assert sum(99 in places(lot, 0.0005) for lot in lots) >= 30
