"""The chance of a difference against SciPy's t test, the correction against R's."""

import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from openpts.analysis.comparison import FALSE_ALARM_LIMIT, holm
from openpts.analysis.ratio import chance_of, ratio_of
from openpts.analysis.run_comparison import Outcome, RunSet, compare_lines
from openpts.vocabulary.better import Better

values = st.lists(st.integers(1, 10**6), min_size=1, max_size=8, unique=True)


@given(values, values)
def test_the_chance_is_that_of_students_test_of_the_logarithms(base: list[int], other: list[int]) -> None:
    assume(len(base) > 1 and len(other) > 1)
    exact = stats.ttest_ind(np.log(base), np.log(other)).pvalue
    assert chance_of(base, other) == pytest.approx(exact, rel=1e-6, abs=1e-12)


def test_values_that_have_no_logarithm_are_taken_as_they_are() -> None:
    base, other = [0.0, 1.0, -2.0], [5.0, 6.0, 7.5]
    assert chance_of(base, other) == pytest.approx(stats.ttest_ind(base, other).pvalue)


def test_one_against_one_has_no_chance_and_equal_values_have_all_of_it() -> None:
    assert chance_of([1], [2]) is None
    assert chance_of([3, 3], [3]) == 1
    assert chance_of([3, 3], [4]) == 0


@given(values, values, st.sampled_from([0.05, 0.01, 0.001]))
def test_it_is_below_a_limit_where_the_gates_interval_leaves_one_out(
    base: list[int], other: list[int], limit: float
) -> None:
    """The same rule: neither of the two can say what the other denies."""
    ratio = ratio_of(base, other)
    assume(ratio is not None and ratio.spread > 1e-6)
    low, high, chance = ratio.low(limit / 2), ratio.high(limit / 2), chance_of(base, other)
    assume(abs(chance - limit) > 1e-9)
    assert (chance < limit) == (not low <= 1 <= high)


def test_the_correction_is_rs() -> None:
    """p.adjust(p, "holm") of R 4.3."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.04, 0.001, 0.5]) == pytest.approx([0.08, 0.003, 0.5])
    assert holm([0.6, 0.4]) == pytest.approx([0.8, 0.8])
    assert holm([]) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("count", "lines"), [(3, 12), (4, 1), (5, 6)])
def test_where_nothing_differs_a_difference_is_seldom_shown(count: int, lines: int) -> None:
    """2,000 comparisons of drives that are the same: at most 5 % show a line, but for 4 standard errors."""
    draws = np.random.default_rng(random.Random(7).getrandbits(32)).normal(1000, 10, (2000, lines, 2, count))
    alarms = 0
    for comparison in draws:
        sets = [(RunSet(tuple(a), Better.HIGHER), RunSet(tuple(b), Better.HIGHER)) for a, b in comparison]
        alarms += any(one.outcome is Outcome.DIFFERENT for one in compare_lines(sets, 0))
    assert alarms / len(draws) <= FALSE_ALARM_LIMIT + 4 * (FALSE_ALARM_LIMIT * 0.95 / len(draws)) ** 0.5
