"""Budgets against GTC, SciPy and the covariances of the process itself."""

import math

import GTC
import numpy as np
import pytest
from scipy import signal, stats

from openpts.analysis.latency import LatencyDistribution, encode_counts
from openpts.analysis.uncertainty import (
    Block,
    batches,
    blocks_of,
    budget,
    correlation_times_ns,
    coverage_factor,
    late_excess,
    of_course,
    of_mean,
    of_percentile,
    of_rates,
    of_ratio,
    of_rounds,
    of_short_elements,
    places_alike,
    rectangular,
    with_components,
)
from openpts.units import NS_PER_S
from openpts.vocabulary.uncertainty import Component, Uncertainty, two_digits
from tests.support.interval_samples import step_of

ROUND_NS = 60 * NS_PER_S


def blocks(*values: float) -> list[Block]:
    return [Block(place * 60 * ROUND_NS, ROUND_NS, value) for place, value in enumerate(values)]


def autoregression(rng: np.random.Generator, count: int, coefficient: float) -> list[float]:
    found = [float(rng.standard_normal())]
    for step in rng.standard_normal(count - 1) * math.sqrt(1 - coefficient**2):
        found.append(coefficient * found[-1] + float(step))
    return found


@pytest.mark.parametrize(
    "components",
    [
        [("a", 1.0, 4)],
        [("a", 1.0, 4), ("b", 2.0, 9), ("c", 0.5, math.inf)],
        [("a", 3.0, 2), ("b", 1.0, math.inf)],
        [("a", 1.0, math.inf), ("b", 1.0, math.inf)],
    ],
)
def test_a_budget_is_that_of_gtc(components) -> None:
    found = budget(Component(*one) for one in components)
    total = sum(GTC.ureal(1, u, df) for _, u, df in components)
    assert found.standard == pytest.approx(GTC.uncertainty(total))
    degrees = GTC.dof(total)
    if math.isfinite(degrees) and degrees < 1000:
        assert found.degrees_of_freedom == pytest.approx(degrees)
    # GTC takes the t of real degrees, and openpts that of truncated ones (GUM G.4.1)
    whole = math.floor(degrees) if math.isfinite(degrees) else degrees
    assert found.coverage_factor == pytest.approx(GTC.rp.k_factor(whole), rel=2e-3)
    assert found.expanded == pytest.approx(found.coverage_factor * found.standard)


def test_a_mean_of_rounds_is_that_of_gtc() -> None:
    values = [101.2, 99.1, 100.4, 98.7, 100.9]
    oracle = GTC.type_a.estimate(values)
    found = of_mean(blocks(*values))
    assert found.standard == pytest.approx(GTC.uncertainty(oracle))
    assert found.degrees_of_freedom == pytest.approx(GTC.dof(oracle))
    assert found.coverage_factor == pytest.approx(stats.t.ppf(0.975, 4))


def test_a_quotient_is_that_of_gtc() -> None:
    above, below = GTC.ureal(120, 3, 4), GTC.ureal(50, 1, 9)
    quotient = 100 * above / below
    sides = [(budget([Component("", one.u, one.df)]), one.x) for one in (above, below)]
    found = of_ratio(("a", sides[0][1], sides[0][0]), ("b", sides[1][1], sides[1][0]), unit=100)
    assert found.standard == pytest.approx(GTC.uncertainty(quotient))
    assert found.degrees_of_freedom == pytest.approx(GTC.dof(quotient))


@pytest.mark.parametrize("degrees", [1, 2, 4, 19, 400, 2000])
def test_coverage_factors_are_those_of_scipy(degrees) -> None:
    assert coverage_factor(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=2e-3)
    # of eight the highest: each may be too high with an eighth of 5 %
    assert coverage_factor(degrees, 8) == pytest.approx(stats.t.ppf(1 - 0.05 / 8, degrees), rel=4e-3)


def test_a_bound_alone_is_no_bell() -> None:
    alone = budget([rectangular("resolution", 1.0)])
    assert alone.expanded == pytest.approx(stats.uniform(-1, 2).interval(0.95)[1])
    beside = with_components(alone, Component("scatter", 5.0, 4))
    assert beside.coverage_factor > 2


