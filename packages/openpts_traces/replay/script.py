"""Replay of a trace (replay).

Purpose
    What a drive does with the I/Os of a trace, in their order and at their moments.
Clause
    None: practice beyond the specification. The score is by the formula that UL publishes for PCMark 10.
Steps
    A purge, the user capacity written so often in sequence, all that the trace touches written once in blocks
    of 128 KiB, and passes of the trace, each from its first I/O; several traces begin at the same moment.
    Of a set, for each trace, alone and with background, and for each handling of idle times: a purge, so that
    no trace finds what another left; all that it touches written once, a cold pass, and three warm ones
    without a pause. On request the drive is left alone before the first pass until it has come to rest. Two
    passes at a time are added until their scores lie close together, by the discipline of the Solidigm guide,
    sections 4.1 and 4.2.
Pass rule
    None: a replay is judged by how true it was to the trace. A score of a set whose passes never lie close
    together is discarded.
Reported
    Fidelity: I/Os left out, order, lateness and its causes, what the mapping did; response times from
    submission and from the due moment; the trace's own beside them; busy time and the score of trace
    benchmarks. Of a set: of each trace the median score with all passes and their relative standard error,
    rates and response times of its median pass; over all traces the pooled and the balanced score; what idle
    times are worth, what background costs.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import count
from typing import Final

from msgspec import UNSET
from msgspec.structs import astuple, replace

from openpts.errors import UsageError
from openpts.fields.conditions import ExtendedConditions
from openpts.procedures.kit.ledger import Standard
from openpts.procedures.shared.settling import rest
from openpts.trace_schedules import Prepared, SchedulePlan, ZoneMapping, filling, prepared
from openpts.units import KIB, MIB, NS_PER_MS
from openpts.vocabulary.replay import Conflicts, Replay, ReplayMode
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
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    AccessPattern,
    ActiveRange,
    BlockSize,
    ByteAmount,
    IoCount,
    OperationWeights,
    Step,
    Stimulus,
    Stream,
)
from openpts.vocabulary.workload import simple_workload
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.passes import passes_to_add, score_of_sample
from openpts_traces.replay.traces import Mapping, Prefill, ScoredTrace, TraceFile

_FILL_BYTES: Final = 128 * KIB
_FILL_QD: Final = 32
_BUFFERS_BYTES: Final = 512 * MIB
"""What all outstanding I/Os may take, unless the operator says how many there may be."""
_LEAST_DEPTH, _MOST_DEPTH = 64, 1024
_ROOM: Final = 4
"""Times what was in flight in the trace, so that a slower drive is not held back."""
_LEAD_NS: Final = 200 * NS_PER_MS
"""From the step's start to the first moment: time to read ahead."""

Ranges = Iterable[tuple[int, int]]


