"""Pages of the map of read rate by write rate: heat maps with the contours of the limits, and all pairs."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from openpts.pages import cells
from openpts.pages.kit import Col, PlotName, grid, heat_map, page, table
from openpts.pages.model import Cell, Column, Page, Table, Verdict
from openpts.procedures.shared.methodology import nothing_page
from openpts.units import format_latency_ms
from openpts_practice.contour import contour
from openpts_practice.qos import Limit, Operation, QosConditions
from openpts_practice.qos.points import Point
from openpts_practice.qos.results import QosRun

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


_HEAT_PX: Final = 420


def map_pages(measured: QosRun, numbers: Iterator[int]) -> tuple[Page, ...]:
    """A heat map for each percentile that a limit is of, and all pairs in the order of their measurement."""
    if not measured.pairs:
        return (nothing_page("qos-map", "Map of Read Rate by Write Rate", "no pair was measured"),)
    by_figure: dict[str, list[Limit]] = {}
    for limit in measured.conditions.limits:
        by_figure.setdefault(limit.figure, []).append(limit)
    done = _map_table(
        measured,
        "qos-map-done",
        "I/Os done (%)",
        lambda point: done_cell(point, measured.conditions.late_pct),
    )
    heat = [_heat_page(measured, limits, done, next(numbers)) for limits in by_figure.values()]
    return (*heat, _pairs_page(measured, done))


def _heat_page(measured: QosRun, limits: Sequence[Limit], done: Table, number: int) -> Page:
    operation, percentile = limits[0].operation, limits[0].percentile
    name = PlotName(
        f"qos-map-{operation}-p{percentile:g}".replace(".", "-"),
        f"Plot X-QOS-{number}",
        f"Map of Read Rate by Write Rate: {limits[0].figure} (ms)",
    )
    shown = _map_table(
        measured,
        f"{name.id}-table",
        f"{limits[0].figure} (ms)",
        lambda point: percentile_cell(point, operation, percentile),
    )
    lines = _contour_table(measured, f"{name.id}-contour", limits)
    verdicts = _contour_verdicts(measured, limits)
    figure = heat_map(
        replace(name, id=f"{name.id}-plot"),
        shown,
        done.id,
        (_peak_axis(measured, Operation.WRITE), _peak_axis(measured, Operation.READ)),
        " ".join((f"{len(measured.pairs)} pairs of rates.", *(verdict.text for verdict in verdicts))),
        contour_id=lines.id if lines.rows else "",
        height_px=_HEAT_PX,
    )
    words = Verdict(
        "Each cell: the percentile in ms, and below it the per cent of the I/Os offered that were done. A "
        "response time counts from the moment for which the I/O was planned."
    )
    return page(name, figure, words, *verdicts, lines if lines.rows else None, shown)


def _peak_axis(measured: QosRun, operation: Operation) -> str:
    peak = measured.peaks.get(100 if operation is Operation.READ else 0)
    of = "" if peak is None else f" of {peak.iops:,.0f} IOPS"
    return f"{operation.plural.capitalize()} offered (%{of})"


def _map_table(measured: QosRun, table_id: str, title: str, cell: Callable[[Point], Cell]) -> Table:
    """Read rates from the highest down, write rates from the least on, as on a map."""
    loads = sorted(measured.conditions.loads_pct)

    def of(reads_pct: float, writes_pct: float) -> Cell:
        point = measured.pairs.get((reads_pct, writes_pct))
        return cells.missing("not measured") if point is None else cell(point)

    return grid(
        table_id,
        title,
        Col("Reads (% of the peak)", lambda pct: Cell(f"{pct:g} %", pct), width=0.8),
        [(Column(f"{pct:g} %", pct), pct) for pct in loads],
        loads[::-1],
        cell=of,
        group="Writes (% of the peak)",
    )


def _contour_values(measured: QosRun, limit: Limit) -> list[list[float | None]]:
    """The limit's percentile by read rate and write rate, ns; infinity where the drive carries less."""
    loads = sorted(measured.conditions.loads_pct)

    def of(point: Point | None) -> float | None:
        if point is None:
            return None
        if not point.is_carried(measured.conditions.late_pct):
            return math.inf
        return point.percentile_ns(limit.operation, limit.percentile)

    return [[of(measured.pairs.get((reads, writes))) for writes in loads] for reads in loads]


