"""The conditions of the test of rotational disks."""

from itertools import pairwise

from openpts.vocabulary.conditions import ExtendedConditions


class RotationalConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="hdd"):
    """Throughput and IOPS in each of ``zones`` equal parts of the active range, then over the whole of it.

    Sequential stimuli run at ``sequential_tc`` and ``sequential_qd``; random ones with one thread at each of
    ``qds``. Each lasts ``minute_ns``.
    """

    zones: int
    sequential_block_size_bytes: int
    sequential_tc: int
    sequential_qd: int
    random_block_size_bytes: int
    qds: tuple[int, ...]

    @property
    def zone_spans_pct(self) -> tuple[tuple[float, float], ...]:
        """First and last per cent of the LBAs of each zone, from the first LBA on."""
        first, whole = self.active_range.start_pct, self.active_range.end_pct - self.active_range.start_pct
        ends = [first + whole * number / self.zones for number in range(self.zones + 1)]
        ends[-1] = self.active_range.end_pct
        return tuple(pairwise(ends))
