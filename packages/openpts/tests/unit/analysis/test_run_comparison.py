"""Sets of runs against published figures and SciPy: median, spread, delta, and what may be said of them."""

import math
import random
from itertools import permutations

import numpy as np
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from openpts.analysis import ratio
from openpts.analysis.ratio import (
    ErrorRule,
    alarm_probability,
    chance_of,
    critical_value,
    found_ratio,
    pooled_spread,
    ratio_of,
    spread_pct,
)
from openpts.analysis.run_comparison import (
    FALSE_ALARM_LIMIT,
    ComparisonOutcome,
    Made,
    Quality,
    RunSet,
    SetComparison,
    SetRule,
    advantage_pct,
    are_apart,
    compare_lines,
    drift_chance,
    holm,
)
from openpts.vocabulary.verdict import Better
from tests import DATA

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
def test_published_standard_errors_and_what_follows_from_them(case) -> None:
    found = runs(*case["values"])
    assert found.rse_pct == pytest.approx(case["rse_pct"], abs=1e-7)
    high = case["rse_pct"] > 5
    worse = Quality.DISCARDED if found.count >= 7 else Quality.MORE_RUNS
    assert found.quality is (worse if high else Quality.ACCEPTED)


@pytest.mark.proves("SOL-STAT-07", "SOL-STAT-08")
@pytest.mark.parametrize("case", SOLIDIGM["gains"])
def test_published_deltas(case) -> None:
    better = LOWER if case["kind"] == "time" else HIGHER
    delta = advantage_pct(case["basis"], case["comparison"], better)
    assert delta == pytest.approx(case["gain_pct"], abs=1e-7)


@given(st.lists(positive, min_size=1, max_size=15))
def test_the_median_of_an_odd_number_is_scipys(values) -> None:
    if len(values) % 2 == 0:
        values.pop()
    for better in Better:
        assert RunSet(tuple(values), better).median == stats.scoreatpercentile(values, 50)


@pytest.mark.proves("SOL-STAT-04")
@given(st.lists(positive, min_size=2, max_size=20).filter(lambda values: len(set(values)) > 1))
def test_the_relative_standard_error_is_scipys(values) -> None:
    assert RunSet(tuple(values), HIGHER).rse_pct == pytest.approx(
        100 * stats.sem(values) / math.fsum(values) * len(values), rel=1e-6
    )


@pytest.mark.proves("SOL-STAT-01")
@given(st.lists(positive, min_size=1, max_size=20), st.sampled_from(Better))
def test_the_median_was_measured(values, better) -> None:
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
    assert compare_sets(runs(100), runs(110)) == SetComparison(pytest.approx(10), ComparisonOutcome.ONE_RUN)


def test_one_run_against_several_has_their_spread() -> None:
    found = compare_sets(runs(100), runs(110, 111, 112))
    exact = stats.ttest_ind([math.log(100)], [math.log(value) for value in (110, 111, 112)]).pvalue
    assert (found.outcome, found.chance) == (ComparisonOutcome.DIFFERENT, pytest.approx(exact))


def test_three_against_three_can_differ() -> None:
    """Those of an audit, which a gate's limit of -1 % failed and a comparison called chance."""
    found = compare_sets(runs(100, 100.5, 101), runs(95, 95.5, 96), 1)
    assert found.outcome is ComparisonOutcome.DIFFERENT
    assert found.delta_pct == pytest.approx(100 * (95.5 / 100.5 - 1))
    assert compare_sets(runs(98, 100, 102), runs(99, 100, 101)).outcome is ComparisonOutcome.NO_DIFFERENCE


