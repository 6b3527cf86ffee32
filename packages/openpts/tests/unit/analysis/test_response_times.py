"""Percentiles against the sorted list and another implementation of HdrHistogram."""

import base64
import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as with_changes

from openpts._native import Histogram
from openpts.analysis.latency import (
    LatencyDistribution,
    encode_counts,
    log_bins,
    recorded_ios,
    response_times,
)
from openpts.vocabulary.sample import NOTHING
from tests.support.interval_samples import step_of


def distribution_of(counts: Iterable[tuple[int, int]]) -> LatencyDistribution:
    return LatencyDistribution.merged(filter(None, [encode_counts(counts)]))


LATENCIES = np.random.default_rng(3).lognormal(12, 1.2, 120_000).astype(int).tolist()


@pytest.mark.proves("PTS-LAT-16", "PTS-WSAT-19")
def test_average_maximum_and_percentiles_are_those_of_all_ios_of_all_steps() -> None:
    times = response_times([step_of([LATENCIES[:70_000]]), step_of([LATENCIES[70_000:]])])
    assert (times.ios, times.recorded_ios, times.iops) == (120_000, 120_000, 60_000)
    assert times.mean_latency_ns == pytest.approx(np.mean(LATENCIES))
    assert times.max_latency_ns == max(LATENCIES)
    ordered = sorted(LATENCIES)
    for percentile in ("90.0", "99.9", "99.99", "99.999"):
        expected = ordered[math.ceil(Fraction(percentile) / 100 * len(ordered)) - 1]
        assert times.percentile_ns(float(percentile)) == pytest.approx(expected, rel=1e-3)
    assert times.percentile_ns(99.9999) is None


@pytest.mark.proves("PTS-LAT-38", "PTS-WSAT-31")
def test_a_confidence_level_is_the_share_at_or_below_a_response_time() -> None:
    times = response_times([step_of([LATENCIES])])
    for latency_ns in (50_000, 162_755, 1_000_000):
        share = 100 * sum(ns <= latency_ns for ns in LATENCIES) / len(LATENCIES)
        assert times.level_pct(latency_ns) == pytest.approx(share, abs=0.1)
        assert times.level_pct(latency_ns) is not None
    assert times.level_pct(max(LATENCIES)) == 100


@given(st.lists(st.tuples(st.integers(1, 10**11), st.integers(1, 1000)), min_size=1, max_size=40))
def test_bins_hold_every_io_once_and_reach_the_maximum(counts) -> None:
    distribution = distribution_of(counts)
    bins = log_bins(distribution)
    assert sum(found.ios for found in bins) == sum(ios for _, ios in counts)
    buckets = distribution.buckets()
    _, largest, _ = buckets[-1]
    assert bins[-1].low_ns < largest <= bins[-1].high_ns
    assert bins[-1].level_pct == pytest.approx(100)
    for found in bins:
        assert found.ios == sum(ios for _, ns, ios in buckets if found.low_ns < ns <= found.high_ns)
        assert found.high_ns / found.low_ns == pytest.approx(10 ** (1 / 20))
    assert all(low.high_ns == high.low_ns for low, high in pairwise(bins))


def test_no_ios_make_no_bins() -> None:
    empty = response_times([with_changes(step_of([[]]), write=NOTHING)])
    assert (empty.bins, empty.mean_latency_ns, empty.max_latency_ns, empty.level_pct(5)) == (
        (),
        None,
        None,
        None,
    )
    assert log_bins(distribution_of([])) == ()


@given(st.integers(2, 2**43 - 1))
def test_the_last_bin_ends_behind_the_exact_maximum_and_not_behind_its_bucket(largest_ns) -> None:
    """The bucket of the maximum may reach over a bin's edge that the maximum does not."""
    *_, last = log_bins(distribution_of([(1, 3), (largest_ns, 2)]), largest_ns)
    assert last.low_ns < largest_ns <= last.high_ns
    assert (last.ios, last.level_pct) == (2, 100)


@given(st.lists(st.integers(0, 10**7), max_size=40), st.lists(st.floats(0, 2e7), max_size=10))
def test_counts_up_to_limits_are_sums_of_buckets(latencies, limits) -> None:
    distribution = distribution_of([(ns, 1) for ns in latencies])
    expected = [
        sum(ios for _, high_ns, ios in distribution.buckets() if high_ns <= limit) for limit in sorted(limits)
    ]
    assert distribution.counts_up_to(sorted(limits)) == expected


def test_what_counts_for_percentiles_is_what_is_recorded() -> None:
    sample = step_of([[5, 6, 7]])
    scaled = with_changes(sample, write=with_changes(sample.write, ios=300))
    assert recorded_ios(scaled) == 3
    assert recorded_ios(with_changes(scaled, write=with_changes(scaled.write, histogram=b""))) == 300
    assert (response_times([scaled]).ios, response_times([scaled]).recorded_ios) == (300, 3)


def encoded(values: list[int]) -> bytes:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram.encode()


def test_percentiles_are_within_a_thousandth_of_the_sorted_list() -> None:
    latencies = np.random.default_rng(1).lognormal(mean=11, sigma=1.2, size=100_000).astype(int)
    distribution = LatencyDistribution.merged([encoded(latencies.tolist())])
    in_order = np.sort(latencies)
    for percentile in ("1", "50", "90", "99", "99.9", "99.99", "99.999", "100"):
        rank = math.ceil(Fraction(percentile) / 100 * len(in_order))
        assert distribution.percentile_ns(float(percentile)) == pytest.approx(in_order[rank - 1], rel=0.001)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=50))
def test_another_implementation_reads_the_same_counts(values) -> None:
    theirs = HdrHistogram.decode(base64.b64encode(encoded(values)))
    ours = LatencyDistribution.merged([encoded(values)])
    assert theirs.get_total_count() == ours.count == len(values)
    for percentile in (50, 99, 100):
        assert theirs.get_value_at_percentile(percentile) == ours.percentile_ns(percentile)


@given(st.lists(st.integers(0, 10**9)), st.lists(st.integers(0, 10**9)))
def test_merging_is_counting_all_together(left, right) -> None:
    merged = LatencyDistribution.merged([encoded(left), encoded(right)])
    assert merged.buckets() == LatencyDistribution.merged([encoded(left + right)]).buckets()


def test_an_empty_distribution_has_no_percentile() -> None:
    assert LatencyDistribution.merged([]).percentile_ns(50) is None


@pytest.mark.parametrize(("count", "supported"), [(99_999, False), (100_000, True)])
def test_a_percentile_is_supported_from_its_number_of_ios_on(count, supported) -> None:
    histogram = Histogram()
    histogram.record(1000, count)
    assert LatencyDistribution(histogram).supports(99.999) is supported


@pytest.mark.parametrize("damaged", [b"", b"nonsense", encoded([1, 2, 3])[:-12]])
def test_damaged_bytes_are_refused(damaged) -> None:
    with pytest.raises(ValueError, match="HdrHistogram"):
        LatencyDistribution.merged([damaged])


def test_a_mean_by_the_middle_of_buckets_is_off_to_neither_side() -> None:
    latencies_ns = [1_000_000 + 7_919 * number for number in range(10_000)]
    read = LatencyDistribution.merged([encoded(latencies_ns)])
    least_ns, most_ns = (read.bounds() or ())[4:]
    assert least_ns < 0.9998 * sum(latencies_ns) < 1.0002 * sum(latencies_ns) < most_ns
    assert read.middle_sum_ns == pytest.approx(sum(latencies_ns), rel=2e-5)
    assert LatencyDistribution.merged([]).middle_sum_ns == 0