def test_neighbors_in_time_count_less() -> None:
    """The variance of the mean over what its scatter says, against a million sums of the process itself."""
    rng = np.random.default_rng(5)
    time_s, length, gap, count = 60, 60, 120, 5
    kept = math.exp(-1 / time_s)
    runs = 4000
    noise = np.empty((runs, gap * count))
    noise[:, 0] = rng.standard_normal(runs)
    for step in range(1, gap * count):
        noise[:, step] = kept * noise[:, step - 1] + math.sqrt(1 - kept**2) * rng.standard_normal(runs)
    rounds = noise.reshape(runs, count, gap)[:, :, :length].mean(axis=2)
    wanted = rounds.mean(axis=1).var() / (rounds.var(axis=1, ddof=1).mean() / count)
    found = [
        of_mean(
            [
                Block(place * gap * NS_PER_S, length * NS_PER_S, float(value), tuple(parts), NS_PER_S)
                for place, (value, parts) in enumerate(
                    zip(of_run.reshape(count, gap)[:, :length].mean(axis=1), seconds, strict=True)
                )
            ]
        )
        for of_run in noise[:200]
        for seconds in [of_run.reshape(count, gap)[:, :length].tolist()]
    ]
    ratios = [one.standard**2 / one.components[0].standard ** 2 for one in found]
    assert np.median(ratios) == pytest.approx(wanted, rel=0.2)


def rounds_of(seconds: list[float], gap_s: int = 120) -> list[Block]:
    """Rounds of a minute, so far apart."""
    found = (seconds[start : start + 60] for start in range(0, len(seconds), gap_s))
    return [
        Block(place * gap_s * NS_PER_S, ROUND_NS, float(np.mean(one)), tuple(one), NS_PER_S)
        for place, one in enumerate(found)
    ]


@pytest.mark.parametrize("time_s", [10, 60])
@pytest.mark.parametrize("rate", [0, 50])
def test_the_time_that_noise_lasts_is_found(time_s, rate) -> None:
    """Also where seconds have some 50 whole I/Os, so that what is cut off outweighs how noise goes on."""
    rng = np.random.default_rng(6)
    found = []
    for _ in range(20):
        seconds = np.asarray(autoregression(rng, 6000, math.exp(-1 / time_s)))
        if rate:
            seconds = np.diff(np.floor(np.cumsum(rate * (1 + 0.02 * seconds))), prepend=0.0)
        found.append(correlation_times_ns(rounds_of(seconds.tolist())))
    least, likeliest, most = np.median(found, axis=0) / NS_PER_S
    assert likeliest == pytest.approx(time_s, rel=0.2)
    assert least < time_s < most


@pytest.mark.parametrize(("time_s", "rate"), [(0.1, 0), (60, 0), (60, 50)])
def test_five_rounds_of_lasting_noise_hold_the_mean(time_s, rate) -> None:
    """Rounds that begin 2 minutes apart, as those of TP do: without the correction 91 % in noise of 60 s."""
    rng, kept, runs, held = np.random.default_rng(2), math.exp(-1 / time_s), 400, 0
    steps = rng.standard_normal((runs, 600))
    steps[:, 1:] *= math.sqrt(1 - kept**2)
    for seconds in signal.lfilter([1], [1, -kept], steps):
        if rate:
            counted = np.diff(np.floor(np.cumsum(rate * (1 + 0.02 * seconds))), prepend=0.0)
            seconds = (counted / rate - 1) / 0.02  # noqa: PLW2901
        rounds = rounds_of(seconds.tolist())
        held += abs(np.mean([one.value for one in rounds])) <= (of_mean(rounds).expanded or 0.0)
    assert stats.binom.ppf(0.01, runs, 0.94) <= held <= stats.binom.ppf(0.99, runs, 0.96)


def test_what_a_step_has_beyond_its_last_whole_interval_is_no_part() -> None:
    """Of 3 ms with one answer the rate would be that of no other interval."""
    rounds = [step_of([[10**6] * ios for ios in (50, 48, 52, 1)], last_ns=3 * 10**6)] * 2
    found = blocks_of(rounds, lambda one: one.iops)
    assert [one.parts for one in found] == [(50, 48, 52)] * 2
    assert found[0].value == pytest.approx(151 / 3.003)


