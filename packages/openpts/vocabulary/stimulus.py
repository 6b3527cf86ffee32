"""What is issued to the device, where, with which data, and what ends a step (PTS 2.1, 6).

Rates hold for all threads together. Where arrivals are planned (fixed rate, Poisson, burst) the loop is open:
latency counts from the planned moment, so that a device that falls behind cannot hide it.
"""

import math
from enum import StrEnum
from functools import cache
from typing import Final, Self

from msgspec import UNSET, Struct, UnsetType

from openpts.units import NS_PER_S, format_block_size
from openpts.vocabulary.replay import Replay


class RandomData(Struct, frozen=True, tag="random"):
    """Random bytes, fresh for every write; what the specification requires."""


class RandomOnce(Struct, frozen=True, tag="random_once"):
    """Random bytes, made once for each buffer and written again and again."""


class ZeroData(Struct, frozen=True, tag="zero"):
    """Zero bytes."""


class PatternData(Struct, frozen=True, tag="pattern"):
    """``pattern`` again and again, from the first byte of each write on."""

    pattern: bytes


class ReducibleData(Struct, frozen=True, tag="reducible"):
    """Granules of ``entropy_pct`` of the entropy of random bytes; ``duplicate_pct`` of them are copies."""

    entropy_pct: float
    duplicate_pct: float = 0
    granule_bytes: int = 4096


class VerifiedData(Struct, frozen=True, tag="verified"):
    """Every sector has LBA, generation and checksum; reads are verified against this generation."""

    generation: int


DataPattern = RandomData | RandomOnce | ZeroData | PatternData | ReducibleData | VerifiedData


class DataCheck(Struct, frozen=True):
    """A data pattern, and what is left of a sample of it, in per cent of its bytes.

    ``compressed_pct`` if each piece is compressed by itself; ``distinct_pct`` if each is kept once. ``how``
    names what made the sample and what compressed it. ``sampled_bytes`` is 0 where no bytes are made, as on a
    simulated drive: then the shares are what the model is given.
    """

    data: DataPattern
    compressed_pct: float
    distinct_pct: float
    sampled_bytes: int
    how: str


class Uniform(Struct, frozen=True, tag="uniform"):
    """Anywhere, with equal probability."""


class Zone(Struct, frozen=True):
    """An access range: it gets ``weight`` of all zones' weights and is ``range_pct`` of the active range."""

    weight: int
    range_pct: float


class Zones(Struct, frozen=True, tag="zones"):
    """Access ranges one behind the other from the start of the active range, uniform inside each."""

    zones: tuple[Zone, ...]


class Zipf(Struct, frozen=True, tag="zipf"):
    """The place of rank r is accessed in proportion to r ** -theta; ranks are scattered over the range."""

    theta: float


class Pareto(Struct, frozen=True, tag="pareto"):
    """A share ``h`` of the places, below 0.5, gets a share ``1 - h`` of the accesses; self-similar."""

    h: float


class Normal(Struct, frozen=True, tag="normal"):
    """Around a hot spot; middle and standard deviation in per cent of the active range."""

    mean_pct: float
    deviation_pct: float


class Segments(Struct, frozen=True, tag="segments"):
    """Uniform over equally sized LBA segments that are spread at random over the range (PTS 6(5))."""

    count: int
    segment_bytes: int


class UniqueLbas(Struct, frozen=True, tag="unique_lbas"):
    """Uniform over a fixed random choice of places: the active range amount (PTS 6(4))."""

    amount_bytes: int


Placement = Uniform | Zones | Zipf | Pareto | Normal | Segments | UniqueLbas


class Duration(Struct, frozen=True, tag="duration"):
    """After this much time."""

    duration_ns: int

    @classmethod
    def seconds(cls, seconds: float) -> Self:
        """A duration from seconds, rounded to the nanosecond."""
        return cls(round(seconds * NS_PER_S))


class ByteAmount(Struct, frozen=True, tag="byte_amount"):
    """After this many bytes were transferred, over all threads together."""

    amount_bytes: int


class DriveFills(Struct, frozen=True, tag="drive_fills"):
    """After this many times the user capacity was transferred, over all threads together."""

    fills: float


class IoCount(Struct, frozen=True, tag="io_count"):
    """After this many I/Os, over all threads together."""

    ios: int


