"""Traces whose blocks are used again in many ways, and the exact miss ratios of an LRU cache."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.unit.traces.characteristics.traces import Ios, figures_of, write_trace

N: Final = 150_000
Made = Callable[[np.random.Generator], np.ndarray]


def zipf(random: np.random.Generator, n: int, blocks: int, slope: float) -> np.ndarray:
    shares = np.cumsum(np.arange(1, blocks + 1.0) ** -slope)
    return np.searchsorted(shares, random.random(n) * shares[-1])


def either(random: np.random.Generator, share: float, some: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.where(random.random(N) < share, some, others)


KINDS: Final[dict[str, Made]] = {
    "zipf, slope 0.6": lambda random: zipf(random, N, 200_000, 0.6),
    "zipf, slope 0.9": lambda random: zipf(random, N, 200_000, 0.9),
    "zipf, slope 1.1": lambda random: zipf(random, 2 * N, 1_000_000, 1.1),
    "zipf, slope 1.25": lambda random: zipf(random, 6 * N, 4_000_000, 1.25),
    "uniform": lambda random: random.integers(0, 80_000, N),
    "scans of 2^16 blocks": lambda _: np.arange(N) % 65_536,
    "scans of 65,000 blocks": lambda _: np.arange(N) % 65_000,
    "there and back": lambda _: np.abs(np.arange(N) % 99_998 - 49_999),
    "written once": lambda _: np.arange(N),
    "three quarters to a tenth": lambda random: either(
        random, 0.75, random.integers(0, 12_000, N), random.integers(12_000, 120_000, N)
    ),
    "one block, a fifth": lambda random: either(random, 0.2, np.zeros(N, int), random.integers(1, 80_000, N)),
    "eight blocks, two fifths": lambda random: either(
        random, 0.4, random.integers(0, 8, N), random.integers(8, 90_000, N)
    ),
    "zipf beside scans": lambda random: either(
        random, 0.5, zipf(random, N, 100_000, 0.9), 1_000_000 + np.arange(N) // 2 % 35_000
    ),
    "phases": lambda random: np.arange(N) // 30_000 * 20_000 + random.integers(0, 20_000, N),
    "a window that moves": lambda random: np.arange(N) // 2 + random.integers(0, 3000, N),
    "runs of 32": lambda random: (
        np.repeat(random.integers(0, 3000, N // 32), 32) * 32 + np.tile(np.arange(32), N // 32)
    ),
    "a log beside 20,000 blocks": lambda random: either(
        random, 0.5, random.integers(0, 20_000, N), 1_000_000 + np.arange(N)
    ),
    "read again after 64": lambda _: np.where(
        np.arange(N) % 2 == 0, np.arange(N) // 2, np.maximum(0, np.arange(N) // 2 - 64)
    ),
}


def blocks_of(kind: str, seed: int) -> np.ndarray:
    """Of every seed other blocks, so that other ones are in the sample."""
    random = np.random.default_rng(seed)
    return KINDS[kind](random) + int(random.integers(0, 1 << 34))


def curve_of(blocks: np.ndarray, folder: Path) -> list[dict[str, Any]]:
    """Size in bytes, miss ratio and error of each point, as the program has them of a sample."""
    n = len(blocks)
    ios = Ios(np.arange(n) * 1000, blocks * 4096, np.full(n, 4096), np.zeros(n, bool))
    reuse = figures_of(write_trace(folder / "t.parquet", ios))["whole"]["reuse"]
    assert reuse["sampling_rate"] < 1
    curve: list[dict[str, Any]] = reuse["miss_ratio_curve"]
    return curve


def exact_miss_ratios(blocks: np.ndarray, sizes: list[int]) -> np.ndarray:
    """By the distinct blocks between two uses: uses in between, without those of a block that is used again.

    These are the uses before the second one whose own last use comes after the first one.
    """
    order = np.argsort(blocks, kind="stable")
    is_again = blocks[order][1:] == blocks[order][:-1]
    last = np.full(len(blocks), -1)
    last[order[1:][is_again]] = order[:-1][is_again]
    (again,) = np.nonzero(last >= 0)
    distances = again - last[again] - 1 - _greater_before(last[again])
    distances.sort()
    hits = np.searchsorted(distances, sizes, side="left")
    return 1 - hits / len(blocks)


def _greater_before(values: np.ndarray) -> np.ndarray:
    """Of each value, how many before it are greater: by merging halves."""
    length = 1 << max(1, len(values) - 1).bit_length()
    padded = np.full(length, -1)
    padded[: len(values)] = values
    found = np.zeros(length, int)
    apart = int(padded.max()) + 2  # of rows, so that all can be searched at once
    width = 1
    while width < length:
        rows = np.arange(length // (2 * width))[:, None]
        halves = padded.reshape(-1, 2 * width) + rows * apart
        left = np.sort(halves[:, :width]).ravel()
        smaller = np.searchsorted(left, halves[:, width:], side="right") - rows * width
        found.reshape(-1, 2 * width)[:, width:] += width - smaller
        width *= 2
    return found[: len(values)]
