"""Flexible data placement.

Purpose
    Whether a drive keeps data apart that are written with placement handles of their own, and how much less
    it writes to its media for that.
Source
    Practice beyond the PTS: NVM Express Base Specification 2.1, Flexible Data Placement.
Steps
    Twice: purge; two streams of SEQ writes in turns, one of them round and round over 10 % of the range, the
    other over the rest, twice. The first time both name the first handle, the second time each has its own.
Pass rule
    None. Write amplification is what the drive wrote to its media over what the host wrote, in the second of
    both passes, by log 22h. The handles are followed if a handle each saves four fifths or more of what one
    handle costs beyond 1, ignored if it saves less than a quarter.
Reported
    Both amplifications by log 22h and by the drive's other counters, and whether handles are followed.
"""

from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.standard import Standard
from openpts.units import KIB
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus, Stream
from openpts.vocabulary.stop import STREAMS_END, ByteAmount
from openpts_nvme.fdp import APART, TOGETHER, FdpConditions

HOT: Final = "overwritten soon"
COLD: Final = "overwritten late"

# A pass over the rest fills the drive and what it has beyond; from then on it must collect.
standard_conditions: Final = Standard(
    FdpConditions, handles=(0, 1), hot_pct=10, aging_passes=1, passes=1, block_size_bytes=128 * KIB, qd=16
)


def script(conditions: FdpConditions, user_capacity_bytes: int) -> Script:
    """The same streams on a purged drive, with one handle and with two."""
    hot, cold = conditions.handles
    for number, handles, title in (
        (TOGETHER, (hot, hot), "one handle"),
        (APART, (hot, cold), "a handle each"),
    ):
        yield Purge()
        yield SetWriteCache(conditions.write_cache_enabled)
        for phase, passes in ((Phase.CONDITIONING, conditions.aging_passes), (Phase.LOAD, conditions.passes)):
            yield Apply(phase, number, (_step(conditions, handles, passes, user_capacity_bytes),))
        yield CycleFinished(Outcome(None, 0), title)


def _step(
    conditions: FdpConditions, handles: tuple[int, int], passes: float, user_capacity_bytes: int
) -> Step:
    """Two streams in turns, so that their data lie side by side wherever the drive does not part them."""
    start_pct, end_pct = conditions.active_range.start_pct, conditions.active_range.end_pct
    between_pct = start_pct + (end_pct - start_pct) * conditions.hot_pct / 100
    parts = ((HOT, ActiveRange(start_pct, between_pct)), (COLD, ActiveRange(between_pct, end_pct)))
    amount_bytes = round(passes * (end_pct - between_pct) / 100 * user_capacity_bytes)
    streams = (
        Stream(_writes(conditions, part, handle), name, stop=ByteAmount(amount_bytes), share=1)
        for (name, part), handle in zip(parts, handles, strict=True)
    )
    return Step(tuple(streams), STREAMS_END)


def _writes(conditions: FdpConditions, part: ActiveRange, handle: int) -> Stimulus:
    writes = Stimulus.of(AccessPattern.SEQUENTIAL, conditions.block_size_bytes, 0, 1, conditions.qd, part)
    return replace(writes, data=conditions.data, placement_handle=handle)
