"""How even the IOPS of write saturation are, in several views (ours): entire run, last hour, its spread."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from openpts.units import format_duration
from openpts_pages import cells, ticks
from openpts_pages.kit import Plot, PlotName, heads_of, page, rows_table, values_of
from openpts_pages.model import Axis, Cell, Page, Series, Table, Verdict
from openpts_pts.wsat.pages import MEAN_COLOR, PRINTED_VALUES, SaturationCurve, log_figure

_NUMBER: Final = "Plot X-WSAT-2"
_BINS_PER_TICK: Final = 10
_HEIGHT_PX: Final = 250

Points = Sequence[tuple[float, float]]
"""Intervals: minutes before the end, and IOPS."""


def consistency_pages(
    course: SaturationCurve, title: str, points: Points, interval_ns: int
) -> tuple[Page, ...]:
    """``points`` are the intervals of the last hour, each ``interval_ns`` long."""
    last = PlotName(f"{course.prefix}-last", f"{_NUMBER}c", f"IOPS of the last 60 min (linear) - {title}")
    of_page = PlotName(last.id, "", f"WSAT Consistency - {title}")
    if not points:
        nothing = Verdict(f"{of_page.title}: n/a (no interval was measured).", "fail")
        return (page(of_page, nothing, mandatory=False),)
    shown = _points_table(f"{last.id}-values", points)
    length = Verdict(f"{course.title}: intervals of {format_duration(interval_ns)}.")
    whole = log_figure(
        course, PlotName(f"{course.prefix}-whole", f"{_NUMBER}a", f"IOPS of the whole run (log) - {title}")
    )
    above_zero = [iops for _, iops in points if iops > 0]
    log_name = PlotName(f"{last.id}-log", f"{_NUMBER}b", f"IOPS of the last 60 min (log) - {title}")
    log = _plot(shown, ticks.log_axis("IOPS", above_zero)).over(log_name, shown) if above_zero else None
    linear = _plot(shown, ticks.linear_axis("IOPS", 0, max(iops for _, iops in points)))
    spread = PlotName(f"{last.id}-spread", f"{_NUMBER}d", f"Spread of the IOPS of the last 60 min - {title}")
    counts = _counts_table(f"{spread.id}-values", points)
    views = PlotName(f"{last.id}-views", "", of_page.title)
    return (
        page(views, whole, log, length, mandatory=False),
        page(
            PlotName(last.id, "", f"WSAT Consistency (2) - {title}"),
            linear.over(last, shown),
            _spread_plot(counts).over(spread, counts),
            length,
            shown,
            counts,
            mandatory=False,
        ),
    )


def _plot(shown: Table, axis: Axis) -> Plot:
    return Plot(
        x=ticks.linear_axis("Time before the end (min)", min(heads_of(shown)), 0),
        y=axis,
        series=(Series("IOPS of an interval", "column", (0,), MEAN_COLOR, style="points"),),
        alt="{count} intervals, from {low} to {high} IOPS.",
        height_px=_HEIGHT_PX,
        zoom_group=f"{shown.id}-time",
    )


def _points_table(table_id: str, points: Points) -> Table:
    return rows_table(
        table_id,
        "Values plotted: IOPS of each interval",
        "Time before the end (min) | IOPS",
        ((Cell(cells.fixed(x, 3), x), cells.number(y, 1)) for x, y in points),
        printed=len(points) <= PRINTED_VALUES,
    )


def _counts_table(table_id: str, points: Points) -> Table:
    """How many intervals lie from one edge to below the next."""
    values = [iops for _, iops in points]
    edges = _edges(min(values), max(values))
    counts = [sum(low <= value < high for value in values) for low, high in pairwise(edges)]
    return rows_table(
        table_id,
        "Values plotted: intervals by IOPS",
        "IOPS from | Intervals up to the next edge",
        (
            *(
                (Cell(cells.fixed(edge, 1), edge), Cell(f"{count:,}", float(count)))
                for edge, count in zip(edges, counts, strict=False)
            ),
            (Cell(cells.fixed(edges[-1], 1), edges[-1]), "-"),
        ),
        printed=False,
    )


def _edges(low: float, high: float) -> list[float]:
    """Edges of bins, a few to each tick of the axis; the last one lies above all values."""
    axis_ticks = ticks.linear_axis("IOPS", low, high).ticks
    width = (axis_ticks[1] - axis_ticks[0]) / _BINS_PER_TICK
    first, last = math.floor(low / width), math.floor(high / width) + 1
    return [number * width for number in range(first, last + 1)]


def _spread_plot(shown: Table) -> Plot:
    edges, counts = heads_of(shown), values_of(shown)
    return Plot(
        x=ticks.span_axis("IOPS", edges[0], edges[-1]),
        y=ticks.linear_axis("Intervals", 0, max(counts)),
        series=(Series("Intervals", "column", (0,), MEAN_COLOR, style="bars"),),
        alt=f"{sum(counts):,.0f} intervals in {len(edges) - 1} bins.",
        height_px=200,
    )
