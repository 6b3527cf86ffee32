"""Pages of write saturation over time, total GB written and drive fills (PTS 10.3.3)."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import ios_needed
from openpts.analysis.minutes import TAIL_PERCENTILE, Minute
from openpts.procedures.kit.steps import ART, MRT, THROUGHPUT, Metric
from openpts.record.reader import Run
from openpts.units import GB, NS_PER_MS, format_capacity, format_duration
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.workload import data_text
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, heads_of, page, rows_table, table, values_of
from openpts_pages.model import Axis, Cell, Figure, Page, PlotRule, Series, Table, Verdict
from openpts_pts.shared.minutes_table import MinuteSpread, spread_columns
from openpts_pts.shared.preparation_page import active_range, preparation_page, short_form_table
from openpts_pts.shared.saturation import (
    FINAL_MINUTES,
    PLATEAU_MINUTES,
    ZONE_PCT,
    SaturationResults,
    SaturationZones,
    spread_of,
)
from openpts_pts.wsat import WriteSaturationConditions

PRINTED_VALUES: Final = 200
MEAN, LOW, HIGH, _MBPS, MEAN_LATENCY, _TAIL, MAX_LATENCY = range(7)
"""Columns of ``minutes_table``."""
MEAN_COLOR: Final = 2
_SPREAD_COLOR: Final = 6
_SPREAD: Final = (
    Series("Lowest interval of a minute", "column", (LOW,), _SPREAD_COLOR, style="line"),
    Series("Highest interval of a minute", "column", (HIGH,), _SPREAD_COLOR, style="line"),
    Series("Mean of a minute", "column", (MEAN,), MEAN_COLOR, style="mean", emphasis=True),
)


class SaturationCurve(Struct, frozen=True):
    """One workload's stimulus to be plotted: ``prefix`` of page ids, capacity in bytes, ``ended_by``."""

    prefix: str
    title: str
    results: SaturationResults
    capacity_bytes: int
    ended_by: str


class MinuteAxis(Struct, frozen=True):
    """What minutes are plotted over: the axis, and the place of a minute's end on it."""

    key: str
    axis: Axis
    of: Callable[[Minute], float]
    written: bool


def along_time(course: SaturationCurve) -> MinuteAxis:
    """Elapsed time in s, min or h."""
    time = ticks.time_axis("Time", 0, max([minute.end_ns for minute in course.results.minutes], default=1))
    return MinuteAxis("time", time.axis, lambda minute: time.place(minute.end_ns), written=False)


def along_tgbw(course: SaturationCurve) -> MinuteAxis:
    """Total gigabytes written, base 10."""
    return _along_amount(course, "tgbw", "Total GB written (TGBW)", GB)


def along_fills(course: SaturationCurve) -> MinuteAxis:
    """Bytes written over user capacity."""
    return _along_amount(course, "fills", "Total drive writes (fills)", course.capacity_bytes)


def _along_amount(course: SaturationCurve, key: str, title: str, unit_bytes: int) -> MinuteAxis:
    axis = ticks.span_axis(title, 0, course.results.written_bytes / unit_bytes)
    return MinuteAxis(key, axis, lambda minute: minute.written_bytes / unit_bytes, written=True)


def minutes_table(course: SaturationCurve, along: MinuteAxis) -> Table:
    """A row per minute, in its place on the axis: what all plots over this axis are drawn from."""
    results = course.results
    spreads = spread_of(results.minutes, results.pieces)
    head: Col[MinuteSpread] = Col(along.axis.title, lambda one: cells.number(along.of(one[0]), 3))
    return table(
        f"{course.prefix}-{along.key}-values",
        "Values plotted: mean of each minute, at its end",
        head,
        _COLUMNS,
        list(zip(results.minutes, spreads, strict=True)),
        note=f"99.999 %: only of minutes with {ios_needed(TAIL_PERCENTILE):,} I/Os or more.",
        printed=PRINTED_VALUES,
    )


