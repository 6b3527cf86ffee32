"""Columns of a load: its percentiles of response times, and how much of it was done."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from openpts.pages import cells
from openpts.pages.kit import Col
from openpts.pages.model import Cell
from openpts_practice.qos.conditions import Operation, QosConditions
from openpts_practice.qos.points import Point

PERCENTILES: Final = (50.0, 99.0, 99.9, 99.99)

DONE_NOTE: Final = (
    "Done: per cent of the I/Os offered that were done, of reads or writes whichever is less. Percentiles of "
    "a load that is not carried are those of the I/Os that were done; they grow with the time measured."
)


def percentiles_of(conditions: QosConditions) -> tuple[float, ...]:
    """The percentiles that are always shown, and those of the limits."""
    return tuple(sorted({*PERCENTILES, *(limit.percentile for limit in conditions.limits)}))


def percentile_text(percentile: float) -> str:
    """``p99.9``."""
    return f"p{percentile:.12g}"


def percentile_columns(operations: Sequence[Operation], percentiles: Sequence[float]) -> list[Col[Point]]:
    """A column for each percentile of reads, then of writes."""
    return [
        Col(
            f"{operation.plural.capitalize()} {percentile_text(percentile)}",
            partial(percentile_cell, operation=operation, percentile=percentile),
        )
        for operation in operations
        for percentile in percentiles
    ]


def percentile_cell(point: Point, operation: Operation, percentile: float) -> Cell:
    """A percentile in ms, or why there is none."""
    value_ns = point.percentile_ns(operation, percentile)
    if value_ns is None:
        return cells.missing("too few I/Os" if point.distribution(operation).count else "no I/O")
    return cells.latency(value_ns)


def done_cell(point: Point, late_pct: float) -> Cell:
    """Per cent of the I/Os offered that were done."""
    return cells.number(
        point.done_pct,
        1,
        note="limited by the host" if point.is_limited_by_host else "",
        tone="" if point.is_carried(late_pct) else "fail",
    )
