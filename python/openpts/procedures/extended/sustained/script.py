"""Sustained performance and claims.

Purpose
    What is left of the figures of a fresh drive, and of its data sheet, after a long load.
Source
    Practice beyond the PTS: a controller vendor's talk on reading SSD numbers (HYP-SUS).
Steps
    Purge; run #1: a span of 2 % of the range is written once, then SEQ 128 KiB writes and reads and RND 4 KiB
    writes and reads of it, 30 seconds each; RND 4 KiB 0/100 over the whole range until 4 x user capacity is
    written or 72 hours have passed; run #2: the same as run #1, at once.
Pass rule
    None. Sustained performance is run #2 / run #1, in per cent.
Reported
    Both runs and their ratio, IOPS over the load and its maximum response time, and what became of claims.
"""

from collections.abc import Generator
from typing import Final

from openpts.procedures.extended.sustained.conditions import SHORT_FIGURES, ShortFigure, SustainedConditions
from openpts.procedures.shared.continuous import MINUTES_PER_STEP, transferred_for
from openpts.units import KIB, NS_PER_S, format_duration
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import (
    Answer,
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    Request,
    Script,
    SetWriteCache,
    samples_in,
)
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf
from openpts.vocabulary.workload import WRITE_INTENSIVE, simple_workload

FRESH: Final = 1
SUSTAINED: Final = 2
"""Numbers of the runs of the figures."""

_MINUTE_NS: Final = 60 * NS_PER_S
# A rest that is too short to measure anything in is none.
_LEAST_MINUTES: Final = 0.01


# HYP-SUS-01, HYP-SUS-03
def standard_conditions(drive_class: DriveClass, seed: int) -> SustainedConditions:
    """The load and its 72 hours as in the talk, but no more than the amount of the write saturation test."""
    enterprise = drive_class is DriveClass.ENTERPRISE
    return SustainedConditions(
        drive_class=drive_class,
        write_cache_enabled=not enterprise,
        active_range=ActiveRange(0, 100),
        sequential_block_size_bytes=128 * KIB,
        sequential_tc=1,
        sequential_qd=32,
        random_block_size_bytes=4 * KIB,
        tc=4 if enterprise else 2,
        qd=32,
        figure_ns=30 * NS_PER_S,
        span_pct=2,
        workload=WRITE_INTENSIVE,
        drive_fills=4,
        longest_ns=72 * 60 * _MINUTE_NS,
        seed=seed,
    )


def script(conditions: SustainedConditions, user_capacity_bytes: int) -> Script:
    """The figures, the load, and the figures again without a pause."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    yield from _figures(conditions, FRESH, user_capacity_bytes)
    ended_by = yield from _load(conditions, user_capacity_bytes)
    yield from _figures(conditions, SUSTAINED, user_capacity_bytes)
    yield CycleFinished(Outcome(None, 0, ended_by))


def span_of(conditions: SustainedConditions) -> ActiveRange:
    """The part of the active range that the figures are measured in."""
    whole = conditions.active_range
    length_pct = (whole.end_pct - whole.start_pct) * conditions.span_pct / 100
    return ActiveRange(whole.start_pct, whole.start_pct + length_pct)


def _figures(conditions: SustainedConditions, number: int, user_capacity_bytes: int) -> Script:
    """Lay the span, so that reads find data and each run finds the same, then measure in it."""
    span = span_of(conditions)
    amount_bytes = round((span.end_pct - span.start_pct) / 100 * user_capacity_bytes)
    figures = SHORT_FIGURES.values()
    laid = _stimulus(conditions, SHORT_FIGURES["sequential_write"], span)
    yield Apply(Phase.CONDITIONING, number, (Step(laid, ByteAmount(amount_bytes)),))
    length = Duration(conditions.figure_ns)
    steps = tuple(Step(_stimulus(conditions, figure, span), length) for figure in figures)
    yield Apply(Phase.PROFILE, number, steps)


def _stimulus(conditions: SustainedConditions, figure: ShortFigure, span: ActiveRange) -> Stimulus:
    sequential = figure.access_pattern is AccessPattern.SEQUENTIAL
    size_bytes = conditions.sequential_block_size_bytes if sequential else conditions.random_block_size_bytes
    workload = simple_workload(figure.name, figure.access_pattern, size_bytes, figure.read_pct)
    return workload.stimulus(
        tc=conditions.sequential_tc if sequential else conditions.tc,
        qd=conditions.sequential_qd if sequential else conditions.qd,
        active_range=span,
        data=conditions.data,
    )


# HYP-SUS-01
def _load(conditions: SustainedConditions, user_capacity_bytes: int) -> Generator[Request, Answer, str]:
    """The workload until an amount or a time; returns what ended it."""
    workload = conditions.workload
    sequential = workload.sequential
    stimulus = conditions.stimulus(
        workload,
        tc=conditions.sequential_tc if sequential else conditions.tc,
        qd=conditions.sequential_qd if sequential else conditions.qd,
    )
    left_ns = conditions.longest_ns
    left_bytes = transferred_for(conditions.drive_fills * user_capacity_bytes, workload.read_pct)
    while True:
        length = Duration(min(left_ns, MINUTES_PER_STEP * conditions.minute_ns))
        stop = length if left_bytes is None else FirstOf((length, ByteAmount(left_bytes)))
        (sample,) = samples_in((yield Apply(Phase.LOAD, 1, (Step(stimulus, stop),))))
        left_ns -= sample.elapsed_ns
        if left_bytes is not None:
            left_bytes -= sample.bytes
            if left_bytes < stimulus.block_size_bytes:
                return f"{conditions.drive_fills:g} x user capacity written"
        if left_ns < _LEAST_MINUTES * conditions.minute_ns:
            return f"{format_duration(conditions.longest_ns)} elapsed"
