"""Entropy and write-share sweeps.

Purpose
    Whether a drive is faster with data that can be compressed, and what a few writes cost its reads.
Source
    Practice beyond the PTS: a controller vendor's talk on benchmarks that mislead (LSI-ENT, LSI-MIX).
Steps
    Purge; 2 x user capacity in SEQ 128 KiB writes of random data; SEQ 128 KiB writes of each entropy, from
    the lowest to the highest and back; 2 x user capacity in RND 4 KiB writes; RND 4 KiB writes of each
    entropy likewise; RND 4 KiB mixes of each share of writes likewise.
Pass rule
    None. Each level is visited twice, at times whose mean is the same for all levels: what changes steadily
    in the drive adds the same to each, and by how much two visits differ tells what an effect must exceed.
Reported
    MB/s and IOPS over entropy, IOPS over the share of writes, and whether data reduction is seen.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from openpts.procedures.kit.ledger import RECOMMENDED_QD, RECOMMENDED_TC, Standard
from openpts.units import KIB
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ByteAmount,
    DataPattern,
    Duration,
    ReducibleData,
    Step,
    Stimulus,
)
from openpts.vocabulary.workload import simple_workload
from openpts_practice.entropy import EntropyConditions

SEQUENTIAL: Final = 1
RANDOM: Final = 2
WRITE_SHARE: Final = 3
"""Numbers of the sweeps; those of the conditionings before them are 1 and 2."""

T = TypeVar("T")


# LSI-ENT-01, LSI-MIX-01
# Levels that span what real data has, and the demand of the specification's tests.
standard_conditions: Final = Standard(
    EntropyConditions,
    sequential_block_size_bytes=128 * KIB,
    sequential_tc=1,
    sequential_qd=32,
    random_block_size_bytes=4 * KIB,
    tc=RECOMMENDED_TC,
    qd=RECOMMENDED_QD,
    precondition_passes=2,
    entropies_pct=(0, 10, 25, 46, 67, 100),
    write_pcts=tuple(range(0, 101, 5)),
)


def script(conditions: EntropyConditions, user_capacity_bytes: int) -> Script:
    """The sweeps, each in the state of the drive that belongs to it (LSI-PRE-04)."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    amount_bytes = round(conditions.precondition_passes * user_capacity_bytes)
    for sweep, pattern in ((SEQUENTIAL, AccessPattern.SEQUENTIAL), (RANDOM, AccessPattern.RANDOM)):
        # a drive that was written to: LSI-GEN-02
        if amount_bytes:
            used = Step.of(_writes(conditions, pattern, conditions.data), ByteAmount(amount_bytes))
            yield Apply(Phase.CONDITIONING, sweep, (used,))
        levels = [
            _writes(conditions, pattern, ReducibleData(entropy_pct))
            for entropy_pct in conditions.entropies_pct
        ]
        yield from _sweep(conditions, sweep, levels)
    mixes = [_random(conditions, write_pct, conditions.data) for write_pct in conditions.write_pcts]
    yield from _sweep(conditions, WRITE_SHARE, mixes)
    yield CycleFinished(Outcome(None, 0))


def up_and_down(levels: Sequence[T]) -> tuple[T, ...]:
    """Each level twice, so that the mean of its two places is that of all others."""
    return (*levels, *reversed(levels))


def _sweep(conditions: EntropyConditions, number: int, levels: Sequence[Stimulus]) -> Script:
    """Each visit by itself: between two of them the drive's log may be read."""
    length = Duration(conditions.minute_ns)
    for level in up_and_down(levels):
        yield Apply(Phase.SWEEP, number, (Step.of(level, length),))


def _writes(conditions: EntropyConditions, pattern: AccessPattern, data: DataPattern) -> Stimulus:
    if pattern is AccessPattern.RANDOM:
        return _random(conditions, 100, data)
    writes = simple_workload("seq", pattern, conditions.sequential_block_size_bytes, 0)
    return writes.stimulus(
        tc=conditions.sequential_tc,
        qd=conditions.sequential_qd,
        active_range=conditions.active_range,
        data=data,
    )


def _random(conditions: EntropyConditions, write_pct: int, data: DataPattern) -> Stimulus:
    mix = simple_workload("rnd", AccessPattern.RANDOM, conditions.random_block_size_bytes, 100 - write_pct)
    return mix.stimulus(
        tc=conditions.tc,
        qd=conditions.qd,
        active_range=conditions.active_range,
        data=data,
        segments=conditions.segments,
    )