_COLUMNS: Final = spread_columns(
    "",
    THROUGHPUT,
    replace(ART, absent=""),
    Metric[Minute]("tail_ms", "99.999 % (ms)", "ms", lambda one: one.tail_ns, NS_PER_MS, None, ""),
    replace(MRT, absent=""),
)


def iops_page(course: SaturationCurve, along: MinuteAxis, name: PlotName, steady_at: float | None) -> Page:
    """IOPS of the minutes, with their lowest and highest interval."""
    if reason := _nothing(course, along):
        return page(name, Verdict(f"{name.title}: n/a ({reason}).", "fail"))
    shown = minutes_table(course, along)
    rules = (*_steady(steady_at), *_end(course, along))
    plot = _over_minutes(course, along, shown, "IOPS", rules=rules)
    return page(name, plot.over(name, shown), _sentence(course), shown)


def log_figure(course: SaturationCurve, name: PlotName) -> Figure | None:
    """The whole stimulus over time on a logarithmic axis (ours); None if there is nothing to plot."""
    along = along_time(course)
    shown = minutes_table(course, along)
    if _nothing(course, along) or not any(value > 0 for value in values_of(shown, MEAN)):
        return None
    plot = _over_minutes(course, along, shown, "IOPS", rules=_end(course, along), height_px=250)
    return replace(plot, y=lambda values: ticks.log_axis("IOPS", values)).over(name, shown)


def bandwidth_page(
    course: SaturationCurve, along: MinuteAxis, name: PlotName, steady_at: float | None
) -> Page | None:
    """Throughput of the minutes over the same axis; None if there is nothing to plot."""
    if _nothing(course, along):
        return None
    shown = minutes_table(course, along)
    series = (Series("Mean of a minute", "column", (_MBPS,), MEAN_COLOR, style="mean", emphasis=True),)
    rules = (*_steady(steady_at), *_end(course, along))
    plot = _over_minutes(course, along, shown, "Throughput (MB/s)", series=series, rules=rules)
    where = Verdict("The values are in the table of the IOPS plot over the same axis.")
    return page(name, plot.over(name, shown), where, mandatory=False)


def response_times_page(course: SaturationCurve, name: PlotName) -> Page | None:
    """ART, 99.999 % and MRT over drive fills, or time where nothing is written; IOPS below."""
    along = along_time(course) if _nothing(course, along_fills(course)) else along_fills(course)
    if _nothing(course, along):
        return None
    shown = minutes_table(course, along)
    kinds = (("ART", MEAN_LATENCY, 2), ("5 9s", _TAIL, 3), ("MRT", MAX_LATENCY, 0))
    measured = [entry for entry in kinds if values_of(shown, entry[1])]
    times = Plot(
        x=along.axis,
        y=lambda values: ticks.log_axis("Response time (ms)", values),
        series=tuple(Series(label, "column", (n,), color, style="line") for label, n, color in measured),
        alt=f"{', '.join(label for label, _, _ in measured)}.",
        height_px=270,
        zoom_group=f"{course.prefix}-{along.key}",
    )
    series = (Series("Mean of a minute", "column", (MEAN,), MEAN_COLOR, style="mean"),)
    iops = _over_minutes(course, along, shown, "IOPS", series=series, height_px=230)
    few = "" if values_of(shown, _TAIL) else " No minute has enough I/Os for 99.999 %."
    return page(
        name,
        times.over(name, shown) if measured else None,
        iops.over(PlotName(f"{name.id}-iops", f"{name.number} (2)", "IOPS of the same minutes"), shown),
        Verdict(f"The values are in the table of the IOPS plot over the same axis.{few}"),
        mandatory=False,
    )


