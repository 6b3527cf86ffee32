"""Values that go with places: exact permutation tests are the oracle."""

import random

import numpy as np
import pytest
from scipy import stats

from openpts_many.population.path_effect import group_chances, order_chances

GROUPS = ["a"] * 4 + ["b"] * 4


def test_one_value_in_groups_has_the_chance_of_all_ways_to_deal_it_out() -> None:
    values = [5.1, 5.4, 4.9, 5.2, 4.1, 4.3, 5.0, 4.2]
    exact = stats.permutation_test(
        (values[:4], values[4:]), lambda x, y: stats.kruskal(x, y).statistic, alternative="greater"
    ).pvalue
    assert group_chances([values], GROUPS)[0] == pytest.approx(exact, abs=0.01)


@pytest.mark.slow
def test_one_value_along_an_order_has_the_chance_of_spearmans() -> None:
    values, order = [1.0, 1.2, 1.1, 1.6, 1.5, 1.4, 1.9], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    exact = stats.permutation_test(
        (values,),
        lambda x: abs(stats.spearmanr(x, order).statistic),
        permutation_type="pairings",
        n_resamples=np.inf,
        alternative="greater",
    ).pvalue
    assert order_chances([values], order)[0] == pytest.approx(exact, abs=0.005)


def test_a_slow_host_is_found_among_many_values_and_others_are_not() -> None:
    draw = random.Random(3)
    groups = [f"h{place % 3}" for place in range(24)]
    rows = [[draw.gauss(0, 1) for _ in groups] for _ in range(8)]
    rows[2] = [value - 4 * (group == "h1") for value, group in zip(rows[2], groups, strict=True)]
    chances = group_chances(rows, groups)
    assert chances[2] <= 2 / 2000
    assert min(chances[:2] + chances[3:]) > 0.05


def test_values_that_are_missing_or_equal_are_no_effect() -> None:
    rows: list[list[float | None]] = [[None] * 8, [2.0] * 8, [1.0, None, 3.0, 2.0, 2.5, None, 1.5, 0.5]]
    assert group_chances(rows, GROUPS)[:2] == [1.0, 1.0]
    assert 0 < group_chances(rows, GROUPS)[2] <= 1


def test_false_effects_come_no_more_often_than_stated() -> None:
    """Four values that move together: at 10 %, more than 6 of 15 lots have a chance of 1 in 3,000."""
    draw, alarms = random.Random(11), 0
    for _ in range(15):
        common = [draw.gauss(0, 1) for _ in range(12)]
        rows = [[value + draw.gauss(0, 1) for value in common] for _ in range(4)]
        alarms += min(group_chances(rows, ["a", "b", "c"] * 4)) <= 0.1
    assert alarms <= 6