class SteadyFigure(StrEnum):
    """What a steady state is looked for in."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    MEAN_LATENCY = "mean_latency"


class Steady(Struct, frozen=True, tag="steady"):
    """When a figure is steady: PTS 2.1.24 over the last ``windows`` windows instead of rounds.

    The values' range must not exceed ``excursion_pct`` of their mean, nor that of their best linear fit
    ``slope_pct``.
    """

    figure: SteadyFigure
    window_ns: int
    windows: int = 5
    excursion_pct: float = 20
    slope_pct: float = 10


class FirstOf(Struct, frozen=True, tag="first_of"):
    """Whichever comes first, but not before ``at_least_ns`` have passed."""

    rules: tuple[Duration | ByteAmount | DriveFills | IoCount | Steady, ...]
    at_least_ns: int = 0


StopRule = Duration | ByteAmount | DriveFills | IoCount | Steady | FirstOf

STREAMS_END: Final = FirstOf(())
"""No rule of its own: a step ends when all its streams have ended."""


def planned_length_ns(stop: StopRule) -> int | None:
    """How long a step is to last at the most; None where no rule names a time."""
    rules = stop.rules if isinstance(stop, FirstOf) else (stop,)
    lengths_ns = [rule.duration_ns for rule in rules if isinstance(rule, Duration)]
    at_least_ns = stop.at_least_ns if isinstance(stop, FirstOf) else 0
    return max(min(lengths_ns), at_least_ns) if lengths_ns else None


# A hundredth shows in no figure of rounds that are to stay within 20 %; and less than a tenth of a second
# says nothing of steps that were shortened.
_LATE_SHARE: Final = 0.01
_LATE_NS: Final = NS_PER_S // 10


def ended_late(elapsed_ns: int, planned_ns: int) -> bool:
    """Whether a step lasted longer than planned by so much that it biases its rate.

    What is outstanding when its time is over takes time to complete: that alone is never exact.
    """
    return elapsed_ns - planned_ns > max(_LATE_NS, _LATE_SHARE * planned_ns)


class ClosedLoop(Struct, frozen=True, tag="closed_loop"):
    """As soon as another one completes: QD are always outstanding."""


class FixedRate(Struct, frozen=True, tag="fixed_rate"):
    """At equal distances in time."""

    ios_per_s: float


class Poisson(Struct, frozen=True, tag="poisson"):
    """As a Poisson process of that mean rate."""

    ios_per_s: float


class Burst(Struct, frozen=True, tag="burst"):
    """So many at once, once a period."""

    ios: int
    period_ns: int


class DutyCycle(Struct, frozen=True, tag="duty_cycle"):
    """Closed loop for ``on_ns``, then nothing for ``off_ns``, from the step's start on."""

    on_ns: int
    off_ns: int


class ThinkTime(Struct, frozen=True, tag="think_time"):
    """Each of the QD waits that long after its completion."""

    think_ns: int


class CapUnit(StrEnum):
    """What a capped rate counts."""

    IOS = "ios"
    BYTES = "bytes"


class Capped(Struct, frozen=True, tag="capped"):
    """A closed loop that is no faster than this. Latency counts from the submission."""

    per_s: float
    unit: CapUnit


class Batches(Struct, frozen=True, tag="batches", omit_defaults=True):
    """Each thread issues so many, waits until all of them are answered, and rests.

    With a ``cap`` it is no faster than that, and catches up with it after a rest.
    """

    ios: int
    rest_ns: int
    cap: Capped | None = None


Pacing = ClosedLoop | FixedRate | Poisson | Burst | DutyCycle | ThinkTime | Batches | Capped


# Transfers of this size and more are aligned to it: drives map pages of 4 KiB.
_PAGE_BYTES: Final = 4096


class AccessPattern(StrEnum):
    """Order of the LBAs accessed: RND, SEQ, or some of both."""

    RANDOM = "random"
    SEQUENTIAL = "sequential"
    MIXED = "mixed"

    @property
    def short(self) -> str:
        """The specification's abbreviation."""
        return {"random": "RND", "sequential": "SEQ", "mixed": "RND/SEQ"}[self]


