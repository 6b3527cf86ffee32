"""Pages of the lifetime test: over cycles, stretch by stretch, and the forecast of wear."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.kit import rows_table, values_of
from openpts.pages.model import Axis, Block, Cell, Column, Figure, Page, Row, Rule, Series, Table, Verdict
from openpts.procedures.shared.methodology import nothing_page
from openpts.units import MB
from openpts_practice.lifetime.cycles import (
    CONFIDENCE,
    RATED_LIFE_PCT,
    LifetimeRun,
    end_verdict,
    errors_verdict,
    forecast_verdict,
    seconds,
)
from openpts_practice.lifetime.results import DriveCycle, Span, stretches, wear_points

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
    table = _values_table(measured, page_id)
    x = ticks.whole_axis(_CYCLES, measured.cycles[0].number, measured.cycles[-1].number)
    figures: list[Block] = [
        figure
        for number, panel in enumerate(_PANELS, start=1)
        if (figure := _figure(measured, table, x, (number, panel))) is not None
    ]
    words = [end_verdict(measured), errors_verdict(measured)]
    if not any(table.rows[0].cells[column].value is not None for column in (_WEAR, _SPARE)):
        words.append(Verdict("Wear and spare: not reported (the drive's log does not report them)."))
    return Page(page_id, title, (*figures, *words, table), mandatory=True)


@dataclass(frozen=True, slots=True)
class _Panel:
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


def _figure(measured: LifetimeRun, table: Table, x: Axis, numbered: tuple[int, _Panel]) -> Figure | None:
    """A panel of the columns that have values; None if none has."""
    number, panel = numbered
    known = [column for column in panel.columns if values_of(table, column[0])]
    if not known:
        return None
    values = [value for column, _, _ in known for value in values_of(table, column)]
    style = "measured" if len(table.rows) <= 30 else "line"
    return Figure(
        id=f"lifetime-{panel.key}",
        number=f"Plot X-LIFETIME-1{'abcd'[number - 1]}",
        title=panel.title,
        kind="lines",
        table_id=table.id,
        x=x,
        y=ticks.linear_axis(panel.axis_title, 0, max(*values, 1e-9)),
        alt=f"{panel.title} over {len(table.rows)} cycles: from {min(values):,.1f} to {max(values):,.1f}.",
        series=tuple(
            Series(label, "column", (column,), color, style=style) for column, label, color in known
        ),
        rules=_failures(measured, panel.key),
        height_px=190,
        width_px=360,
        zoom_group="lifetime",
    )


def _failures(measured: LifetimeRun, operation: str) -> tuple[Rule, ...]:
    """Lines at the cycles in which such an I/O failed (HYP-LIFE-02, 03)."""
    return tuple(
        Rule(f"first failed {operation}", float(cycle.number), "limit", axis="x")
        for cycle in measured.cycles
        if cycle.failure is not None and cycle.failure.operation == operation
    )


def _values_table(measured: LifetimeRun, page_id: str) -> Table:
    rows = tuple(Row(Cell(str(cycle.number), cycle.number), _value_cells(cycle)) for cycle in measured.cycles)
    return rows_table(
        f"{page_id}-values",
        "Values plotted: each cycle",
        "Cycle:0 | Write (MB/s) | Read (MB/s) | Write (s) | Read (s) | Rated life used (%) | Spare (%)",
        rows,
        printed=6 * len(rows) <= _PRINTED_VALUES // 2,
    )


def _value_cells(cycle: DriveCycle) -> tuple[Cell, ...]:
    return (
        _rate(cycle.write.bytes_per_s),
        _rate(cycle.read.bytes_per_s),
        _seconds(cycle.write.elapsed_ns if cycle.complete else 0),
        _seconds(cycle.read.elapsed_ns if cycle.complete else 0),
        _logged(cycle.log.get("percentage_used_pct"), 2),
        _logged(cycle.log.get("available_spare_pct"), 1),
    )


def _rate(bytes_per_s: float | None) -> Cell:
    return cells.number_or("not run", bytes_per_s, 1, per=MB)


def _seconds(elapsed_ns: int) -> Cell:
    return cells.number(seconds(elapsed_ns), 1) if elapsed_ns else cells.missing("not finished")


def _logged(value: float | None, decimals: int) -> Cell:
    return cells.number_or("not in the log", value, decimals)


def stretches_page(measured: LifetimeRun) -> Page:
    """A row for each 5 % of wear, or each cycle."""
    page_id, title = "lifetime-stretches", "Lifetime - Speed, Errors, Wear and Write Amplification"
    if not measured.cycles:
        return nothing_page(page_id, title, "no cycle was begun")
    found = stretches(measured.cycles, measured.before)
    table = rows_table(
        f"{page_id}-table",
        "For each 5 % of wear" if len(found) < len(measured.cycles) else "Cycle by cycle",
        ("Cycles:<0.8", *(Column(label) for label, _ in _COLUMNS)),
        (_stretch_row(stretch) for stretch in found),
        note="Errors: I/Os that failed, or returned other data than was written. WAF: bytes written to the "
        "media for each byte that the host wrote.",
        printed=len(_COLUMNS) * len(found) <= 3 * _PRINTED_VALUES,
    )
    return Page(page_id, title, (table, end_verdict(measured), errors_verdict(measured)), mandatory=True)


_COLUMNS: Final[tuple[tuple[str, Callable[[Span], Cell]], ...]] = (
    ("Write (MB/s)", lambda s: _rate(s.write.bytes_per_s)),
    ("Read (MB/s)", lambda s: _rate(s.read.bytes_per_s)),
    ("Write MRT (ms)", lambda s: cells.latency(s.write.max_latency_ns)),
    ("Read MRT (ms)", lambda s: cells.latency(s.read.max_latency_ns)),
    ("Errors", lambda s: cells.number(s.errors, 0, tone="fail" if s.errors else "")),
    ("Media errors", lambda s: _logged(s.media_errors, 0)),
    ("Life used (%)", lambda s: _logged(s.wear_pct, 2)),
    ("Spare (%)", lambda s: _logged(s.spare_pct, 1)),
    ("WAF", lambda s: _logged(s.write_amplification, 2)),
)


def _stretch_row(stretch: Span) -> Row:
    name = str(stretch.first) if stretch.first == stretch.last else f"{stretch.first} - {stretch.last}"
    return Row(Cell(name), tuple(cell(stretch) for _, cell in _COLUMNS))


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
    table = _forecast_table(measured, points, last, page_id)
    highest = max(RATED_LIFE_PCT * 1.1, *(value for _, value in points))
    percent = f"{100 * CONFIDENCE:g} %"
    figure = Figure(
        id=f"{page_id}-plot",
        number="Plot X-LIFETIME-2",
        title=title,
        kind="lines",
        table_id=table.id,
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
        rules=(Rule("rated life", float(RATED_LIFE_PCT), "limit"),),
        height_px=300,
    )
    return Page(page_id, title, (figure, verdict, table), mandatory=True)


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
