"""Ratios of sets of runs: the interval and its power against SciPy, the rule of looks by drawing lots."""

import math

import numpy as np
import pytest
from scipy import stats

from openpts.analysis import ratio
from openpts.analysis.ratio import (
    ErrorRule,
    alarm_probability,
    found_ratio,
    pooled_spread,
    ratio_of,
    spread_pct,
)
from openpts.analysis.student_t import critical_value

BASE = (181_200.0, 180_100.0, 183_900.0, 179_500.0)
CANDIDATE = (172_300.0, 175_800.0, 171_900.0)


@pytest.mark.parametrize("error", [0.025, 0.005, 0.0007])
def test_the_interval_is_students_of_the_logarithms(error: float) -> None:
    found = ratio_of(BASE, CANDIDATE)
    assert found is not None
    exact = stats.ttest_ind(np.log(CANDIDATE), np.log(BASE)).confidence_interval(1 - 2 * error)
    assert found.value == pytest.approx(stats.gmean(CANDIDATE) / stats.gmean(BASE))
    assert found.low(error) == pytest.approx(math.exp(exact.low))
    assert found.high(error) == pytest.approx(math.exp(exact.high))
    assert found.degrees_of_freedom == 5


def test_a_single_run_is_held_against_the_spread_of_several() -> None:
    """The prediction interval of one more value."""
    found = ratio_of(BASE, CANDIDATE[:1])
    assert found is not None
    logs = np.log(BASE)
    reach = stats.t.ppf(0.995, 3) * logs.std(ddof=1) * math.sqrt(1 + 1 / 4)
    assert found.high(0.005) == pytest.approx(CANDIDATE[0] / stats.gmean(BASE) * math.exp(reach))


def test_single_runs_and_values_without_logarithm_have_no_ratio() -> None:
    assert ratio_of(BASE[:1], CANDIDATE[:1]) is None
    assert ratio_of(BASE, (0.0, 1.0)) is None
    assert pooled_spread([BASE[:1], CANDIDATE[:1]]) is None
    assert spread_pct(BASE[:1]) is None
    assert spread_pct((0.0, 1.0)) is None


def test_the_spread_is_that_of_all_sides_about_their_own_means() -> None:
    sides = [np.log(BASE), np.log(CANDIDATE)]
    squares = sum(((side - side.mean()) ** 2).sum() for side in sides)
    assert pooled_spread([BASE, CANDIDATE]) == pytest.approx(math.sqrt(squares / 5))
    assert spread_pct(BASE) == pytest.approx(100 * math.expm1(np.log(BASE).std(ddof=1)))


@pytest.mark.parametrize("threshold", [0.5, 2.0, 9.0, 60.0])
@pytest.mark.parametrize("shift", [-4.0, 0.0, 1.0, 3.0, 8.0, 40.0])
def test_the_power_is_that_of_the_noncentral_t(threshold: float, shift: float) -> None:
    degrees = [1, 2, 3, 4, 7, 12, 30]
    exact = stats.nct.sf(threshold, degrees, shift)
    assert [ratio._beyond(threshold, each, shift) for each in degrees] == pytest.approx(exact, abs=2e-6)


@pytest.mark.parametrize("runs", [(3, 3), (7, 7), (5, 1), (9, 3)])
@pytest.mark.parametrize("limit", [0.97, 1.0, 1.1])
def test_what_is_found_is_found_in_95_of_100(runs: tuple[int, int], limit: float) -> None:
    change = found_ratio(limit, 0.01, runs, 0.0007)
    assert change is not None
    assert change < limit
    assert alarm_probability(change, limit, 0.01, runs, 0.0007) == pytest.approx(0.95, abs=1e-6)
    assert alarm_probability(limit, limit, 0.01, runs, 0.0007) == pytest.approx(0.0007, rel=1e-3)


def test_without_spread_a_change_is_found_at_once() -> None:
    assert alarm_probability(0.96, 0.97, 0.0, (3, 3), 0.001) == 1
    assert alarm_probability(0.98, 0.97, 0.0, (3, 3), 0.001) == 0
    assert alarm_probability(0.5, 0.97, 0.01, (1, 1), 0.001) == 0
    assert found_ratio(0.97, 0.01, (1, 1), 0.001) is None


def test_looks_and_limits_share_the_errors() -> None:
    rule = ErrorRule(false_alarm=0.01, miss=0.1, most_runs=5, rows=4)
    assert rule.alarm_share * rule.rows * rule.most_runs == pytest.approx(0.01)
    assert rule.miss_share * rule.most_runs == pytest.approx(0.1)


def rates(true_ratio: float, limit: float, spread: float) -> tuple[float, float, float]:
    """Shares of gates that fail, pass and stay open, of 20,000 which look at 2 to 7 runs of either side."""
    rule, draw, gates = ErrorRule(), np.random.default_rng(20), 20_000
    base = draw.normal(0, spread, (gates, rule.most_runs))
    candidate = draw.normal(math.log(true_ratio), spread, (gates, rule.most_runs))
    failed, passed = np.zeros(gates, bool), np.zeros(gates, bool)
    for runs in range(2, rule.most_runs + 1):
        sides = base[:, :runs], candidate[:, :runs]
        pooled = np.sqrt((sides[0].var(axis=1, ddof=1) + sides[1].var(axis=1, ddof=1)) / 2)
        difference = sides[1].mean(axis=1) - sides[0].mean(axis=1)
        error = pooled * math.sqrt(2 / runs)
        alarm, miss = (
            critical_value(1 - 2 * share, 2 * runs - 2) for share in (rule.alarm_share, rule.miss_share)
        )
        is_open = ~(failed | passed)
        failed |= is_open & (difference + alarm * error < math.log(limit))
        passed |= is_open & (difference - miss * error >= math.log(limit))
    return failed.mean(), passed.mean(), 1 - failed.mean() - passed.mean()


def test_gates_that_look_again_and_again_keep_their_errors() -> None:
    """At the limit itself, where both errors are largest."""
    failed, passed, _ = rates(0.97, 0.97, 0.01)
    assert failed <= ErrorRule().false_alarm
    just_below = rates(0.97 - 1e-9, 0.97, 0.01)
    assert passed <= ErrorRule().miss
    assert just_below[1] <= ErrorRule().miss
    assert failed > 0.0005, "not for lack of any alarm"


def test_unchanged_firmware_passes_and_a_loss_is_found() -> None:
    failed, passed, _ = rates(1.0, 0.97, 0.005)
    assert failed < 1 / 200
    assert passed > 0.99
    failed, passed, _ = rates(0.95, 0.97, 0.005)
    assert failed >= 0.95
    assert passed < 0.001


def test_an_interval_without_bound_is_infinite_and_not_an_error() -> None:
    """One run against two that lie far apart: Student's t of one degree of freedom is in the hundreds."""
    found = ratio_of((1.0,), (1.0, 10.0))
    assert found is not None
    assert (found.low(1e-4), found.high(1e-4)) == (0.0, math.inf)
