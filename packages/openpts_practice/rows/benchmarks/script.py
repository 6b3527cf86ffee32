"""Profiles of popular benchmarks (benchmarks).

Purpose
    The figures that users of a benchmark know, measured on the raw drive, each with its exact definition and
    the range of its passes.
Clause
    None: practice beyond the specification. The definitions are those of the tools' sources and pages.
Steps
    Purge; on request sequential preconditioning, which may leave places free; for each benchmark its test
    file, then its rows in the tool's order: the pause, the warm-up whose result is thrown away, the passes.
    On request two passes at a time are added to a row until they lie close together, and the drive is left
    alone before the first row until it has come to rest.
Pass rule
    None.
Reported
    Of each row the statistic that the tool shows, and the median of the passes with minimum, maximum and
    relative standard error; a score only where its formula is known.
"""

from itertools import count
from typing import Final

from openpts.procedures.kit.ledger import Standard
from openpts.procedures.shared.settling import rest
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts_practice.rows.benchmarks import BenchmarksConditions
from openpts_practice.rows.profiles import POPULAR
from openpts_practice.rows.steps import (
    apply_rows,
    conditioning_steps,
    file_steps,
    sequential_writes,
    without_impossible_rows,
)
from openpts_pts.shared.one_pass import EMPTIED, condition_in_one_pass

# The popular benchmarks as they come, on a purged drive.
standard_conditions: Final = Standard(BenchmarksConditions, benchmarks=POPULAR, precondition_passes=0)


supported_on = without_impossible_rows


def script(conditions: BenchmarksConditions, user_capacity_bytes: int) -> Script:
    """Benchmark by benchmark, row by row; rows are numbered through."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    conditionings = count(1 + EMPTIED if conditions.one_pass else 1)
    holds = conditions.one_pass and (yield from condition_in_one_pass(conditions, user_capacity_bytes))
    writes, passes = sequential_writes(conditions), 0 if holds else conditions.precondition_passes
    if steps := conditioning_steps(conditions, writes, passes, user_capacity_bytes):
        yield Apply(Phase.CONDITIONING, next(conditionings), steps)
    most = len(conditions.rows)
    for place, benchmark in enumerate(conditions.benchmarks, start=1):
        if file := file_steps(benchmark, conditions, user_capacity_bytes):
            yield Apply(Phase.CONDITIONING, next(conditionings), file)
        yield from rest(conditions, place)
        first = conditions.places(benchmark).start + 1
        apply = Apply(Phase.PROFILE, first, (), most, repeatable=True)
        yield from apply_rows(benchmark, conditions, user_capacity_bytes, apply)
    yield CycleFinished(Outcome(steady_round=None, last_round=0))
