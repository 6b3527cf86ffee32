"""Distances against SciPy, and by hand."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from openpts_traces.characteristics.distances import (
    area_between,
    by_group,
    distances,
    total_variation,
    wasserstein_log2,
)
from tests.unit.traces.characteristics.traces import figures_of, random_ios, write_trace


def test_total_variation_by_hand() -> None:
    assert total_variation({"a": 1, "b": 1}, {"a": 10, "b": 10}) == 0
    assert total_variation({"a": 1}, {"b": 7}) == 1
    assert total_variation({"a": 3, "b": 1}, {"a": 1, "b": 1}) == pytest.approx(0.25)
    assert total_variation({}, {"a": 1}) is None


@pytest.mark.parametrize("seed", range(5))
def test_wasserstein_is_that_of_scipy(seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = random.integers(1, 50, (2, 30, 2))
    one, other = ([(int(v) ** 3, int(c)) for v, c in bins] for bins in pairs)
    expected = stats.wasserstein_distance(
        np.log2([v for v, _ in one]),
        np.log2([v for v, _ in other]),
        [c for _, c in one],
        [c for _, c in other],
    )
    assert wasserstein_log2(one, other) == pytest.approx(expected)
    assert wasserstein_log2(one, one) == pytest.approx(0)
    assert wasserstein_log2([], other) is None


def test_a_doubled_distribution_is_an_octave_away() -> None:
    assert wasserstein_log2([(4096, 3), (8192, 1)], [(8192, 3), (16384, 1)]) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
def test_area_between_curves_is_that_of_a_fine_grid(seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = [np.column_stack([np.sort(random.uniform(1, 1000, 9)), random.random(9)]) for _ in "ab"]
    one, other = ([(float(x), float(y)) for x, y in points] for points in pairs)
    low, high = max(one[0][0], other[0][0]), min(one[-1][0], other[-1][0])
    grid = np.linspace(math.log2(low), math.log2(high), 400_001)
    curves = [np.interp(grid, np.log2([x for x, _ in c]), [y for _, y in c]) for c in (one, other)]
    assert area_between(one, other) == pytest.approx(np.abs(curves[0] - curves[1]).mean(), rel=1e-3)


def test_a_trace_has_no_distance_from_itself_and_some_from_another(tmp_path: Path) -> None:
    one, other = (figures_of(write_trace(tmp_path / f"{n}.parquet", random_ios(n))) for n in range(2))
    assert all(distance.value in {0, None} for distance in distances(one, one))
    found = distances(one, other)
    assert sum(distance.value or 0 for distance in found) > 0
    assert [d.value for d in found] == pytest.approx([d.value for d in distances(other, one)])
    assert set(by_group(found)) == {
        "mix",
        "sizes",
        "sequentiality",
        "arrivals",
        "latency",
        "queue depth",
        "places",
    }


def test_what_one_trace_cannot_tell_has_no_distance(tmp_path: Path) -> None:
    blind = random_ios(1)
    blind.done = None
    one, other = (
        figures_of(write_trace(tmp_path / f"{n}.parquet", ios))
        for n, ios in enumerate((random_ios(0), blind))
    )
    unknown = {d.group for d in distances(one, other) if d.value is None}
    assert unknown == {"latency", "queue depth"}
