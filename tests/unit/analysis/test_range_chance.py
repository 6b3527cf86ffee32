"""The probability of ranges apart against SciPy's exact permutation test, the correction against R's."""

import random
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from openpts.analysis.comparison import FALSE_ALARM_LIMIT, apart_by_chance, holm, runs_needed
from openpts.analysis.run_comparison import Outcome, RunSet, compare_lines
from openpts.vocabulary.better import Better


@pytest.mark.parametrize(("count", "other"), [(2, 2), (3, 3), (3, 4), (2, 7), (5, 5), (7, 7)])
def test_the_chance_is_that_of_the_exact_rank_sum_test(count: int, other: int) -> None:
    low, high = list(range(count)), list(range(100, 100 + other))
    exact = stats.mannwhitneyu(low, high, alternative="two-sided", method="exact").pvalue
    assert apart_by_chance(count, other) == pytest.approx(exact)
    assert apart_by_chance(other, count) == apart_by_chance(count, other)


def test_the_chance_counts_all_orders() -> None:
    """By hand: of the 20 ways to deal six values out, two have one half wholly above the other."""
    apart = [chosen for chosen in combinations(range(6), 3) if chosen in {(0, 1, 2), (3, 4, 5)}]
    assert apart_by_chance(3, 3) == len(apart) / 20 == 0.1
    assert apart_by_chance(1, 1) == 1


def test_the_correction_is_rs() -> None:
    """p.adjust(p, "holm") of R 4.3."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.04, 0.001, 0.5]) == pytest.approx([0.08, 0.003, 0.5])
    assert holm([0.6, 0.4]) == pytest.approx([0.8, 0.8])
    assert holm([]) == ()


@pytest.mark.parametrize("lines", [1, 2, 6, 7, 23, 24, 200])
def test_so_many_runs_are_needed_and_no_fewer(lines: int) -> None:
    count = runs_needed(lines)
    chances = [apart_by_chance(count, count)] + [1.0] * (lines - 1)
    assert holm(chances)[0] <= FALSE_ALARM_LIMIT
    fewer = [apart_by_chance(count - 1, count - 1)] + [1.0] * (lines - 1)
    assert holm(fewer)[0] > FALSE_ALARM_LIMIT


@pytest.mark.parametrize(("count", "lines"), [(3, 12), (4, 1), (5, 6)])
def test_where_nothing_differs_a_difference_is_seldom_shown(count: int, lines: int) -> None:
    """2,000 comparisons of drives that are the same: at most 5 % show a line, but for 4 standard errors."""
    draws = np.random.default_rng(random.Random(7).getrandbits(32)).normal(1000, 10, (2000, lines, 2, count))
    alarms = 0
    for comparison in draws:
        sets = [(RunSet(tuple(a), Better.HIGHER), RunSet(tuple(b), Better.HIGHER)) for a, b in comparison]
        alarms += any(one.outcome is Outcome.DIFFERENT for one in compare_lines(sets, 0))
    assert alarms / len(draws) <= FALSE_ALARM_LIMIT + 4 * (FALSE_ALARM_LIMIT * 0.95 / len(draws)) ** 0.5
