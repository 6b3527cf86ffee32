"""The Rust data plane: latency histograms and the io_uring engine."""

from typing import final

def build_info() -> dict[str, str]:
    """Version, build profile, target and compiler of the Rust module."""

@final
class Histogram:
    """A log-linear latency histogram: at most 0.1 % relative error per value, unit ns."""

    def __init__(self) -> None: ...
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
