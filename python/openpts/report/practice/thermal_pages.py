"""Pages of thermal throttling: speed and temperature over time, over each other, and what they come to."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from openpts.analysis.throttling import HeatPoint, merged
from openpts.pages import cells, ticks
from openpts.pages.model import (
    Axis,
    Band,
    Block,
    Cell,
    Column,
    Figure,
    Page,
    Row,
    Rule,
    Series,
    Table,
    Verdict,
)
from openpts.pages.ticks import TimeAxis
from openpts.report.practice.methodology import nothing_page
from openpts.report.practice.thermal_run import COLD, DUTY_CYCLE, NAMES, WARM, Load, ThermalRun
from openpts.report.practice.thermal_words import RULE, load_verdict
from openpts.units import MB, NS_PER_S, format_duration

_COLD_COLOR, _WARM_COLOR, _TEMPERATURE_COLOR, _LIMIT_WITHIN_K = 2, 3, 3, 15
_MOST_POINTS: Final = 1500
_SHORTEST_IDLE_NS: Final = NS_PER_S // 10
_SCATTERED: Final = 400
_PRINTED_VALUES: Final = 200
_OTHER: Final = Cell("-")


def course_page(measured: ThermalRun) -> Page:
    """The cold and the warm run over time, and the temperature of the drive below (SOL-BMK-06)."""
    page_id, title = "thermal-course", "MB/s and Temperature v Time - Cold and Warm Run"
    loads = [load for number in (COLD, WARM) if (load := measured.loads.get(number))]
    if not loads:
        return nothing_page(page_id, title, "no run was measured")
    verdicts = [load_verdict(measured, number, NAMES[number]) for number in (COLD, WARM)]
    return Page(
        page_id,
        title,
        (*_panels(measured, loads, page_id, title, "X-THERMAL-1"), *verdicts, Verdict(RULE)),
        mandatory=True,
    )


def duty_cycle_page(measured: ThermalRun) -> Page:
    """The duty cycle over time, likewise."""
    page_id, title = "thermal-duty", "MB/s and Temperature v Time - Duty Cycle"
    load = measured.loads.get(DUTY_CYCLE)
    if load is None:
        return nothing_page(page_id, title, "it was not measured")
    conditions = measured.conditions
    busy, idle = format_duration(conditions.busy_ns), format_duration(conditions.idle_ns)
    words = f"{busy} of writes and {idle} without I/O in turns."
    verdict = load_verdict(measured, DUTY_CYCLE, NAMES[DUTY_CYCLE])
    panels = _panels(measured, [load], page_id, title, "X-THERMAL-3")
    return Page(page_id, title, (*panels, Verdict(words), verdict), mandatory=True)


def _panels(
    measured: ThermalRun, loads: Sequence[Load], page_id: str, title: str, number: str
) -> tuple[Block, ...]:
    """Speed above temperature, over the same time from the first load's first I/O, and their values."""
    origin_ns, end_ns = loads[0].started_ns, max(load.ended_ns for load in loads)
    time = ticks.time_axis("Time", 0, max(1, end_ns - origin_ns))
    speed = _speed_table(loads, page_id, time, origin_ns)
    bands = _bands(loads, time, origin_ns)
    highest = max(cell.value for row in speed.rows for cell in row.cells if cell.value is not None)
    figures: list[Figure] = [
        Figure(
            id=f"{page_id}-speed",
            number=f"Plot {number}a",
            title=title,
            kind="lines",
            table_id=speed.id,
            x=time.axis,
            y=ticks.linear_axis("Throughput (MB/s)", 0, highest),
            alt=f"{title}: throughput up to {cells.fixed(highest, 0)} MB/s.",
            series=tuple(
                Series(load.name, "column", (index,), (_COLD_COLOR, _WARM_COLOR)[index], style="line")
                for index, load in enumerate(loads)
            ),
            bands=bands,
            height_px=205,
            zoom_group=page_id,
        )
    ]
    tables = [speed]
    known = [(t, value) for t, value in measured.temperatures if origin_ns <= t <= end_ns]
    if known:
        table = _temperature_table(known, page_id, time, origin_ns)
        tables.append(table)
        limits = _limits(measured, [value for _, value in known])
        values = [value for _, value in known] + [limit.value for limit in limits]
        figures.append(
            Figure(
                id=f"{page_id}-temperature",
                number=f"Plot {number}b",
                title="Temperature of the drive",
                kind="lines",
                table_id=table.id,
                x=time.axis,
                y=ticks.linear_axis("Temperature (°C)", min(values) - 1, max(values) + 1),
                alt=f"Temperature from {min(v for _, v in known):.0f} to {max(v for _, v in known):.0f} °C.",
                series=(Series("Sensor", "column", (0,), _TEMPERATURE_COLOR, style="line"),),
                rules=limits,
                bands=tuple(Band(band.axis, band.start, band.end, band.style) for band in bands),
                height_px=165,
                zoom_group=page_id,
            )
        )
        return (*figures, *tables)
    return (*figures, Verdict("Temperature: not reported (nothing in the record tells it).", "fail"), *tables)


