"""Replay of a trace (replay).

Purpose
    What a drive does with the I/Os of a trace, in their order and at their moments.
Clause
    None: practice beyond the specification. The score is by the formula that UL publishes for PCMark 10.
Steps
    A purge, the user capacity written so often in sequence, all that the trace touches written once in blocks
    of 128 KiB, and passes of the trace, each from its first I/O.
Pass rule
    None: a replay is judged by how true it was to the trace.
Reported
    Fidelity: I/Os left out, order, lateness and its causes, what the mapping did; response times from
    submission and from the due moment; the trace's own beside them; busy time and the score of trace
    benchmarks.
"""

from fractions import Fraction

from msgspec.structs import replace

from openpts.procedures.extended.replay.conditions import ReplayConditions
from openpts.procedures.shared.trace_replay.conditions import Prefill
from openpts.procedures.shared.trace_replay.steps import in_sequence, replayed, written_once
from openpts.trace_schedules import Plan, Prepared, prepared
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.replay import ReplayMode
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.stimulus import ActiveRange, Step
from openpts.vocabulary.stop import STREAMS_END


def standard_conditions(drive_class: DriveClass, seed: int) -> ReplayConditions:
    """Three passes after everything that is touched was written."""
    return ReplayConditions(
        drive_class=drive_class,
        write_cache_enabled=drive_class is DriveClass.CLIENT,
        active_range=ActiveRange(0, 100),
        precondition_passes=0,
        passes=3,
        seed=seed,
    )


def possible_on(conditions: ReplayConditions, sector_bytes: int) -> ReplayConditions:
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
    found = prepared(_plan(conditions, conditions.trace.path, user_capacity_bytes))
    if not conditions.read_only and (steps := _preparation(conditions, found, user_capacity_bytes)):
        yield Apply(Phase.CONDITIONING, 1, steps)
    stream = replayed(
        conditions.trace.name,
        found,
        conditions,
        conditions.sector_bytes,
        depth=conditions.depth,
        mode=conditions.mode,
        conflicts=conditions.conflicts,
    )
    step = Step((stream,), STREAMS_END)
    for number in range(1, conditions.passes + 1):
        yield Apply(Phase.LOAD, number, (step,), most=conditions.passes)
    yield CycleFinished(Outcome(None, conditions.passes))


def _plan(conditions: ReplayConditions, path: str, user_capacity_bytes: int) -> Plan:
    return Plan(
        paths=(path,),
        capacity_bytes=user_capacity_bytes,
        sector_bytes=conditions.sector_bytes,
        mapping=conditions.mapping,
        granule_bytes=conditions.granule_bytes,
        speed=Fraction(conditions.speed),
        max_idle_ns=conditions.max_idle_ns,
        from_ns=conditions.from_ns or 0,
        to_ns=conditions.to_ns,
        writes=not conditions.read_only,
        trims=conditions.trims,
        with_parents=conditions.mode is ReplayMode.DEPENDENT,
    )


def _preparation(conditions: ReplayConditions, found: Prepared, user_capacity_bytes: int) -> tuple[Step, ...]:
    """The capacity in sequence, and what the trace needs to be there."""
    passes = conditions.precondition_passes + (conditions.prefill is Prefill.FULL)
    ranges = {
        Prefill.READS: found.read_ranges,
        Prefill.FOOTPRINT: found.touched_ranges,
    }.get(conditions.prefill, ())
    return (
        *in_sequence(conditions, passes, user_capacity_bytes),
        *written_once(conditions, ranges, user_capacity_bytes, conditions.sector_bytes),
    )
