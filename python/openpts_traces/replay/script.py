"""Replay of a trace (replay).

Purpose
    What a drive does with the I/Os of a trace, in their order and at their moments.
Clause
    None: practice beyond the specification. The score is by the formula that UL publishes for PCMark 10.
Steps
    A purge, the user capacity written so often in sequence, all that the trace touches written once in blocks
    of 128 KiB, and passes of the trace, each from its first I/O; several traces begin at the same moment.
Pass rule
    None: a replay is judged by how true it was to the trace.
Reported
    Fidelity: I/Os left out, order, lateness and its causes, what the mapping did; response times from
    submission and from the due moment; the trace's own beside them; busy time and the score of trace
    benchmarks.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final

from msgspec.structs import astuple, replace

from openpts.procedures.kit.standard import Standard
from openpts.trace_schedules import Plan, Prepared, Zones, prepared
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.replay import ReplayMode
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.stimulus import ActiveRange, Step
from openpts.vocabulary.stop import STREAMS_END
from openpts_traces.replay import ReplayConditions
from openpts_traces.trace_replay.conditions import Mapping, Prefill, TraceFile
from openpts_traces.trace_replay.steps import in_sequence, replayed, written_once

# Three passes after everything that is touched was written.
standard_conditions: Final = Standard(ReplayConditions, precondition_passes=0, passes=3)


def supported_on(conditions: ReplayConditions, sector_bytes: int) -> ReplayConditions:
    """I/Os of a trace are rounded to whole sectors."""
    return replace(conditions, sector_bytes=sector_bytes)


def script(conditions: ReplayConditions, user_capacity_bytes: int) -> Script:
    """Preparation, then the trace again and again."""
    if not conditions.read_only:
        yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    if conditions.trace is None:
        yield CycleFinished(Outcome(None, 0))
        return
    # Equal plans are one schedule: passes differ where each is moved on.
    passes = [
        tuple(_schedules(conditions, number * conditions.shift_bytes, user_capacity_bytes))
        for number in range(conditions.passes)
    ]
    if not conditions.read_only:
        found = [one for schedules in passes for one in schedules]
        if steps := _preparation(conditions, found, user_capacity_bytes):
            yield Apply(Phase.CONDITIONING, 1, steps)
    for number, schedules in enumerate(passes, start=1):
        yield Apply(Phase.LOAD, number, (_pass(conditions, schedules),), most=conditions.passes)
    yield CycleFinished(Outcome(None, conditions.passes))


def _schedules(
    conditions: ReplayConditions, shift_bytes: int, user_capacity_bytes: int
) -> Iterator[Prepared]:
    count = len(conditions.traces)
    for number, trace in enumerate(conditions.traces):
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
) -> Plan:
    mapping = trace.mapping or conditions.mapping
    zones = Zones(tuple(astuple(zone) for zone in conditions.zone_table))
    return Plan(
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
    names = [trace.name for trace in conditions.traces]
    return Step(
        tuple(
            replayed(
                name if names.count(name) == 1 else f"{name} ({number})",
                found,
                conditions,
                conditions.sector_bytes,
                depth=conditions.depth,
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
