"""Pages of XSR: throughput and response times over time, both transitions, table of groups (PTS 12.3.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from openpts.analysis.cross_stimulus import (
    STABLE_SHARE,
    CrossStimulusResults,
    GroupSummary,
)
from openpts.analysis.minutes import Minute, pieces_between
from openpts.report import cells, ticks
from openpts.report.cross_stimulus_words import group_name, rate_cell
from openpts.report.header_rows import demand_text
from openpts.report.minutes_table import elapsed_cell, elapsed_column, minutes_axis
from openpts.report.model import (
    Axis,
    Band,
    Block,
    Cell,
    Column,
    Figure,
    Mark,
    Page,
    Row,
    Series,
    Table,
    Verdict,
)
from openpts.report.ticks import TimeAxis
from openpts.units import MB, format_duration, format_latency_ms
from openpts.vocabulary.conditions import CrossStimulusConditions
from openpts.vocabulary.sample import Measured, Sample

_COLOR: Final = 2
_INTERVAL_COLOR: Final = 6
_MINUTES_BEFORE: Final = 10
_MINUTES_AFTER: Final = 60
_VALUES: Final = "xsr-values"
_Placed = tuple[int, Cell, bool]  # when, throughput, whether it is a minute's


@dataclass(frozen=True, slots=True)
class _Quantity:
    """One of the three courses over time: which column of the values, on what axis."""

    id: str
    name: str
    column: int
    axis: Callable[[Sequence[float]], Axis]


def _throughput_axis(values: Sequence[float]) -> Axis:
    return ticks.linear_axis("Throughput (MB/s)", 0, max(values, default=1.0))


def _latency_axis(title: str) -> Callable[[Sequence[float]], Axis]:
    return lambda values: ticks.log_axis(title, values)


_THROUGHPUT: Final = _Quantity("tp", "Throughput", 0, _throughput_axis)
_QUANTITIES: Final = (
    _THROUGHPUT,
    _Quantity("art", "ART", 1, _latency_axis("ART (ms)")),
    _Quantity("mrt", "MRT", 2, _latency_axis("MRT (ms)")),
)


def throughput_page(results: CrossStimulusResults, conditions: CrossStimulusConditions) -> Page:
    """Throughput of all access groups over time (Plot 12-1)."""
    title = "XSR Throughput v Time - All Access Groups"
    table = _minutes_table(results)
    blocks: list[Block] = []
    if table.rows:
        blocks.append(_course("xsr-1", "Plot 12-1", title, table, results, conditions, _THROUGHPUT, 400))
    blocks += [Verdict(_course_text(results, conditions)), table]
    return Page("xsr-1", title, tuple(blocks), mandatory=True)


def group_page(group: GroupSummary, conditions: CrossStimulusConditions) -> Page:
    """One access group by itself (12.3.2)."""
    name = f"xsr-group-{group.number}"
    title = f"XSR Throughput v Time - Access Group {group.number}: {group_name(group.number, conditions)}"
    time = minutes_axis(group.minutes)
    table = Table(
        id=f"{name}-values",
        title="Values plotted: each minute",
        head=elapsed_column(time),
        columns=_COLUMNS,
        rows=tuple(Row(elapsed_cell(minute.end_ns, time), _minute_cells(minute)) for minute in group.minutes),
        printed=False,
    )
    values = _column(table, _THROUGHPUT.column)
    figure = Figure(
        id=f"{name}-plot",
        number=f"Plot X-XSR-G{group.number}",
        title=title,
        kind="lines",
        table_id=table.id,
        x=time.axis,
        y=_throughput_axis(values),
        alt=f"{title}: {_span_text(values, 'MB/s')}",
        series=(Series("1 min", "column", (_THROUGHPUT.column,), _COLOR, style="line"),),
    )
    return Page(name, title, (figure, Verdict(_summary_text(group)), table), mandatory=True)


def transition_page(
    results: CrossStimulusResults,
    conditions: CrossStimulusConditions,
    before: Sequence[Sample],
    after: Sequence[Sample],
    number: int,
) -> Page:
    """The change from group ``number`` to the next, enlarged, from the intervals as they were measured."""
    names = (group_name(number, conditions), group_name(number + 1, conditions))
    title = f"XSR enlarged: {names[0]} to {names[1]}"
    name = f"xsr-transition-{number}"
    if len(results.groups) <= number:
        reason = Verdict(f"Access group {number + 1} was not reached.", "fail")
        return Page(name, title, (reason,), mandatory=True)
    first_ns, last_ns = -_MINUTES_BEFORE * conditions.minute_ns, _MINUTES_AFTER * conditions.minute_ns
    time = ticks.time_axis("Time from the change", first_ns, last_ns)
    table = _transition_table(
        f"{name}-values",
        [
            *_intervals(before, after, (first_ns, last_ns)),
            *_minutes(results.groups[number - 1], results.groups[number], (first_ns, last_ns)),
        ],
        time,
    )
    values = [*_column(table, 0), *_column(table, 1)]
    figure = Figure(
        id=f"{name}-plot",
        number=f"Plot 12-1.{number}",
        title=title,
        kind="lines",
        table_id=table.id,
        x=time.axis,
        y=_throughput_axis(values),
        alt=f"{title}: {_span_text(values, 'MB/s')}",
        series=(
            Series("as measured", "column", (0,), _INTERVAL_COLOR, style="line"),
            Series("1 min", "column", (1,), _COLOR, style="mean", emphasis=True),
        ),
        marks=_recovery_mark(results, time, last_ns) if number == 2 else (),
    )
    return Page(
        name,
        title,
        (figure, Verdict(f"Intervals as measured: {_span_text(values, 'MB/s')}"), table),
        mandatory=True,
    )


def response_times_page(results: CrossStimulusResults, conditions: CrossStimulusConditions) -> Page:
    """Throughput, ART and MRT over the same time (Plot 12-2)."""
    title = "XSR Throughput, ART & MRT v Time"
    if not results.groups:
        return _nothing("xsr-4", title)
    table = _minutes_table(results)
    figures = tuple(
        _course("xsr-4", "Plot 12-2", f"{title}: {q.name}", table, results, conditions, q, 175)
        for q in _QUANTITIES
    )
    return Page("xsr-4", title, figures, mandatory=True)


def _course(  # noqa: PLR0917 a figure has as many facts
    page_id: str,
    number: str,
    title: str,
    table: Table,
    results: CrossStimulusResults,
    conditions: CrossStimulusConditions,
    quantity: _Quantity,
    height_px: int,
) -> Figure:
    values = _column(table, quantity.column)
    time = _whole_time(results)
    return Figure(
        id=f"{page_id}-{quantity.id}-plot",
        number=number,
        title=title,
        kind="lines",
        table_id=table.id,
        x=time.axis,
        y=quantity.axis(values),
        alt=f"{title}: {_span_text(values, 'MB/s' if quantity is _THROUGHPUT else 'ms')}",
        series=(Series(f"{quantity.name}, 1 min", "column", (quantity.column,), _COLOR, style="line"),),
        bands=tuple(
            Band(
                "x",
                time.place(group.start_ns),
                time.place(group.end_ns),
                "window" if group.number % 2 else "allowed",
                _band_name(group.number, conditions),
            )
            for group in results.groups
        ),
        height_px=height_px,
        zoom_group="xsr-time",
    )


_COLUMNS: Final = (Column("Throughput (MB/s)"), Column("ART (ms)"), Column("MRT (ms)"), Column("IOPS"))


def _whole_time(results: CrossStimulusResults) -> TimeAxis:
    return ticks.time_axis("Time", 0, max((group.end_ns for group in results.groups), default=0))


def _minutes_table(results: CrossStimulusResults) -> Table:
    time = _whole_time(results)
    return Table(
        id=_VALUES,
        title="Values plotted: each minute",
        head=elapsed_column(time),
        columns=_COLUMNS,
        rows=tuple(
            Row(elapsed_cell(group.start_ns + minute.end_ns, time), _minute_cells(minute))
            for group in results.groups
            for minute in group.minutes
        ),
        printed=False,
    )


def _minute_cells(minute: Minute) -> tuple[Cell, ...]:
    return (
        rate_cell(minute.bandwidth_bytes_per_s),
        cells.latency(minute.mean_latency_ns),
        cells.latency(minute.max_latency_ns),
        cells.number(minute.iops, 0),
    )


def _transition_table(table_id: str, placed: Sequence[_Placed], time: TimeAxis) -> Table:
    return Table(
        id=table_id,
        title="Values plotted: each interval at its middle, each minute at its middle",
        head=Column(time.axis.title, width=0),
        columns=(Column("Throughput (MB/s)"), Column("Throughput, 1 min (MB/s)")),
        rows=tuple(
            Row(elapsed_cell(at_ns, time), (Cell("-"), rate) if is_minute else (rate, Cell("-")))
            for at_ns, rate, is_minute in sorted(placed, key=lambda entry: entry[0])
        ),
        printed=False,
    )


def _intervals(before: Sequence[Sample], after: Sequence[Sample], span_ns: tuple[int, int]) -> list[_Placed]:
    """What was measured around the change, at its middle, counted from the change."""
    change_ns = after[0].started_ns
    near = [*_near(before, change_ns, span_ns[0], 0), *_near(after, change_ns, 0, span_ns[1])]
    return [(at_ns, rate_cell(measured.bandwidth_bytes_per_s), False) for at_ns, measured in near]


def _minutes(before: GroupSummary, after: GroupSummary, span_ns: tuple[int, int]) -> list[_Placed]:
    """The minutes of both groups around the change; the one that the span cuts is left out."""
    placed = [
        (
            group.start_ns - after.start_ns + minute.start_ns,
            group.start_ns - after.start_ns + minute.end_ns,
            minute,
        )
        for group in (before, after)
        for minute in group.minutes
    ]
    return [
        ((start_ns + end_ns) // 2, rate_cell(minute.bandwidth_bytes_per_s), True)
        for start_ns, end_ns, minute in placed
        if span_ns[0] <= start_ns and end_ns <= span_ns[1]
    ]


def _near(
    samples: Sequence[Sample], change_ns: int, first_ns: int, last_ns: int
) -> list[tuple[int, Measured]]:
    """Intervals between two moments, counted from the change, each at its middle."""
    offset_ns = samples[0].started_ns - change_ns
    near = pieces_between(samples, first_ns - offset_ns, last_ns - offset_ns)
    return [(offset_ns + piece.middle_ns, piece.measured) for piece in near]


def _recovery_mark(results: CrossStimulusResults, time: TimeAxis, last_ns: int) -> tuple[Mark, ...]:
    stable = results.stable_recovery
    if stable is None or stable.after_ns is None or stable.after_ns > last_ns:
        return ()
    rate = stable.bandwidth_bytes_per_s / MB
    return (Mark(f"{100 * STABLE_SHARE:g} % of group 1", time.place(stable.after_ns), rate),)


def _column(table: Table, column: int) -> list[float]:
    return [value for row in table.rows if (value := row.cells[column].value) is not None]


def _span_text(values: Sequence[float], unit: str) -> str:
    if not values:
        return "nothing was measured."
    return f"from {cells.fixed(min(values), 2)} to {cells.fixed(max(values), 2)} {unit}."


def _band_name(number: int, conditions: CrossStimulusConditions) -> str:
    group = conditions.groups[number - 1]
    return f"{group_name(number, conditions)}, {demand_text(group.tc, group.qd)}"


def _summary_text(group: GroupSummary) -> str:
    art = "n/a" if group.art_ns is None else f"{format_latency_ms(group.art_ns)} ms"
    mrt = "n/a" if group.mrt_ns is None else f"{format_latency_ms(group.mrt_ns)} ms"
    return (
        f"Access group {group.number}: {cells.fixed(group.bandwidth_bytes_per_s / MB, 1)} MB/s on average "
        f"over {format_duration(group.duration_ns)}, ART {art}, MRT {mrt}."
    )


def _course_text(results: CrossStimulusResults, conditions: CrossStimulusConditions) -> str:
    parts = [
        f"{group_name(group.number, conditions)} {cells.fixed(group.bandwidth_bytes_per_s / MB, 1)} MB/s"
        for group in results.groups
    ]
    return f"Averages: {'; '.join(parts)}." if parts else "No access group was completed."


def _nothing(page_id: str, title: str) -> Page:
    return Page(page_id, title, (Verdict("No access group was begun.", "fail"),), mandatory=True)