def replayed(
    name: str,
    found: Prepared,
    conditions: ExtendedConditions,
    sector_bytes: int,
    *,
    depth: int | None = None,
    placement_handle: int | None = None,
    traces: int = 1,
    mode: ReplayMode = ReplayMode.TIMED,
    conflicts: Conflicts = Conflicts.STRICT,
) -> Stream:
    """A schedule as a stream, with the most that may be outstanding: None for what suits so many traces.

    Its writes name ``placement_handle``, None being the drive's default.
    """
    largest_bytes = max(found.largest_bytes, sector_bytes)
    needed = min(_MOST_DEPTH, max(_LEAST_DEPTH, _ROOM * found.preparation.peak_in_flight))
    weights = {kind: max(1, round(100 * ios / found.ios)) for kind, ios in found.by_operation.items()}
    stimulus = Stimulus(
        random_pct=100,
        block_sizes=(BlockSize(largest_bytes),),
        operations=OperationWeights(**weights),
        tc=1,
        qd=depth or max(1, min(needed, _BUFFERS_BYTES // traces // largest_bytes)),
        data=conditions.data,
        placement_handle=placement_handle if placement_handle is not None and "write" in weights else UNSET,
    )
    return _played(stimulus, name, found.replay(mode, conflicts))


def _played(stimulus: Stimulus, name: str, replay: Replay) -> Stream:
    return Stream(stimulus, name, delay_ns=_LEAD_NS, stop=IoCount(replay.ios), replay=replay)


def _sequential_writes(conditions: ExtendedConditions) -> Stimulus:
    writes = simple_workload("seq", AccessPattern.SEQUENTIAL, _FILL_BYTES, 0)
    return conditions.stimulus(writes, tc=1, qd=_FILL_QD)


def in_sequence(conditions: ExtendedConditions, passes: float, user_capacity_bytes: int) -> tuple[Step, ...]:
    """So many times the user capacity written in sequence."""
    amount = ByteAmount(round(passes * user_capacity_bytes))
    return (Step.of(_sequential_writes(conditions), amount),) if passes else ()


def written_once(
    conditions: ExtendedConditions, ranges: Ranges, user_capacity_bytes: int, sector_bytes: int
) -> tuple[Step, ...]:
    """All that is on the target of these ranges of bytes, in blocks of 128 KiB."""
    inside = tuple(
        (start, min(end, user_capacity_bytes)) for start, end in ranges if start < user_capacity_bytes
    )
    if not inside:
        return ()
    fill = filling(inside, sector_bytes, _FILL_BYTES)
    return (Step((_played(_sequential_writes(conditions), "prefill", fill),), STREAMS_END),)


# Three passes after everything that is touched was written.
standard_conditions: Final = Standard(ReplayConditions, precondition_passes=0, passes=3)


def supported_on(conditions: ReplayConditions, sector_bytes: int) -> ReplayConditions:
    """I/Os of a trace are rounded to whole sectors."""
    return replace(conditions, sector_bytes=sector_bytes)


def script(conditions: ReplayConditions, user_capacity_bytes: int) -> Script:
    """Preparation, then the trace again and again."""
    if conditions.trace is None:
        yield from _set(conditions, user_capacity_bytes)
        return
    if not conditions.read_only:
        yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    # Equal plans are one schedule: passes differ where each is moved on.
    passes = [
        tuple(_schedules(conditions, number * conditions.shift_bytes, user_capacity_bytes))
        for number in range(conditions.passes)
    ]
    found = [one for schedules in passes for one in schedules]
    if conditions.placement_handle is not None and not any("write" in one.by_operation for one in found):
        names = ", ".join(trace.path for trace in conditions.together)
        raise UsageError(f"cannot replay {names}: --placement-handle applies to writes, and there are none")
    if not conditions.read_only and (steps := _preparation(conditions, found, user_capacity_bytes)):
        yield Apply(Phase.CONDITIONING, 1, steps)
    yield from rest(conditions, 1)
    for number, schedules in enumerate(passes, start=1):
        yield Apply(Phase.LOAD, number, (_pass(conditions, schedules),), most=conditions.passes)
    yield CycleFinished(Outcome(None, conditions.passes))


def _schedules(
    conditions: ReplayConditions, shift_bytes: int, user_capacity_bytes: int
) -> Iterator[Prepared]:
    count = len(conditions.together)
    for number, trace in enumerate(conditions.together):
        region = trace.region or ActiveRange(100 * number / count, 100 * (number + 1) / count)
        base, end = (
            _boundary(percent, conditions.granule_bytes, user_capacity_bytes)
            for percent in (region.start_pct, region.end_pct)
        )
        yield prepared(trace.path, _plan(conditions, trace, base, end - base, shift_bytes))


def _boundary(percent: float, granule_bytes: int, user_capacity_bytes: int) -> int:
    """Whole granules, so that regions beside each other share none; the drive's end is where it is."""
    if percent == 100:
        return user_capacity_bytes
    return int(user_capacity_bytes * percent / 100) // granule_bytes * granule_bytes


def _plan(
    conditions: ReplayConditions, trace: TraceFile, base_bytes: int, capacity_bytes: int, shift_bytes: int
) -> SchedulePlan:
    mapping = trace.mapping or conditions.mapping
    zones = ZoneMapping(tuple(astuple(zone) for zone in conditions.zone_table))
    return SchedulePlan(
        base_bytes=base_bytes,
        capacity_bytes=capacity_bytes,
        shift_bytes=shift_bytes,
        sector_bytes=conditions.sector_bytes,
        unaligned=conditions.unaligned,
        mapping=zones if mapping is Mapping.ZONES else mapping,
        granule_bytes=conditions.granule_bytes,
        speed=Fraction(conditions.speed).as_integer_ratio(),
        max_idle_ns=conditions.max_idle_ns,
        from_ns=conditions.from_ns or 0,
        to_ns=conditions.to_ns,
        writes=not conditions.read_only,
        trims=conditions.trims,
        with_parents=conditions.mode is ReplayMode.DEPENDENT,
    )


def _pass(conditions: ReplayConditions, schedules: Sequence[Prepared]) -> Step:
    """All traces at once, from the same moment on."""
    names = [trace.name for trace in conditions.together]
    return Step(
        tuple(
            replayed(
                name if names.count(name) == 1 else f"{name} ({number})",
                found,
                conditions,
                conditions.sector_bytes,
                depth=conditions.depth,
                placement_handle=conditions.placement_handle,
                traces=len(names),
                mode=conditions.mode,
                conflicts=conditions.conflicts,
            )
            for number, (name, found) in enumerate(zip(names, schedules, strict=True), start=1)
        ),
        STREAMS_END,
    )


def _preparation(
    conditions: ReplayConditions, found: Sequence[Prepared], user_capacity_bytes: int
) -> tuple[Step, ...]:
    """The capacity in sequence, and what the trace needs to be there."""
    passes = conditions.precondition_passes + (conditions.prefill is Prefill.FULL)
    ranges = {
        Prefill.READS: (part for one in found for part in one.read_ranges),
        Prefill.FOOTPRINT: (part for one in found for part in one.touched_ranges),
    }.get(conditions.prefill, ())
    return (
        *in_sequence(conditions, passes, user_capacity_bytes),
        *written_once(conditions, _merged(ranges), user_capacity_bytes, conditions.sector_bytes),
    )


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, none overlapping or adjacent to the next."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


# RWA-20: each case finds the same preparation
def _set(conditions: ReplayConditions, user_capacity_bytes: int) -> ScriptPart[None]:
    """Case by case, each from a purge on: what another trace left is in no score."""
    before = in_sequence(conditions, conditions.precondition_passes, user_capacity_bytes)
    conditionings = count(1)
    cases = list(conditions.cases())
    for case in cases:
        parts = _schedules_of_case(case, conditions, user_capacity_bytes)
        if parts is None:
            continue
        ranges = [one for part in parts for one in part.touched_ranges]
        yield Purge()
        yield SetWriteCache(conditions.write_cache_enabled)
        if before:
            yield Apply(Phase.CONDITIONING, next(conditionings), before)
        fill = written_once(conditions, ranges, user_capacity_bytes, conditions.sector_bytes)
        yield Apply(Phase.CONDITIONING, next(conditionings), fill)
        yield from rest(conditions, case.number)
        names = (case.trace.name, f"{case.trace.name}: background")
        streams = tuple(
            replayed(name, part, conditions, conditions.sector_bytes)
            for name, part in zip(names, parts, strict=False)
        )
        yield from _passes(
            conditions, Apply(Phase.LOAD, case.number, (Step(streams, STREAMS_END),), len(cases))
        )
        yield CycleFinished(Outcome(None, 0), str(case))


def _schedules_of_case(
    case: ScoredTrace, conditions: ReplayConditions, user_capacity_bytes: int
) -> tuple[Prepared, ...] | None:
    """The trace, and what is replayed beside it; None where it has no background of its own."""

    def plan(path: str, ground: str) -> Prepared:
        return prepared(
            path,
            SchedulePlan(
                capacity_bytes=user_capacity_bytes,
                sector_bytes=conditions.sector_bytes,
                mapping=conditions.mapping,
                max_idle_ns=case.load.idle.most_ns,
                ground=ground,
            ),
        )

    front = plan(case.trace.path, "foreground")
    if case.load.background is None:
        return (front,)
    if (beside := case.load.background.trace) is not None:
        return (front, plan(beside.path, "both"))
    if "background" not in front.preparation.skipped:
        return None
    return (front, plan(case.trace.path, "background"))


# SCO-AGG-02
def _passes(conditions: ReplayConditions, apply: Apply) -> ScriptPart[None]:
    """A cold pass and the warm ones; two more at a time until their scores lie close together."""
    adds = conditions.until_rse_pct > 0
    first = replace(apply, steps=apply.steps * (1 + conditions.passes), until_alike=adds)
    samples = samples_in((yield first))
    while missing := passes_to_add(conditions, [score_of_sample(one) for one in samples[1:]]):
        samples += samples_in((yield replace(apply, steps=apply.steps * missing, until_alike=True)))
