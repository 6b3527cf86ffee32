"""What a sample tells of a population: against SciPy's binomial and beta distributions."""

import pytest
from scipy import stats

from openpts.analysis.order_statistics import median_ranks
from openpts_many.population.statistics import (
    confidence_between_ends,
    confidence_beyond_one_end,
    missed_share,
    repeatability,
    share_bounds,
    spread_of,
)


@pytest.mark.parametrize("drives", [2, 6, 24, 100])
def test_order_statistics_cover_shares_by_the_beta_distribution(drives: int) -> None:
    assert confidence_beyond_one_end(drives) == pytest.approx(stats.beta.cdf(0.1, 1, drives))
    assert confidence_between_ends(drives) == pytest.approx(stats.beta.sf(0.9, drives - 1, 2))


def test_24_drives_cover_90_per_cent_with_92_per_cent_confidence() -> None:
    assert confidence_beyond_one_end(24) == pytest.approx(0.9202, abs=5e-5)


@pytest.mark.parametrize("drives", [6, 9, 24, 100])
def test_the_ranks_of_the_median_are_the_innermost_that_reach_the_confidence(drives: int) -> None:
    found = median_ranks(drives)
    assert found is not None
    rank, confidence = found
    covered = [1 - 2 * stats.binom.cdf(r - 1, drives, 0.5) for r in (rank, rank + 1)]
    assert confidence == pytest.approx(covered[0])
    assert covered[1] < 0.95 <= covered[0]


def test_five_drives_have_no_bounds_of_the_median() -> None:
    assert median_ranks(5) is None


@pytest.mark.parametrize("drives", [1, 24, 100])
def test_a_bad_share_is_missed_as_often_as_stated(drives: int) -> None:
    assert stats.binom.pmf(0, drives, missed_share(drives)) == pytest.approx(0.05)


@pytest.mark.parametrize(("found", "drives"), [(0, 24), (2, 24), (24, 24), (3, 100)])
def test_bounds_of_a_share_are_clopper_and_pearsons(found: int, drives: int) -> None:
    exact = stats.binomtest(found, drives).proportion_ci(0.95, method="exact")
    assert share_bounds(found, drives) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_the_spread_is_the_scaled_median_distance() -> None:
    values = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]
    assert spread_of(values) == pytest.approx(stats.median_abs_deviation(values, scale="normal"))


def test_the_spread_between_drives_is_free_of_that_between_runs() -> None:
    """Balanced runs: the components of a one-way analysis of variance."""
    runs = [(10.0, 10.2), (11.0, 11.1), (9.4, 9.7), (10.4, 10.2)]
    found = repeatability(runs)
    assert found is not None
    f = stats.f_oneway(*runs).statistic
    assert found.between**2 == pytest.approx(found.within**2 * (f - 1) / 2)
    assert found.between > found.within
    assert repeatability([(1.0,), (2.0,)]) is None


def test_runs_that_differ_more_than_drives_hide_them() -> None:
    found = repeatability([(10.0, 12.0), (11.9, 10.1), (9.8, 12.1)])
    assert found is not None
    assert found.between <= found.within
