"""One cell of a results matrix: a test point over the rounds of the measurement window (PTS 7.3.6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Final

from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.analysis.response_times import response_times
from openpts.analysis.rounds import RoundsMean
from openpts.procedures.kit.steps import Metric
from openpts.units import NS_PER_MS
from openpts.vocabulary.sample import Sample

TAIL_PERCENTILE: Final = 99.999


@dataclass(frozen=True, slots=True)
class Tail:
    """The 99.999 % response time of a cell (PTS 7.3.6.4; reading AMB-16 of openpts).

    ``mean_of_rounds_ns`` is the mean of the rounds' percentiles, None unless every round has the
    100,000 I/Os that five nines need. ``merged_ns`` is the percentile of all rounds' I/Os together,
    None with fewer. ``fewest_ios`` is the smallest round's count, ``merged_ios`` that of all rounds: of I/Os
    whose response time is recorded, which on a simulated drive with a scale are fewer than the nominal ones.
    """

    mean_of_rounds_ns: float | None
    merged_ns: int | None
    fewest_ios: int
    merged_ios: int


class MatrixCell(RoundsMean):
    """A test point over the window, as the results matrix has it."""

    @cached_property
    def tail(self) -> Tail:
        """99.999 % response time."""
        return _tail(self.samples)

    @property
    def deviations_pct(self) -> tuple[float, ...]:
        """Each round's distance from the mean, in per cent of the mean."""
        return tuple(100 * (value / self.iops - 1) if self.iops else 0.0 for value in self.iops_by_round)

    @property
    def range_pct(self) -> float:
        """Maximum minus minimum of the rounds, in per cent of the mean."""
        return max(self.deviations_pct) - min(self.deviations_pct)


MINIMUM: Final = Metric[MatrixCell](
    "min_ms", "Minimum (ms)", "ms", lambda cell: cell.min_latency_ns, NS_PER_MS, None, "no I/O timed"
)
TAIL: Final = Metric[MatrixCell](
    "p99_999_ms", "99.999 % (ms)", "ms", lambda cell: cell.tail.mean_of_rounds_ns, NS_PER_MS, None
)


def _tail(samples: Sequence[Sample]) -> Tail:
    counts = [response_times([sample]).recorded_ios for sample in samples]
    needed = ios_needed(TAIL_PERCENTILE)
    mean: float | None = None
    if min(counts) >= needed:
        mean = fmean(_percentile_ns([sample]) for sample in samples)
    return Tail(
        mean_of_rounds_ns=mean,
        merged_ns=_percentile_ns(samples) if sum(counts) >= needed else None,
        fewest_ios=min(counts),
        merged_ios=sum(counts),
    )


def _percentile_ns(samples: Sequence[Sample]) -> int:
    """The tail of these samples' I/Os together; a bucket's upper end can't exceed the exact maximum."""
    distribution = LatencyDistribution.merged(
        operation.histogram for sample in samples for operation in sample.transfers if operation.ios
    )
    percentile_ns = distribution.percentile_ns(TAIL_PERCENTILE) or 0
    return min(percentile_ns, max(sample.max_latency_ns or 0 for sample in samples))