def test_each_line_more_is_one_more_chance_of_a_false_alarm() -> None:
    """Of two lines the less likely one counts twice (Holm): once it is enough, twice it is not."""
    near = (runs(97, 98, 99, 100), runs(99.3, 100.3, 101.3, 102.3))
    alike = (near[0], near[0])
    (alone,) = compare_lines([near], 0)
    exact = stats.ttest_ind(*[[math.log(value) for value in one.values] for one in near]).pvalue
    assert FALSE_ALARM_LIMIT / 2 < exact < FALSE_ALARM_LIMIT
    assert (alone.outcome, alone.corrected_chance) == (ComparisonOutcome.DIFFERENT, pytest.approx(exact))
    first, second = compare_lines([near, alike], 0)
    assert (first.outcome, first.corrected_chance) == (
        ComparisonOutcome.MAY_BE_CHANCE,
        pytest.approx(2 * exact),
    )
    assert (second.outcome, second.corrected_chance) == (ComparisonOutcome.NO_DIFFERENCE, 1)
    # a line of one against one had no chance to show anything, and counts for none
    first, second = compare_lines([near, (runs(1), runs(2))], 0)
    assert (first.outcome, second.chance) == (ComparisonOutcome.DIFFERENT, None)


@pytest.mark.parametrize("better", [HIGHER, Better.UNJUDGED])
def test_a_difference_below_the_least_of_interest_is_none(better) -> None:
    base = runs(100, 100.1, 100.2, 100.3, better=better)
    candidate = runs(101, 101.1, 101.2, 101.3, better=better)
    assert compare_sets(base, candidate, 2).outcome is ComparisonOutcome.NOT_OF_INTEREST
    assert compare_sets(base, candidate, 0.9).outcome is ComparisonOutcome.DIFFERENT
    assert compare_sets(candidate, base, 2).outcome is ComparisonOutcome.NOT_OF_INTEREST


def test_a_set_that_is_discarded_is_compared_with_nothing() -> None:
    bad = runs(90, 100, 140, 85, 130, 95, 120)
    assert compare_sets(bad, runs(200, 201, 202)) == SetComparison(None, ComparisonOutcome.DISCARDED)
    assert compare_sets(runs(200, 201, 202), bad) == SetComparison(None, ComparisonOutcome.DISCARDED)


@given(positive, positive)
def test_plus_is_better_and_a_ratio_either_way(base, candidate) -> None:
    speed = advantage_pct(base, candidate, HIGHER)
    time = advantage_pct(base, candidate, LOWER)
    assert (speed > 0) == (candidate / base > 1)
    assert (time > 0) == (base / candidate > 1)
    assert (1 + speed / 100) * (1 + time / 100) == pytest.approx(1, rel=1e-7)


@pytest.mark.parametrize(
    ("base", "candidate", "better"), [(0, 1, HIGHER), (1, 0, LOWER), (-2, 5, HIGHER), (1, 2, Better.UNJUDGED)]
)
def test_what_has_no_ratio_has_no_delta(base, candidate, better) -> None:
    assert advantage_pct(base, candidate, better) is None


@pytest.mark.proves("SOL-STAT-05")
@pytest.mark.parametrize("case", SOLIDIGM["standard_errors"])
def test_a_set_is_judged_by_the_limit_that_was_asked_for(case) -> None:
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


BASE = (181_200.0, 180_100.0, 183_900.0, 179_500.0)
CANDIDATE = (172_300.0, 175_800.0, 171_900.0)


@pytest.mark.parametrize("error", [0.025, 0.005, 0.0007])
def test_the_interval_is_students_of_the_logarithms(error) -> None:
    found = ratio_of(BASE, CANDIDATE)
    exact = stats.ttest_ind(np.log(CANDIDATE), np.log(BASE)).confidence_interval(1 - 2 * error)
    assert found.value == pytest.approx(stats.gmean(CANDIDATE) / stats.gmean(BASE))
    assert found.low(error) == pytest.approx(math.exp(exact.low))
    assert found.high(error) == pytest.approx(math.exp(exact.high))
    assert found.degrees_of_freedom == 5


