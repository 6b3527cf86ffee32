"""Intervals and verdicts of a comparison against SciPy."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from openpts.analysis.student_t import central_probability, critical_value
from openpts_fio.crosscheck import Agreement, PairedRatio, alternating_order, paired_ratio


@pytest.mark.parametrize("confidence", [0.001, 0.5, 0.9, 0.95, 0.99, 0.9999])
def test_critical_values(confidence: float) -> None:
    degrees = [*range(1, 41), 99, 100, 999]
    expected = stats.t.ppf((1 + confidence) / 2, degrees)
    assert [critical_value(confidence, each) for each in degrees] == pytest.approx(expected, rel=1e-9)


@given(st.floats(0, 1e6), st.integers(1, 300))
def test_central_probability(t: float, degrees: int) -> None:
    # near 0 SciPy's tail is 0.5 exactly, and its difference 0: what is lost there is less than this
    reference = 1 - 2 * stats.t.sf(t, degrees)
    assert central_probability(t, degrees) == pytest.approx(reference, abs=1e-8)


@given(st.floats(0, 1e6))
def test_central_probability_in_closed_form(t: float) -> None:
    assert central_probability(t, 1) == pytest.approx(2 / math.pi * math.atan(t), rel=1e-9)
    assert central_probability(t, 2) == pytest.approx(t / math.sqrt(2 + t * t), rel=1e-9)


@pytest.mark.parametrize(("confidence", "degrees"), [(0, 5), (1, 5), (0.95, 0)])
def test_what_has_no_critical_value(confidence: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="no t for"):
        critical_value(confidence, degrees)


FIGURES = st.floats(1e-3, 1e9)


@given(st.lists(st.tuples(FIGURES, FIGURES), min_size=2, max_size=30))
def test_the_interval_is_that_of_a_paired_t_test_of_logarithms(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    ratio = paired_ratio(first, second)
    logs = np.log(first) - np.log(second)
    half = stats.sem(logs) * stats.t.ppf(0.975, len(pairs) - 1)
    assert math.log(ratio.ratio) == pytest.approx(logs.mean(), abs=1e-9)
    assert math.log(ratio.low) == pytest.approx(logs.mean() - half, abs=1e-6)
    assert math.log(ratio.high) == pytest.approx(logs.mean() + half, abs=1e-6)
    assert ratio.first_mean == pytest.approx(stats.gmean(first))
    assert ratio.second_mean == pytest.approx(stats.gmean(second))


def test_another_implementations_interval_of_one_example() -> None:
    first, second = [101.0, 99.0, 104.0, 100.0], [98.0, 100.0, 99.0, 97.0]
    ratio = paired_ratio(first, second)
    test = stats.ttest_rel(np.log(first), np.log(second))
    low, high = test.confidence_interval(0.95)
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(low), math.exp(high)))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    drift = random.lognormal(10, 0.5, size=(4000, 5))  # in both figures of a pair, so that it cancels
    first = 1.02 * drift * random.lognormal(0, 0.02, size=drift.shape)
    second = drift * random.lognormal(0, 0.02, size=drift.shape)
    covered = sum(
        (ratio := paired_ratio(a, b)).low <= 1.02 <= ratio.high
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    )
    # 95 % of 4000 with a standard deviation of 14
    assert abs(covered - 3800) < 5 * 14


def test_one_pair_has_no_interval() -> None:
    ratio = paired_ratio([100.0], [100.0])
    assert (ratio.low, ratio.high) == (0, math.inf)
    assert ratio.agrees_within(3) is Agreement.UNDECIDED


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], []), ([0.0], [1.0]), ([1.0], [-1.0])])
def test_what_has_no_ratio(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        paired_ratio(first, second)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.99, 1.01, Agreement.YES),
        (1 / 1.03, 1.03, Agreement.YES),
        (1.031, 1.2, Agreement.NO),
        (0.5, 0.97, Agreement.NO),
        (0.99, 1.04, Agreement.UNDECIDED),
        (0.5, 2.0, Agreement.UNDECIDED),
    ],
)
def test_the_verdict_is_about_the_whole_interval(low: float, high: float, verdict: Agreement) -> None:
    assert PairedRatio(1, 1, (low + high) / 2, low, high, 6).agrees_within(3) is verdict


@given(st.integers(1, 6), st.integers(1, 10))
def test_each_engine_comes_first_as_often(stimuli: int, repeats: int) -> None:
    order = list(alternating_order(stimuli, repeats))
    assert Counter(stimulus for stimulus, _ in order) == dict.fromkeys(range(stimuli), repeats)
    for stimulus in range(stimuli):
        begins = [first for index, first in order if index == stimulus]
        assert begins == [repeat % 2 == 0 for repeat in range(repeats)]
