"""Cells and tables of what a trace is like: what a trace can't tell is n/a, with the reason."""

from collections.abc import Mapping
from typing import Any, Final

from openpts.pages.cells import count, missing, percent
from openpts.pages.model import Cell
from openpts.units import KIB, format_block_size, format_capacity, format_gap, format_significant

Figures = Mapping[str, Any]

NO_COMPLETIONS: Final = "unknown: the trace has no completions"
_OPERATIONS: Final = ("read", "write", "trim", "zeroes", "flush", "other")


def share(value: float | None, *, error: float = 0.0) -> Cell:
    """A share of 1 in per cent, with its error if it is an estimate."""
    if value is None:
        return missing("unknown")
    cell = percent(100 * value, 2)
    return cell if not error else Cell(f"{cell.text} ±{100 * error:.2g}", cell.value)


def amount(value: float | None, *, error: float = 0.0, reason: str = "unknown") -> Cell:
    """Bytes, with the relative error if it is an estimate."""
    if value is None:
        return missing(reason)
    text = format_capacity(round(value))
    return Cell(text if not error else f"{text} ±{100 * error:.2g} %", float(value))


def mean_size(value: float) -> Cell:
    """The mean of lengths of I/Os."""
    return Cell(f"{format_significant(value / KIB)} KiB", value)


def size(value: int) -> Cell:
    """A length of I/Os."""
    return Cell(format_block_size(value) if value % 512 == 0 and value else f"{value:,} B", float(value))


def time(value_ns: float | None, reason: str = "unknown") -> Cell:
    """A time."""
    return missing(reason) if value_ns is None else Cell(format_gap(round(value_ns)), float(value_ns))


def figure(value: float | None, reason: str = "unknown") -> Cell:
    """A number with three significant digits."""
    if value is None:
        return missing(reason)
    return Cell(format_significant(value) if abs(value) >= 0.001 else f"{value:.2g}", value)


def number(value: int) -> Cell:
    """A count."""
    return count(value)


def in_order(by_operation: Figures) -> list[tuple[str, Any]]:
    """What there is by operation, in the order of tables."""
    return [(kind, by_operation[kind]) for kind in _OPERATIONS if kind in by_operation]


def percentile(distribution: Figures, pct: float) -> float:
    """A percentile of a distribution that is known."""
    value: float = dict(map(tuple, distribution["percentiles"]))[pct]
    return value


SPREAD_HEADS: Final = ("Mean", "CV", "Min", "p50", "p95", "p99", "p99.9", "Max")


def spread(distribution: Figures | None, reason: str = "unknown") -> tuple[Cell, ...]:
    """Times of a distribution under ``SPREAD_HEADS``."""
    if distribution is None:
        return tuple(missing(reason) for _ in SPREAD_HEADS)
    points = [time(percentile(distribution, pct)) for pct in (50, 95, 99, 99.9)]
    return (
        time(distribution["mean"]),
        figure(distribution["cv"], "all are 0"),
        time(distribution["min"]),
        *points,
        time(distribution["max"]),
    )
