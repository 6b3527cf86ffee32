"""Response times of one stimulus as a whole: the histogram, its percentiles and confidence levels.

PTS 9.2 step 3.3, 9.3.6.2, 10.2 step 2.4, 10.3.4. A confidence level is the share of the I/Os at or below a
response time (reading AMB-18 of openpts).
"""

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from msgspec import Struct

from openpts.analysis.figures import Figures
from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.vocabulary.sample import Measured, Sample

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
