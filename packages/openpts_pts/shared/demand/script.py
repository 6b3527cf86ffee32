"""The procedure of CBW and DIRTH: a pattern under varied demand, and its response times at points of it.

Both sections have the same steps but for the pattern: step numbers in comments are those of 13.2, then
those of 14.2. Implements, for CBW and DIRTH each: the order of purge, preconditioning, pre-writes, rounds
and histograms.
"""

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from openpts.analysis.rounds import measurement_window
from openpts.errors import UsageError
from openpts.procedures.kit.ledger import Standard
from openpts.units import KIB, NS_PER_S, format_block_size
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
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import ByteAmount, Duration, FirstOf, Step, Stimulus, Stream, Uniform
from openpts.vocabulary.workload import Workload, workload_on
from openpts_pts.shared.demand.conditions import DemandConditions
from openpts_pts.shared.demand.results import OperatingPoint, PointResults, choose_points, operating_points
from openpts_pts.shared.one_pass import condition_in_one_pass
from openpts_pts.shared.script import JudgedRounds, Tracking, until_steady, written_in_sequence

_WIPC_BLOCK_SIZE_BYTES = 128 * KIB


_D = TypeVar("_D", bound=DemandConditions)


def standard_demand(kind: type[_D], workload: Workload) -> Standard[_D]:
    """The conditions of 13.2 and 14.2, for both classes, under a workload."""
    demands, minute_ns = (32, 16, 8, 6, 4, 2, 1), 60 * NS_PER_S
    return Standard(
        kind,
        write_cache_enabled=False,
        minute_ns=minute_ns,
        workload=workload,
        tcs=demands,
        qds=demands,
        precondition_tc=32,
        precondition_qd=32,
        tracking_period_ns=30 * minute_ns,
        max_rounds=25,
        prewrite_shortest_ns=5 * minute_ns,
        prewrite_longest_ns=30 * minute_ns,
        prewrite_capacity_pct=10,
        art_limit_ns=5_000_000,
        plateau_pct=1,
        mid_points=1,
        histogram_prewrite_ns=60 * minute_ns,
        histogram_ns=10 * minute_ns,
    )


def possible_sizes(conditions: DemandConditions, sector_bytes: int) -> DemandConditions:
    """Leave sizes that are no multiple of the sector out of the mix; they are kept as skipped.

    Raises UsageError if none is left.
    """
    workload = conditions.workload
    possible = workload_on(workload, sector_bytes)
    if possible is None:
        sizes = " or ".join(format_block_size(size.block_size_bytes) for size in workload.block_sizes)
        raise UsageError(
            f"{workload.title}: transfers of {sizes} are not possible on sectors of {sector_bytes:,} bytes"
        )
    skipped = tuple(
        size.block_size_bytes for size in workload.block_sizes if size not in possible.block_sizes
    )
    return replace(conditions, workload=possible, skipped_block_sizes_bytes=skipped)


def demand_test(conditions: DemandConditions, user_capacity_bytes: int) -> Script:
    """The script of 13.2 and 14.2."""
    # 1; 1  Purge the device
    yield Purge()

    # 3.1.1, 4.1.1; 2.1.1, 3.1.1  Volatile write cache
    yield SetWriteCache(conditions.write_cache_enabled)

    # 13.1 (2.1); 14.1 (2.1)  WIPC, if the operator wants it; or the short form's pass in its place
    holds = conditions.one_pass and (yield from condition_in_one_pass(conditions, user_capacity_bytes))
    wipc_bytes = 0.0 if holds else conditions.precondition_passes * user_capacity_bytes
    tc, qd = _preconditioning_demand(conditions)
    yield from written_in_sequence(
        conditions, _WIPC_BLOCK_SIZE_BYTES, wipc_bytes, tc=tc, qd=qd, phase=Phase.WIPC
    )

    # a pass leaves the state of uniform random writes: another pattern takes its time to its own
    is_uniform = conditions.workload.random_pct == 100 and conditions.workload.placement == Uniform()

    # 3; 2  The pattern with 0/100 until steady or for 25 tracking rounds; the test continues either way
    yield from until_steady(
        Tracking(
            phase=Phase.WDPC,
            streams=(Stream(_writes(conditions, tc, qd)),),
            name="preconditioning IOPS",
            minute_ns=conditions.minute_ns,
            period_ns=conditions.minute_ns if holds and is_uniform else conditions.tracking_period_ns,
            max_rounds=conditions.max_rounds,
        )
    )

    # 4; 3  Demand variation until steady or for 25 rounds
    outcome, measured = yield from _rounds(conditions, user_capacity_bytes)

    # 6; 5  Operating points, from the data of the window
    chosen = choose_points(measured, conditions)

    # 7 to 9; 6 to 8  Maximum, minimum, then those between
    for number, choice in enumerate(chosen.in_order, start=1):
        yield from _histogram(conditions, number, choice.point)
    yield CycleFinished(outcome)


