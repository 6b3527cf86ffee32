"""Pages of write saturation over time, total GB written and drive fills (PTS 10.3.3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from openpts.analysis.latency import ios_needed
from openpts.analysis.minutes import TAIL_PERCENTILE, Minute
from openpts.analysis.saturation import SaturationResults, spread_of
from openpts.pages import cells, ticks
from openpts.pages.kit import PlotName
from openpts.pages.model import Axis, Block, Cell, Column, Figure, Page, Row, Rule, Series, Table, Verdict
from openpts.units import GB, MB, format_duration

PRINTED_VALUES: Final = 200
_MEAN, _LOW, _HIGH, _MBPS, _ART, _TAIL, _MRT = range(7)
MEAN_COLOR: Final = 2
_SPREAD_COLOR: Final = 6
_SPREAD: Final = (
    Series("Lowest interval of a minute", "column", (_LOW,), _SPREAD_COLOR, style="line"),
    Series("Highest interval of a minute", "column", (_HIGH,), _SPREAD_COLOR, style="line"),
    Series("Mean of a minute", "column", (_MEAN,), MEAN_COLOR, style="mean", emphasis=True),
)


@dataclass(frozen=True, slots=True)
class Course:
    """One workload's stimulus to be plotted: ``prefix`` of page ids, capacity in bytes, ``ended_by``."""

    prefix: str
    title: str
    results: SaturationResults
    capacity_bytes: int
    ended_by: str


@dataclass(frozen=True, slots=True)
class Along:
    """What minutes are plotted over: the axis, and the place of a minute's end on it."""

    key: str
    axis: Axis
    of: Callable[[Minute], float]
    written: bool


def along_time(course: Course) -> Along:
    """Elapsed time in s, min or h."""
    time = ticks.time_axis("Time", 0, max([minute.end_ns for minute in course.results.minutes], default=1))
    return Along("time", time.axis, lambda minute: time.place(minute.end_ns), written=False)


def along_tgbw(course: Course) -> Along:
    """Total gigabytes written, base 10."""
    return _along_amount(course, "tgbw", "Total GB written (TGBW)", GB)


def along_fills(course: Course) -> Along:
    """Bytes written over user capacity."""
    return _along_amount(course, "fills", "Total drive writes (fills)", course.capacity_bytes)


def _along_amount(course: Course, key: str, title: str, unit_bytes: int) -> Along:
    axis = ticks.span_axis(title, 0, course.results.written_bytes / unit_bytes)
    return Along(key, axis, lambda minute: minute.written_bytes / unit_bytes, written=True)


def minutes_table(course: Course, along: Along) -> Table:
    """A row per minute, in its place on the axis: what all plots over this axis are drawn from."""
    results = course.results
    spreads = spread_of(results.minutes, results.pieces)
    rows = tuple(
        Row(Cell(cells.fixed(along.of(minute), 3), along.of(minute)), _minute_cells(minute, spread))
        for minute, spread in zip(results.minutes, spreads, strict=True)
    )
    return Table(
        id=f"{course.prefix}-{along.key}-values",
        title="Values plotted: mean of each minute, at its end",
        head=Column(along.axis.title),
        columns=(
            Column("IOPS"),
            Column("Lowest interval (IOPS)"),
            Column("Highest interval (IOPS)"),
            Column("MB/s"),
            Column("ART (ms)"),
            Column("99.999 % (ms)"),
            Column("MRT (ms)"),
        ),
        rows=rows,
        note=f"99.999 %: only of minutes with {ios_needed(TAIL_PERCENTILE):,} I/Os or more.",
        printed=7 * len(rows) <= PRINTED_VALUES,
    )


def _minute_cells(minute: Minute, spread: tuple[float, float] | None) -> tuple[Cell, ...]:
    low, high = spread or (None, None)
    return (
        cells.number(minute.iops, 1),
        _rate(low),
        _rate(high),
        cells.number(minute.bandwidth_bytes_per_s / MB, 1),
        _latency(minute.mean_latency_ns),
        _latency(minute.tail_ns),
        _latency(minute.max_latency_ns),
    )


def _rate(value: float | None) -> Cell:
    return Cell("n/a", tone="missing") if value is None else cells.number(value, 1)


def _latency(value_ns: float | None) -> Cell:
    return Cell("n/a", tone="missing") if value_ns is None else cells.latency(value_ns)


def iops_page(course: Course, along: Along, name: PlotName, steady_at: float | None) -> Page:
    """IOPS of the minutes, with their lowest and highest interval."""
    table = minutes_table(course, along)
    if reason := _nothing(course, along):
        return Page(name.id, name.title, (Verdict(f"{name.title}: n/a ({reason}).", "fail"),), mandatory=True)
    figure = _figure(_Plot(course, along, name, table, steady_at), _SPREAD, "IOPS")
    return Page(name.id, name.title, (figure, _sentence(course), table), mandatory=True)


def log_figure(course: Course, name: PlotName) -> Figure | None:
    """The whole stimulus over time on a logarithmic axis (ours); None if there is nothing to plot."""
    along = along_time(course)
    table = minutes_table(course, along)
    if _nothing(course, along) or not any(value > 0 for value in _values(table, _MEAN)):
        return None
    return _figure(_Plot(course, along, name, table, height_px=250, log=True), _SPREAD, "IOPS")


