"""Percentiles of response times, with the rule that N nines need 10^N I/Os (PTS 9.2 step 3.3.3)."""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final, Self

from openpts._native import Histogram

BUCKET_WIDTH: Final = 1 / 1024
"""A bucket with three significant digits is at most so wide, as a part of its upper end."""


class LatencyDistribution:
    """Whole distribution of the latencies of one or more histograms, merged (never averaged)."""

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram

    @classmethod
    def merged(cls, encoded: Iterable[bytes]) -> Self:
        """Merge histograms in HdrHistogram V2 encoding; none gives an empty distribution."""
        total = Histogram()
        for histogram in encoded:
            # Up to half of reading distributions of intervals: each has thousands of buckets, and all at
            # once would be larger than memory, so that each is decoded where it is needed.
            total.add(Histogram.decode(histogram))
        return cls(total)

    def add(self, other: Self) -> None:
        """Merge another one into it."""
        self._histogram.add(other._histogram)

    def encode(self) -> bytes:
        """In HdrHistogram V2 encoding; empty without an I/O."""
        return self._histogram.encode() if self.count else b""

    @property
    def count(self) -> int:
        """Number of I/Os."""
        return self._histogram.count

    def percentile_ns(self, percentile: float) -> int | None:
        """Response time that ``percentile`` % of the I/Os do not exceed; None without an I/O."""
        return self._histogram.value_at_percentile(percentile) if self.count else None

    def supports(self, percentile: float) -> bool:
        """Whether there are enough I/Os to state this percentile: 10^N for N nines."""
        return self.count >= ios_needed(percentile)

    def bounds(self) -> tuple[int, int, int, int, int, int] | None:
        """Minimum, maximum and sum (ns): the least and the most that each can be; None without an I/O."""
        return self._histogram.bounds()

    @property
    def middle_sum_ns(self) -> float:
        """The sum as if each I/O took as long as the middle of its bucket: its bounds are off to one side."""
        bounds = self.bounds()
        return (bounds[4] + bounds[5]) / 2 if bounds else 0.0

    def counts_up_to(self, limits_ns: Sequence[float]) -> list[int]:
        """For each limit, which ascend, the I/Os in buckets that end at or below it (ns)."""
        return self._histogram.counts_up_to(limits_ns)

    def buckets(self) -> list[tuple[int, int, int]]:
        """Non-empty buckets in ascending order: lowest and highest latency (ns, inclusive) and count."""
        return self._histogram.buckets()


def encode_counts(counts: Iterable[tuple[int, int]]) -> bytes:
    """The histogram of (latency in ns, number of I/Os) pairs in HdrHistogram V2 encoding; empty for none."""
    histogram = Histogram()
    for latency_ns, ios in counts:
        histogram.record(latency_ns, ios)
    return histogram.encode() if histogram.count else b""


def ios_needed(percentile: float) -> int:
    """I/Os without which a percentile can't be stated: 100,000 for 99.999 %, that is 1 / (1 - p)."""
    # Through its decimal text: 100 - 99.9999999 in binary is off by enough to ask for 60 I/Os more.
    return math.ceil(100 / (100 - Decimal(repr(percentile))))