def _bands(loads: Sequence[Load], time: TimeAxis, origin_ns: int) -> tuple[Band, ...]:
    """Where the drive throttled, and the idle time between the loads."""
    bands = [
        Band(
            "x",
            time.place(first.ended_ns - origin_ns),
            time.place(second.started_ns - origin_ns),
            "plain",
            "idle",
        )
        for first, second in pairwise(loads)
    ]
    for load in loads:
        if (first_ns := load.throttling.first_ns) is not None:
            start_ns = load.started_ns - origin_ns + first_ns
            end_ns = load.ended_ns - origin_ns
            bands.append(
                Band("x", time.place(start_ns), time.place(end_ns), "window", "from the first throttle on")
            )
    return tuple(sorted(bands, key=lambda band: band.start))


def _limits(measured: ThermalRun, temperatures: Sequence[float]) -> tuple[Rule, ...]:
    """Limits of the drive that its temperature came near; those far above would flatten the plot."""
    found = (
        (label, measured.limit_c(name))
        for label, name in (("warning", "warning_limit_c"), ("critical", "critical_limit_c"))
    )
    return tuple(
        Rule(f"{label} {value:.0f} °C", value, "limit")
        for label, value in found
        if value is not None and value <= max(temperatures) + _LIMIT_WITHIN_K
    )


