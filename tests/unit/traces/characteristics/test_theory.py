"""Figures of traces whose true values are known: by construction, or by theory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.transcript import Golden
from tests.unit.traces.characteristics.reused_blocks import KINDS, blocks_of, curve_of, exact_miss_ratios
from tests.unit.traces.characteristics.traces import Ios, figures_of, write_trace


def gaussian_noise(hurst: float, n: int, random: np.random.Generator) -> np.ndarray:
    """Fractional Gaussian noise, exactly, by circulant embedding (Davies and Harte)."""
    lags = np.arange(n + 1, dtype=float)
    powers = 2 * hurst
    covariance = ((lags + 1) ** powers - 2 * lags**powers + np.abs(lags - 1) ** powers) / 2
    row = np.concatenate([covariance, covariance[-2:0:-1]])
    eigenvalues = np.fft.fft(row).real.clip(0)
    m = len(row)
    noise = random.standard_normal(m) + 1j * random.standard_normal(m)
    return np.fft.fft(np.sqrt(eigenvalues / m) * noise).real[:n]


def trace_of_counts(counts: np.ndarray, width_ns: int) -> Ios:
    """So many I/Os in each bin, evenly apart."""
    at = np.concatenate([n * width_ns + np.arange(c) * width_ns // c for n, c in enumerate(counts) if c])
    n = len(at)
    return Ios(at - at[0], np.zeros(n, np.int64), np.full(n, 4096), np.zeros(n, bool))


@pytest.mark.parametrize("hurst", [0.5, 0.7, 0.9])
def test_the_hurst_parameter_of_fractional_gaussian_noise(hurst: float, tmp_path: Path) -> None:
    random = np.random.default_rng(int(hurst * 10))
    counts = np.rint(8 + 2.5 * gaussian_noise(hurst, 1 << 15, random)).clip(0).astype(int)
    shown = figures_of(write_trace(tmp_path / "t.parquet", trace_of_counts(counts, 1 << 20)))["whole"][
        "rates"
    ]["hurst"]
    tolerance = {"wavelet": 0.04, "aggregated_variance": 0.08, "rescaled_range": 0.12}
    for name, within in tolerance.items():
        assert shown[name]["h"] == pytest.approx(hurst, abs=within), name
        assert shown[name]["low"] < shown[name]["h"] < shown[name]["high"]
    assert shown["wavelet"]["low"] - 0.02 < hurst < shown["wavelet"]["high"] + 0.02


def test_a_short_trace_has_no_hurst_parameter(tmp_path: Path, golden: Golden) -> None:
    counts = np.random.default_rng(1).poisson(3, 1000)
    shown = figures_of(write_trace(tmp_path / "t.parquet", trace_of_counts(counts, 1 << 20)))["whole"][
        "rates"
    ]["hurst"]
    assert shown["reason"] == golden


def test_the_dispersion_of_a_poisson_process_is_one(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    at = np.cumsum(random.exponential(10_000, 200_000)).astype(np.int64)
    ios = Ios(at - at[0], np.zeros(len(at), np.int64), np.full(len(at), 4096), np.zeros(len(at), bool))
    rates = figures_of(write_trace(tmp_path / "t.parquet", ios))["whole"]["rates"]
    fine = [value for _, value in rates["dispersion"][:8]]
    assert fine == pytest.approx([1] * 8, abs=0.2)


@pytest.mark.parametrize("slope", [0.6, 1.0])
def test_the_slope_of_blocks_with_accesses_by_zipf(slope: float, tmp_path: Path) -> None:
    counts = np.maximum(1, np.rint(2000 * np.arange(1, 301.0) ** -slope)).astype(int)
    block = np.random.default_rng(1).permutation(np.repeat(np.arange(300), counts))
    n = len(block)
    ios = Ios(np.arange(n) * 1000, block * 4096, np.full(n, 4096), np.zeros(n, bool))
    zipf = figures_of(write_trace(tmp_path / "t.parquet", ios))["whole"]["blocks"]["heat"]["read"]["zipf"]
    assert zipf["slope"] == pytest.approx(-slope, abs=0.01)
    assert zipf["r2"] > 0.999


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_the_depth_of_a_queue_with_one_server_is_that_of_theory(load: float, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    n, service_ns = 100_000, 10_000
    at = np.cumsum(random.exponential(service_ns / load, n))
    service = random.exponential(service_ns, n)
    done = np.empty(n)
    free = 0.0
    for i in range(n):
        free = max(free, at[i]) + service[i]
        done[i] = free
    issued, completed = at.astype(np.int64), done.astype(np.int64)
    ios = Ios(
        issued - issued[0], np.zeros(n, np.int64), np.full(n, 4096), np.zeros(n, bool), completed - issued[0]
    )
    shown = figures_of(write_trace(tmp_path / "t.parquet", ios))["whole"]["completions"]
    assert shown["queue_depth"]["all"]["mean"] == pytest.approx(load / (1 - load), rel=0.08)
    assert shown["busy_ns"] / shown["span_ns"] == pytest.approx(load, rel=0.02)
    # arrivals of a Poisson process see what time averages see
    assert shown["queue_depth"]["all"]["at_arrival"]["mean"] == pytest.approx(load / (1 - load), rel=0.08)
    latency = shown["latency"]["read"]["all"]
    assert latency["mean"] == pytest.approx(service_ns / (1 - load), rel=0.08)


def blocks_by_zipf(n: int, blocks: int, seed: int) -> Ios:
    """Accesses to many blocks, some of them very hot, a third of them writes."""
    random = np.random.default_rng(seed)
    shares = np.arange(1, blocks + 1.0) ** -0.9
    rank = np.searchsorted(np.cumsum(shares) / shares.sum(), random.random(n))
    place = (rank * 2_654_435_761) % (blocks * 4)
    at = np.cumsum(random.integers(0, 2000, n))
    return Ios(at - at[0], place * 4096, np.full(n, 4096), random.random(n) < 0.33)


def exact_spatial(ios: Ios) -> dict[str, Any]:
    block = ios.offset // 4096
    names, counts = np.unique(block, return_counts=True)
    falling = np.sort(counts)[::-1]
    return {
        "touched": len(names),
        "written": len(np.unique(block[ios.write])),
        "hottest": [
            falling[: max(1, round(len(falling) * pct / 100))].sum() / falling.sum() for pct in (1, 5, 20)
        ],
    }


@pytest.mark.parametrize("blocks", [3, 40, 5000])
def test_exact_miss_ratios_are_those_of_a_stack(blocks: int) -> None:
    used = np.random.default_rng(blocks).integers(0, blocks, 2000)
    stack: list[int] = []
    distances: list[float] = []
    for block in used.tolist():
        distances.append(stack.index(block) if block in stack else np.inf)
        stack = [block, *(other for other in stack if other != block)]
    sizes = [1 << octave for octave in range(13)]
    exact = [np.mean(np.array(distances) >= size) for size in sizes]
    assert exact_miss_ratios(used, sizes) == pytest.approx(np.array(exact))


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("kind", KINDS)
def test_the_error_of_sampled_miss_ratios_covers_the_exact_ones(kind: str, tmp_path: Path) -> None:
    errors, printed = [], []
    for seed in (1, 2):
        blocks = blocks_of(kind, seed)
        curve = curve_of(blocks, tmp_path)
        exact = exact_miss_ratios(blocks, [point["cache_bytes"] // 4096 for point in curve])
        errors += [abs(point["miss_ratio"] - true) for point, true in zip(curve, exact, strict=True)]
        printed += [point["error"] for point in curve]
    assert np.mean(np.array(errors) <= np.array(printed) + 1e-9) >= 0.95
    # an error that covers everything would say nothing
    assert np.mean(printed) < 0.2
    assert np.mean(errors) < 0.04


@pytest.mark.slow
def test_figures_of_a_sample_are_within_their_error_on_ten_million_ios(tmp_path: Path) -> None:
    ios = blocks_by_zipf(10_000_000, 12_000_000, 9)
    shown = figures_of(write_trace(tmp_path / "t.parquet", ios))["whole"]["blocks"]
    exact = exact_spatial(ios)
    assert shown["sampling_rate"] < 1
    for name in ("touched", "written"):
        found = shown["footprint"][name]
        assert found["bytes"] / 4096 == pytest.approx(exact[name], rel=2 * found["relative_error"])
    for found, true in zip(shown["heat"]["all"]["hottest"], exact["hottest"], strict=True):
        assert abs(found["share"] - true) < 2 * found["error"] + 0.01
