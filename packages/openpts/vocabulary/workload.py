"""Named access patterns, and values of test conditions as an operator would write them."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.units import (
    KIB,
    NS_PER_MS,
    NS_PER_S,
    block_size_kib,
    format_block_size,
    format_capacity,
    format_duration,
)
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    BlockSize,
    DataPattern,
    OperationWeights,
    PatternData,
    Placement,
    RandomData,
    RandomOnce,
    ReducibleData,
    Segments,
    SteadyFigure,
    Stimulus,
    Uniform,
    VerifiedData,
    ZeroData,
    Zone,
    Zones,
)
from openpts.vocabulary.verdict import TrackingVariable


class Workload(Struct, frozen=True):
    """Block sizes, R/W mix, order and places; ``title`` names it in plots: ``RND 4 KiB RW0``.

    ``random_pct`` of the accesses are random, ``read_pct`` of them read.
    """

    name: str
    title: str
    random_pct: int
    block_sizes: tuple[BlockSize, ...]
    read_pct: int
    placement: Placement = Uniform()

    @property
    def sequential(self) -> bool:
        """Whether no access is random: more than one thread would break up its sequence (PTS 8.1)."""
        return self.random_pct == 0

    def stimulus(
        self,
        *,
        tc: int,
        qd: int,
        active_range: ActiveRange,
        data: DataPattern | None = None,
        segments: Placement | None = None,
        read_pct: int | None = None,
    ) -> Stimulus:
        """The workload at a demand; ``read_pct`` 0 makes its pre-writes.

        ``segments`` restrict a workload without places of its own to LBA segments.
        """
        reads = self.read_pct if read_pct is None else read_pct
        own_places = self.placement != Uniform()
        return Stimulus(
            random_pct=self.random_pct,
            block_sizes=self.block_sizes,
            operations=OperationWeights(read=reads, write=100 - reads),
            tc=tc,
            qd=qd,
            active_range=active_range,
            placement=self.placement if own_places or segments is None else segments,
            data=RandomData() if data is None else data,
        )


def simple_workload(
    name: str, access_pattern: AccessPattern, block_size_bytes: int, read_pct: int
) -> Workload:
    """One block size in one order, titled by the specification's words."""
    size = format_block_size(block_size_bytes)
    return Workload(
        name=name,
        title=f"{access_pattern.short} {size} RW{read_pct}",
        random_pct=100 if access_pattern is AccessPattern.RANDOM else 0,
        block_sizes=(BlockSize(block_size_bytes),),
        read_pct=read_pct,
    )


WRITE_INTENSIVE: Final = simple_workload("write_intensive", AccessPattern.RANDOM, 4 * KIB, 0)

DEFAULT: Final = WRITE_INTENSIVE
"""RND 4 KiB 0/100: what WSAT applies if nothing else is asked for, and HIR always (10.2 step 2.2.1, 11.2)."""

COMPOSITE_SIZES: Final = (
    BlockSize(512, 4),
    BlockSize(1024, 1),
    BlockSize(1536, 1),
    BlockSize(2048, 1),
    BlockSize(2560, 1),
    BlockSize(3072, 1),
    BlockSize(3584, 1),
    BlockSize(4 * KIB, 67),
    BlockSize(8 * KIB, 10),
    BlockSize(16 * KIB, 7),
    BlockSize(32 * KIB, 3),
    BlockSize(64 * KIB, 3),
)
"""Table 13-1: per cent of the accesses for each size."""

COMPOSITE_ZONES: Final = (Zone(50, 5), Zone(30, 15), Zone(20, 80))
"""Table 13-2: per cent of the accesses to LBA groups A, B and C, and their shares of the active range."""

COMPOSITE: Final = Workload(
    name="composite",
    title="Composite RW40",
    random_pct=100,
    block_sizes=COMPOSITE_SIZES,
    read_pct=40,
    placement=Zones(COMPOSITE_ZONES),
)
"""The composite block size access pattern of CBW (13.2 step 2)."""

