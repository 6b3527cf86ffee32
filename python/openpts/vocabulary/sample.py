"""What an engine measured in one step: counts, latencies by direction, intervals, gap, CPU."""

from dataclasses import dataclass
from enum import StrEnum

from openpts.units import NS_PER_S
from openpts.vocabulary.stimulus import Step

EncodedHistogram = bytes


class StepState(StrEnum):
    """How a step ended. Only complete steps enter a result."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class DirectionSample:
    """All reads, or all writes, of a step.

    Minimum, maximum and sum of the latencies are exact; ``histogram`` is the whole distribution in
    HdrHistogram V2 compressed encoding (unit ns, three significant digits). The extremes are None
    without an I/O.
    """

    ios: int
    bytes: int
    latency_sum_ns: int
    latency_min_ns: int | None
    latency_max_ns: int | None
    histogram: EncodedHistogram


@dataclass(frozen=True, slots=True)
class Interval:
    """Counts of one interval of a step; ``index`` counts whole intervals from the step's start."""

    index: int
    read_ios: int
    read_bytes: int
    read_latency_sum_ns: int
    read_latency_max_ns: int
    write_ios: int
    write_bytes: int
    write_latency_sum_ns: int
    write_latency_max_ns: int


@dataclass(frozen=True, slots=True)
class CpuShares:
    """How all processors of the host spent the step, in per cent of their capacity (PTS 2.1.4).

    ``process_ns`` is the processor time of openpts itself, kernel work on its behalf included.
    """

    user_pct: float
    sys_pct: float
    iowait_pct: float
    process_ns: int


@dataclass(frozen=True, slots=True)
class IoFailure:
    """The first I/O that failed: nothing after it counts."""

    direction: str
    offset_bytes: int
    length_bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of one step.

    ``started_ns`` is on the engine's own clock. ``elapsed_ns`` runs from the first submission to the
    last completion, so that every I/O that is counted lies inside. ``gap_ns`` is the time without
    any I/O between the last completion of the step before and the first submission of this one;
    None for the first step. ``interval_ns`` is the length of an interval.
    """

    step: Step
    state: StepState
    started_ns: int
    elapsed_ns: int
    gap_ns: int | None
    read: DirectionSample
    write: DirectionSample
    interval_ns: int
    intervals: tuple[Interval, ...]
    cpu: CpuShares | None
    failure: IoFailure | None

    @property
    def ios(self) -> int:
        """I/Os completed, both directions."""
        return self.read.ios + self.write.ios

    @property
    def bytes(self) -> int:
        """Bytes moved, both directions."""
        return self.read.bytes + self.write.bytes

    @property
    def iops(self) -> float:
        """I/Os completed per second."""
        return self.ios * NS_PER_S / self.elapsed_ns if self.elapsed_ns else 0.0

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Throughput, both directions together."""
        return self.bytes * NS_PER_S / self.elapsed_ns if self.elapsed_ns else 0.0

    @property
    def mean_latency_ns(self) -> float | None:
        """Average response time of all I/Os: the directions weigh by their counts."""
        if not self.ios:
            return None
        return (self.read.latency_sum_ns + self.write.latency_sum_ns) / self.ios

    @property
    def max_latency_ns(self) -> int | None:
        """Maximum response time: the larger of both directions, never a blend."""
        observed = [d.latency_max_ns for d in (self.read, self.write) if d.latency_max_ns is not None]
        return max(observed, default=None)
