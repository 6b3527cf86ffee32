"""The workloads that the specification names (PTS 10.2 step 2.2.3, 13.2 step 2)."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from openpts.units import KIB
from openpts.vocabulary.placement import Zone, Zones
from openpts.vocabulary.stimulus import AccessPattern, BlockSize
from openpts.vocabulary.workload import Workload, simple_workload

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
