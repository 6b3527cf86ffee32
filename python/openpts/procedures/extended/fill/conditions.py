"""The conditions of the test that fills a drive once."""

from msgspec import Struct

from openpts.units import NS_PER_S
from openpts.vocabulary.conditions import ExtendedConditions


class IdleTime(Struct, frozen=True):
    """How long the drive is left alone before it is written to again."""

    idle_ns: int

    def __str__(self) -> str:
        minutes, rest_ns = divmod(self.idle_ns, 60 * NS_PER_S)
        return f"{minutes} min" if minutes and not rest_ns else f"{self.idle_ns / NS_PER_S:g} s"


class FillConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="fill"):
    """The active range filled once in sequence, writes after idle times, and bursts by fill level.

    A step of the fill has ``step_pct`` of the active range. ``rewrite_pct`` of it is written again after each
    of ``idle_times``. On the purged drive again, random writes of ``burst_ns`` come at each of ``levels_pct``
    of the active range, in what is filled.
    """

    sequential_block_size_bytes: int
    sequential_tc: int
    sequential_qd: int
    random_block_size_bytes: int
    tc: int
    qd: int
    step_pct: float
    idle_times: tuple[IdleTime, ...]
    rewrite_pct: float
    levels_pct: tuple[float, ...]
    burst_ns: int
