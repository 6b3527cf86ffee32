"""Sets of runs against published figures and SciPy: median, spread, delta, and what may be said of them."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from openpts.analysis.comparison import FALSE_ALARM_LIMIT
from openpts.analysis.run_comparison import (
    Outcome,
    Quality,
    RunSet,
    SetComparison,
    SetRule,
    advantage_pct,
    compare_lines,
)
from openpts.vocabulary.better import Better

DATA = Path(__file__).parents[2] / "data"
SOLIDIGM = yaml.safe_load((DATA / "published/drives.yaml").read_text())["solidigm"]

HIGHER, LOWER = Better.HIGHER, Better.LOWER
positive = st.floats(0.01, 1e5)


def runs(*values: float, better: Better = HIGHER) -> RunSet:
    return RunSet(values, better)


def compare_sets(base: RunSet, candidate: RunSet, least_difference_pct: float = 0) -> SetComparison:
    """A comparison that has this line alone."""
    (found,) = compare_lines([(base, candidate)], least_difference_pct)
    return found


@pytest.mark.proves("SOL-STAT-05")
@pytest.mark.parametrize("case", SOLIDIGM["standard_errors"])
def test_published_standard_errors_and_what_follows_from_them(case: dict[str, Any]) -> None:
    found = runs(*case["values"])
    assert found.rse_pct == pytest.approx(case["rse_pct"], abs=1e-7)
    high = case["rse_pct"] > 5
    worse = Quality.DISCARDED if found.count >= 7 else Quality.MORE_RUNS
    assert found.quality is (worse if high else Quality.ACCEPTED)


@pytest.mark.proves("SOL-STAT-07", "SOL-STAT-08")
@pytest.mark.parametrize("case", SOLIDIGM["gains"])
def test_published_deltas(case: dict[str, Any]) -> None:
    better = LOWER if case["kind"] == "time" else HIGHER
    delta = advantage_pct(case["basis"], case["comparison"], better)
    assert delta == pytest.approx(case["gain_pct"], abs=1e-7)


@given(st.lists(positive, min_size=1, max_size=15))
def test_the_median_of_an_odd_number_is_scipys(values: list[float]) -> None:
    if len(values) % 2 == 0:
        values.pop()
    for better in Better:
        assert RunSet(tuple(values), better).median == stats.scoreatpercentile(values, 50)


@pytest.mark.proves("SOL-STAT-04")
@given(st.lists(positive, min_size=2, max_size=20).filter(lambda values: len(set(values)) > 1))
def test_the_relative_standard_error_is_scipys(values: list[float]) -> None:
    assert RunSet(tuple(values), HIGHER).rse_pct == pytest.approx(
        100 * stats.sem(values) / math.fsum(values) * len(values), rel=1e-6
    )


@pytest.mark.proves("SOL-STAT-01")
@given(st.lists(positive, min_size=1, max_size=20), st.sampled_from(Better))
def test_the_median_was_measured(values: list[float], better: Better) -> None:
    assert RunSet(tuple(values), better).median in values


@pytest.mark.proves("SOL-STAT-01")
def test_of_an_even_number_the_less_favorable_of_the_middle_two_counts() -> None:
    assert runs(4, 1, 3, 2).median == 2
    assert runs(4, 1, 3, 2, better=LOWER).median == 3


@pytest.mark.proves("SOL-STAT-05")
def test_a_limit_that_is_just_met_is_met() -> None:
    # s = sqrt(2) x 5, N = 2: the error is 5 % of the mean exactly
    assert runs(95, 105).rse_pct == pytest.approx(5, abs=1e-12)
    assert runs(95.001, 104.999).quality is Quality.ACCEPTED
    assert runs(94.9, 105.1).quality is Quality.MORE_RUNS


def test_one_run_has_a_delta_and_no_statement_about_chance() -> None:
    assert runs(5.0).rse_pct is None
    assert runs(5.0).quality is Quality.ONE_RUN
    assert compare_sets(runs(100), runs(110)) == SetComparison(pytest.approx(10), Outcome.ONE_RUN)


def test_one_run_against_several_has_their_spread() -> None:
    found = compare_sets(runs(100), runs(110, 111, 112))
    exact = stats.ttest_ind([math.log(100)], [math.log(value) for value in (110, 111, 112)]).pvalue
    assert (found.outcome, found.chance) == (Outcome.DIFFERENT, pytest.approx(exact))


def test_three_against_three_can_differ() -> None:
    """Those of an audit, which a gate's limit of -1 % failed and a comparison called chance."""
    found = compare_sets(runs(100, 100.5, 101), runs(95, 95.5, 96), 1)
    assert found.outcome is Outcome.DIFFERENT
    assert found.delta_pct == pytest.approx(100 * (95.5 / 100.5 - 1))
    assert compare_sets(runs(98, 100, 102), runs(99, 100, 101)).outcome is Outcome.NO_DIFFERENCE


