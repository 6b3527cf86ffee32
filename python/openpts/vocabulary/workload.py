"""A named access pattern, whatever the demand (PTS 10.2 step 2.2.3, 13.2 step 2)."""

from msgspec import Struct

from openpts.units import format_block_size
from openpts.vocabulary.data_pattern import DataPattern, RandomData
from openpts.vocabulary.placement import Placement, Uniform
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