def test_noise_without_a_memory_has_no_part_of_its_own() -> None:
    rng = np.random.default_rng(7)
    values = rng.standard_normal((5, 60))
    rounds = [
        Block(place * 2 * ROUND_NS, ROUND_NS, float(parts.mean()), tuple(parts.tolist()), NS_PER_S)
        for place, parts in enumerate(values)
    ]
    found = of_mean(rounds)
    assert found.standard == pytest.approx(found.components[0].standard, rel=1e-3)


def test_of_a_drift_that_counts_which_scatter_cannot_feign() -> None:
    names = [one.name for one in of_mean(blocks(100, 102, 104, 106.1, 108)).components]
    assert names == ["scatter", "drift"]
    assert [one.name for one in of_mean(blocks(100, 104, 99, 103, 101)).components] == ["scatter"]


def test_what_a_short_element_misses_is_told_from_scatter() -> None:
    rng = np.random.default_rng(1)
    for rise in (0.0, 0.5, 1.0, 5.0):
        for _ in range(20):
            parts = 100 + rng.standard_normal((5, 6)) + rise * np.arange(6)
            found = late_excess([Block(0, 1, float(row.mean()), tuple(row)) for row in parts])
            excess = parts[:, 3:].mean(axis=1) - parts.mean(axis=1)
            if abs(stats.ttest_1samp(excess, 0).statistic) > 2:
                assert found == pytest.approx(abs(excess.mean()))
            else:
                assert found == 0
    assert late_excess(blocks(1, 2, 3)) == 0


def test_the_short_form_adds_bounds_to_the_scatter() -> None:
    rounds = [Block(place, 1, value, (value - 4, value + 4)) for place, value in enumerate((99.0, 101, 100))]
    scatter, others = GTC.type_a.estimate((99, 101, 100)), (4 / math.sqrt(3), 2 / math.sqrt(3))
    combined = scatter + sum(GTC.ureal(0, one) for one in others)
    found = of_short_elements(rounds, 0.02)
    assert found.standard == pytest.approx(combined.u)
    assert found.degrees_of_freedom == pytest.approx(combined.df)


def test_short_elements_claim_no_more_than_they_can_show_of_a_minute() -> None:
    # five alike: what comes once in a minute was in none of them
    rounds = [Block(place, 1, 100.0, (100.0, 100.0)) for place in range(5)]
    assert of_short_elements(rounds, 0.0).expanded == pytest.approx(0.95 * 0.5)


def test_a_choice_among_equals_is_too_high() -> None:
    """Of eight equal means the highest: half of 5 % too often beside t alone, no longer with the factor."""
    rng = np.random.default_rng(8)
    values = rng.standard_normal((4000, 8, 5))
    means, errors = values.mean(axis=2), values.std(axis=2, ddof=1) / math.sqrt(5)
    rows, highest = np.arange(4000), means.argmax(axis=1)
    ratios = np.abs(means[rows, highest] / errors[rows, highest])
    assert np.mean(ratios <= coverage_factor(4)) < 0.90
    assert 0.93 < np.mean(ratios <= coverage_factor(4, 8)) < 0.97


def test_the_highest_is_told_from_noise() -> None:
    rng = np.random.default_rng(9)
    flat = (100 + rng.standard_normal(400)).tolist()
    assert len(places_alike(flat)) > 5
    flat[123] = 120
    assert places_alike(flat) == [123]
    assert places_alike([5.0, 5.0]) == [0, 1]


def test_batches_are_of_ten_minutes_and_of_equal_length() -> None:
    rates = [(second * NS_PER_S, NS_PER_S, float(second)) for second in range(3 * 3600)]
    found = batches(rates)
    assert len(found) == 18
    assert {one.length_ns for one in found} == {600 * NS_PER_S}
    assert found[1].value == pytest.approx(np.mean(range(600, 1200)))
    assert len(batches(rates[:60])) == 5
    assert len(batches([(10 * start_ns, 10 * NS_PER_S, value) for start_ns, _, value in rates])) == 20


SLOW_NS, SCALE_NS = 500_000, 100_000


