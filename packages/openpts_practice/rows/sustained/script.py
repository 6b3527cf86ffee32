"""Sustained performance and claims.

Purpose
    What is left of the figures of a fresh drive, and of its data sheet, after a long load.
Source
    Practice beyond the PTS: a controller vendor's talk on reading SSD numbers (HYP-SUS).
Steps
    Purge; run #1: the test file and the rows of a benchmark, unless another is chosen the figures of data
    sheets; RND 4 KiB 0/100 over the whole range until 4 x user capacity is written or 72 hours have passed;
    run #2: the same as run #1, at once; on request, the drive
    is left alone before the rows of each benchmark, in both runs.
Pass rule
    None. Sustained performance is run #2 / run #1, in per cent.
Reported
    Both runs and their ratio, IOPS over the load and its maximum response time, and what became of claims.
"""

from typing import Final

from openpts.procedures.kit.ledger import RECOMMENDED_TC, Standard
from openpts.procedures.shared.settling import rest
from openpts.units import NS_PER_S, format_duration
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
from openpts.vocabulary.stimulus import ByteAmount, Duration, FirstOf, Step
from openpts.vocabulary.workload import WRITE_INTENSIVE
from openpts_practice.rows.profiles import BENCHMARKS
from openpts_practice.rows.steps import apply_rows, file_steps, without_impossible_rows
from openpts_practice.rows.sustained import SustainedConditions
from openpts_pts.shared.continuous import MINUTES_PER_STEP, transferred_for

FRESH: Final = 1
SUSTAINED: Final = 2
"""Numbers of the runs of the figures."""

_MINUTE_NS: Final = 60 * NS_PER_S
# A rest that is too short to measure anything in is none.
_LEAST_MINUTES: Final = 0.01


# HYP-SUS-01, HYP-SUS-03
# The load and its 72 hours as in the talk, but no more than the amount of the write saturation test.
standard_conditions: Final = Standard(
    SustainedConditions,
    benchmarks=(BENCHMARKS["data-sheet"],),
    sequential_tc=1,
    sequential_qd=32,
    tc=RECOMMENDED_TC,
    qd=32,
    workload=WRITE_INTENSIVE,
    drive_fills=4,
    longest_ns=72 * 60 * _MINUTE_NS,
)


supported_on = without_impossible_rows


def script(conditions: SustainedConditions, user_capacity_bytes: int) -> Script:
    """The figures, the load, and the figures again without a pause."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    yield from _figures(conditions, FRESH, user_capacity_bytes)
    ended_by = yield from _load(conditions, user_capacity_bytes)
    yield from _figures(conditions, SUSTAINED, user_capacity_bytes)
    yield CycleFinished(Outcome(None, 0, ended_by))


def _figures(conditions: SustainedConditions, run: int, user_capacity_bytes: int) -> Script:
    """Lay each benchmark's test file, so that reads find data and each run finds the same; then its rows."""
    row_count, file_count = len(conditions.rows), len(conditions.benchmarks)
    for file_number, benchmark in enumerate(conditions.benchmarks, start=(run - 1) * file_count + 1):
        if file := file_steps(benchmark, conditions, user_capacity_bytes):
            yield Apply(Phase.CONDITIONING, file_number, file)
        yield from rest(conditions, file_number)
        first = (run - 1) * row_count + conditions.places(benchmark).start + 1
        apply = Apply(Phase.PROFILE, first, (), 2 * row_count)
        yield from apply_rows(benchmark, conditions, user_capacity_bytes, apply)


# HYP-SUS-01
def _load(conditions: SustainedConditions, user_capacity_bytes: int) -> ScriptPart[str]:
    """The workload until an amount or a time; returns what ended it."""
    workload = conditions.workload
    sequential = workload.sequential
    stimulus = conditions.stimulus(
        workload,
        tc=conditions.sequential_tc if sequential else conditions.tc,
        qd=conditions.sequential_qd if sequential else conditions.qd,
    )
    left_ns = conditions.longest_ns
    left_bytes = None
    if conditions.drive_fills is not None:
        left_bytes = transferred_for(conditions.drive_fills * user_capacity_bytes, workload.read_pct)
    while True:
        length = Duration(min(left_ns, MINUTES_PER_STEP * conditions.minute_ns))
        stop = length if left_bytes is None else FirstOf((length, ByteAmount(left_bytes)))
        (sample,) = samples_in((yield Apply(Phase.LOAD, 1, (Step.of(stimulus, stop),))))
        left_ns -= sample.elapsed_ns
        if left_bytes is not None:
            left_bytes -= sample.bytes
            if left_bytes < stimulus.block_size_bytes:
                return f"{conditions.drive_fills:g} x user capacity written"
        if left_ns < _LEAST_MINUTES * conditions.minute_ns:
            return f"{format_duration(conditions.longest_ns)} elapsed"
