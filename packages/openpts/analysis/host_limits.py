"""Whether the host, and not the drive, limited a step: late planned I/Os, processors that were full."""

from typing import Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.units import NS_PER_US
from openpts.vocabulary.sample import Measured, Sample, StreamSample

LEAST_LATE_NS: Final = 100 * NS_PER_US
"""Timers of an idle host wake a thread within some 50 us: what is no later says nothing."""

LATE_PART_OF_MEAN: Final = 10
"""An I/O is late by more than a tenth of the mean latency, of which its wait is a part."""

MOST_LATE_SHARE: Final = 0.01
"""With more late I/Os than that, the 99th percentile of the latency is the host's."""

FULL_PCT: Final = 95.0
"""Busy time of the processors, or of a step's threads, from which on there was none left."""


class Lateness(Struct, frozen=True):
    """How late the planned I/Os of a step or a stream were submitted.

    ``late`` of the ``ios`` were late by more than ``bound_ns``. Waiting for room among the outstanding I/Os
    is the drive's time, and no part of it.
    """

    ios: int
    late: int
    bound_ns: int
    slips: LatencyDistribution

    @property
    def late_share(self) -> float:
        """Of the planned I/Os that were submitted."""
        return self.late / self.ios

    @property
    def limits(self) -> bool:
        """Whether so many were late that the figures are not the drive's alone."""
        return self.late_share > MOST_LATE_SHARE


def lateness(part: Sample | StreamSample) -> Lateness | None:
    """None where nothing was planned, or where the engine has no host that could be late."""
    if not part.slips:
        return None
    slips = LatencyDistribution.merged([part.slips])
    bound_ns = max(LEAST_LATE_NS, round(part.mean_latency_ns or 0) // LATE_PART_OF_MEAN)
    late = sum(count for least_ns, _, count in slips.buckets() if least_ns > bound_ns)
    return Lateness(slips.count, late, bound_ns, slips)


def late_streams(sample: Sample) -> tuple[tuple[int, Lateness], ...]:
    """The streams whose figures late I/Os limit, by their positions in the step."""
    parts: tuple[Sample | StreamSample, ...] = sample.streams or (sample,)
    found = ((number, lateness(part)) for number, part in enumerate(parts))
    return tuple((number, late) for number, late in found if late is not None and late.limits)


def busy_pct(measured: Measured) -> float | None:
    """Time of all processors of the host that was spent in programs and the kernel; None where not read."""
    return None if measured.cpu is None else measured.cpu.user_pct + measured.cpu.sys_pct


def threads_busy_pct(sample: Sample) -> float | None:
    """Processor time of openpts per thread of the step; None where not read, and in an idle gap."""
    threads = sum(stimulus.tc for stimulus in sample.step.stimuli)
    if sample.cpu is None or not threads or not sample.elapsed_ns:
        return None
    return 100 * sample.cpu.process_ns / (sample.elapsed_ns * threads)


def limited_by_host(sample: Sample) -> bool:
    """Whether figures of the step are to be marked."""
    return bool(late_streams(sample)) or processors_full(sample)


def processors_full(sample: Sample) -> bool:
    """Whether the host's processors, or each thread of the step, had no time left."""
    shares = (busy_pct(sample), threads_busy_pct(sample))
    return any(share is not None and share >= FULL_PCT for share in shares)
