"""The conditions of the test of rotational disks."""

from itertools import pairwise
from typing import Annotated

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import Field
from openpts.fields.kinds import DEPTH, count, listed


class RotationalConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="hdd"):
    """Throughput and IOPS in each of ``zones`` equal parts of the active range, then over the whole of it.

    Sequential stimuli run at ``sequential_tc`` and ``sequential_qd``; random ones with one thread at each of
    ``qds``. Each lasts ``minute_ns``.
    """

    parameters = ("zones", "qds", "sequential_tc", "sequential_qd", ...)

    zones: Annotated[int, Field("Zones", "Number of equal zones of the range.", count(1, 1024), amount=True)]
    sequential_block_size_bytes: Annotated[
        int, usual.SEQUENTIAL_BLOCK_SIZE.but(help="Block size of sequential accesses.", examples=("1MiB",))
    ]
    sequential_tc: Annotated[int, usual.SEQUENTIAL_TC.but(help="Thread count of sequential accesses.")]
    sequential_qd: Annotated[int, usual.SEQUENTIAL_QD.but(help="Queue depth of sequential accesses.")]
    random_block_size_bytes: Annotated[
        int, usual.RANDOM_BLOCK_SIZE.but(help="Block size of random accesses.")
    ]
    qds: Annotated[
        tuple[int, ...],
        usual.QDS.but(help="Queue depths of random accesses, one thread each.", kind=listed(DEPTH)),
    ]

    @property
    def zone_spans_pct(self) -> tuple[tuple[float, float], ...]:
        """First and last per cent of the LBAs of each zone, from the first LBA on."""
        first, whole = self.active_range.start_pct, self.active_range.end_pct - self.active_range.start_pct
        ends = [first + whole * number / self.zones for number in range(self.zones + 1)]
        ends[-1] = self.active_range.end_pct
        return tuple(pairwise(ends))
