"""Response times under load (qos).

Purpose
    What reads and writes wait for each other where they arrive at rates of their own, as those of users do,
    and how much of both a drive takes within a limit of response times.
Source
    Practice beyond the PTS: diskplorer maps read latency over read rate and write rate; limits of
    percentiles are those of service levels.
Steps
    1. Purge; SEQ 128 KiB writes of 2 x user capacity; RND writes until single minutes are steady.
    2. Peaks: a minute each of RND writes and reads and of each mix in a closed loop.
    3. Map: at each pair of 10, 25, 50, 75, 90 and 100 % of the read peak and of the write peak a minute of
       two streams side by side, in which I/Os arrive at random whether the drive is ready or not.
    4. For each mix: a minute at each of these shares of its peak; then, for each limit, loads halfway between
       the highest one that keeps it and the next one, until these are 1 % apart; both ends are measured three
       times.
    Pairs and loads are in an order drawn from the seed: what writes leave behind drifts, and is spread over
    all of them. Each is applied for 5 seconds before it counts.
Pass rule
    None. Steady state of the preparation by definition 2.1.24.
Reported
    Percentiles of reads and writes over both rates with the contour of each limit, over the load of each mix,
    and the highest load that keeps each limit.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import Final, TypeVar

from msgspec.structs import replace

from openpts.procedures.kit.ledger import RECOMMENDED_TC, Standard
from openpts.units import KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    Script,
    ScriptPart,
    SetWriteCache,
    samples_in,
)
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, Duration, Step, Stimulus, Stream
from openpts.vocabulary.workload import simple_workload
from openpts_practice.qos import Limit, Operation, QosConditions
from openpts_practice.qos.points import MOST_MEASUREMENTS, bracket_of, ios_for, points_of
from openpts_pts.shared.script import Tracking, until_steady, written_in_sequence

T = TypeVar("T")

_MINUTE_NS: Final = 60 * NS_PER_S


# Loads that lie closer where response times rise; limits of a millisecond and of its slow tail.
standard_conditions: Final = Standard(
    QosConditions,
    limits=(Limit(Operation.READ, 99, NS_PER_MS), Limit(Operation.READ, 99.9, 5 * NS_PER_MS)),
    mixes_read_pct=(100, 70),
    loads_pct=(10, 25, 50, 75, 90, 100),
    arrivals="poisson",
    tc=RECOMMENDED_TC,
    qd=32,
    block_size_bytes=4 * KIB,
    width_pct=1,
    repeats=3,
    late_pct=1,
    settle_ns=5 * NS_PER_S,
    longest_ns=10 * _MINUTE_NS,
    precondition_passes=2,
    tracking_period_ns=30 * _MINUTE_NS,
    max_rounds=25,
)


def script(conditions: QosConditions, user_capacity_bytes: int) -> Script:
    """The preparation, the peaks, the map, and the loads of each mix."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    yield from written_in_sequence(
        conditions, 128 * KIB, conditions.precondition_passes * user_capacity_bytes, tc=1, qd=32
    )
    steady_round, last_round = yield from until_steady(
        Tracking(
            phase=Phase.WDPC,
            streams=(Stream(_stimulus(conditions, 0)),),
            name="random writes IOPS",
            minute_ns=conditions.minute_ns,
            period_ns=conditions.tracking_period_ns,
            max_rounds=conditions.max_rounds,
        )
    )
    peaks = yield from _peaks(conditions)
    idle = [mix for mix, rate in peaks.items() if not rate]
    if not idle:
        pairs = [(reads, writes) for reads in conditions.loads_pct for writes in conditions.loads_pct]
        steps = tuple(
            load_step(conditions, reads_pct / 100 * peaks[100], writes_pct / 100 * peaks[0])
            for reads_pct, writes_pct in _shuffled(pairs, conditions.seed)
        )
        yield Apply(Phase.SWEEP, 1, steps)
        for number, mix in enumerate(conditions.mixes_read_pct, start=1):
            yield from _search(conditions, number, mix, peaks[mix])
    yield CycleFinished(Outcome(steady_round, last_round, "no I/O at a peak" if idle else ""))


def _shuffled(things: Sequence[T], seed: int) -> list[T]:
    return Random(seed).sample(things, len(things))  # noqa: S311 an order, not a secret


def _peaks(conditions: QosConditions) -> ScriptPart[dict[int, float]]:
    """IOPS of each mix in a closed loop, by its per cent of reads; writes continue from the preparation."""
    mixes = tuple(dict.fromkeys((0, 100, *conditions.mixes_read_pct)))
    steps = tuple(
        _counting(conditions, (Stream(_stimulus(conditions, mix)),), conditions.minute_ns) for mix in mixes
    )
    samples = samples_in((yield Apply(Phase.PROFILE, 1, steps)))
    return dict(zip(mixes, (sample.iops for sample in samples), strict=True))


def _search(conditions: QosConditions, number: int, mix: int, peak_per_s: float) -> Script:
    """The curve of a mix, and the highest load for each of its limits; each knows all measurements before."""

    def step_at(load_per_s: float) -> Step:
        return load_step(conditions, load_per_s * mix / 100, load_per_s * (100 - mix) / 100)

    loads = _shuffled([share / 100 * peak_per_s for share in conditions.loads_pct], conditions.seed)
    answer = yield Apply(Phase.LOAD, number, tuple(map(step_at, loads)))
    samples = list(samples_in(answer))
    for limit in conditions.limits_of(mix):
        for _ in range(MOST_MEASUREMENTS):
            load = bracket_of(points_of(samples), limit, conditions).next_load(conditions)
            if load is None:
                break
            samples += samples_in((yield Apply(Phase.LOAD, number, (step_at(load),), if_needed=True)))


def load_step(conditions: QosConditions, reads_per_s: float, writes_per_s: float) -> Step:
    """Reads and writes that arrive at these rates, as long as the limits' percentiles need."""
    streams = tuple(
        Stream(replace(_stimulus(conditions, read_pct), pacing=conditions.pacing(rate)), name)
        for name, read_pct, rate in (("reads", 100, reads_per_s), ("writes", 0, writes_per_s))
        if rate
    )
    rates = {Operation.READ: reads_per_s, Operation.WRITE: writes_per_s}
    needed_s = max(
        (
            ios_for(limit.percentile) / rates[limit.operation]
            for limit in conditions.limits
            if rates[limit.operation]
        ),
        default=0.0,
    )
    length_ns = min(conditions.longest_ns, max(conditions.minute_ns, math.ceil(needed_s * NS_PER_S)))
    return _counting(conditions, streams, length_ns)


def _counting(conditions: QosConditions, streams: tuple[Stream, ...], length_ns: int) -> Step:
    return Step(streams, Duration(length_ns), conditions.settle_ns)


def _stimulus(conditions: QosConditions, read_pct: int) -> Stimulus:
    workload = simple_workload("qos", AccessPattern.RANDOM, conditions.block_size_bytes, read_pct)
    return conditions.stimulus(workload, tc=conditions.tc, qd=conditions.qd)
