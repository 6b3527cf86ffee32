"""Contradictions between parameters, and with a target, found before anything is purged."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from openpts.errors import UsageError
from openpts.parameters.overrides import Given
from openpts.parameters.step_counts import too_many_steps
from openpts.procedures.pts.dirth.conditions import DemandIntensityConditions
from openpts.procedures.pts.hir.conditions import IdleRecoveryConditions
from openpts.procedures.pts.iops.conditions import IopsConditions
from openpts.procedures.pts.lat.conditions import LatencyConditions
from openpts.procedures.pts.tp.conditions import ThroughputConditions
from openpts.procedures.pts.wsat.conditions import WriteSaturationConditions
from openpts.procedures.shared.demand.conditions import DemandConditions
from openpts.procedures.shared.rounds.conditions import RoundConditions
from openpts.units import format_block_size
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.placement import Uniform
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.workload import WORKLOADS, Workload

Found = Iterator[tuple[tuple[str, ...], str]]
"""Parameters that a contradiction is between, the likeliest culprit first, and what it is."""


def contradictions(given: Given, conditions: Any) -> list[str]:
    """What can't be together, a line for each, with the place of the parameter that is to blame."""
    return [
        f"{given.name_of(*parameters)}: {text}"
        for check in _CHECKS
        for parameters, text in check(given, conditions)
    ]


def refuse_contradictions(given: Given, conditions: Any) -> None:
    """Raises UsageError on the first contradiction."""
    if found := contradictions(given, conditions):
        raise UsageError(found[0])


def refuse_impossible_sizes(given: Given, conditions: Any, target: TargetFacts) -> None:
    """Raises UsageError for a block size that the operator asked for and that the target can't have.

    The specification's own sizes are no business of this: a test leaves them out and says so.
    """
    for parameter, sizes in _own_sizes(given, conditions):
        for size_bytes in sizes:
            if size_bytes % target.sector_bytes:
                raise UsageError(
                    f"{given.names[parameter]}: {format_block_size(size_bytes)} is not a multiple of the "
                    f"sector of {target.name}, which has {target.sector_bytes:,} bytes"
                )


def _own_sizes(given: Given, conditions: Any) -> Iterator[tuple[str, Sequence[int]]]:
    if "block_sizes" in given.values:
        yield "block_sizes", conditions.block_sizes_bytes
    if "precondition_block_size" in given.values:
        yield "precondition_block_size", (conditions.precondition_block_size_bytes,)
    for parameter in ("workload", "workloads"):
        if parameter in given.values:
            for workload in _workloads(conditions):
                if workload not in WORKLOADS.values():
                    yield parameter, [size.block_size_bytes for size in workload.block_sizes]


def _workloads(conditions: Any) -> tuple[Workload, ...]:
    match conditions:
        case WriteSaturationConditions():
            return conditions.workloads
        case IdleRecoveryConditions() | DemandConditions():
            return (conditions.workload,)
        case _:
            return ()


def _two_lengths(given: Given, _conditions: Any) -> Found:
    if {"step_seconds", "round_seconds"} <= given.values.keys():
        other = given.name_of("step_seconds")
        yield ("round_seconds",), f"sets the same as {other}: give one of them"


def _tracking(_given: Given, conditions: Any) -> Found:
    """What steady state is judged on has to be measured."""
    match conditions:
        case ThroughputConditions():
            if 0 not in conditions.read_pcts:
                yield ("read_pcts",), "steady state is judged on writes, so the mixes must include 0"
        case IopsConditions() | LatencyConditions():
            yield from _untracked(conditions)


def _untracked(conditions: RoundConditions) -> Found:
    for variable in conditions.tracking:
        elements = variable.access_pattern is AccessPattern.RANDOM and (
            variable.block_size_bytes in conditions.block_sizes_bytes
            and variable.read_pct in conditions.read_pcts
        )
        if not elements:
            yield (
                ("tracking", "block_sizes", "read_pcts"),
                f"steady state is judged on {variable}, which is not an element of a round: "
                "name others with tracking",
            )


def _tracked_minutes(_given: Given, conditions: Any) -> Found:
    period_ns = getattr(conditions, "tracking_period_ns", None)
    if period_ns is not None and period_ns < conditions.minute_ns:
        yield (
            ("tracking_seconds", "step_seconds"),
            "a tracked minute would begin before the one before it has ended",
        )


def _prewrites(_given: Given, conditions: Any) -> Found:
    if isinstance(conditions, DemandConditions) and (
        conditions.prewrite_shortest_ns > conditions.prewrite_longest_ns
    ):
        yield (
            ("prewrite_shortest_seconds", "prewrite_longest_seconds"),
            "the shortest pre-write is longer than the longest",
        )


def _operating_points(_given: Given, conditions: Any) -> Found:
    if not isinstance(conditions, DemandConditions):
        return
    points = len(conditions.tcs) * len(conditions.qds)
    if points < 2 + conditions.mid_points:
        yield (
            ("mid_points", "tcs", "qds"),
            f"{points} operating points can't hold MaxIOPS, MinIOPS and {conditions.mid_points} between them",
        )


def _segments(_given: Given, conditions: Any) -> Found:
    if conditions.segments is None:
        return
    workloads = _workloads(conditions)
    if workloads and all(workload.sequential for workload in workloads):
        yield ("segments",), "segments apply to random accesses, and the test has none"
    if isinstance(conditions, DemandIntensityConditions) and conditions.workload.placement != Uniform():
        yield ("segments",), f"the workload {conditions.workload.title} has its own access ranges"


def _steady_saturation(given: Given, conditions: Any) -> Found:
    if not isinstance(conditions, WriteSaturationConditions) or conditions.stop_when_steady:
        return
    if "steady_after_drive_fills" in given.values:
        yield ("steady_after_drive_fills",), "does nothing without stop_when_steady"


def _step_counts(_given: Given, conditions: Any) -> Found:
    """Each length makes sense alone, and together they make steps without end."""
    yield from too_many_steps(conditions)


_CHECKS: Final[tuple[Callable[[Given, Any], Found], ...]] = (
    _two_lengths,
    _tracking,
    _tracked_minutes,
    _prewrites,
    _operating_points,
    _segments,
    _steady_saturation,
    _step_counts,
)
