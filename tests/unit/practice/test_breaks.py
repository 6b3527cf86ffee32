"""Segments of courses whose breaks are known, and a search through all ways to cut short ones."""

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from statistics import median

import pytest

from openpts.analysis.change_points import LEAST_NOISE, SHORTEST, segments_of

CACHED_THEN_DIRECT = [2000.0] * 30 + [500.0] * 40 + [250.0] * 30


def spans(rates: Sequence[float]) -> list[tuple[int, int]]:
    return [(segment.start, segment.end) for segment in segments_of(rates)]


def test_breaks_are_where_they_were_put() -> None:
    assert spans(CACHED_THEN_DIRECT) == [(0, 30), (30, 70), (70, 100)]
    assert [segment.rate for segment in segments_of(CACHED_THEN_DIRECT)] == pytest.approx([2000, 500, 250])


@pytest.mark.parametrize("seed", range(20))
def test_noise_moves_no_break(seed: int) -> None:
    generator = random.Random(seed)
    noisy = [rate * math.exp(generator.gauss(0, 0.04)) for rate in CACHED_THEN_DIRECT]
    assert spans(noisy) == [(0, 30), (30, 70), (70, 100)]


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_no_break(seed: int) -> None:
    generator = random.Random(seed)
    assert spans([700 * math.exp(generator.gauss(0, 0.1)) for _ in range(100)]) == [(0, 100)]


def test_a_point_in_which_the_rate_changes_belongs_to_no_segment() -> None:
    assert spans([2000.0] * 30 + [900.0] + [500.0] * 40) == [(0, 30), (31, 71)]


@pytest.mark.parametrize("stall", [1.0, 300.0, 9000.0])
def test_a_single_stall_or_peak_is_no_segment(stall: float) -> None:
    assert spans([2000.0] * 30 + [stall] + [2000.0] * 30) == [(0, 61)]


def test_two_slow_points_are_one() -> None:
    assert spans([2000.0] * 30 + [500.0] * 2 + [2000.0] * 30) == [(0, 30), (30, 32), (32, 62)]


@pytest.mark.parametrize(("after", "breaks"), [(1850.0, 0), (1800.0, 1), (2180.0, 0), (2250.0, 1)])
def test_changes_below_ten_per_cent_count_for_nothing(after: float, breaks: int) -> None:
    assert len(spans([2000.0] * 50 + [after] * 50)) == breaks + 1


@pytest.mark.parametrize("rates", [[], [5.0], [5.0, 50.0], [5.0, 50.0, 500.0]])
def test_too_few_points_to_break(rates: list[float]) -> None:
    assert spans(rates) == ([(0, len(rates))] if rates else [])


def test_a_rate_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        segments_of([5.0, 0.0])


@pytest.mark.parametrize("seed", range(30))
def test_no_other_way_to_cut_is_cheaper(seed: int) -> None:
    """Levels are far apart, so that nothing is put together afterwards: what is left is the search."""
    generator = random.Random(seed)
    logs: list[float] = []
    while len(logs) < 9:
        logs += [generator.choice([0.0, 1.0, 2.0, 3.0])] * generator.randrange(1, 5)
    logs = logs[:9]
    found = spans([math.exp(value) for value in logs])
    least = min(price(way, logs) for way in ways(0, logs))
    assert price(found, logs) <= least + Fraction(1, 10**6)


def ways(start: int, logs: list[float]) -> Iterator[list[tuple[int, int]]]:
    """All ways to cut the points from ``start`` on, with changes between segments left out or not."""
    for end in range(start + 1, len(logs) + 1):
        if end - start < SHORTEST and (start, end) != (0, len(logs)):
            continue
        if end == len(logs):
            yield [(start, end)]
            continue
        yield from ([(start, end), *rest] for rest in ways(end, logs))
        between = end < len(logs) - 1 and (
            min(logs[end - 1], logs[end + 1]) < logs[end] < max(logs[end - 1], logs[end + 1])
        )
        if between:
            yield from ([(start, end), *rest] for rest in ways(end + 1, logs))


def price(way: list[tuple[int, int]], logs: list[float]) -> Fraction:
    """The rule that the report prints, term by term."""
    differences = [abs(b - a) for a, b in pairwise(logs)]
    noise = max(LEAST_NOISE, median(differences) / math.sqrt(2))
    left_out = len(logs) - sum(end - start for start, end in way)
    total = Fraction(3 * noise * math.log(len(logs))) * (len(way) - 1 + left_out)
    for start, end in way:
        middle = median(logs[start:end])
        total += sum(abs(Fraction(value) - Fraction(middle)) for value in logs[start:end])
    return total
