"""What is known of the benchmarks, from the tools' sources, pages and reviews.

A row is order, KiB, queue depth of a thread, threads.
"""

from dataclasses import dataclass
from typing import Final

from openpts.units import GIB, KIB, MIB


@dataclass(frozen=True)
class Known:
    """The definition of a benchmark; lengths in s. None is what was not published."""

    rows: tuple[tuple[str, float, int, int], ...]
    mixes: tuple[int, ...] = (100, 0)
    span_bytes: int = GIB
    passes: int | None = None
    warm_up_s: float = 0
    pass_s: float | None = None
    pause_s: float | None = None
    statistic: str | None = None
    units: tuple[str, ...] = ("MB/s",)
    confirmed: bool = True


_SEQ1M_Q8 = ("SEQ", 1024, 8, 1)
_SEQ1M_Q1 = ("SEQ", 1024, 1, 1)
_SEQ128K_Q32 = ("SEQ", 128, 32, 1)
_RND4K_Q32 = ("RND", 4, 32, 1)
_RND4K_Q32T16 = ("RND", 4, 32, 16)
_RND4K_Q1 = ("RND", 4, 1, 1)
_DEFAULT = (_SEQ1M_Q8, _SEQ1M_Q1, _RND4K_Q32, _RND4K_Q1)
_NVME = (_SEQ1M_Q8, _SEQ128K_Q32, _RND4K_Q32T16, _RND4K_Q1)
_PEAK = (_SEQ1M_Q8, _RND4K_Q32)
_PEAK_NVME = (_SEQ1M_Q8, _RND4K_Q32T16)
_REAL_WORLD = (_SEQ1M_Q1, _RND4K_Q1)
_THREE = ("MB/s", "IOPS", "us")


def _crystal(
    rows: tuple[tuple[str, float, int, int], ...],
    *,
    mixes: tuple[int, ...] = (100, 0),
    pass_s: float = 5,
    pause_s: float = 5,
    units: tuple[str, ...] = ("MB/s",),
) -> Known:
    return Known(
        rows,
        mixes=mixes,
        passes=3,
        warm_up_s=5,
        pass_s=pass_s,
        pause_s=pause_s,
        statistic="best",
        units=units,
    )


def _kdisk(
    rows: tuple[tuple[str, float, int, int], ...], statistic: str, units: tuple[str, ...] = ("MB/s",)
) -> Known:
    return Known(rows, passes=5, pass_s=5, pause_s=5, statistic=statistic, units=units)


KNOWN: Final = {
    # preset, test count 3, 1 GiB, 5 s each, 5 s between, run 0 thrown away, the best counts
    "crystaldiskmark": _crystal(_DEFAULT),
    "crystaldiskmark-nvme": _crystal(_NVME),
    "crystaldiskmark-flash": _crystal(_DEFAULT, pass_s=1, pause_s=30),
    "crystaldiskmark-peak": _crystal(_PEAK, units=_THREE),
    "crystaldiskmark-peak-nvme": _crystal(_PEAK_NVME, units=_THREE),
    "crystaldiskmark-real-world": _crystal(_REAL_WORLD, units=_THREE),
    "crystaldiskmark-demo": _crystal((_SEQ1M_Q8,)),
    "crystaldiskmark-mix": _crystal(_DEFAULT, mixes=(100, 0, 70)),
    # loops 5, the mean in Default, the best in the others; no warm-up
    "kdiskmark": _kdisk(_DEFAULT, "mean"),
    "kdiskmark-nvme": _kdisk(_NVME, "mean"),
    "kdiskmark-peak": _kdisk(_PEAK, "best", _THREE),
    "kdiskmark-peak-nvme": _kdisk(_PEAK_NVME, "best", _THREE),
    "kdiskmark-real-world": _kdisk(_REAL_WORLD, "best", _THREE),
}
"""Benchmarks whose rows are the same in each direction, one direction after the other."""

ATTO_KIB: Final = tuple(2.0**n for n in range(-1, 17))
"""0.5 KB to 64 MB, doubled."""

IOMETER_MIXES: Final = {
    ("SEQ", 0.5): (100, 75, 50, 25, 0),
    ("SEQ", 4.0): (100, 75, 50, 25, 0),
    ("SEQ", 16.0): (100, 75, 50, 25, 0),
    ("SEQ", 32.0): (100, 75, 50, 25, 0),
    ("SEQ", 64.0): (100, 50, 0),
    ("SEQ", 256.0): (100, 50, 0),
    ("RND", 4.0): (100, 50, 0),
}
"""The specifications that Iometer 1.1.0 makes by itself."""

FILE_SERVER: Final = {
    512: 10,
    KIB: 5,
    2 * KIB: 5,
    4 * KIB: 60,
    8 * KIB: 2,
    16 * KIB: 4,
    32 * KIB: 4,
    64 * KIB: 10,
}
"""Sizes and their shares: fio's example after Iometer's File Server."""

ATTO_FILE_BYTES: Final = 256 * MIB
GUIDE_FILE_BYTES: Final = (2_097_152 * 512, 16_777_216 * 512)
"""Smallest and largest test file of the guide, in its own sectors."""