def test_a_single_run_is_held_against_the_spread_of_several() -> None:
    """The prediction interval of one more value."""
    found = ratio_of(BASE, CANDIDATE[:1])
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
def test_the_power_is_that_of_the_noncentral_t(threshold, shift) -> None:
    degrees = [1, 2, 3, 4, 7, 12, 30]
    exact = stats.nct.sf(threshold, degrees, shift)
    assert [ratio._beyond(threshold, each, shift) for each in degrees] == pytest.approx(exact, abs=2e-6)


@pytest.mark.parametrize("runs", [(3, 3), (7, 7), (5, 1), (9, 3)])
@pytest.mark.parametrize("limit", [0.97, 1.0, 1.1])
def test_what_is_found_is_found_in_95_of_100(runs, limit) -> None:
    change = found_ratio(limit, 0.01, runs, 0.0007)
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
    assert (found.low(1e-4), found.high(1e-4)) == (0.0, math.inf)


values = st.lists(st.integers(1, 10**6), min_size=1, max_size=8, unique=True)


@given(values, values)
def test_the_chance_is_that_of_students_test_of_the_logarithms(base, other) -> None:
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
def test_it_is_below_a_limit_where_the_gates_interval_leaves_one_out(base, other, limit) -> None:
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
def test_where_nothing_differs_a_difference_is_seldom_shown(count, lines) -> None:
    """2,000 comparisons of drives that are the same: at most 5 % show a line, but for 4 standard errors."""
    draws = np.random.default_rng(random.Random(7).getrandbits(32)).normal(1000, 10, (2000, lines, 2, count))
    alarms = 0
    for comparison in draws:
        sets = [(RunSet(tuple(a), Better.HIGHER), RunSet(tuple(b), Better.HIGHER)) for a, b in comparison]
        alarms += any(one.outcome is ComparisonOutcome.DIFFERENT for one in compare_lines(sets, 0))
    assert alarms / len(draws) <= FALSE_ALARM_LIMIT + 4 * (FALSE_ALARM_LIMIT * 0.95 / len(draws)) ** 0.5


def made(*days: int, host: str = "a") -> list[Made]:
    return [Made(host, 86_400.0 * day) for day in days]


def test_sides_are_apart_unless_they_were_made_in_turn_on_one_host() -> None:
    assert are_apart(made(1, 2, 3), made(4, 5, 6))
    assert are_apart(made(4), made(1, 2, 3))
    assert not are_apart(made(1, 3, 5), made(2, 4, 6))
    assert not are_apart(made(1, 3), made(2))
    assert are_apart(made(1, 3, 5), made(2, 4, 6, host="b"))
    assert not are_apart([*made(1), *made(3, host="b")], made(2))
    assert not are_apart([None, None], made(1)), "simulated drives know no session"


def of_sessions(*sessions: int) -> list[Made]:
    """Runs that follow each other by minutes, in sessions of one boot each."""
    return [Made("a", 60.0 * (10 * each + place), f"boot {each}") for place, each in enumerate(sessions)]


SHARED = [
    ((0, 0, 1), (1, 1, 1)),
    ((0, 0, 0, 0, 1), (1, 1, 1)),
    ((0, 0, 0, 0, 0, 0, 1), (1, 1, 1)),
    ((0, 1, 2), (2, 2, 2)),
    ((0, 1, 1), (1, 1, 1)),
    ((0, 0, 1), (0, 1, 1)),
    ((0, 1, 2), (0, 1, 2)),
    ((0, 0, 1, 1), (0, 1)),
]