def _over_minutes(
    course: SaturationCurve,
    along: MinuteAxis,
    shown: Table,
    axis_title: str,
    *,
    series: tuple[Series, ...] = _SPREAD,
    rules: tuple[PlotRule, ...] = (),
    height_px: int = 380,
) -> Plot:
    """A plot whose last series are the means of the minutes."""
    return Plot(
        x=along.axis,
        y=lambda values: ticks.linear_axis(axis_title, 0, max(values, default=1.0)),
        series=series,
        alt=f"{_fall_text(course, shown, series[-1].lines[-1])}. {_sentence(course).text}",
        rules=rules,
        height_px=height_px,
        zoom_group=f"{course.prefix}-{along.key}",
    )


def _fall_text(course: SaturationCurve, shown: Table, column: int) -> str:
    """``falls from 151,313 to 18,861 (12 %), half of it within 6.8 GB written``: first minute to last."""
    cells_of_minutes = zip(course.results.minutes, shown.rows, strict=True)
    means = [
        (minute, mean) for minute, row in cells_of_minutes if (mean := row.cells[column].value) is not None
    ]
    first, last = means[0][1], means[-1][1]
    ends = f"from {cells.fixed(first, 0)} to {cells.fixed(last, 0)}"
    if last >= first:
        return f"{ends}, first minute to last"
    half = next(minute for minute, mean in means if mean <= (first + last) / 2)
    bytes_ = half.written_bytes
    within = f"{format_capacity(bytes_)} written" if bytes_ else format_duration(half.end_ns)
    return f"falls {ends} ({100 * last / first:.0f} %), half of it within {within}"


def _steady(at: float | None) -> tuple[PlotRule, ...]:
    """Where steady state was found."""
    return () if at is None else (PlotRule("Steady State", at, "limit", axis="x"),)


def _end(course: SaturationCurve, along: MinuteAxis) -> tuple[PlotRule, ...]:
    """Which rule ended the stimulus, and where (10.2 step 2.2)."""
    minutes = course.results.minutes
    if not course.ended_by or not minutes:
        return ()
    return (PlotRule(f"End: {course.ended_by}", along.of(minutes[-1]), "limit", axis="x"),)


def _nothing(course: SaturationCurve, along: MinuteAxis) -> str:
    """Why there is nothing to plot over an axis; empty if there is."""
    if not course.results.minutes:
        return "the stimulus never began"
    if along.written and not course.results.written_bytes:
        return "the workload wrote nothing"
    return ""


def _sentence(course: SaturationCurve) -> Verdict:
    """What ended the stimulus, and how far it came."""
    return Verdict(end_sentence(course), "info" if course.ended_by else "fail")


def end_sentence(course: SaturationCurve) -> str:
    """What ended the stimulus, after how long and how much."""
    results = course.results
    fills = results.written_bytes / course.capacity_bytes if course.capacity_bytes else 0.0
    amount = f"{cells.fixed(results.written_bytes / GB, 1)} GB written = {cells.fixed(fills, 2)} drive fills"
    ended = f"ended by: {course.ended_by}" if course.ended_by else "not completed"
    return f"{course.title}: {format_duration(results.elapsed_ns)}, {amount}; {ended}."