def test_each_line_more_is_one_more_chance_of_a_false_alarm() -> None:
    """Of two lines the less likely one counts twice (Holm): once it is enough, twice it is not."""
    near = (runs(97, 98, 99, 100), runs(99.3, 100.3, 101.3, 102.3))
    alike = (near[0], near[0])
    (alone,) = compare_lines([near], 0)
    exact = stats.ttest_ind(*[[math.log(value) for value in one.values] for one in near]).pvalue
    assert FALSE_ALARM_LIMIT / 2 < exact < FALSE_ALARM_LIMIT
    assert (alone.outcome, alone.corrected_chance) == (Outcome.DIFFERENT, pytest.approx(exact))
    first, second = compare_lines([near, alike], 0)
    assert (first.outcome, first.corrected_chance) == (Outcome.MAY_BE_CHANCE, pytest.approx(2 * exact))
    assert (second.outcome, second.corrected_chance) == (Outcome.NO_DIFFERENCE, 1)
    # a line of one against one had no chance to show anything, and counts for none
    first, second = compare_lines([near, (runs(1), runs(2))], 0)
    assert (first.outcome, second.chance) == (Outcome.DIFFERENT, None)


@pytest.mark.parametrize("better", [HIGHER, Better.UNJUDGED])
def test_a_difference_below_the_least_of_interest_is_none(better: Better) -> None:
    base = runs(100, 100.1, 100.2, 100.3, better=better)
    candidate = runs(101, 101.1, 101.2, 101.3, better=better)
    assert compare_sets(base, candidate, 2).outcome is Outcome.NOT_OF_INTEREST
    assert compare_sets(base, candidate, 0.9).outcome is Outcome.DIFFERENT
    assert compare_sets(candidate, base, 2).outcome is Outcome.NOT_OF_INTEREST


def test_a_set_that_is_discarded_is_compared_with_nothing() -> None:
    bad = runs(90, 100, 140, 85, 130, 95, 120)
    assert compare_sets(bad, runs(200, 201, 202)) == SetComparison(None, Outcome.DISCARDED)
    assert compare_sets(runs(200, 201, 202), bad) == SetComparison(None, Outcome.DISCARDED)


@given(positive, positive)
def test_plus_is_better_and_a_ratio_either_way(base: float, candidate: float) -> None:
    speed = advantage_pct(base, candidate, HIGHER)
    time = advantage_pct(base, candidate, LOWER)
    assert speed is not None
    assert time is not None
    assert (speed > 0) == (candidate / base > 1)
    assert (time > 0) == (base / candidate > 1)
    assert (1 + speed / 100) * (1 + time / 100) == pytest.approx(1, rel=1e-7)


@pytest.mark.parametrize(
    ("base", "candidate", "better"), [(0, 1, HIGHER), (1, 0, LOWER), (-2, 5, HIGHER), (1, 2, Better.UNJUDGED)]
)
def test_what_has_no_ratio_has_no_delta(base: float, candidate: float, better: Better) -> None:
    assert advantage_pct(base, candidate, better) is None


@pytest.mark.proves("SOL-STAT-05")
@pytest.mark.parametrize("case", SOLIDIGM["standard_errors"])
def test_a_set_is_judged_by_the_limit_that_was_asked_for(case: dict[str, Any]) -> None:
    for limit_pct, quality in ((case["rse_pct"] + 0.01, Quality.ACCEPTED), (0.001, None)):
        found = RunSet(tuple(case["values"]), HIGHER, SetRule(limit_pct, most=len(case["values"])))
        assert found.quality is (quality or Quality.DISCARDED)


@pytest.mark.proves("SOL-STAT-03")
def test_runs_are_added_until_their_number_is_odd_and_two_at_a_time() -> None:
    """Three runs or more, an odd number, seven at most, as the guide has it."""
    apart = [100.0, 900.0] * 5
    assert [RunSet(tuple(apart[:count]), HIGHER).to_add for count in range(1, 10)] == [
        2, 1, 2, 1, 2, 1, 0, 0, 0,
    ]  # fmt: skip
    alike = [100.0] * 9
    assert [RunSet(tuple(alike[:count]), HIGHER).to_add for count in range(1, 8)] == [2, 1, 0, 1, 0, 1, 0]
    assert RunSet(tuple(apart[:5]), HIGHER, SetRule(most=5)).to_add == 0