def _rounds(
    conditions: DemandConditions, user_capacity_bytes: int
) -> ScriptPart[tuple[Outcome, list[PointResults]]]:
    """Rounds, and the averages of their window at each operating point."""
    points = operating_points(conditions.tcs, conditions.qds)
    prewrite = _round_prewrite(conditions, user_capacity_bytes)
    steps = tuple(
        # 4.3.1; 3.3.1  A minute at each point
        Step.of(_pattern(conditions, *point), Duration(conditions.minute_ns))
        for point in points
    )
    judged = JudgedRounds(Phase.ROUND, (f"IOPS at {points[0]}",))
    history: list[tuple[Sample, ...]] = []
    steady_round: int | None = None
    for number in range(1, conditions.max_rounds + 1):
        # 4.2; 3.2  Inter-round pre-write
        yield Apply(Phase.ROUND_PREWRITE, number, (prewrite,), conditions.max_rounds)
        # 4.3; 3.3  One round
        samples = samples_in((yield Apply(Phase.ROUND, number, steps, conditions.max_rounds)))
        history.append(samples)
        # 4.3.3; 3.3.3  Judged on the highest demand
        if (yield from judged.steady_with(samples, samples[0].iops)):
            steady_round = number
            break
    window = measurement_window(len(history), steady_round)
    return Outcome(steady_round, len(history)), _averages(points, history, window.rounds)


def _averages(
    points: Sequence[OperatingPoint], history: Sequence[tuple[Sample, ...]], rounds: Sequence[int]
) -> list[PointResults]:
    chosen = [history[number - 1] for number in rounds]
    by_point = zip(points, zip(*chosen, strict=True), strict=True)
    return [PointResults(samples, point=point) for point, samples in by_point]


def _histogram(conditions: DemandConditions, number: int, point: OperatingPoint) -> Script:
    """Pre-writes and response times at an operating point.

    The step that selects the point comes before both, and the text tells them apart by nothing but R/W mix
    and time: so the pre-writes have the point's demand too.
    """
    most = 2 + conditions.mid_points
    # steps 7.2, 8.2, 9.2; 6.2, 7.2, 8.2
    writes = Step.of(_writes(conditions, *point), Duration(conditions.histogram_prewrite_ns))
    yield Apply(Phase.HISTOGRAM_PREWRITE, number, (writes,), most)
    # steps 7.3, 8.3, 9.3; 6.3, 7.3, 8.3
    captured = Step.of(
        _pattern(conditions, *point), Duration(conditions.histogram_ns), capture=conditions.capture
    )
    yield Apply(Phase.HISTOGRAM, number, (captured,), most)


def _round_prewrite(conditions: DemandConditions, user_capacity_bytes: int) -> Step:
    """At least 5 minutes; from then on 30 minutes or 10 % of the user capacity, whichever is first."""
    amount = ByteAmount(round(user_capacity_bytes * conditions.prewrite_capacity_pct / 100))
    return Step.of(
        _writes(conditions, *_preconditioning_demand(conditions)),
        FirstOf((Duration(conditions.prewrite_longest_ns), amount), conditions.prewrite_shortest_ns),
    )


def _preconditioning_demand(conditions: DemandConditions) -> OperatingPoint:
    return OperatingPoint(conditions.precondition_tc, conditions.precondition_qd)


def _pattern(conditions: DemandConditions, tc: int, qd: int, *, read_pct: int | None = None) -> Stimulus:
    return conditions.stimulus(conditions.workload, tc=tc, qd=qd, read_pct=read_pct)


def _writes(conditions: DemandConditions, tc: int, qd: int) -> Stimulus:
    return _pattern(conditions, tc, qd, read_pct=0)
