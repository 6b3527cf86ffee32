"""A named access pattern, whatever the demand (PTS 10.2 step 2.2.3, 13.2 step 2)."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.units import KIB, format_block_size
from openpts.vocabulary.data import DataPattern, RandomData
from openpts.vocabulary.placement import Placement, Uniform, Zone, Zones
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, BlockSize, OperationWeights, Stimulus


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