def tails(rng: np.random.Generator, ios: int, noise: float) -> list[tuple[int, int, LatencyDistribution]]:
    """Sixty intervals, with I/Os beyond a response time whose excess is exponential, in restless numbers."""
    found = []
    for place in range(60):
        some = rng.poisson(ios * 1e-3 * max(0.0, 1 + noise * rng.standard_normal()))
        slow = SLOW_NS + SCALE_NS * rng.exponential(1, some)
        counts = [(1000, ios - int(some)), *((round(one), 1) for one in slow)]
        found.append(
            (place * 10 * NS_PER_S, 10 * NS_PER_S, LatencyDistribution.merged([encode_counts(counts)]))
        )
    return found


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("percentile", [99.99, 99.999])
def test_a_percentile_lies_between_its_order_statistics(noise, percentile) -> None:
    """Beyond 0.1 % of the I/Os the tail is exponential, so that each percentile is known exactly."""
    rng = np.random.default_rng(round(percentile * 1000) + round(10 * noise))
    true_ns = SLOW_NS + SCALE_NS * math.log(1e-3 / (1 - percentile / 100))
    held = []
    for _ in range(50):
        intervals = tails(rng, 50_000, noise)
        whole = LatencyDistribution.merged(one.encode() for _, _, one in intervals)
        expanded = of_percentile(intervals, percentile).expanded
        if expanded is not None:
            held.append(abs((whole.percentile_ns(percentile) or 0) - true_ns) <= expanded)
    assert len(held) >= 40
    assert stats.binom.ppf(0.001, len(held), 0.93) <= sum(held)


def test_too_few_beyond_a_percentile_have_no_upper_bound() -> None:
    found = of_percentile(tails(np.random.default_rng(1), 2500, 0.0), 99.999)
    assert (found.expanded, "too few" in found.reason) == (None, True)


def test_what_is_not_stated_says_why() -> None:
    assert of_mean(blocks(1.0)).reason
    assert of_rates([(0, 1, 1.0)] * 9).reason
    nothing = of_mean([])
    assert (nothing.expanded, nothing.figures(), nothing.text) == (None, None, "")
    assert with_components(nothing, Component("clock", 1.0)) == nothing
    known = of_mean(blocks(1.0, 2.0))
    assert of_ratio(("a", 1.0, nothing), ("b", 1.0, known)).reason.startswith("a: ")
    assert of_ratio(("a", 1.0, known), ("b", 0.0, known)).reason.startswith("b: ")


def test_equal_values_have_none_and_all_degrees() -> None:
    found = of_mean(blocks(7.0, 7.0, 7.0))
    assert (found.standard, found.expanded, found.degrees_of_freedom) == (0, 0, math.inf)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.0, "1,200"), (0.09961, "0.10"), (99.7, "100"), (12.4, "12"), (1.96, "2.0"),
        (0.000123, "0.00012"), (0.0, "0"), (9.96, "10"), (123_456.0, "120,000"),
    ],
)  # fmt: skip
def test_two_digits(value, text) -> None:
    assert two_digits(value) == text
    assert Uncertainty(coverage_factor=1, standard=value).text == f"± {text}"


def lasting(rng: np.random.Generator, time_s: float, seconds: int) -> np.ndarray:
    """Noise of a deviation of 1 in each second; that of a moment lasts so long, 0 for none."""
    if not time_s:
        return rng.standard_normal(seconds)
    kept = math.exp(-1 / time_s)
    steps = rng.standard_normal(seconds + 600) * math.sqrt(1 - kept**2)
    return np.asarray(signal.lfilter([1], [1, -kept], steps)[600:])