def _thinned(points: Sequence[HeatPoint], most: int) -> Sequence[HeatPoint]:
    """Put together so that there are no more than so many."""
    if len(points) <= most:
        return points
    return merged(points, -(-points[-1].end_ns // most))


def _speed_table(loads: Sequence[Load], page_id: str, time: TimeAxis, origin_ns: int) -> Table:
    most = _MOST_POINTS // len(loads)
    rows = []
    for index, load in enumerate(loads):
        for at_ns, bytes_per_s in _speeds(_thinned(load.points, most)):
            x = time.place(load.started_ns - origin_ns + at_ns)
            row = [_OTHER] * len(loads)
            row[index] = cells.number(bytes_per_s / MB, 1)
            rows.append(Row(cells.number(x, 3), tuple(row)))
    return Table(
        id=f"{page_id}-speed-values",
        title="Values plotted: MB/s up to each moment",
        head=Column(f"Elapsed ({time.unit_name})", width=0),
        columns=tuple(Column(f"{load.name} (MB/s)") for load in loads),
        rows=tuple(rows),
        printed=len(rows) <= _PRINTED_VALUES // 2,
    )


def _speeds(points: Sequence[HeatPoint]) -> Iterator[tuple[int, float]]:
    """Speed at the end of each point; nothing is written in the idle time of a duty cycle."""
    for before, point in pairwise([None, *points]):
        assert point is not None  # noqa: S101 narrows the type: only the first has none before it
        if before is not None and point.begin_ns - before.end_ns > _SHORTEST_IDLE_NS:
            yield before.end_ns, 0.0
            yield point.begin_ns, 0.0
        yield point.end_ns, point.bytes_per_s


def _temperature_table(
    known: Sequence[tuple[int, float]], page_id: str, time: TimeAxis, origin_ns: int
) -> Table:
    every = -(-len(known) // _MOST_POINTS)
    rows = tuple(
        Row(cells.number(time.place(t_ns - origin_ns), 3), (cells.number(value, 0),))
        for t_ns, value in known[::every]
    )
    return Table(
        id=f"{page_id}-temperature-values",
        title="Values plotted: temperature",
        head=Column(f"Elapsed ({time.unit_name})", width=0),
        columns=(Column("Temperature (°C)"),),
        rows=rows,
        printed=len(rows) <= _PRINTED_VALUES // 2,
    )


def scatter_page(measured: ThermalRun) -> Page:
    """Speed over temperature: the cold run by thirds of its time, and the warm run."""
    page_id, title = "thermal-scatter", "MB/s v Temperature"
    groups = [(name, points) for name, points in _groups(measured) if points]
    if not groups:
        return nothing_page(page_id, title, "the record has no temperatures of this drive")
    rows = []
    for index, (_, points) in enumerate(groups):
        for temperature_c, rate in points:
            row = [_OTHER] * len(groups)
            row[index] = cells.number(rate, 1)
            rows.append(Row(cells.number(temperature_c, 0), tuple(row)))
    table = Table(
        id=f"{page_id}-values",
        title="Values plotted",
        head=Column("Temperature (°C)", width=0),
        columns=tuple(Column(f"{name} (MB/s)") for name, _ in groups),
        rows=tuple(rows),
        printed=len(rows) <= _PRINTED_VALUES // len(groups),
    )
    temperatures = [temperature_c for _, points in groups for temperature_c, _ in points]
    rates = [rate for _, points in groups for _, rate in points]
    figure = Figure(
        id=f"{page_id}-plot",
        number="Plot X-THERMAL-2",
        title=title,
        kind="lines",
        table_id=table.id,
        x=ticks.linear_axis("Temperature (°C)", min(temperatures) - 1, max(temperatures) + 1),
        y=_rate_axis(rates),
        alt=f"{title}: {len(rates)} points from {min(temperatures):.0f} to {max(temperatures):.0f} °C.",
        series=tuple(
            Series(name, "column", (index,), color, style="points")
            for index, ((name, _), color) in enumerate(zip(groups, (1, 5, 3, 4), strict=False))
        ),
        rules=tuple(
            Rule(limit.label, limit.value, limit.style, axis="x") for limit in _limits(measured, temperatures)
        ),
    )
    words = Verdict(
        "Each point is the mean speed of a stretch of a run over the temperature at its end; the cold run is "
        "shown by thirds of its time."
    )
    return Page(page_id, title, (figure, words, table), mandatory=True)


def _rate_axis(rates: Sequence[float]) -> Axis:
    return ticks.linear_axis("Throughput (MB/s)", 0, max(rates))


def _groups(measured: ThermalRun) -> list[tuple[str, list[tuple[float, float]]]]:
    groups: list[tuple[str, list[tuple[float, float]]]] = []
    if cold := measured.loads.get(COLD):
        points = _thinned(cold.points, _SCATTERED)
        for third, name in enumerate(("first", "second", "last")):
            part = points[len(points) * third // 3 : len(points) * (third + 1) // 3]
            groups.append((f"Cold run, {name} third", _pairs(part)))
    if warm := measured.loads.get(WARM):
        groups.append((NAMES[WARM], _pairs(_thinned(warm.points, _SCATTERED))))
    return groups


def _pairs(points: Sequence[HeatPoint]) -> list[tuple[float, float]]:
    return [
        (point.temperature_c, point.bytes_per_s / MB)
        for point in points
        if point.temperature_c is not None and point.elapsed_ns
    ]
