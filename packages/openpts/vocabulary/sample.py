"""What an engine measured in one step, and the phase of the test that the step belongs to."""

from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from openpts.units import per_second
from openpts.vocabulary.replay import Played
from openpts.vocabulary.stimulus import Step

EncodedHistogram = bytes


class StepState(StrEnum):
    """How a step ended. Only complete steps enter a result."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


# Structs, since the record of a run holds hundreds of thousands of them; those without containers are
# none of the garbage collector's business.
class OperationSample(msgspec.Struct, frozen=True, gc=False):
    """All reads, or all writes, trims, flushes or fsyncs, of a step or of an interval.

    Minimum, maximum and sum of the latencies are exact; ``histogram`` is the whole distribution in
    HdrHistogram V2 compressed encoding (unit ns, three significant digits), empty without an I/O. The
    extremes are None without one.
    """

    ios: int
    bytes: int
    latency_sum_ns: int
    latency_min_ns: int | None
    latency_max_ns: int | None
    histogram: EncodedHistogram


NOTHING: Final = OperationSample(0, 0, 0, None, None, b"")


class CpuShares(msgspec.Struct, frozen=True, gc=False):
    """How all processors of the host spent the step, in per cent of their capacity (PTS 2.1.4).

    ``process_ns`` is the processor time of openpts itself, kernel work on its behalf included.
    """

    user_pct: float
    sys_pct: float
    iowait_pct: float
    process_ns: int


class IoFailure(Struct, frozen=True):
    """The first I/O that failed: nothing after it counts, unless the run continues over errors."""

    operation: str
    offset_bytes: int
    length_bytes: int
    reason: str


class IoErrors(Struct, frozen=True):
    """All I/Os of a step that failed alike, with the offsets of the first of them."""

    operation: str
    reason: str
    count: int
    first_offsets_bytes: tuple[int, ...]


class HostStall(msgspec.Struct, frozen=True, gc=False):
    """Time in which openpts itself did not run: stopped, frozen, or on a machine that was suspended.

    ``started_ns`` is on the engine's clock, good to a tenth of a second; ``lasted_ns`` is longer than what
    passed on that clock, where it stood still as well.
    """

    started_ns: int
    lasted_ns: int


class SlowIo(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An I/O that took longer than a limit, and what the thread that issued it knew of itself meanwhile.

    ``submitted_ns`` is on the engine's clock. In ``silence_ns``, the last part of its time, the thread had no
    other answer either; ``idle_ns`` is how long it had nothing outstanding before, None if it had.
    Of its time the thread had been due back from a wait and was not for ``absent_ns``, was in long stretches
    of its own code for ``own_ns``; it was ready to run and had no processor for ``waited_ns``, and ran for
    ``ran_ns``.
    ``interruptions`` are waits that a signal ended, as one does that stops the process. ``looks`` is how
    often the thread was there and the I/O was not answered.
    At looks the driver had at least ``least_at_driver`` I/Os of the device by the kernel's count, up to
    ``missing_at_driver`` fewer and ``foreign_at_driver`` more than the engine had outstanding. None: the
    kernel does not tell.
    """

    operation: str
    offset_bytes: int
    length_bytes: int
    submitted_ns: int
    latency_ns: int
    silence_ns: int
    idle_ns: int | None
    absent_ns: int
    own_ns: int
    waited_ns: int | None
    ran_ns: int | None
    interruptions: int
    looks: int
    least_at_driver: int | None
    missing_at_driver: int | None
    foreign_at_driver: int | None

    @property
    def answered_ns(self) -> int:
        """When it was seen to be answered, on the engine's clock."""
        return self.submitted_ns + self.latency_ns


DRIVE_ENERGY: Final = "drive_energy_j"
DRIVE_MEDIA_WRITES: Final = "drive_media_write_bytes"
DRIVE_HOST_WRITES: Final = "drive_host_write_bytes"
DRIVE_FREE_BLOCKS: Final = "drive_free_blocks_pct"


