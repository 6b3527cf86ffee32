"""Percentiles, histogram and confidence levels of response times; counts and rates beside them."""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Final, Self

from msgspec import Struct

from openpts._native import Histogram
from openpts.units import per_second
from openpts.vocabulary.sample import Measured, OperationSample, Sample

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


class Figures(Struct, frozen=True):
    """Counts, rates and response times of a step or an interval."""

    ios: int
    bytes: int
    elapsed_ns: int
    latency_sum_ns: int
    min_latency_ns: int | None
    max_latency_ns: int | None
    distribution: LatencyDistribution

    @classmethod
    def of(cls, operations: Iterable[OperationSample], elapsed_ns: int) -> Self:
        """All these operations as one."""
        some = [operation for operation in operations if operation.ios]
        least = [o.latency_min_ns for o in some if o.latency_min_ns is not None]
        most = [o.latency_max_ns for o in some if o.latency_max_ns is not None]
        return cls(
            ios=sum(operation.ios for operation in some),
            bytes=sum(operation.bytes for operation in some),
            elapsed_ns=elapsed_ns,
            latency_sum_ns=sum(operation.latency_sum_ns for operation in some),
            min_latency_ns=min(least, default=None),
            max_latency_ns=max(most, default=None),
            distribution=LatencyDistribution.merged(o.histogram for o in some if o.histogram),
        )

    @property
    def iops(self) -> float:
        """I/Os per second."""
        return per_second(self.ios, self.elapsed_ns)

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Throughput."""
        return per_second(self.bytes, self.elapsed_ns)

    @property
    def mean_latency_ns(self) -> float | None:
        """Average response time; None without an I/O, and where imported results state none."""
        return self.latency_sum_ns / self.ios if self.ios and self.latency_sum_ns else None

    def percentile_ns(self, percentile: float) -> int | None:
        """A percentile of the response time; None where there are too few I/Os to state it.

        The distribution knows the upper end of a bucket, which may lie above the exact maximum.
        """
        if not self.distribution.supports(percentile):
            return None
        bucket_end_ns = self.distribution.percentile_ns(percentile)
        observed = (value for value in (bucket_end_ns, self.max_latency_ns) if value is not None)
        return min(observed, default=None)


def counted(measured: Measured) -> tuple[OperationSample, ...]:
    """The operations that make up a total: transfers, or flushes and fsyncs where there is nothing else."""
    some = any(operation.ios for operation in measured.transfers)
    return measured.transfers if some else tuple(measured.operations.values())


BINS_PER_DECADE: Final = 20


class Bin(Struct, frozen=True):
    """I/Os with a response time above ``low_ns`` and up to ``high_ns``; ``level_pct`` is the share of all
    I/Os up to ``high_ns``.
    """

    low_ns: float
    high_ns: float
    ios: int
    level_pct: float


class ResponseTimes(Figures, frozen=True, dict=True):
    """The results of a stimulus of one or several steps.

    ``ios`` and ``elapsed_ns`` are those of the steps together. ``distribution`` holds the I/Os whose response
    time is recorded: all of them, but on a simulated drive with a scale only those that were simulated.
    """

    @cached_property
    def bins(self) -> tuple[Bin, ...]:
        """The histogram as it is plotted."""
        return log_bins(self.distribution, self.max_latency_ns)

    @property
    def recorded_ios(self) -> int:
        """I/Os in the histogram: they decide which percentiles can be stated."""
        return self.distribution.count

    def level_pct(self, latency_ns: float) -> float | None:
        """The confidence level of a response time: per cent of the I/Os that do not exceed it.

        A bucket of the histogram counts if it lies at or below the response time as a whole.
        """
        if not self.recorded_ios:
            return None
        if self.max_latency_ns is not None and latency_ns >= self.max_latency_ns:
            return 100.0
        (below,) = self.distribution.counts_up_to([latency_ns])
        return 100 * below / self.recorded_ios


def nines_percentile(nines: int) -> float:
    """The percentile of so many nines: 3 is 99.9."""
    return float(f"99.{'9' * (nines - 2)}") if nines >= 2 else 90.0


def nines_supported(ios: int) -> int:
    """The most nines that so many I/Os suffice for: 10^N for N."""
    return len(str(ios)) - 1 if ios > 0 else 0


def recorded_ios(sample: Sample) -> int:
    """I/Os of a step that are in its histograms; all of them where it has none, as in a plan."""
    encoded = [operation.histogram for operation in sample.transfers if operation.histogram]
    return LatencyDistribution.merged(encoded).count if encoded else sample.ios


def response_times(samples: Sequence[Measured]) -> ResponseTimes:
    """All steps of a stimulus together, their histograms merged."""
    transfers = (operation for sample in samples for operation in sample.transfers)
    return ResponseTimes.of(transfers, sum(sample.elapsed_ns for sample in samples))


def log_bins(
    distribution: LatencyDistribution, largest_ns: int | None = None, per_decade: int = BINS_PER_DECADE
) -> tuple[Bin, ...]:
    """The I/Os in bins of equal width on a logarithmic scale, without a break.

    A bucket belongs to the bin in which its upper end lies, so that a level never claims an I/O that may be
    slower; ``largest_ns`` is the exact maximum, which the last bucket's end can exceed. The last bin reaches
    at least that far.
    """
    bounds = distribution.bounds()
    if bounds is None:
        return ()
    first_ns, last_ns = bounds[1], bounds[3]
    if largest_ns is not None:
        first_ns, last_ns = min(first_ns, largest_ns), min(last_ns, largest_ns)
    first, last = (_bin_number(max(1, end_ns), per_decade) for end_ns in (first_ns, last_ns))
    edges_ns = [_edge_ns(number, per_decade) for number in range(first - 1, last + 1)]
    # the last bucket may end beyond the exact maximum, and with that beyond the last edge
    levels = [*distribution.counts_up_to(edges_ns[1:-1]), distribution.count]
    return tuple(
        Bin(low_ns=low_ns, high_ns=high_ns, ios=level - below, level_pct=100 * level / distribution.count)
        for (low_ns, high_ns), (below, level) in zip(pairwise(edges_ns), pairwise([0, *levels]), strict=True)
    )


def enough_for(ios: int, nines: int) -> bool:
    """Whether so many I/Os suffice for so many nines."""
    return ios >= ios_needed(nines_percentile(nines))


def _edge_ns(number: int, per_decade: int) -> float:
    return float(10.0 ** (number / per_decade))


def _bin_number(latency_ns: int, per_decade: int) -> int:
    """The bin whose upper edge is the first at or above the latency."""
    guess = math.ceil(per_decade * math.log10(latency_ns))
    near = (guess - 1, guess, guess + 1)  # the logarithm of a latency at an edge may be off by a rounding
    return next(number for number in near if _edge_ns(number, per_decade) >= latency_ns)
