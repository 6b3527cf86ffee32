"""Percentiles against the sorted list and another implementation of HdrHistogram."""

import base64
import math
from fractions import Fraction

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from openpts._native import Histogram
from openpts.analysis.latency import LatencyDistribution, ios_needed


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
def test_another_implementation_reads_the_same_counts(values: list[int]) -> None:
    theirs = HdrHistogram.decode(base64.b64encode(encoded(values)))
    ours = LatencyDistribution.merged([encoded(values)])
    assert theirs.get_total_count() == ours.count == len(values)
    for percentile in (50, 99, 100):
        assert theirs.get_value_at_percentile(percentile) == ours.percentile_ns(percentile)


@given(st.lists(st.integers(0, 10**9)), st.lists(st.integers(0, 10**9)))
def test_merging_is_counting_all_together(left: list[int], right: list[int]) -> None:
    merged = LatencyDistribution.merged([encoded(left), encoded(right)])
    assert merged.buckets() == LatencyDistribution.merged([encoded(left + right)]).buckets()


def test_an_empty_distribution_has_no_percentile() -> None:
    assert LatencyDistribution.merged([]).percentile_ns(50) is None


@pytest.mark.parametrize(
    ("percentile", "needed"), [(90, 10), (99, 100), (99.9, 1_000), (99.999, 100_000), (99.9999999, 10**9)]
)
def test_n_nines_need_10_to_the_n_ios(percentile: float, needed: int) -> None:
    assert ios_needed(percentile) == needed


@pytest.mark.parametrize(("count", "supported"), [(99_999, False), (100_000, True)])
def test_a_percentile_is_supported_from_its_number_of_ios_on(count: int, supported: bool) -> None:
    histogram = Histogram()
    histogram.record(1000, count)
    assert LatencyDistribution(histogram).supports(99.999) is supported


@pytest.mark.parametrize("damaged", [b"", b"nonsense", encoded([1, 2, 3])[:-12]])
def test_damaged_bytes_are_refused(damaged: bytes) -> None:
    with pytest.raises(ValueError, match="HdrHistogram"):
        LatencyDistribution.merged([damaged])


def test_a_mean_by_the_middle_of_buckets_is_off_to_neither_side() -> None:
    latencies_ns = [1_000_000 + 7_919 * number for number in range(10_000)]
    read = LatencyDistribution.merged([encoded(latencies_ns)])
    least_ns, most_ns = (read.bounds() or ())[4:]
    assert least_ns < 0.9998 * sum(latencies_ns) < 1.0002 * sum(latencies_ns) < most_ns
    assert read.middle_sum_ns == pytest.approx(sum(latencies_ns), rel=2e-5)
    assert LatencyDistribution.merged([]).middle_sum_ns == 0