def stimulus_page(
    run: Run, course: SaturationCurve, demand: str, cycle: int, conditions: WriteSaturationConditions
) -> Page:
    """Purge, write cache, in the short form its pass, and what was applied after it."""
    page_id = f"{course.prefix}-preparation"
    pass_steps = run.phase(Phase.CONDITIONING, cycle=cycle)
    results, covered = course.results, conditions.active_range
    rate = results.written_bytes / results.elapsed_ns if results.elapsed_ns else 0.0
    own = run.conditions(WriteSaturationConditions)
    at_full_length = min(own.drive_fills * course.capacity_bytes, own.longest_ns * rate)
    short = (
        [short_form_table(run, page_id, pass_steps, own.known_flash, at_full_length)] if pass_steps else []
    )
    fills = results.written_bytes / course.capacity_bytes if course.capacity_bytes else 0.0
    items: list[tuple[str, str | Cell]] = [
        ("Workload", course.title),
        ("TOIO - TC/QD", demand),
        ("Data pattern", data_text(conditions.data)),
        ("Active range", active_range(covered.start_pct, covered.end_pct)),
        (
            "End rules",
            f"{conditions.drive_fills:g} x user capacity written or {format_duration(conditions.longest_ns)}"
            + (", or Steady State" if conditions.stop_when_steady else ""),
        ),
        ("Ended by", course.ended_by or cells.words("not ended", tone="fail")),
        ("Time", format_duration(results.elapsed_ns)),
        ("Written", f"{cells.fixed(results.written_bytes / GB, 1)} GB = {cells.fixed(fills, 2)} drive fills"),
        ("Tracked minutes", str(len(results.tracked_iops))),
    ]
    what = "Stimulus, applied after the pass" if short else "Stimulus, applied to the purged device"
    stimulus = items_table(f"{page_id}-stimulus", what, items)
    return preparation_page(
        run, page_id, "WSAT Purge Report and Test Stimulus", *short, stimulus, cycle=cycle
    )


def zones_page(course: SaturationCurve, page_id: str, title: str, state: str, *, is_from_fob: bool) -> Page:
    """Plateau, transition and end zone with the rule that separates them.

    ``state`` is whether Steady State was found, in words.
    """
    if not is_from_fob:
        reason = "short form: the stimulus does not begin with a purged drive"
        return Page(page_id, title, (Verdict(f"Zones: n/a ({reason}).", "info"),))
    zones = course.results.zones
    if zones is None:
        return Page(page_id, title, (Verdict("Zones: n/a (fewer than ten minutes).", "info"),))
    rule = Verdict(
        f"Rule (openpts' own): the plateau lasts while minute means are within {ZONE_PCT:g} % of the mean of "
        f"the first {PLATEAU_MINUTES} minutes, or of the first minute if those {PLATEAU_MINUTES} differ by "
        f"more; the end zone "
        f"begins with the first minute after it within {ZONE_PCT:g} % of the mean of the last "
        f"{FINAL_MINUTES} minutes (or the last quarter, if shorter). Steady State is decided by definition "
        "2.1.24 alone."
    )
    return Page(
        page_id,
        title,
        (
            Verdict(end_sentence(course)),
            items_table(
                f"{page_id}-table",
                "X-WSAT-1 - Zones",
                _items(zones, state, left=zones.plateau_minutes < course.results.minutes[-1].number),
            ),
            rule,
        ),
    )


def _items(zones: SaturationZones, state: str, *, left: bool) -> list[tuple[str, str | Cell]]:
    plateau_end = zones.plateau_minutes
    never_left = "n/a (plateau never left)"
    settled = "n/a (nothing settled)" if zones.settled_from is None else f"minute {zones.settled_from}"
    items: list[tuple[str, str | Cell]] = [
        ("FOB plateau, mean (IOPS)", cells.number(zones.plateau_iops, 1)),
        ("FOB plateau, length (min)", cells.number(plateau_end, 0)),
        ("Transition begins", f"minute {plateau_end + 1}" if left else never_left),
        ("End zone begins", settled if left else never_left),
        ("Steady State", state),
        (f"Last {FINAL_MINUTES} minutes, mean (IOPS)", cells.number(zones.final_iops, 1)),
    ]
    for label, value, decimals in (
        ("End zone, mean (IOPS)", zones.end_zone_iops, 1),
        ("End zone, lowest interval (IOPS)", zones.lowest_iops, 1),
        ("End zone, coefficient of variation of the intervals (%)", zones.variation_pct, 1),
        (
            "End zone, time below half of its mean (s)",
            None if zones.below_half_ns is None else zones.below_half_ns / 1e9,
            1,
        ),
        ("FOB plateau / end zone", zones.ratio, 2),
        ("End zone, share of the FOB plateau (%)", zones.kept_pct, 1),
    ):
        items.append((label, cells.number_or("no end zone", value, decimals)))
    return items


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
