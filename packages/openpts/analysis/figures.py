"""Counts, rates and response times of some operations together, as a display or a table shows them."""

from collections.abc import Iterable
from typing import Self

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.units import per_second
from openpts.vocabulary.sample import Measured, OperationSample


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