class Counted(msgspec.Struct, frozen=True, gc=False):
    """What a device counts of itself, ``after_ns`` from the start of a step.

    ``name`` is ``DRIVE_ENERGY``, ``DRIVE_MEDIA_WRITES`` or ``DRIVE_HOST_WRITES``: all that was drawn or
    written in steps so far, the host's also with I/Os that count in no step. ``DRIVE_FREE_BLOCKS`` is the
    share of a simulated drive's blocks that is free at that moment.
    """

    after_ns: int
    name: str
    value: float


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted and timed, by operation.

    Flushes and fsyncs move no data and are counted by themselves: the totals are those of reads, writes
    and trims.
    """

    read: OperationSample
    write: OperationSample
    trim: OperationSample = NOTHING
    flush: OperationSample = NOTHING
    fsync: OperationSample = NOTHING
    elapsed_ns: int
    cpu: CpuShares | None

    @property
    def operations(self) -> dict[str, OperationSample]:
        """All operations by name, also those without an I/O."""
        return {
            "read": self.read,
            "write": self.write,
            "trim": self.trim,
            "flush": self.flush,
            "fsync": self.fsync,
        }

    @property
    def transfers(self) -> tuple[OperationSample, ...]:
        """Reads, writes and trims."""
        return (self.read, self.write, self.trim)

    @property
    def ios(self) -> int:
        """I/Os completed."""
        return self.read.ios + self.write.ios + self.trim.ios

    @property
    def bytes(self) -> int:
        """Bytes moved or trimmed."""
        return self.read.bytes + self.write.bytes + self.trim.bytes

    @property
    def iops(self) -> float:
        """I/Os completed per second."""
        return per_second(self.ios, self.elapsed_ns)

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Throughput, all transfers together."""
        return per_second(self.bytes, self.elapsed_ns)

    @property
    def mean_latency_ns(self) -> float | None:
        """Average response time of all I/Os: the operations weigh by their counts.

        None without an I/O, and where a program whose results were imported states no response times.
        """
        total_ns = sum(operation.latency_sum_ns for operation in self.transfers)
        return total_ns / self.ios if self.ios and total_ns else None

    @property
    def min_latency_ns(self) -> int | None:
        """Minimum response time: the smallest of all operations."""
        observed = [o.latency_min_ns for o in self.transfers if o.latency_min_ns is not None]
        return min(observed, default=None)

    @property
    def max_latency_ns(self) -> int | None:
        """Maximum response time: the largest of all operations, never a blend."""
        observed = [o.latency_max_ns for o in self.transfers if o.latency_max_ns is not None]
        return max(observed, default=None)


class Interval(Measured, frozen=True, kw_only=True):
    """One interval of a step; ``index`` counts whole intervals from the step's start.

    I/Os count in the interval in which they complete. ``in_flight`` is the number outstanding when the
    interval ended; ``errors`` the number that failed in it. ``temperature_c`` is the device's own at the
    interval's end, ``throttled`` whether heat slowed it down in the interval; None where the engine can't
    tell. ``streams`` are the parts of several streams, in the step's order; empty where there is only one.
    """

    index: int
    in_flight: int
    errors: int
    temperature_c: float | None = None
    throttled: bool | None = None
    streams: tuple[Measured, ...] = ()


class StreamSample(Measured, frozen=True, kw_only=True):
    """What one of several streams of a step did. The parts of all add up to the step's own figures.

    ``ended_by`` names the rule that ended it, None where the step's did not let it come to its end.
    ``started_ns`` is its first submission, or the moment from which its I/Os were planned. ``slips`` is the
    distribution of how long after their planned moments, or after there was room among the outstanding ones,
    I/Os were submitted, encoded as latencies are: that is the host's time. It is empty where nothing was
    planned. ``errors`` is the number of I/Os that failed.
    """

    ended_by: str | None
    started_ns: int
    unissued: int = 0
    ios_by_block_size: tuple[int, ...] = ()
    ios_by_zone: tuple[int, ...] = ()
    slips: EncodedHistogram = b""
    errors: int = 0


class Sample(Measured, frozen=True, kw_only=True):
    """The result of one step.

    ``started_ns`` is on the engine's own clock. ``elapsed_ns`` runs from the first submission to the
    last completion, so that every I/O that is counted lies inside; that of an idle gap is its length.
    ``gap_ns`` is the time without any I/O between the last completion of the step before and the first
    submission of this one; None for the first step, and around an idle gap. ``interval_ns`` is the
    length of an interval. ``ended_by`` names the stop rule that ended a complete step. ``failure`` is
    the first I/O that failed, ``errors`` are all of them. ``unissued`` counts planned I/Os that found no
    room until the step's end: their wait is in no latency. ``ios_by_block_size`` and ``ios_by_zone``
    count the transfers of each size and zone, in the stimulus' order; empty where there is only one, or
    where the engine can't tell. ``slips`` is the distribution of how late planned I/Os were submitted.
    ``standstills`` are those in the step or in the gap before it: its figures
    are not the device's alone then. ``streams`` are the parts of several streams, in the step's order; empty
    where there is only one. ``carried`` is where each thread's offsets ended, in the engine's own
    form, for an engine that continues there; empty where none can. ``counted``: what a device reports to the
    engine itself, as simulated drives do. A record gives both out apart from its steps. ``played`` is how
    true each replay was. ``slow_ios`` are those that took longer than the limit that the run has, by time.
    """

    step: Step
    state: StepState
    ended_by: str | None
    started_ns: int
    gap_ns: int | None
    interval_ns: int
    intervals: tuple[Interval, ...]
    failure: IoFailure | None
    errors: tuple[IoErrors, ...] = ()
    unissued: int = 0
    ios_by_block_size: tuple[int, ...] = ()
    ios_by_zone: tuple[int, ...] = ()
    slips: EncodedHistogram = b""
    standstills: tuple[HostStall, ...] = ()
    streams: tuple[StreamSample, ...] = ()
    carried: str = ""
    played: tuple[Played, ...] = ()
    counted: tuple[Counted, ...] = ()
    slow_ios: tuple[SlowIo, ...] = ()

    @property
    def standstill_ns(self) -> int:
        """How long openpts did not run, all in all."""
        return sum(standstill.lasted_ns for standstill in self.standstills)