COURSES = {
    "level": ([0, 480], [100, 100]),
    "a first minute of its own": ([0, 0.99, 1, 480], [137, 137, 100, 100]),
    "a plateau and a cliff": ([0, 40, 41, 480], [500, 500, 100, 100]),
    "a slope": ([0, 40, 100, 480], [300, 250, 100, 100]),
}


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("time_s", [0, 60])
@pytest.mark.parametrize("course", COURSES)
def test_around_a_course_the_mean_is_held_and_not_lost_in_the_course(course, time_s) -> None:
    """Repeated runs of one course are the oracle: their means scatter as U says, not as the course does."""
    rng, runs, minutes = np.random.default_rng(11), 100, 480
    truth = np.interp(np.arange(minutes) + 0.5, *COURSES[course])
    means, reaches = [], []
    for _ in range(runs):
        noise = 2 * lasting(rng, time_s, 60 * minutes).reshape(minutes, 60).mean(axis=1)
        rates = (truth + noise).tolist()
        means.append(np.mean(rates))
        reaches.append(
            of_course([(n * ROUND_NS, ROUND_NS, one) for n, one in enumerate(rates)]).expanded or 0.0
        )
    held = np.mean(np.abs(np.asarray(means) - truth.mean()) <= reaches)
    assert held >= stats.binom.ppf(0.001, runs, 0.93) / runs
    plain = of_mean(batches([(n * ROUND_NS, ROUND_NS, float(one)) for n, one in enumerate(truth)])).expanded
    # a minute alone is as a stall would be, and counts
    share = 0.3 if course == "a first minute of its own" else 0.05
    assert np.median(reaches) < 6 * np.std(means) + share * (plain or 0.0)


def test_what_stands_out_in_a_course_counts() -> None:
    """Stalls of a minute are no course: each is in U as it is in the plain scatter."""
    rates = [(n * ROUND_NS, ROUND_NS, 0.0 if n in (100, 222, 400) else 100.0) for n in range(480)]
    assert of_course(rates).expanded == pytest.approx(of_rates(rates).expanded, rel=0.35)


@pytest.mark.full_matrix(most=4)
@pytest.mark.parametrize(("noise", "time_min"), [(0.02, 0), (0.02, 3), (0.02, 10)])
@pytest.mark.parametrize("lost", [0, 1, 2, 4, 8, 100])
def test_where_a_minute_has_what_the_next_lacks_the_mean_is_held(
    noise: float, time_min: float, lost: float
) -> None:
    """Of whole I/Os a minute has one more or less than the true rate; three stalls are expected."""
    rng, runs, minutes = np.random.default_rng(14), 150, 480
    means, reaches = [], []
    for _ in range(runs):
        true = 100.37 + noise * lasting(rng, time_min, minutes)
        true[rng.choice(minutes, rng.poisson(3), replace=False)] -= lost
        rates = np.diff(np.floor(np.cumsum(true)), prepend=0.0).tolist()
        means.append(np.mean(rates))
        reaches.append(
            of_course([(n * ROUND_NS, ROUND_NS, one) for n, one in enumerate(rates)]).expanded or 0.0
        )
    held = np.mean(np.abs(np.asarray(means) - (100.37 - 3 * lost / minutes)) <= reaches)
    assert held >= stats.binom.ppf(0.001, runs, 0.93) / runs
    if lost <= 2:  # the scatter of minutes by themselves is 0.03
        assert np.median(reaches) < 0.4 * 2 * 0.03


@pytest.mark.parametrize(
    "course", [(100, 102, 104, 106, 108), (90, 100, 100, 100, 100), (80, 80, 100, 100, 100)]
)
def test_rounds_scatter_around_their_course(course) -> None:
    """The oracle is a fit of NumPy's to the same shape."""
    rng = np.random.default_rng(12)
    for _ in range(20):
        values = np.asarray(course) + 0.05 * rng.standard_normal(5)
        steps = (np.asarray(course) == course[-1]) if course[3] == course[4] else np.arange(5)
        shape = np.column_stack([np.ones(5), steps])
        (around,) = np.linalg.lstsq(shape, values, rcond=None)[1]
        found = of_rounds(blocks(*values.tolist()))
        assert found.standard == pytest.approx(math.sqrt(around / 3 / 5), rel=1e-6)
        assert found.degrees_of_freedom == pytest.approx(3)


def test_rounds_without_a_course_scatter_around_their_mean() -> None:
    rng, alike = np.random.default_rng(13), 0
    for _ in range(500):
        values = rng.standard_normal(5).tolist()
        alike += of_rounds(blocks(*values)) == of_mean(blocks(*values))
    assert alike >= stats.binom.ppf(0.001, 500, 0.995)
    assert of_rounds(blocks(100, 100, 90, 100.1, 100)) == of_mean(blocks(100, 100, 90, 100.1, 100))
