"""Pages of the lifetime test: over cycles, stretch by stretch, and the forecast of wear."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.header import date_and_time
from openpts.procedures.kit.steps import MRT, Metric
from openpts.units import MB, NS_PER_DAY, NS_PER_S, format_duration
from openpts.vocabulary.sample import Measured
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, page, rows_table, table, values_of
from openpts_pages.model import Axis, Block, Cell, Figure, Page, PlotRule, Row, Series, Table, Verdict
from openpts_practice.lifetime import Continued, ReadBack
from openpts_practice.lifetime.results import (
    CONFIDENCE,
    RATED_LIFE_PCT,
    SPEED,
    DriveCycle,
    LifetimeRun,
    Span,
    end_verdict,
    errors_verdict,
    forecast_verdict,
    stretches,
    wear_points,
)
from openpts_pts.shared.preparation_page import nothing_page

T = TypeVar("T")

_WRITE, _READ, _WRITE_S, _READ_S, _WEAR, _SPARE = range(6)
_WRITE_COLOR, _READ_COLOR, _WEAR_COLOR, _SPARE_COLOR = 3, 2, 0, 4
_PRINTED_VALUES: Final = 200
_GRID: Final = 20
_CYCLES: Final = "Full drive cycles"


# HYP-LIFE-01, 04
def course_page(measured: LifetimeRun) -> Page:
    """Speeds, seconds per cycle, wear and spare, one panel below the other."""
    page_id, title = "lifetime-course", "MB/s, Seconds per Cycle and Wear v Full Drive Cycles"
    if not measured.cycles:
        return nothing_page(page_id, title, "no cycle was begun")
    shown = _values_table(measured, page_id)
    x = ticks.whole_axis(_CYCLES, measured.cycles[0].number, measured.cycles[-1].number)
    figures: list[Block] = [
        figure
        for number, panel in enumerate(_PANELS, start=1)
        if (figure := _figure(measured, shown, x, (number, panel))) is not None
    ]
    words = [end_verdict(measured), errors_verdict(measured)]
    if not any(shown.rows[0].cells[column].value is not None for column in (_WEAR, _SPARE)):
        words.append(Verdict("Wear and spare: not reported (the drive's log does not report them)."))
    return Page(page_id, title, (*figures, *words, shown), mandatory=True)


class _Panel(Struct, frozen=True):
    """One of the plots over cycles: columns of the table of values, with label and color."""

    key: str
    title: str
    axis_title: str
    columns: tuple[tuple[int, str, int], ...]


_PANELS: Final = (
    _Panel("write", "Write", "Write (MB/s)", ((_WRITE, "Write", _WRITE_COLOR),)),
    _Panel("read", "Read", "Read (MB/s)", ((_READ, "Read", _READ_COLOR),)),
    _Panel(
        "seconds",
        "Seconds per cycle",
        "Time (s)",
        ((_WRITE_S, "Write", _WRITE_COLOR), (_READ_S, "Read", _READ_COLOR)),
    ),
    _Panel(
        "wear",
        "Wear and spare",
        "Share (%)",
        ((_WEAR, "Life used", _WEAR_COLOR), (_SPARE, "Spare left", _SPARE_COLOR)),
    ),
)


def _figure(measured: LifetimeRun, shown: Table, x: Axis, numbered: tuple[int, _Panel]) -> Figure | None:
    """A panel of the columns that have values; None if none has."""
    number, panel = numbered
    known = [column for column in panel.columns if values_of(shown, column[0])]
    if not known:
        return None
    values = [value for column, _, _ in known for value in values_of(shown, column)]
    style = "measured" if len(shown.rows) <= 30 else "line"
    return Figure(
        id=f"lifetime-{panel.key}",
        number=f"Plot X-LIFETIME-1{'abcd'[number - 1]}",
        title=panel.title,
        kind="lines",
        table_id=shown.id,
        x=x,
        y=ticks.linear_axis(panel.axis_title, 0, max(*values, 1e-9)),
        alt=f"{panel.title} over {len(shown.rows)} cycles: from {min(values):,.1f} to {max(values):,.1f}.",
        series=tuple(
            Series(label, "column", (column,), color, style=style) for column, label, color in known
        ),
        rules=_failures(measured, panel.key),
        height_px=190,
        width_px=360,
        zoom_group="lifetime",
    )


def _failures(measured: LifetimeRun, operation: str) -> tuple[PlotRule, ...]:
    """Lines at the cycles in which such an I/O failed (HYP-LIFE-02, 03)."""
    return tuple(
        PlotRule(f"first failed {operation}", float(cycle.number), "limit", axis="x")
        for cycle in measured.cycles
        if cycle.failure is not None and cycle.failure.operation == operation
    )


def _values_table(measured: LifetimeRun, page_id: str) -> Table:
    return table(
        f"{page_id}-values",
        "Values plotted: each cycle",
        Col("Cycle", lambda cycle: Cell(str(cycle.number), cycle.number), width=0),
        _VALUES,
        measured.cycles,
        printed=_PRINTED_VALUES // 2,
    )


def _done(label: str, metric: Metric[Measured], of: Callable[[T], Measured]) -> Col[T]:
    """A figure of all writes, or all reads, of a cycle or a stretch."""
    return replace(metric, label=label).column(of)


def _seconds(cycle: DriveCycle, done: Measured) -> Cell:
    elapsed_ns = done.elapsed_ns if cycle.complete else 0
    return cells.number(elapsed_ns / NS_PER_S, 1) if elapsed_ns else cells.missing("not finished")


def _logged(value: float | None, decimals: int) -> Cell:
    return cells.number_or("not in the log", value, decimals)


_VALUES: Final[tuple[Col[DriveCycle], ...]] = (
    _done("Write (MB/s)", SPEED, lambda cycle: cycle.write),
    _done("Read (MB/s)", SPEED, lambda cycle: cycle.read),
    Col("Write (s)", lambda cycle: _seconds(cycle, cycle.write)),
    Col("Read (s)", lambda cycle: _seconds(cycle, cycle.read)),
    Col("Rated life used (%)", lambda cycle: _logged(cycle.log.get("percentage_used_pct"), 2)),
    Col("Spare (%)", lambda cycle: _logged(cycle.log.get("available_spare_pct"), 1)),
)


def stretches_page(measured: LifetimeRun) -> Page:
    """A row for each 5 % of wear, or each cycle."""
    page_id, title = "lifetime-stretches", "Lifetime - Speed, Errors, Wear and Write Amplification"
    if not measured.cycles:
        return nothing_page(page_id, title, "no cycle was begun")
    found = stretches(measured.cycles, measured.before)
    shown = table(
        f"{page_id}-table",
        "For each 5 % of wear" if len(found) < len(measured.cycles) else "Cycle by cycle",
        Col("Cycles", _cycles_cell, align="left", width=0.8),
        _COLUMNS,
        found,
        note="Errors: I/Os that failed, or returned other data than was written. WAF: bytes written to the "
        "media for each byte that the host wrote.",
        printed=3 * _PRINTED_VALUES,
    )
    return Page(page_id, title, (shown, end_verdict(measured), errors_verdict(measured)), mandatory=True)


_COLUMNS: Final[tuple[Col[Span], ...]] = (
    _done("Write (MB/s)", SPEED, lambda span: span.write),
    _done("Read (MB/s)", SPEED, lambda span: span.read),
    _done("Write MRT (ms)", MRT, lambda span: span.write),
    _done("Read MRT (ms)", MRT, lambda span: span.read),
    Col("Errors", lambda span: cells.number(span.errors, 0, tone="fail" if span.errors else "")),
    Col("Media errors", lambda span: _logged(span.media_errors, 0)),
    Col("Life used (%)", lambda span: _logged(span.wear_pct, 2)),
    Col("Spare (%)", lambda span: _logged(span.spare_pct, 1)),
    Col("WAF", lambda span: _logged(span.write_amplification, 2)),
)


def _cycles_cell(span: Span) -> Cell:
    return Cell(str(span.first) if span.first == span.last else f"{span.first} - {span.last}")


def forecast_page(measured: LifetimeRun) -> Page:
    """Where the wear leads: a line with the interval in which further points lie."""
    page_id, title = "lifetime-forecast", "Rated Life Used v Full Drive Cycles, with Forecast"
    points = wear_points(measured.cycles, measured.before)
    if not points:
        return nothing_page(page_id, title, "the drive's log does not report the share of the rated life")
    verdict = forecast_verdict(measured)
    line, forecast = measured.line, measured.forecast
    if line is None or forecast is None:
        return Page(page_id, title, (verdict, _measured_table(points, page_id)), mandatory=True)
    last = max(points[-1][0], 1.1 * (forecast.likely if forecast.latest is None else forecast.latest))
    shown = _forecast_table(measured, points, last, page_id)
    highest = max(RATED_LIFE_PCT * 1.1, *(value for _, value in points))
    percent = f"{100 * CONFIDENCE:g} %"
    figure = Figure(
        id=f"{page_id}-plot",
        number="Plot X-LIFETIME-2",
        title=title,
        kind="lines",
        table_id=shown.id,
        x=ticks.span_axis(
            _CYCLES if measured.conditions.continues else f"{_CYCLES} of this run", points[0][0], last
        ),
        y=ticks.linear_axis("Rated life used (%)", 0, highest),
        alt=f"{title}. {verdict.text}",
        series=(
            Series("Measured", "column", (0,), _WEAR_COLOR, style="points"),
            Series(f"{percent} interval, upper end", "column", (3,), _WRITE_COLOR, style="line"),
            Series("Least squares", "column", (1,), _READ_COLOR, style="fit"),
            Series(f"{percent} interval, lower end", "column", (2,), _WRITE_COLOR, style="line"),
        ),
        rules=(PlotRule("rated life", float(RATED_LIFE_PCT), "limit"),),
        height_px=300,
    )
    return Page(page_id, title, (figure, verdict, shown), mandatory=True)


def _measured_table(points: Sequence[tuple[float, float]], page_id: str) -> Table:
    return rows_table(
        f"{page_id}-values",
        "Reported by the drive's log",
        "Cycles done:0 | Rated life used (%)",
        ((Cell(f"{done:.0f}", done), cells.number(used, 2)) for done, used in points),
        printed=len(points) <= _PRINTED_VALUES,
    )


def _forecast_table(
    measured: LifetimeRun, points: Sequence[tuple[float, float]], last: float, page_id: str
) -> Table:
    line = measured.line
    assert line is not None  # noqa: S101 the caller looked
    used, first = dict(points), points[0][0]
    rows = []
    for done in sorted({*used, *(first + (last - first) * n / _GRID for n in range(_GRID + 1))}):
        low, high = line.interval(done, CONFIDENCE)
        wear = used.get(done)
        rows.append(
            Row(
                Cell(cells.fixed(done, 1), done),
                (
                    Cell("-") if wear is None else cells.number(wear, 2),
                    cells.number(line.at(done), 2),
                    cells.number(low, 2),
                    cells.number(high, 2),
                ),
            )
        )
    return rows_table(
        f"{page_id}-values",
        "Values plotted",
        "Cycles done:0 | Measured (%) | Line (%) | Interval from (%) | Interval to (%)",
        rows,
        note="Interval: of a single further reading, 95 %, if readings scatter about the line independently.",
        printed=4 * len(rows) <= _PRINTED_VALUES,
    )


_ID: Final = "lifetime-age"
_TITLE: Final = "Data Written Earlier: Errors and Response Times v Age and Temperature"
_TIMES: Final[tuple[Col[ReadBack], ...]] = (
    Col("Mean (ms)", lambda read: cells.latency(read.mean_ns)),
    Col("99.9 % (ms)", lambda read: cells.latency(read.p999_ns)),
    Col("Max (ms)", lambda read: cells.latency(read.max_ns)),
)
_ERRORS: Final = len(_TIMES)
"""The column behind the response times."""


# HYP-TMP-01
def age_page(measured: LifetimeRun) -> Page:
    """What this run found of the data that the run before had written, beside all such reads of the drive."""
    after = measured.conditions.continues
    assert after is not None  # noqa: S101 the caller looked
    reads = measured.reads_back
    shown = _table(reads)
    figures = [
        _times(_axis("Age (days)", shown), "times").over(_name("a", "Response Times v Age"), shown),
        _errors(shown).over(_name("b", "Failed Reads v Age"), shown),
        *_by_temperature(reads),
    ]
    blocks: tuple[Block, ...] = (age_verdict(measured), *figures, _gap_table(measured, after), shown)
    return page(PlotName(_ID, "", _TITLE), *blocks)


def age_verdict(measured: LifetimeRun) -> Verdict:
    """Whether data that waited came back."""
    after = measured.conditions.continues
    assert after is not None  # noqa: S101 the caller looked
    if not measured.later_read:
        return Verdict(f"What cycle {after.cycle} of {after.run} wrote was not read.", "fail")
    found = measured.reads_back[-1]
    compared = "compared" if measured.conditions.compares and after.compares else "not compared"
    return Verdict(
        f"Cycle {after.cycle} of {after.run} was read {_age_text(found.age_ns)} after it was written, and "
        f"{compared} with what was written: {found.errors:,} I/O{'' if found.errors == 1 else 's'} failed.",
        "fail" if found.errors else "info",
    )


def _age_text(age_ns: int | None) -> str:
    if age_ns is None:
        return "an unknown time"
    return (
        f"{cells.fixed(age_ns / NS_PER_DAY, 1)} days" if age_ns >= 2 * NS_PER_DAY else format_duration(age_ns)
    )


def _gap_table(measured: LifetimeRun, after: Continued) -> Table:
    simulated = measured.run.manifest.target.simulation is not None
    return items_table(
        f"{_ID}-gap",
        "The run before, and the gap",
        [
            ("Continues", after.run),
            ("Its last cycle", str(after.cycle)),
            ("Written from", "virtual time" if simulated else date_and_time(after.written_at)),
            ("Age when read", _age_text(measured.age_ns)),
            ("Of it at rest, simulated", _age_text(after.rest_ns) if simulated else "n/a: a real drive"),
        ],
    )


def _table(reads: Sequence[ReadBack]) -> Table:
    return table(
        f"{_ID}-values",
        "Values plotted: each read of what a cycle wrote last",
        Col("Age (days)", _days, width=1.2),
        (
            *_TIMES,
            Col("Failed I/Os", lambda read: cells.number(read.errors, 0, tone="fail" if read.errors else "")),
            Col("Read (MB/s)", lambda read: cells.number_or("no I/O", read.bytes_per_s, 1, per=MB)),
            Col("Written at (°C)", lambda read: _celsius(read.written_c)),
            Col("Read at (°C)", lambda read: _celsius(read.read_c)),
            Col("Cycle", lambda read: cells.count(read.cycle)),
            Col("Read in", lambda read: Cell(read.run), align="left", width=3),
        ),
        reads,
        note="The age lies between the first write and the first read. Temperatures are the drive's own: "
        "when all was written and read once, and when all was read.",
    )


def _days(read: ReadBack) -> Cell:
    if read.age_ns is None:
        return cells.missing("the clock was set back")
    return cells.number(read.age_ns / NS_PER_DAY, 2)


def _celsius(value_c: float | None) -> Cell:
    return cells.number_or("not in the log", value_c, 0)


def _name(letter: str, title: str) -> PlotName:
    return PlotName(_ID, f"Plot X-LIFETIME-4{letter}", title)


def _times(x: Axis, part: str) -> Plot:
    return Plot(
        x=x,
        y=lambda values: ticks.linear_axis("Response time (ms)", 0, max(*values, 1e-6, 0)),
        series=tuple(
            Series(time.label.removesuffix(" (ms)"), "column", (column,), color, "points")
            for (column, time), color in zip(enumerate(_TIMES), (2, 1, 3), strict=True)
        ),
        alt="{rows} reads of data written earlier, response times from {low} to {high} ms.",
        decimals=None,
        part=part,
        height_px=190,
        width_px=360,
    )


def _errors(shown: Table) -> Plot:
    return Plot(
        x=_axis("Age (days)", shown),
        y=lambda values: ticks.linear_axis("Failed I/Os", 0, max(*values, 1, 0)),
        series=(Series("Failed I/Os", "column", (_ERRORS,), 3, "points"),),
        alt="{rows} reads of data written earlier, from {low} to {high} failed I/Os.",
        part="errors",
        height_px=190,
        width_px=360,
    )


def _axis(title: str, shown: Table) -> Axis:
    places = [row.head.value for row in shown.rows if row.head.value is not None]
    return ticks.span_axis(title, 0, max([*places, 1e-3]))


def _by_temperature(reads: Sequence[ReadBack]) -> tuple[Block, ...]:
    """The same over the temperature at which was read, with its table; nothing where no log has any."""
    warm = [read for read in reads if read.read_c is not None]
    if not warm:
        return ()
    shown = table(
        f"{_ID}-temperatures",
        "Values plotted: over the temperature when read",
        Col("Read at (°C)", lambda read: _celsius(read.read_c), width=1.2),
        (
            *_TIMES,
            Col("Failed I/Os", lambda read: cells.number(read.errors, 0)),
            Col("Warmer than written (K)", _warmer),
        ),
        sorted(warm, key=lambda read: read.read_c or 0.0),
    )
    places = [read.read_c for read in warm if read.read_c is not None]
    x = ticks.span_axis("Temperature when read (°C)", min(places) - 1, max(places) + 1)
    return _times(x, "temperatures").over(_name("c", "Response Times v Temperature"), shown), shown


def _warmer(read: ReadBack) -> Cell:
    if read.read_c is None or read.written_c is None:
        return cells.missing("not in the log")
    return cells.number(read.read_c - read.written_c, 0)