class Phase(StrEnum):
    """A phase of a test; ``number`` beside it in requests and record counts from 1 within the phase.

    WIPC: workload independent preconditioning (PTS 2.1.18 a).
    WDPC: continuous preconditioning with the test's own pattern; the number is that of the tracking round
    at whose end it is judged (11.2 step 3, 13.2 step 3, 14.2 step 2).
    ROUND: one pass through all test points (2.1.21).
    SATURATION: the continuous stimulus of WSAT, numbered as WDPC is (10.2 step 2.2).
    WAIT_STATE, RETURN_TO_BASELINE: numbered by the wait state's name: 1, 2, 3, 5, 10 (11.2 steps 4 to 8).
    ACCESS_GROUP: 1, 2, 3 (12.2 steps 2 to 4).
    ROUND_PREWRITE: the inter-round pre-write before the round of that number (13.2 step 4.2).
    HISTOGRAM_PREWRITE, HISTOGRAM: for response times; of CBW and DIRTH 1 is that of the maximum, 2 of the
    minimum, and from 3 on those between (13.2 steps 7 to 9).

    Of tests beyond the specification: CONDITIONING brings the drive into a state, PROFILE measures the
    figures of a benchmark in it, SWEEP varies one property of the stimulus, LOAD is a long stimulus, FILL
    writes the capacity once, BURST is a short stimulus between others, REST is idle, a DRIVE_CYCLE
    writes and reads the capacity once, and a LATER_READ reads what the drive cycle of its number wrote in an
    earlier run.
    """

    WIPC = "wipc"
    WDPC = "wdpc"
    ROUND = "round"
    SATURATION = "saturation"
    WAIT_STATE = "wait_state"
    RETURN_TO_BASELINE = "return_to_baseline"
    ACCESS_GROUP = "access_group"
    ROUND_PREWRITE = "round_prewrite"
    HISTOGRAM_PREWRITE = "histogram_prewrite"
    HISTOGRAM = "histogram"
    CONDITIONING = "conditioning"
    PROFILE = "profile"
    SWEEP = "sweep"
    LOAD = "load"
    FILL = "fill"
    BURST = "burst"
    REST = "rest"
    DRIVE_CYCLE = "drive_cycle"
    LATER_READ = "later_read"


_WORDS = {
    Phase.WIPC: "WIPC",
    Phase.WDPC: "preconditioning, tracking round {}",
    Phase.ROUND: "round {}",
    Phase.SATURATION: "saturation, tracking round {}",
    Phase.WAIT_STATE: "wait state {}",
    Phase.RETURN_TO_BASELINE: "return to baseline {}",
    Phase.ACCESS_GROUP: "access group {}",
    Phase.ROUND_PREWRITE: "pre-write of round {}",
    Phase.HISTOGRAM_PREWRITE: "pre-write of histogram {}",
    Phase.HISTOGRAM: "histogram {}",
    Phase.CONDITIONING: "conditioning {}",
    Phase.PROFILE: "profile {}",
    Phase.SWEEP: "sweep {}",
    Phase.LOAD: "load {}",
    Phase.FILL: "fill {}",
    Phase.BURST: "burst {}",
    Phase.REST: "rest {}",
    Phase.DRIVE_CYCLE: "drive cycle {}",
    Phase.LATER_READ: "later read of drive cycle {}",
}


def phase_text(phase: Phase, number: int, cycle: int = 1) -> str:
    """A phase and its number in words: ``round 3``, ``cycle 2, round 3``."""
    return (f"cycle {cycle}, " if cycle > 1 else "") + _WORDS[phase].format(number)


class StepPlace(Struct, frozen=True, order=True):
    """Where a step stands: ``cycle`` counts purges from 1, ``position`` from 0 within phase and number."""

    cycle: int
    phase: Phase
    number: int
    position: int

    def __str__(self) -> str:
        return f"{phase_text(self.phase, self.number, self.cycle)}, step {self.position + 1}"
