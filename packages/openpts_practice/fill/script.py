"""Fill curve.

Purpose
    How fast a drive takes data while it fills up: where its cache ends, and what idle time gives back of it.
Source
    Practice beyond the PTS: a controller vendor's talk on reading SSD numbers (HYP-FILL), and press reviews.
Steps
    Purge; the range filled once with SEQ 128 KiB, a step for each 1 %; after 0 s, 30 s, 5 min and 30 min of
    idle time 5 % of the range written again, a step for each 0.2 %. Purge; 30 seconds of RND 4 KiB writes at
    fill levels of 0, 25, 50, 75 and 100 %, in what is filled.
Pass rule
    None.
Reported
    MB/s over the fill level with its break points, MB/s after each idle time, IOPS by fill level.
"""

import math
from collections.abc import Iterator
from typing import Final

from openpts.procedures.kit.ledger import RECOMMENDED_QD, RECOMMENDED_TC, Standard
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, Duration, Step, Stimulus
from openpts.vocabulary.workload import simple_workload
from openpts_practice.fill import FillConditions, IdleTime

REWRITE_STEPS: Final = 25
"""Into so many steps the writes after an idle time are cut."""


# HYP-FILL-01
# The whole range, and idle times from none to those of a long break.
standard_conditions: Final = Standard(
    FillConditions,
    sequential_block_size_bytes=128 * KIB,
    sequential_tc=1,
    sequential_qd=32,
    random_block_size_bytes=4 * KIB,
    tc=RECOMMENDED_TC,
    qd=RECOMMENDED_QD,
    step_pct=1,
    idle_times=tuple(IdleTime(seconds * NS_PER_S) for seconds in (0, 30, 300, 1800)),
    rewrite_pct=5,
    levels_pct=(0, 25, 50, 75, 100),
    burst_ns=30 * NS_PER_S,
)


def script(conditions: FillConditions, user_capacity_bytes: int) -> Script:
    """The fill curve with its idle times, then the bursts, each from a purged drive on."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    yield from _curve(conditions, user_capacity_bytes)
    yield CycleFinished(Outcome(None, 0), "fill curve")

    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    yield from _levels(conditions, user_capacity_bytes)
    yield CycleFinished(Outcome(None, 0), "bursts by fill level")


def _curve(conditions: FillConditions, user_capacity_bytes: int) -> Script:
    """Fill once, then write again after each idle time; all of it is one sequence."""
    writes = _sequential(conditions, conditions.active_range)
    whole_bytes = _range_bytes(conditions.active_range, user_capacity_bytes)
    count = math.ceil(100 / conditions.step_pct)
    shares = [min(1.0, n * conditions.step_pct / 100) for n in range(1, count + 1)]
    yield Apply(Phase.FILL, 1, tuple(_amounts(writes, whole_bytes, shares)))
    shares = [n * conditions.rewrite_pct / 100 / REWRITE_STEPS for n in range(1, REWRITE_STEPS + 1)]
    again = tuple(_amounts(writes, whole_bytes, shares))
    for number, time in enumerate(conditions.idle_times, start=1):
        if time.idle_ns:
            yield Apply(Phase.REST, number, (Step.of(None, Duration(time.idle_ns)),))
        yield Apply(Phase.BURST, number, again)


def _levels(conditions: FillConditions, user_capacity_bytes: int) -> Script:
    """Bursts into what is filled; on the empty drive into what will be filled next, which adds nothing."""
    levels = conditions.levels_pct
    before = 0.0
    for number, level in enumerate(levels, start=1):
        if level > before:
            part = _part_of(conditions.active_range, before, level)
            amount_bytes = _range_bytes(part, user_capacity_bytes)
            yield Apply(
                Phase.FILL, number, (Step.of(_sequential(conditions, part), ByteAmount(amount_bytes)),)
            )
        next_level = next((other for other in levels if other > 0), 100.0)
        filled = _part_of(conditions.active_range, 0, level or next_level)
        yield Apply(
            Phase.BURST, number, (Step.of(_random(conditions, filled), Duration(conditions.burst_ns)),)
        )
        before = level


def _amounts(stimulus: Stimulus, whole_bytes: int, shares: list[float]) -> Iterator[Step]:
    """Steps up to each share of the whole; all of them together end where the last share does.

    Amounts are whole I/Os: a step exceeds another amount by a part of one, and a hundred would by many.
    """
    size_bytes = stimulus.block_size_bytes
    done = 0
    for share in shares:
        ios = math.floor(share * whole_bytes / size_bytes)
        if ios > done:
            yield Step.of(stimulus, ByteAmount((ios - done) * size_bytes))
        done = max(done, ios)


def _part_of(whole: ActiveRange, start_pct: float, end_pct: float) -> ActiveRange:
    """The part of a range from one share of it to another."""
    length_pct = whole.end_pct - whole.start_pct
    return ActiveRange(
        whole.start_pct + length_pct * start_pct / 100, whole.start_pct + length_pct * end_pct / 100
    )


def _range_bytes(part: ActiveRange, user_capacity_bytes: int) -> int:
    return math.floor((part.end_pct - part.start_pct) / 100 * user_capacity_bytes)


def _sequential(conditions: FillConditions, part: ActiveRange) -> Stimulus:
    writes = simple_workload("fill", AccessPattern.SEQUENTIAL, conditions.sequential_block_size_bytes, 0)
    return writes.stimulus(
        tc=conditions.sequential_tc, qd=conditions.sequential_qd, active_range=part, data=conditions.data
    )


def _random(conditions: FillConditions, part: ActiveRange) -> Stimulus:
    writes = simple_workload("burst", AccessPattern.RANDOM, conditions.random_block_size_bytes, 0)
    return writes.stimulus(tc=conditions.tc, qd=conditions.qd, active_range=part, data=conditions.data)
