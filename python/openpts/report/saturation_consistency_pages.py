"""How even the IOPS of write saturation are, in several views (ours): whole run, last hour, its spread."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.kit import PlotName
from openpts.pages.model import Axis, Block, Cell, Column, Figure, Page, Row, Series, Table, Verdict
from openpts.report.saturation_pages import MEAN_COLOR, PRINTED_VALUES, Course, log_figure
from openpts.units import format_duration

_NUMBER: Final = "Plot X-WSAT-2"
_BINS_PER_TICK: Final = 10
_HEIGHT_PX: Final = 250

Points = Sequence[tuple[float, float]]
"""Intervals: minutes before the end, and IOPS."""


def consistency_pages(course: Course, title: str, points: Points, interval_ns: int) -> tuple[Page, ...]:
    """``points`` are the intervals of the last hour, each ``interval_ns`` long."""
    page_id = f"{course.prefix}-last"
    if not points:
        nothing = Verdict(f"WSAT Consistency - {title}: n/a (no interval was measured).", "fail")
        return (Page(page_id, f"WSAT Consistency - {title}", (nothing,)),)
    table = _points_table(f"{page_id}-values", points)
    length = Verdict(f"{course.title}: intervals of {format_duration(interval_ns)}.")
    whole = log_figure(
        course,
        PlotName(f"{course.prefix}-whole", f"{_NUMBER}a", f"IOPS of the whole run (log) - {title}"),
    )
    above_zero = [iops for _, iops in points if iops > 0]
    first: list[Block] = [] if whole is None else [whole]
    if above_zero:
        axis = ticks.log_axis("IOPS", above_zero)
        name = PlotName(f"{page_id}-log", f"{_NUMBER}b", f"IOPS of the last 60 min (log) - {title}")
        first.append(_figure(name, table, points, axis))
    linear = PlotName(page_id, f"{_NUMBER}c", f"IOPS of the last 60 min (linear) - {title}")
    spread = PlotName(f"{page_id}-spread", f"{_NUMBER}d", f"Spread of the IOPS of the last 60 min - {title}")
    counts = _counts_table(f"{spread.id}-values", points)
    return (
        Page(f"{page_id}-views", f"WSAT Consistency - {title}", (*first, length)),
        Page(
            page_id,
            f"WSAT Consistency (2) - {title}",
            (
                _figure(linear, table, points, ticks.linear_axis("IOPS", 0, max(iops for _, iops in points))),
                _spread_figure(spread, counts),
                length,
                table,
                counts,
            ),
        ),
    )


def _figure(name: PlotName, table: Table, points: Points, axis: Axis) -> Figure:
    lowest, highest = min(iops for _, iops in points), max(iops for _, iops in points)
    return Figure(
        id=f"{name.id}-plot",
        number=name.number,
        title=name.title,
        kind="lines",
        table_id=table.id,
        x=ticks.linear_axis("Time before the end (min)", min(minutes for minutes, _ in points), 0),
        y=axis,
        alt=f"{name.title}: {len(points)} intervals, from {cells.fixed(lowest, 0)} to "
        f"{cells.fixed(highest, 0)} IOPS.",
        series=(Series("IOPS of an interval", "column", (0,), MEAN_COLOR, style="points"),),
        height_px=_HEIGHT_PX,
        zoom_group=f"{table.id}-time",
    )


def _points_table(table_id: str, points: Points) -> Table:
    return Table(
        id=table_id,
        title="Values plotted: IOPS of each interval",
        head=Column("Time before the end (min)"),
        columns=(Column("IOPS"),),
        rows=tuple(Row(Cell(cells.fixed(x, 3), x), (cells.number(y, 1),)) for x, y in points),
        printed=len(points) <= PRINTED_VALUES,
    )


def _counts_table(table_id: str, points: Points) -> Table:
    """How many intervals lie from one edge to below the next."""
    values = [iops for _, iops in points]
    edges = _edges(min(values), max(values))
    counts = [sum(low <= value < high for value in values) for low, high in pairwise(edges)]
    return Table(
        id=table_id,
        title="Values plotted: intervals by IOPS",
        head=Column("IOPS from"),
        columns=(Column("Intervals up to the next edge"),),
        rows=(
            *(
                Row(Cell(cells.fixed(edge, 1), edge), (Cell(f"{count:,}", float(count)),))
                for edge, count in zip(edges, counts, strict=False)
            ),
            Row(Cell(cells.fixed(edges[-1], 1), edges[-1]), (Cell("-"),)),
        ),
        printed=False,
    )


def _edges(low: float, high: float) -> list[float]:
    """Edges of bins, a few to each tick of the axis; the last one lies above all values."""
    axis_ticks = ticks.linear_axis("IOPS", low, high).ticks
    width = (axis_ticks[1] - axis_ticks[0]) / _BINS_PER_TICK
    first, last = math.floor(low / width), math.floor(high / width) + 1
    return [number * width for number in range(first, last + 1)]


def _spread_figure(name: PlotName, table: Table) -> Figure:
    edges = [row.head.value for row in table.rows if row.head.value is not None]
    counts = [row.cells[0].value or 0 for row in table.rows]
    return Figure(
        id=f"{name.id}-plot",
        number=name.number,
        title=name.title,
        kind="lines",
        table_id=table.id,
        x=ticks.span_axis("IOPS", edges[0], edges[-1]),
        y=ticks.linear_axis("Intervals", 0, max(counts)),
        alt=f"{name.title}: {sum(counts):,.0f} intervals in {len(counts) - 1} bins.",
        series=(Series("Intervals", "column", (0,), MEAN_COLOR, style="bars"),),
        height_px=200,
    )
