"""Pages of thermal throttling: speed and temperature over time, over each other, and what they come to."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, grid, page, table
from openpts.pages.model import Axis, Band, Block, Column, Page, PlotRule, Series, Table, Verdict
from openpts.pages.ticks import TimeAxis
from openpts.procedures.kit.curve import OVER_TIME, Curve
from openpts.procedures.shared.methodology import nothing_page
from openpts.units import MB, NS_PER_S, format_duration
from openpts_practice.thermal.phases import (
    COLD,
    DUTY_CYCLE,
    NAMES,
    RULE,
    WARM,
    HeatingLoad,
    ThermalRun,
    load_verdict,
)
from openpts_practice.thermal.results import HeatPoint, merged

_COLD_COLOR, _WARM_COLOR, _TEMPERATURE_COLOR, _LIMIT_WITHIN_K = 2, 3, 3, 15
_MOST_POINTS: Final = 1500
_SHORTEST_IDLE_NS: Final = NS_PER_S // 10
_SCATTERED: Final = 400
_PRINTED_VALUES: Final = 200
_NO_TEMPERATURE: Final = Verdict("Temperature: not reported (the record has none).", "fail")
_Point = tuple[float, int, float]  # place on x, number of its group, MB/s


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
    words = f"{busy} of writes and {idle} without I/O alternate."
    verdict = load_verdict(measured, DUTY_CYCLE, NAMES[DUTY_CYCLE])
    panels = _panels(measured, [load], page_id, title, "X-THERMAL-3")
    return Page(page_id, title, (*panels, Verdict(words), verdict), mandatory=True)


def _panels(
    measured: ThermalRun, loads: Sequence[HeatingLoad], page_id: str, title: str, number: str
) -> tuple[Block, ...]:
    """Speed above temperature, over the same time from the first load's first I/O, and their values."""
    origin_ns, end_ns = loads[0].started_ns, max(load.ended_ns for load in loads)
    time = ticks.time_axis("Time", 0, max(1, end_ns - origin_ns))
    bands = _bands(loads, time, origin_ns)
    speed = _speed_table(loads, page_id, time, origin_ns)
    plot = Plot(
        part="speed",
        x=time.axis,
        y=_rate_axis,
        series=tuple(
            Series(load.name, "column", (index,), (_COLD_COLOR, _WARM_COLOR)[index], style="line")
            for index, load in enumerate(loads)
        ),
        alt="throughput up to {high} MB/s.",
        bands=bands,
        height_px=205,
        zoom_group=page_id,
    )
    figure = plot.over(PlotName(page_id, f"Plot {number}a", title), speed)
    known = [(t, value) for t, value in measured.temperatures if origin_ns <= t <= end_ns]
    if not known:
        return figure, _NO_TEMPERATURE, speed
    shown = _temperature_table(known, page_id, time, origin_ns)
    values = [value for _, value in known]
    limits = _limits(measured, values)
    unlabeled = tuple(Band(band.axis, band.start, band.end, band.style) for band in bands)
    below = Plot(
        part="temperature",
        x=time.axis,
        y=_temperature_axis([*values, *(limit.value for limit in limits)]),
        series=(Series("Sensor", "column", (0,), _TEMPERATURE_COLOR, style="line"),),
        alt="",
        rules=limits,
        bands=unlabeled,
        height_px=165,
        zoom_group=page_id,
    )
    name = PlotName(page_id, f"Plot {number}b", "Temperature of the drive")
    alt = f"Temperature from {min(values):.0f} to {max(values):.0f} °C."
    return figure, replace(below.over(name, shown), alt=alt), speed, shown


def curves(measured: ThermalRun) -> tuple[Curve, ...]:
    """Speed and temperature of each load that was measured, from its own beginning."""
    return tuple(curve for load in measured.loads.values() for curve in _curves(load))


def _curves(load: HeatingLoad) -> tuple[Curve, Curve]:
    points = _thinned(load.points, _SCATTERED)
    temperatures = ((point.end_ns, point.temperature_c) for point in points)
    return (
        Curve(
            f"{load.name}, speed",
            f"MB/s v Time - {load.name}",
            "MB/s up to each moment",
            OVER_TIME,
            _rate_axis,
            tuple((float(at_ns), bytes_per_s / MB) for at_ns, bytes_per_s in _speeds(points)),
        ),
        Curve(
            f"{load.name}, temperature",
            f"Temperature v Time - {load.name}",
            "temperature (°C) at each moment",
            OVER_TIME,
            _temperature_axis,
            tuple((float(at_ns), value_c) for at_ns, value_c in temperatures if value_c is not None),
        ),
    )