@pytest.mark.full_matrix(most=4)
@pytest.mark.parametrize(("base", "candidate"), SHARED)
def test_false_alarms_stay_as_stated_where_a_session_has_runs_of_both_sides(base, candidate) -> None:
    """Each session shifts its runs by as much as they vary."""
    draw, count, error = np.random.default_rng(5), 200_000, ErrorRule(most_runs=1).alarm_share
    shifts = draw.normal(size=(count, 3))
    sides = [draw.normal(size=(count, len(side))) + shifts[:, side] for side in (base, candidate)]
    apart = are_apart(of_sessions(*base), of_sessions(*candidate))
    found = ratio_of([1.0 + each for each in base], [1.0 + each for each in candidate], apart=apart)
    widening = found.high(error) ** (1 / found.spread) / found.value ** (1 / found.spread)
    squares = sum(side.var(axis=1, ddof=1) * (side.shape[1] - 1) for side in sides)
    spread = np.sqrt(squares / (len(base) + len(candidate) - 2))
    fired = sides[1].mean(axis=1) - sides[0].mean(axis=1) + np.log(widening) * spread < 0
    assert stats.binomtest(int(fired.sum()), count).proportion_ci(0.999).low <= error


def test_a_session_ends_with_a_boot_or_a_night() -> None:
    hour = 3600.0
    base = [Made("a", hour * at, "x") for at in (0, 1, 2, 26)]
    candidate = [Made("a", hour * at, "x") for at in (25, 27, 28)]
    assert are_apart(base, candidate), "one run of the base is in the candidate's session"
    assert not are_apart([Made("a", hour * at, "x") for at in (22, 23, 24, 26)], candidate)
    assert are_apart([Made("a", hour * at, "x" if at == 26 else "y") for at in (22, 23, 24, 26)], candidate)
    assert not are_apart(base, [Made("a", hour * at, "x") for at in (0.5, 1.5, 25)])


def test_the_chance_of_an_order_is_that_of_all_orders() -> None:
    assert drift_chance([1.0, 2.0]) == drift_chance([3.0, 3.0, 3.0]) == 1
    assert drift_chance([1.0, 2.0, 3.0]) == pytest.approx(2 / 6)
    assert drift_chance([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 120)
    chances = sorted(drift_chance(order) for order in permutations([1.0, 2.5, 3.1, 4.7, 9.0]))
    assert all(share >= (place + 1) / 120 - 1e-9 for place, share in enumerate(chances))


def test_of_many_runs_it_is_nearly_normal() -> None:
    draws = np.random.default_rng(3).normal(size=(4000, 20))
    chances = [drift_chance(list(one)) for one in draws]
    assert stats.kstest(chances, "uniform").statistic < 0.03
    assert drift_chance(list(np.linspace(1, 2, 20))) < 1e-4


def with_noise(law: str, count: int) -> np.ndarray:
    """Six runs one after the other, ``count`` times."""
    draw = np.random.default_rng(11)
    values = draw.normal(size=(count, 6))
    if law == "shift":
        values += np.repeat(draw.normal(size=(count, 2)), 3, axis=1)
    elif law != "independent":
        for run in range(1, 6):
            values[:, run] = float(law) * values[:, run - 1] + np.sqrt(1 - float(law) ** 2) * values[:, run]
    return values


@pytest.mark.full_matrix(most=4)
@pytest.mark.parametrize("law", ["independent", "0.5", "0.8", "shift"])
@pytest.mark.parametrize("in_turn", [False, True])
def test_false_alarms_stay_as_stated_whatever_runs_share(law, *, in_turn) -> None:
    """A candidate that is as good as the baseline, by t as SciPy has it; AR(1) of 0.5 and 0.8."""
    if in_turn and law == "shift":
        return  # both sides have it alike: it is in no difference
    count, error = 200_000, ErrorRule(most_runs=1).alarm_share
    values = with_noise(law, count)
    sides = (values[:, ::2], values[:, 1::2]) if in_turn else (values[:, :3], values[:, 3:])
    found = ratio_of([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], apart=not in_turn)
    widening = found.high(error) ** (1 / found.spread)  # what a spread of 1 reaches
    spread = np.sqrt((sides[0].var(axis=1, ddof=1) + sides[1].var(axis=1, ddof=1)) / 2)
    fired = sides[1].mean(axis=1) - sides[0].mean(axis=1) + np.log(widening) * spread < 0
    sure = stats.binomtest(int(fired.sum()), count).proportion_ci(0.999)
    assert sure.low <= error
