"""The Rust data plane: latency histograms and the io_uring engine."""

import builtins
from typing import final

__all__ = [
    "Direction",
    "Engine",
    "Histogram",
    "StepResult",
    "StoppedError",
    "UnavailableError",
    "build_info",
]

class UnavailableError(OSError):
    """The kernel gives us no ring, or memory or threads are short."""

class StoppedError(RuntimeError):
    """The engine was stopped or an I/O failed: it runs no more programs."""

def build_info() -> dict[str, str]:
    """Version, build profile and processor architecture of the Rust module."""

@final
class Histogram:
    """A log-linear latency histogram: at most 0.1 % relative error per value, unit ns."""

    def __new__(cls) -> Histogram: ...
    @staticmethod
    def decode(encoded: bytes) -> Histogram:
        """Read HdrHistogram V2, compressed or not. Raises ValueError on bytes that are none."""

    def encode(self) -> bytes:
        """HdrHistogram V2 compressed encoding."""

    def record(self, value_ns: int, count: int = 1) -> None:
        """Count a latency ``count`` times."""

    def add(self, other: Histogram) -> None:
        """Merge another histogram into this one; counts add up, nothing is averaged."""

    @property
    def count(self) -> int:
        """Number of values recorded."""

    def value_at_percentile(self, percentile: float) -> int:
        """Smallest bucket's upper end that at least ``percentile`` % of values do not exceed; 0 if empty."""

    def buckets(self) -> list[tuple[int, int, int]]:
        """Non-empty buckets in ascending order: lowest and highest value (ns, inclusive) and count."""

@final
class Direction:
    """One direction of a step; minimum and maximum are None without an I/O."""

    ios: int
    bytes: int
    latency_sum_ns: int
    latency_min_ns: int | None
    latency_max_ns: int | None
    histogram: builtins.bytes

@final
class StepResult:
    """The result of one step; times are on the engine's clock.

    ``state`` is complete, interrupted or failed. ``intervals`` are tuples of I/Os, bytes, sum and
    maximum of latencies, first for reads, then for writes. ``cpu`` is user, system and I/O wait in
    per cent of all processors and the process's own time in ns. ``failure`` is direction, offset,
    length and reason of the first I/O that failed.
    """

    index: int
    state: str
    started_ns: int
    elapsed_ns: int
    gap_ns: int | None
    read: Direction
    write: Direction
    intervals: list[tuple[int, int, int, int, int, int, int, int]]
    cpu: tuple[float, float, float, int] | None
    failure: tuple[str, int, int, str] | None

@final
class Engine:
    """Warm threads with an io_uring each on one open target.

    Takes its own duplicate of ``descriptor``. The limits are those of the largest stimulus to come.
    Raises UnavailableError if no ring can be made, OSError if the descriptor is not open.
    """

    def __new__(
        cls,
        descriptor: int,
        *,
        capacity_bytes: int,
        sector_bytes: int,
        tc: int,
        qd: int,
        block_size_bytes: int,
        seed: int,
        interval_ns: int,
    ) -> Engine: ...
    def submit(self, program_json: str) -> None:
        """Queue steps; they begin at once if the engine is idle.

        Raises ValueError if a step makes no sense or breaks a limit, StoppedError after a failure.
        """

    def poll(self, timeout_s: float) -> StepResult | None:
        """Next finished step, or None after the time; other threads run meanwhile.

        Raises StoppedError when nothing more will come.
        """

    def progress(self) -> tuple[int, int, int, int]:
        """Steps begun, ns since the current one began, I/Os and bytes since the engine was made."""

    def stop(self) -> None:
        """End the step that runs and take no more; its result still comes."""

    def features(self) -> dict[str, bool]:
        """What the kernel gave the rings."""
