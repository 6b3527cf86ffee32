"""Paths to a drive that were lost or slow while it was measured, and how long I/O stood still then."""

import math
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

from openpts.record.reader import Run
from openpts.units import NS_PER_S, format_latency_ms
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.phase import StepPlace

PATHS: Final = "paths_live"
OPTIMIZED: Final = "paths_optimized"
"""Sampled values: how many paths of a drive with several take I/O, and how many of them at full speed."""


def path_loss_deviations(run: Run) -> tuple[Deviation, ...]:
    """An entry for each time with fewer paths to the drive than at other times, or none at full speed."""
    series = run.telemetry_series.get(PATHS)
    if series is None:
        return ()
    most, ordered = max(series.values), run.manifest.ordered
    period_ns = round(NS_PER_S * ((ordered and ordered.telemetry_period_s) or 1))
    optimized = run.telemetry_series.get(OPTIMIZED)
    # a value is stored when it changes, not whenever the other one does
    instants = sorted({*series.t_ns, *(optimized.t_ns if optimized else ())})
    sampled = (
        (series.held(at_ns, at_ns)[0], optimized is not None and not optimized.held(at_ns, at_ns)[0], at_ns)
        for at_ns in instants
    )
    spans = [(*state, next(alike)[2]) for state, alike in groupby(sampled, key=itemgetter(0, 1))]
    ends_ns = [*(at_ns for *_, at_ns in spans[1:]), None]
    return tuple(
        _entry(run, (int(live), int(most)), at_ns - period_ns, end_ns, is_slow=is_slow and live > 0)
        for (live, is_slow, at_ns), end_ns in zip(spans, ends_ns, strict=True)
        if live < most or is_slow
    )


def _entry(
    run: Run, paths: tuple[int, int], begin_ns: int, end_ns: int | None, *, is_slow: bool
) -> Deviation:
    live, most = paths
    until = "the end" if end_ns is None else f"{end_ns / NS_PER_S:,.1f} s"
    used = f"{live} of {most}{', none of them optimized,' if is_slow else ''}"
    used += f" from {max(0, begin_ns) / NS_PER_S:,.1f} s to {until} of the run"
    longest = max(_waits(run, begin_ns, math.inf if end_ns is None else end_ns), default=None)
    if longest is not None:
        wait_ns, place = longest
        used += f"; the longest wait for an I/O then was {format_latency_ms(wait_ns)} ms, in {place}"
    return Deviation(
        rule_id="PTS-GEN-01",
        clause="1.1",
        required="all paths to the drive" if live < most else "an optimized path to the drive",
        used=used,
        effect="I/O went by a path on which the drive is slower, as it says itself (ANA)"
        if live == most
        else "I/O stood still when the path was lost, and went by fewer paths after that"
        if live
        else "I/O stood still until there was a path again",
    )


def _waits(run: Run, begin_ns: int, end_ns: float) -> Iterator[tuple[int, StepPlace]]:
    """The longest response time of each interval, or step without any, that reaches into that time."""
    for step in run.steps:
        sample = step.sample
        starts_ns = [sample.started_ns + one.index * sample.interval_ns for one in sample.intervals]
        parts = zip(starts_ns, sample.intervals, strict=True) if starts_ns else [(sample.started_ns, sample)]
        for started_ns, part in parts:
            wait_ns = part.max_latency_ns
            if wait_ns is not None and started_ns <= end_ns and started_ns + part.elapsed_ns >= begin_ns:
                yield wait_ns, step.place
