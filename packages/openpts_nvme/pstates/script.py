"""Power states.

Purpose
    After how long without I/O a drive enters each of its power states, and how long the first I/O then waits.
Source
    Practice beyond the PTS: NVMe's autonomous transitions (feature 0Ch), power management (02h) and the
    declared latencies (ENLAT, EXLAT). Get Features tells the state that was asked for, not the one that the
    drive is in; the latency of the first I/O tells that.
Steps
    SEQ 128 KiB writes of a range; then single RND 4 KiB reads in it after idle times from 1 ms to 10 minutes,
    in random order: with autonomous transitions, and a few without them; then for each state, again and
    again, the state commanded, a second of idle time, and a read. No other command reaches the drive.
Pass rule
    A state's exit latency, and the idle time after which it is entered, are held against what is declared.
Reported
    Median of the first read's latency over idle time, with its steps; entry and exit of each state, declared
    and measured; power in each state where something meters it.
"""

import random
from collections.abc import Iterator
from typing import Final

from openpts.procedures.kit.ledger import Standard
from openpts.units import GIB, KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.power import PowerMode, PowerStatesSet, SetPowerStates
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Script, answer_in
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    Duration,
    IoCount,
    Step,
    Stimulus,
)
from openpts.vocabulary.workload import simple_workload
from openpts_nvme.pstates import ALWAYS_ON, AUTONOMOUS, COMMANDED, PowerStateConditions

_WRITE_BYTES: Final = 128 * KIB
_WRITES_OUTSTANDING: Final = 32


# Idle times around those of the kernel's own table, 100 ms and 2 s, and of drives' own, up to minutes.
standard_conditions: Final = Standard(
    PowerStateConditions,
    shortest_ns=NS_PER_MS,
    longest_ns=600 * NS_PER_S,
    per_decade=5,
    repeats=50,
    least_repeats=3,
    point_ns=600 * NS_PER_S,
    settle_ns=NS_PER_S,
    block_size_bytes=4 * KIB,
    range_bytes=GIB,
)


def script(conditions: PowerStateConditions, user_capacity_bytes: int) -> Script:
    """The staircase with transitions and without, then out of each state that the drive has."""
    whole = conditions.active_range
    share_pct = 100 * conditions.range_bytes / user_capacity_bytes
    part = ActiveRange(whole.start_pct, min(whole.end_pct, whole.start_pct + share_pct))
    yield Apply(Phase.CONDITIONING, 1, (_written(conditions, part, user_capacity_bytes),))
    read = Step.of(
        Stimulus.of(AccessPattern.RANDOM, conditions.block_size_bytes, 100, 1, 1, part), IoCount(1)
    )
    chosen = random.Random(conditions.seed)  # noqa: S311 an order, no secret
    answer = answer_in(PowerStatesSet, (yield SetPowerStates(PowerMode.AUTONOMOUS)))
    times = [idle_ns for idle_ns in conditions.idle_times_ns for _ in range(conditions.repeats_of(idle_ns))]
    yield Apply(Phase.WAIT_STATE, AUTONOMOUS, tuple(_staircase(read, times, chosen)))
    if len(answer.states) > 1:
        yield SetPowerStates(PowerMode.OFF)
        times = list(conditions.idle_times_ns) * conditions.least_repeats
        yield Apply(Phase.WAIT_STATE, ALWAYS_ON, tuple(_staircase(read, times, chosen)))
        settled = (Step.of(None, Duration(conditions.settle_ns)), read)
        for state in answer.states:
            for _ in range(conditions.repeats):
                yield SetPowerStates(PowerMode.COMMANDED, state.number)
                yield Apply(Phase.WAIT_STATE, COMMANDED + state.number, settled)
        yield SetPowerStates(PowerMode.COMMANDED, 0)
    yield CycleFinished(Outcome(None, 0))


def _staircase(read: Step, times: list[int], chosen: random.Random) -> Iterator[Step]:
    """A read from which idle time counts, then the idle times in random order, each ended by a read."""
    chosen.shuffle(times)
    yield read
    for idle_ns in times:
        yield Step.of(None, Duration(idle_ns))
        yield read


def _written(conditions: PowerStateConditions, part: ActiveRange, user_capacity_bytes: int) -> Step:
    writes = simple_workload("fill", AccessPattern.SEQUENTIAL, _WRITE_BYTES, 0).stimulus(
        tc=1, qd=_WRITES_OUTSTANDING, active_range=part, data=conditions.data
    )
    share = (part.end_pct - part.start_pct) / 100
    return Step.of(writes, ByteAmount(max(_WRITE_BYTES, round(share * user_capacity_bytes))))