WORKLOADS: Final[Mapping[str, Workload]] = {
    workload.name: workload
    for workload in (
        simple_workload("read_intensive", AccessPattern.RANDOM, 4 * KIB, 100),
        WRITE_INTENSIVE,
        simple_workload("oltp", AccessPattern.RANDOM, 8 * KIB, 65),
        simple_workload("vod", AccessPattern.SEQUENTIAL, 128 * KIB, 90),
        simple_workload("metadata", AccessPattern.SEQUENTIAL, KIB // 2, 50),
        COMPOSITE,
    )
}
"""The optional workloads by name, in the order of 10.2 (2.2.3)."""


def workload_on(workload: Workload, sector_bytes: int) -> Workload | None:
    """The workload without the sizes that are no multiple of the sector; None if none is left.

    What is left keeps its weights, so the others' shares of the accesses grow in proportion.
    """
    possible = tuple(size for size in workload.block_sizes if size.block_size_bytes % sector_bytes == 0)
    return replace(workload, block_sizes=possible) if possible else None


_FIGURES: Final = {
    SteadyFigure.IOPS: "IOPS",
    SteadyFigure.THROUGHPUT: "throughput",
    SteadyFigure.MEAN_LATENCY: "average response time",
}


def condition_text(name: str, value: object) -> str:
    """A value in words; the field's name tells its unit."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        singular = name.removesuffix("s_bytes") + "_bytes" if name.endswith("s_bytes") else name
        return ", ".join(condition_text(singular, entry) for entry in value) or "none"
    if isinstance(value, int | float):
        return _number_text(name, value)
    return _word_text(value)


def duration_text(duration_ns: int) -> str:
    """A duration, below a tenth of a second in ms: ``25 min 0 s``, ``0.40 s``, ``33.3 ms``."""
    if duration_ns < NS_PER_S // 10:
        return f"{duration_ns / NS_PER_MS:.3g} ms"
    return format_duration(duration_ns)


def _number_text(name: str, value: float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "time_scale":
        return str(Fraction(value).limit_denominator(10_000) or value)
    if name.endswith("_ns"):
        return duration_text(round(value))
    if name.endswith("_limit_bytes"):
        return format_capacity(round(value))
    if name.endswith("_bytes"):
        return f"{block_size_kib(round(value))} KiB"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _word_text(value: object) -> str:
    match value:
        case ActiveRange(start_pct, end_pct):
            return f"{start_pct:g} to {end_pct:g} % of MaxUserLBA"
        case Segments(count, segment_bytes):
            return f"{count} LBA segments of {block_size_kib(segment_bytes)} KiB, spread at random"
        case TrackingVariable():
            return f"{value} ({_FIGURES[value.figure]})"
        case Workload():
            return workload_text(value)
        case _:
            return data_text(value)


def workload_text(workload: Workload) -> str:
    """A workload in the specification's words where they describe it, otherwise with all that makes it."""
    sizes = workload.block_sizes
    if len(sizes) == 1 and workload.placement == Uniform() and workload.random_pct in {0, 100}:
        order = AccessPattern.RANDOM if workload.random_pct else AccessPattern.SEQUENTIAL
        return f"{order.short} {format_block_size(sizes[0].block_size_bytes)} RW{workload.read_pct}"
    weights = ", ".join(f"{block_size_kib(size.block_size_bytes)} KiB:{size.weight}" for size in sizes)
    places = (
        "; zones " + ", ".join(f"{zone.weight}/{zone.range_pct:g}" for zone in workload.placement.zones)
        if isinstance(workload.placement, Zones)
        else ""
    )
    return (
        f"{workload.title} ({workload.random_pct} % random, {workload.read_pct} % reads; {weights}{places})"
    )


def data_text(data: object) -> str:
    """A data pattern in words (PTS 3.5)."""
    match data:
        case RandomData():
            return "RND: incompressible, fresh for each write"
        case RandomOnce():
            return "RND_ONCE: random, made once for each buffer"
        case PatternData(pattern):
            return f"pattern {pattern.hex()} again and again"
        case ReducibleData(entropy_pct, duplicate_pct, granule_bytes):
            pieces = f"pieces of {block_size_kib(granule_bytes)} KiB"
            return f"entropy {entropy_pct:g} %, copies {duplicate_pct:g} %, in {pieces}"
        case VerifiedData(generation):
            return f"verified, generation {generation}"
        case ZeroData():
            return "zero bytes"
        case _:
            return str(data)
