"""Score over a set of traces (score).

Purpose
    One figure for what a drive makes of everyday uses, with all that it is made of.
Clause
    None: practice beyond the specification. The score is by the formula that UL publishes for PCMark 10, the
    discipline that of the Solidigm guide, sections 4.1 and 4.2. The traces are not those of any benchmark.
Steps
    A purge, and the user capacity written so often in sequence. For each trace, alone and with background,
    and for each handling of idle times: all that it touches written once in blocks of 128 KiB, a cold pass,
    and three warm ones without a pause. Two passes at a time are added until their scores lie close together.
Pass rule
    None. A score whose passes never lie close together is discarded.
Reported
    Of each trace the median score with all passes and their relative standard error, rates and response
    times of its median pass; over all traces the pooled and the balanced score; what idle times are worth,
    what background costs; how true the replay was.
"""

from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.standard import Standard
from openpts.trace_schedules import Plan, Prepared, prepared
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    Script,
    SetWriteCache,
    samples_in,
)
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import STREAMS_END
from openpts_traces.score import Background, Case, Idle, ScoreConditions, full_set
from openpts_traces.score.results import passes_to_add, score_of_sample
from openpts_traces.trace_replay.steps import in_sequence, replayed, written_once

_PASSES: Final = 3


# All recipes alone and with their background, with all idle times and with none.
standard_conditions: Final = Standard(
    ScoreConditions,
    traces=full_set(),
    idle=(Idle(None), Idle(0)),
    background=Background(),
    precondition_passes=0,
    passes=_PASSES,
)


def supported_on(conditions: ScoreConditions, sector_bytes: int) -> ScoreConditions:
    """I/Os of a trace are rounded to whole sectors."""
    return replace(conditions, sector_bytes=sector_bytes)


# RWA-20: each case finds the same preparation
def script(conditions: ScoreConditions, user_capacity_bytes: int) -> Script:
    """Case by case, each on what it touches, written once before."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    before = in_sequence(conditions, conditions.precondition_passes, user_capacity_bytes)
    if before:
        yield Apply(Phase.CONDITIONING, 1, before)
    cases = list(conditions.cases())
    for case in cases:
        parts = _schedules(case, conditions, user_capacity_bytes)
        if parts is None:
            continue
        ranges = [one for part in parts for one in part.touched_ranges]
        fill = written_once(conditions, ranges, user_capacity_bytes, conditions.sector_bytes)
        yield Apply(Phase.CONDITIONING, case.number + bool(before), fill)
        names = (case.trace.name, f"{case.trace.name}: background")
        streams = tuple(
            replayed(name, part, conditions, conditions.sector_bytes)
            for name, part in zip(names, parts, strict=False)
        )
        yield from _passes(
            conditions, Apply(Phase.LOAD, case.number, (Step(streams, STREAMS_END),), len(cases))
        )
    yield CycleFinished(Outcome(None, 0))


def _schedules(
    case: Case, conditions: ScoreConditions, user_capacity_bytes: int
) -> tuple[Prepared, ...] | None:
    """The trace, and what is replayed beside it; None where it has no background of its own."""

    def plan(path: str, ground: str) -> Prepared:
        return prepared(
            path,
            Plan(
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
def _passes(conditions: ScoreConditions, apply: Apply) -> Script:
    """A cold pass and the warm ones; two more at a time until their scores lie close together."""
    adds = conditions.until_rse_pct > 0
    first = replace(apply, steps=apply.steps * (1 + conditions.passes), until_alike=adds)
    samples = samples_in((yield first))
    while missing := passes_to_add(conditions, [score_of_sample(one) for one in samples[1:]]):
        samples += samples_in((yield replace(apply, steps=apply.steps * missing, until_alike=True)))