def _bands(loads: Sequence[HeatingLoad], time: TimeAxis, origin_ns: int) -> tuple[Band, ...]:
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


def _limits(measured: ThermalRun, temperatures: Sequence[float]) -> tuple[PlotRule, ...]:
    """Limits of the drive that its temperature came near; those far above would flatten the plot."""
    found = (
        (label, measured.limit_c(name))
        for label, name in (("warning", "warning_limit_c"), ("critical", "critical_limit_c"))
    )
    return tuple(
        PlotRule(f"{label} {value:.0f} °C", value, "limit")
        for label, value in found
        if value is not None and value <= max(temperatures) + _LIMIT_WITHIN_K
    )


def _thinned(points: Sequence[HeatPoint], most: int) -> Sequence[HeatPoint]:
    """Put together so that there are no more than so many."""
    if len(points) <= most:
        return points
    return merged(points, -(-points[-1].end_ns // most))


def _speed_table(loads: Sequence[HeatingLoad], page_id: str, time: TimeAxis, origin_ns: int) -> Table:
    most = _MOST_POINTS // len(loads)
    points = [
        (time.place(load.started_ns - origin_ns + at_ns), index, bytes_per_s / MB)
        for index, load in enumerate(loads)
        for at_ns, bytes_per_s in _speeds(_thinned(load.points, most))
    ]
    return _apart(
        f"{page_id}-speed-values",
        "Values plotted: MB/s up to each moment",
        Col(f"Elapsed ({time.unit_name})", lambda point: cells.number(point[0], 3), width=0),
        [load.name for load in loads],
        points,
        printed=_PRINTED_VALUES // 2 * len(loads),
    )


def _apart(
    table_id: str,
    title: str,
    head: Col[_Point],
    groups: Sequence[str],
    points: Sequence[_Point],
    *,
    printed: int = _PRINTED_VALUES,
) -> Table:
    """A row for each point, its rate in the column of its group."""
    return grid(
        table_id,
        title,
        head,
        [(Column(f"{group} (MB/s)"), index) for index, group in enumerate(groups)],
        points,
        cell=lambda point, index: cells.number(point[2], 1) if point[1] == index else cells.none(),
        printed=printed,
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
    return table(
        f"{page_id}-temperature-values",
        "Values plotted: temperature",
        Col(
            f"Elapsed ({time.unit_name})",
            lambda point: cells.number(time.place(point[0] - origin_ns), 3),
            width=0,
        ),
        [Col("Temperature (°C)", lambda point: cells.number(point[1], 0))],
        known[::every],
        printed=_PRINTED_VALUES // 2,
    )


def scatter_page(measured: ThermalRun) -> Page:
    """Speed over temperature: the cold run by thirds of its time, and the warm run."""
    name = PlotName("thermal-scatter", "Plot X-THERMAL-2", "MB/s v Temperature")
    groups = [(group, points) for group, points in _groups(measured) if points]
    if not groups:
        return nothing_page(name.id, name.title, "the record has no temperatures of this drive")
    points = [
        (temperature, index, rate) for index, (_, own) in enumerate(groups) for temperature, rate in own
    ]
    temperatures = [temperature_c for temperature_c, _, _ in points]
    plot = Plot(
        x=_temperature_axis(temperatures),
        y=_rate_axis,
        series=tuple(
            Series(group, "column", (index,), color, style="points")
            for index, ((group, _), color) in enumerate(zip(groups, (1, 5, 3, 4), strict=False))
        ),
        alt=f"{{count}} points from {min(temperatures):.0f} to {max(temperatures):.0f} °C.",
        rules=tuple(replace(limit, axis="x") for limit in _limits(measured, temperatures)),
    )
    shown = _apart(
        f"{name.id}-values",
        "Values plotted",
        Col("Temperature (°C)", lambda point: cells.number(point[0], 0), width=0),
        [group for group, _ in groups],
        points,
    )
    words = Verdict(
        "Each point is the mean speed of a stretch of a run over the temperature at its end; the cold run is "
        "shown by thirds of its time."
    )
    return page(name, plot.over(name, shown), words, shown)


def _temperature_axis(temperatures: Sequence[float]) -> Axis:
    return ticks.linear_axis("Temperature (°C)", min(temperatures) - 1, max(temperatures) + 1)


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