def bandwidth_page(course: Course, along: Along, name: PlotName, steady_at: float | None) -> Page | None:
    """Throughput of the minutes over the same axis; None if there is nothing to plot."""
    if _nothing(course, along):
        return None
    table = minutes_table(course, along)
    series = (Series("Mean of a minute", "column", (_MBPS,), MEAN_COLOR, style="mean", emphasis=True),)
    figure = _figure(_Plot(course, along, name, table, steady_at), series, "Throughput (MB/s)")
    where = Verdict("The values stand in the table of the IOPS plot over the same axis.")
    return Page(name.id, name.title, (figure, where))


def response_times_page(course: Course, name: PlotName) -> Page | None:
    """ART, 99.999 % and MRT over drive fills, or time where nothing is written; IOPS below."""
    along = along_time(course) if _nothing(course, along_fills(course)) else along_fills(course)
    if _nothing(course, along):
        return None
    table = minutes_table(course, along)
    kinds = (("ART", _ART, 2), ("5 9s", _TAIL, 3), ("MRT", _MRT, 0))
    measured = [entry for entry in kinds if _values(table, entry[1])]
    blocks: list[Block] = []
    if measured:
        values = [value for _, column, _ in measured for value in _values(table, column)]
        blocks.append(
            Figure(
                id=f"{name.id}-plot",
                number=name.number,
                title=name.title,
                kind="lines",
                table_id=table.id,
                x=along.axis,
                y=ticks.log_axis("Response time (ms)", values),
                alt=f"{name.title}: {', '.join(label for label, _, _ in measured)}.",
                series=tuple(
                    Series(label, "column", (n,), color, style="line") for label, n, color in measured
                ),
                height_px=270,
                zoom_group=f"{course.prefix}-{along.key}",
            )
        )
    series = (Series("Mean of a minute", "column", (_MEAN,), MEAN_COLOR, style="mean"),)
    iops = PlotName(f"{name.id}-iops", f"{name.number} (2)", "IOPS of the same minutes")
    blocks.append(_figure(_Plot(course, along, iops, table, height_px=230, tells_end=False), series, "IOPS"))
    few = "" if _values(table, _TAIL) else " No minute has enough I/Os for 99.999 %."
    blocks.append(Verdict(f"The values stand in the table of the IOPS plot over the same axis.{few}"))
    return Page(name.id, name.title, tuple(blocks))


@dataclass(frozen=True, slots=True)
class _Plot:
    """What a figure over minutes shows."""

    course: Course
    along: Along
    name: PlotName
    table: Table
    steady_at: float | None = None
    height_px: int = 380
    log: bool = False
    tells_end: bool = True


def _figure(plot: _Plot, series: tuple[Series, ...], axis_title: str) -> Figure:
    course, name, table = plot.course, plot.name, plot.table
    columns = [line for entry in series for line in entry.lines]
    highest = max((value for column in columns for value in _values(table, column)), default=1.0)
    means = _values(table, columns[-1])
    axis = ticks.linear_axis(axis_title, 0, highest)
    if plot.log:
        axis = ticks.log_axis(axis_title, [v for n in columns for v in _values(table, n)])
    return Figure(
        id=f"{name.id}-plot",
        number=name.number,
        title=name.title,
        kind="lines",
        table_id=table.id,
        x=plot.along.axis,
        y=axis,
        alt=f"{name.title}: minute means from {cells.fixed(max(means), 0)} down to "
        f"{cells.fixed(min(means), 0)}. {_sentence(course).text}",
        series=series,
        rules=_ends(plot),
        height_px=plot.height_px,
        zoom_group=f"{course.prefix}-{plot.along.key}",
    )


def _ends(plot: _Plot) -> tuple[Rule, ...]:
    """Where steady state was found, and which rule ended the stimulus (10.2 step 2.2)."""
    rules = [] if plot.steady_at is None else [Rule("Steady State", plot.steady_at, "limit", axis="x")]
    minutes, ended_by = plot.course.results.minutes, plot.course.ended_by
    if ended_by and minutes and plot.tells_end:
        rules.append(Rule(f"End: {ended_by}", plot.along.of(minutes[-1]), "limit", axis="x"))
    return tuple(rules)


def _values(table: Table, column: int) -> list[float]:
    return [value for row in table.rows if (value := row.cells[column].value) is not None]


def _nothing(course: Course, along: Along) -> str:
    """Why there is nothing to plot over an axis; empty if there is."""
    if not course.results.minutes:
        return "the stimulus never began"
    if along.written and not course.results.written_bytes:
        return "the workload wrote nothing"
    return ""


def _sentence(course: Course) -> Verdict:
    """What ended the stimulus, and how far it came."""
    return Verdict(end_sentence(course), "info" if course.ended_by else "fail")


def end_sentence(course: Course) -> str:
    """What ended the stimulus, after how long and how much."""
    results = course.results
    fills = results.written_bytes / course.capacity_bytes if course.capacity_bytes else 0.0
    amount = f"{cells.fixed(results.written_bytes / GB, 1)} GB written = {cells.fixed(fills, 2)} drive fills"
    ended = f"ended by: {course.ended_by}" if course.ended_by else "did not come to its end"
    return f"{course.title}: {format_duration(results.elapsed_ns)}, {amount}; {ended}."
