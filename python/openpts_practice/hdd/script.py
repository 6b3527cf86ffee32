"""Rotational disks (hdd).

Purpose
    Throughput and IOPS over the zones of a disk: outer tracks pass more sectors under the head in a turn than
    inner ones, and random access costs the way of the arm and half a turn, the more so the longer the way.
Source
    Practice beyond the PTS: TKperf tests rotational disks by their regions as well.
Steps
    In each zone from the first LBA on: SEQ 1024 KiB writes and reads, then RND 4 KiB reads and writes with 1
    and 32 I/Os outstanding, 30 seconds each; after the last zone the random stimuli over the whole range.
    There is no purge and no preconditioning: a platter is overwritten in place and has no history.
Pass rule
    None.
Reported
    MB/s and IOPS over the position, the ratio of the last zone to the first, and the mean access time.
"""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.standard import Standard
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Script, SetWriteCache
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration
from openpts_practice.hdd import RotationalConditions

# Sixteen zones, and the two queue depths between which a disk sorts its accesses or does not.
standard_conditions: Final = Standard(
    RotationalConditions,
    zones=16,
    sequential_block_size_bytes=MIB,
    sequential_tc=1,
    sequential_qd=4,
    random_block_size_bytes=4 * KIB,
    qds=(1, 32),
    minute_ns=30 * NS_PER_S,
)


def script(conditions: RotationalConditions, user_capacity_bytes: int) -> Script:  # noqa: ARG001
    """Zone by zone, then the whole range."""
    yield SetWriteCache(conditions.write_cache_enabled)
    for number, zone in enumerate(_zones(conditions), start=1):
        steps = (*_sequential(conditions, zone), *_random(conditions, zone))
        yield Apply(Phase.SWEEP, number, steps, conditions.zones)
    yield Apply(Phase.PROFILE, 1, _random(conditions, conditions.active_range))
    yield CycleFinished(Outcome(None, 0))


def _zones(conditions: RotationalConditions) -> Iterator[ActiveRange]:
    """The parts of the active range, from the first LBA on; the last one ends where the range does."""
    whole, count = conditions.active_range, conditions.zones
    length_pct = whole.end_pct - whole.start_pct
    edges_pct = [*(whole.start_pct + length_pct * n / count for n in range(count)), whole.end_pct]
    return (ActiveRange(*span) for span in pairwise(edges_pct))


def _sequential(conditions: RotationalConditions, zone: ActiveRange) -> tuple[Step, ...]:
    """Writes before reads: what was never written may be answered without a look at the platter."""
    size, tc, qd = conditions.sequential_block_size_bytes, conditions.sequential_tc, conditions.sequential_qd
    return tuple(
        _step(conditions, Stimulus.of(AccessPattern.SEQUENTIAL, size, read_pct, tc, qd, zone))
        for read_pct in (0, 100)
    )


def _random(conditions: RotationalConditions, zone: ActiveRange) -> tuple[Step, ...]:
    size = conditions.random_block_size_bytes
    return tuple(
        _step(conditions, Stimulus.of(AccessPattern.RANDOM, size, read_pct, 1, qd, zone))
        for qd, read_pct in product(conditions.qds, (100, 0))
    )


def _step(conditions: RotationalConditions, stimulus: Stimulus) -> Step:
    return Step.of(replace(stimulus, data=conditions.data), Duration(conditions.minute_ns))
