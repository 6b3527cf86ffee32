"""Skewed random accesses against the laws they are named after: from what the block layer saw."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

from openpts.units import MIB
from openpts.vocabulary.stimulus import ActiveRange, IoCount, Normal, Pareto, Placement, Step, Zipf
from tests.support.traced_engine import PAGE, UNLIKELY, random_reads, run_traced

CAPACITY = 80 * MIB
HOT_PLACES = 1024
HOT_RANGE = ActiveRange(0, 100 * HOT_PLACES * PAGE / CAPACITY)


@pytest.fixture
def drive(traceable: None, attach_memory: Callable[[int], Path]) -> Path:
    return attach_memory(CAPACITY)


def _counts_by_place(drive: Path, placement: Placement, ios: int) -> NDArray[np.int64]:
    """I/Os of each of 1024 places."""
    step = Step.of(random_reads(placement, active_range=HOT_RANGE, qd=32), IoCount(ios))
    return np.bincount(run_traced(drive, step, max_events=4 * ios).starts // PAGE, minlength=HOT_PLACES)


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("theta", [0.7, 1.0, 1.3])
def test_ranks_follow_zipfs_law(drive: Path, theta: float) -> None:
    counts = np.sort(_counts_by_place(drive, Zipf(theta), 50_000))[::-1]
    log_ranks = np.log(np.arange(1, HOT_PLACES + 1))
    assert len(counts) == HOT_PLACES

    def minus_log_likelihood(exponent: float) -> float:
        weights = np.exp(-exponent * log_ranks)
        return float(exponent * (counts * log_ranks).sum() + counts.sum() * np.log(weights.sum()))

    # The order of the rarest ranks is chance, which tilts the estimate by less than a hundredth.
    assert optimize.minimize_scalar(
        minus_log_likelihood, bounds=(0.1, 3), method="bounded"
    ).x == pytest.approx(theta, abs=0.02)
    shares = np.exp(-theta * log_ranks) / np.exp(-theta * log_ranks).sum()
    deviation = np.sqrt(counts.sum() * shares[0] * (1 - shares[0]))
    assert abs(counts[0] - counts.sum() * shares[0]) < 6 * deviation


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("h", [0.1, 0.2, 0.4])
def test_the_hot_share_is_self_similar(drive: Path, h: float) -> None:
    counts = np.sort(_counts_by_place(drive, Pareto(h), 50_000))[::-1]
    gets = np.concatenate([[0], np.cumsum(counts)]) / counts.sum()
    for level in (1, 2):
        # interpolated between whole places
        hot = np.interp(HOT_PLACES * h**level, np.arange(HOT_PLACES + 1), gets)
        assert hot == pytest.approx((1 - h) ** level, abs=0.015)


@pytest.mark.parametrize("placement", [Zipf(1.1), Pareto(0.2)])
def test_hot_places_are_scattered_over_the_range(drive: Path, placement: Placement) -> None:
    counts = _counts_by_place(drive, placement, 50_000)
    assert stats.spearmanr(np.arange(HOT_PLACES), counts).pvalue > UNLIKELY
    hottest = np.sort(np.argsort(counts)[-64:])
    assert stats.kstest(hottest / HOT_PLACES, "uniform").pvalue > UNLIKELY


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize(("mean_pct", "deviation_pct"), [(50, 10), (30, 5), (2, 5), (90, 20)])
def test_a_hot_spot_is_normal_and_cut_at_the_ends(drive: Path, mean_pct: float, deviation_pct: float) -> None:
    step = Step.of(random_reads(Normal(mean_pct, deviation_pct)), IoCount(20_000))
    positions = run_traced(drive, step).starts / CAPACITY * 100
    ends = ((end - mean_pct) / deviation_pct for end in (0, 100))
    law = stats.truncnorm(*ends, loc=mean_pct, scale=deviation_pct)
    assert stats.kstest(positions, law.cdf).pvalue > UNLIKELY