class ActiveRange(Struct, frozen=True):
    """ActiveRange(start:end) in per cent of MaxUserLBA (PTS 2.1.1)."""

    start_pct: float = 0
    end_pct: float = 100

    def first_and_last_lba(self, max_user_lba: int) -> tuple[int, int]:
        """First and last LBA, both inclusive, fractions of an LBA rounded down."""
        return (
            math.floor(self.start_pct * max_user_lba / 100),
            math.floor(self.end_pct * max_user_lba / 100),
        )

    def bytes_of(self, user_capacity_bytes: int, sector_bytes: int) -> tuple[int, int]:
        """The half-open byte range [start, end) inside a device of that capacity and LBA size."""
        first, last = self.first_and_last_lba(user_capacity_bytes // sector_bytes - 1)
        return first * sector_bytes, (last + 1) * sector_bytes


class BlockSize(Struct, frozen=True, omit_defaults=True):
    """A transfer size and its part of the sum of all sizes' weights."""

    block_size_bytes: int
    weight: int = 1


class OperationWeights(Struct, frozen=True, omit_defaults=True):
    """Parts of the I/Os that read, write, trim, flush the volatile cache, or fsync."""

    read: int = 0
    write: int = 0
    trim: int = 0
    flush: int = 0
    fsync: int = 0


class Stimulus(Struct, frozen=True):
    """One access pattern: block sizes, operations, order, places, demand, pacing and data.

    ``random_pct`` of the accesses go to a random place, the others where the thread's sequential stream
    stopped. Sizes and operations are exact over every deck of their weights' sum. Random offsets are
    multiples of ``alignment_bytes``; without it, of 4 KiB for transfers of at least that size and of a sector
    for smaller ones. ``stride_bytes`` lies between the starts of sequential accesses; without it, they are
    adjacent. Total outstanding I/O is ``tc * qd``. Writes name ``placement_handle``, which the drive keeps
    apart from others (NVMe flexible data placement). ``atomic`` writes are on the media wholly or not at all.
    """

    random_pct: int
    block_sizes: tuple[BlockSize, ...]
    operations: OperationWeights
    tc: int
    qd: int
    active_range: ActiveRange = ActiveRange()
    placement: Placement = Uniform()
    alignment_bytes: int | None = None
    stride_bytes: int | None = None
    pacing: Pacing = ClosedLoop()
    data: DataPattern = RandomData()
    placement_handle: int | UnsetType = UNSET
    atomic: bool | UnsetType = UNSET

    @classmethod
    def of(  # noqa: PLR0917 the order in which the specification names them
        cls,
        access_pattern: AccessPattern,
        block_size_bytes: int,
        read_pct: int,
        tc: int,
        qd: int,
        active_range: ActiveRange,
    ) -> "Stimulus":
        """One block size in one order, read and written: the stimulus of most tests."""
        return cls(
            random_pct=100 if access_pattern is AccessPattern.RANDOM else 0,
            block_sizes=(BlockSize(block_size_bytes),),
            operations=OperationWeights(read=read_pct, write=100 - read_pct),
            tc=tc,
            qd=qd,
            active_range=active_range,
        )

    @property
    def access_pattern(self) -> AccessPattern:
        """Random, sequential, or mixed."""
        match self.random_pct:
            case 0:
                return AccessPattern.SEQUENTIAL
            case 100:
                return AccessPattern.RANDOM
            case _:
                return AccessPattern.MIXED

    @property
    def block_size_bytes(self) -> int:
        """The transfer size; the largest of a mix."""
        return max(size.block_size_bytes for size in self.block_sizes)

    @property
    def read_pct(self) -> float:
        """Share of reads among reads and writes; 0 where there is neither."""
        transfers = self.operations.read + self.operations.write
        return 100 * self.operations.read / transfers if transfers else 0.0

    def granule_bytes(self, user_capacity_bytes: int, sector_bytes: int) -> int:
        """What all offsets on such a target are multiples of."""
        sizes = [size.block_size_bytes for size in self.block_sizes]
        start, _ = self.active_range.bytes_of(user_capacity_bytes, sector_bytes)
        random = self.alignment_bytes or (_PAGE_BYTES if min(sizes) >= _PAGE_BYTES else sector_bytes)
        parts = [] if self.random_pct == 0 else [random]
        if self.random_pct < 100:
            parts += [start, self.stride_bytes or 0, *sizes]
        return math.gcd(*parts)

    @property
    def changes_target(self) -> bool:
        """Whether it writes or trims."""
        return self.operations.write > 0 or self.operations.trim > 0

    @property
    def toio(self) -> int:
        """Total outstanding I/O: thread count times queue depth (PTS 2.1.29)."""
        return self.tc * self.qd

    @property
    def planned_ios_per_s(self) -> float | None:
        """The mean rate of arrivals in an open loop; None where nothing is planned."""
        match self.pacing:
            case FixedRate(ios_per_s) | Poisson(ios_per_s):
                return ios_per_s
            case Burst(ios, period_ns):
                return ios * NS_PER_S / period_ns
            case _:
                return None

    @cache  # noqa: B019 there are few, but thousands of steps name theirs
    def __str__(self) -> str:
        size = (
            format_block_size(self.block_size_bytes)
            if len(self.block_sizes) == 1
            else f"{len(self.block_sizes)} sizes"
        )
        others = [
            f"{name} {weight}"
            for name in ("trim", "flush", "fsync")
            if (weight := getattr(self.operations, name))
        ]
        transfers = self.operations.read + self.operations.write
        mix = [f"{self.read_pct:.3g}/{100 - self.read_pct:.3g}"] if transfers or not others else []
        if not mix and len(others) == 1:
            others = [others[0].split()[0]]  # of nothing else, its weight says nothing
        named = [] if self.placement_handle is UNSET else [f"placement handle {self.placement_handle}"]
        named += ["atomic"] if self.atomic else []
        return " ".join([self.access_pattern.short, size, ", ".join(mix + others), *named])


class PriorityClass(StrEnum):
    """Classes of the kernel's I/O priorities."""

    REALTIME = "realtime"
    BEST_EFFORT = "best_effort"
    IDLE = "idle"


class IoPriority(Struct, frozen=True):
    """What ``ioprio_set`` is given for each thread of a stream; level 0 is the highest of a class."""

    priority_class: PriorityClass
    level: int = 0


class Stream(Struct, frozen=True, omit_defaults=True):
    """One of the loads that a step applies at the same time, by threads of its own.

    It issues nothing in the first ``delay_ns`` of its step, and plans its pacing from then on. ``stop`` ends
    it before the step ends, counted from its own start: Duration, ByteAmount, DriveFills or IoCount, or the
    first of several. ``name`` is empty, or unlike those of the other streams. Streams with a ``share`` keep
    the numbers of I/Os that they issue in that ratio while they run: one that is ahead waits for the others,
    but not for one that has ended or not begun. 0: it waits for none. ``replay`` is issued in place of the
    stimulus, which has its largest size, its operations, and the most that may be outstanding.
    """

    stimulus: Stimulus
    name: str = ""
    delay_ns: int = 0
    stop: StopRule | None = None
    priority: IoPriority | None = None
    share: int = 0
    replay: Replay | None = None

    def __str__(self) -> str:
        issued = str(self.stimulus) if self.replay is None else f"{self.replay.ios:,} I/Os of a trace"
        return f"{self.name}: {issued}" if self.name else issued


class Step(Struct, frozen=True):
    """One element of a test: streams side by side, and the rule that ends all of them.

    Without a stream it is an idle gap, which only a duration can end. With the rule ``STREAMS_END`` it ends
    when all its streams have ended by their own rules. What is issued in the first ``ramp_ns`` counts for
    nothing; the rules apply from then on. ``capture``: every single I/O is kept in files, which takes an
    engine with a capture.
    """

    streams: tuple[Stream, ...]
    stop: StopRule
    ramp_ns: int = 0
    capture: bool = False

    @classmethod
    def of(
        cls, stimulus: Stimulus | None, stop: StopRule, ramp_ns: int = 0, *, capture: bool = False
    ) -> "Step":
        """One stimulus from the step's start to its end, or an idle gap."""
        streams = () if stimulus is None else (Stream(stimulus),)
        return cls(streams, stop, ramp_ns, capture)

    @property
    def is_idle(self) -> bool:
        """Whether it is a gap without I/O."""
        return not self.streams

    @property
    def stimulus(self) -> Stimulus | None:
        """Stimulus of the only stream; None in an idle gap, and where there are several."""
        return self.streams[0].stimulus if len(self.streams) == 1 else None

    @property
    def stimuli(self) -> tuple[Stimulus, ...]:
        """Stimuli of all streams."""
        return tuple(stream.stimulus for stream in self.streams)

    @property
    def changes_target(self) -> bool:
        """Whether any stream writes or trims."""
        return any(stimulus.changes_target for stimulus in self.stimuli)

    @property
    def toio(self) -> int:
        """Total outstanding I/O of all streams."""
        return sum(stimulus.toio for stimulus in self.stimuli)

    def __str__(self) -> str:
        return ", ".join(str(stream) for stream in self.streams) or "idle"