def _contour_table(measured: QosRun, table_id: str, limits: Sequence[Limit]) -> Table:
    """The points of each contour: where it crosses a rate of the map."""
    loads = sorted(measured.conditions.loads_pct)
    peaks = [measured.peaks[mix].iops if mix in measured.peaks else None for mix in (0, 100)]
    points = [
        (limit, line, _between(loads, column), _between(loads, row))
        for limit in limits
        for line, places in enumerate(contour(_contour_values(measured, limit), limit.latency_ns), start=1)
        for column, row in places
    ]

    def rate(at: int) -> Col[tuple[Limit, int, float, float]]:
        label, peak = ("Writes", "Reads")[at], peaks[at]
        return Col(
            f"{label} (IOPS)",
            lambda one: cells.number_or("no peak", None if peak is None else one[2:][at] / 100 * peak, 1),
        )

    columns: list[Col[tuple[Limit, int, float, float]]] = [
        Col("Line", lambda one: cells.count(one[1])),
        Col("Writes (% of the peak)", lambda one: cells.number(one[2], 1)),
        Col("Reads (% of the peak)", lambda one: cells.number(one[3], 1)),
        rate(0),
        rate(1),
    ]
    head: Col[tuple[Limit, int, float, float]] = Col(
        "Limit", lambda one: Cell(f"{format_latency_ms(one[0].latency_ns)} ms"), width=0.6
    )
    return table(table_id, "Contours, interpolated between neighboring pairs", head, columns, points)


def _between(loads: Sequence[float], place: float) -> float:
    """The load at a place among those of the map: 0.5 is halfway between the first two."""
    at = min(int(place), len(loads) - 2)
    return loads[at] + (place - at) * (loads[at + 1] - loads[at])


def _contour_verdicts(measured: QosRun, limits: Sequence[Limit]) -> list[Verdict]:
    """How many pairs keep each limit."""
    found = []
    for limit in limits:
        states = [point.keeps(limit, measured.conditions.late_pct) for point in measured.pairs.values()]
        unknown = f", {states.count(None)} not judged (too few I/Os)" if None in states else ""
        hosts = sum(point.is_limited_by_host for point in measured.pairs.values())
        host = f"; the host limited {hosts}, whose response times are not the drive's alone" if hosts else ""
        refused = sum(not point.is_carried(measured.conditions.late_pct) for point in measured.pairs.values())
        found.append(
            Verdict(
                f"{limit}: kept at {states.count(True)} of {len(states)} pairs{unknown}; the drive does not "
                f"carry {refused}{host}.",
                "fail" if hosts else "info",
            )
        )
    return found


def _pairs_page(measured: QosRun, done: Table) -> Page:
    """All pairs, from the first that was measured on."""
    rates = {point: pair for pair, point in measured.pairs.items()}
    columns: list[Col[Point]] = [
        Col("Reads (%)", lambda point: cells.number(rates[point][0], 0)),
        Col("Writes (%)", lambda point: cells.number(rates[point][1], 0)),
        *percentile_columns(list(Operation), percentiles_of(measured.conditions)),
    ]
    numbers = {point: number for number, point in enumerate(measured.pairs.values(), start=1)}
    shown = table(
        "qos-pairs-table",
        "Response times of each pair (ms), in the order of measurement",
        Col("No.", lambda point: cells.count(numbers[point]), width=0),
        columns,
        measured.pairs.values(),
        note=DONE_NOTE,
    )
    order = Verdict(
        "Pairs were measured in an order drawn from the seed, each after "
        f"{measured.conditions.settle_ns / 1e9:g} s at its rates that do not count: a drift of the drive is "
        "spread over the map, not mistaken for an effect of the load."
    )
    return Page("qos-pairs", "Pairs of the Map", (order, done, shown), mandatory=True)
