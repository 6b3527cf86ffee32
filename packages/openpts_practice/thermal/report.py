"""The report of thermal throttling: speed and temperature over time and over each other.

Implements: SOL-BMK-06, HYP-TMP-02.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

from msgspec.structs import replace

from openpts.procedures.kit.content import OVER_TIME, Curve, ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import transpose
from openpts.record.reader import Run
from openpts.units import GB, MB, NS_PER_S, format_block_size, format_duration
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, grid, page, table
from openpts_pages.measure import Measure, Subject, key_of, measured
from openpts_pages.model import Axis, Band, Block, Cell, Column, Page, PlotRule, Series, Table, Verdict
from openpts_pages.texts import NOT_REPORTED, NOT_STATED
from openpts_pages.ticks import TimeAxis
from openpts_practice.thermal import ThermalConditions
from openpts_practice.thermal.phases import (
    COLD,
    DUTY_CYCLE,
    NAMES,
    RULE,
    WARM,
    HeatingLoad,
    ThermalRun,
    highest_temperature_c,
    load_verdict,
)
from openpts_practice.thermal.results import HeatPoint, merged
from openpts_pts.shared.preparation_page import methodology, nothing_page, state_page

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


_TITLE: Final = "Thermal Throttling"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the record."""
    thermal = ThermalRun(run, run.conditions(ThermalConditions))
    return ReportContent(
        verdicts=tuple(load_verdict(thermal, number, name) for number, name in NAMES.items()),
        measures=tuple(
            one
            for number, name in NAMES.items()
            for one in measured(_MEASURES, thermal.loads.get(number), Subject(name))
        ),
        sections=methodology(thermal.run, _TITLE, _test_rows(thermal), lambda: _pages(thermal)),
        figures=lambda: {
            "loads": {key_of(name): _figures(thermal, number) for number, name in NAMES.items()}
        },
        curves=lambda: curves(thermal),
    )


def _first_throttle(load: HeatingLoad) -> Cell:
    first_ns = load.throttling.first_ns
    if first_ns is None:
        return cells.missing(f"no throttling seen in {format_duration(load.length_ns)}")
    return cells.number(first_ns / (60 * NS_PER_S), 1)


_NO_SUCH_TIME: Final = "no such time in the run"
_MEASURES: Final[tuple[Measure[HeatingLoad], ...]] = (
    # a time that should be long
    Measure("first_throttle", "{name}, time to first throttle", "min", _first_throttle, better=Better.HIGHER),
    Measure(
        "speed_before",
        "{name}, speed before",
        "MB/s",
        lambda load: load.throttling.before_bytes_per_s,
        per=MB,
        absent=_NO_SUCH_TIME,
        words="as long as it is not too hot",
    ),
    Measure(
        "speed_throttled",
        "{name}, speed throttled",
        "MB/s",
        lambda load: load.throttling.throttled_bytes_per_s,
        per=MB,
        absent=_NO_SUCH_TIME,
    ),
)


def _pages(measured: ThermalRun) -> tuple[Page, ...]:
    return (
        state_page(measured.run, "Purge and Pre-conditioning"),
        course_page(measured),
        _results_page(measured),
        scatter_page(measured),
        duty_cycle_page(measured),
    )


def _test_rows(measured: ThermalRun) -> Rows:
    conditions = measured.conditions
    lengths = [
        format_duration(load.length_ns) if (load := measured.loads.get(number)) else "NOT RUN"
        for number in NAMES
    ]
    return stimulus_rows(
        measured.run,
        ("Test Stimulus", f"SEQ {format_block_size(conditions.block_size_bytes)} W"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Cold run", lengths[0]),
        ("Warm run", lengths[1]),
        ("Duty cycle", lengths[2]),
        ("Busy / idle", f"{format_duration(conditions.busy_ns)} / {format_duration(conditions.idle_ns)}"),
        ("Air", "not stated" if conditions.ambient_c is None else f"{conditions.ambient_c:g} °C, as stated"),
        ("Cooling", conditions.airflow or NOT_STATED),
    )


def _figures(measured: ThermalRun, number: int) -> dict[str, Any] | None:
    """Key numbers of a load, JSON-ready."""
    load = measured.loads.get(number)
    if load is None:
        return None
    throttling = load.throttling
    return {
        "elapsed_s": load.length_ns / NS_PER_S,
        "written_bytes": load.written_bytes,
        "temperature_at_start_c": measured.temperature_at(load.started_ns),
        "highest_temperature_c": highest_temperature_c(load),
        "evidence": throttling.evidence.value,
        "first_throttle_s": None if throttling.first_ns is None else throttling.first_ns / NS_PER_S,
        "written_before_throttle_bytes": throttling.bytes_before,
        "before_bytes_per_s": throttling.before_bytes_per_s,
        "throttled_bytes_per_s": throttling.throttled_bytes_per_s,
        "throttled_share": throttling.share,
    }


_STATED: Final = "not stated"
_Value = Callable[[ThermalRun, HeatingLoad], Cell]


def _results_page(measured: ThermalRun) -> Page:
    """Every run in a column, and what surrounded them."""
    page_id, title = "thermal-results", "Thermal Throttling - Results"
    conditions = measured.conditions
    limits = [
        (label, NOT_REPORTED if value is None else f"{value:.0f} °C")
        for label, value in (
            ("Warning limit of the drive (WCTEMP)", measured.limit_c("warning_limit_c")),
            ("Critical limit of the drive (CCTEMP)", measured.limit_c("critical_limit_c")),
        )
    ]
    sources = dict.fromkeys(health.reading.source for health in measured.run.health)
    surroundings = items_table(
        f"{page_id}-surroundings",
        "Surroundings and sources of temperatures",
        [
            (
                "Air around the drive",
                _STATED if conditions.ambient_c is None else f"{conditions.ambient_c:g} °C, as stated",
            ),
            ("Cooling", conditions.airflow or _STATED),
            ("Log of the drive", "; ".join(sources) or NOT_REPORTED),
            *limits,
        ],
    )
    table = transpose(
        f"{page_id}-runs",
        "Cold run, warm run and duty cycle, apart",
        [Col(label, partial(value, measured)) for label, value in _ROWS],
        [(name, measured.loads.get(number)) for number, name in NAMES.items()],
        head=Col("", cells.words, align="left", width=1.6),
    )
    verdicts = [load_verdict(measured, number, name) for number, name in NAMES.items()]
    return Page(page_id, title, (table, *verdicts, Verdict(RULE), surroundings), mandatory=True)


def _temperature(value_c: float | None) -> Cell:
    return cells.number_or("not reported", value_c, 0)


def _first_rate(measured: ThermalRun, load: HeatingLoad) -> Cell:
    minute = merged(load.points, measured.conditions.minute_ns)[0]
    return cells.number(minute.bytes_per_s / MB, 1)


def _time_before(_measured: ThermalRun, load: HeatingLoad) -> Cell:
    first_ns = load.throttling.first_ns
    if first_ns is None:
        return cells.missing("none seen")
    return Cell(format_duration(first_ns), first_ns / NS_PER_S)


def _kept_share(_measured: ThermalRun, load: HeatingLoad) -> Cell:
    throttling = load.throttling
    if not throttling.before_bytes_per_s or throttling.throttled_bytes_per_s is None:
        return cells.missing("none seen")
    return cells.percent(100 * throttling.throttled_bytes_per_s / throttling.before_bytes_per_s)


def _throttled_share(_measured: ThermalRun, load: HeatingLoad) -> Cell:
    share = load.throttling.share
    return cells.missing("not known") if share is None else cells.percent(100 * share)


def _counted(name: str, decimals: int) -> _Value:
    def cell(_measured: ThermalRun, load: HeatingLoad) -> Cell:
        value = load.counted(name)
        return cells.number_or("not in the log", value, decimals)

    return cell


_ROWS: Final[tuple[tuple[str, _Value], ...]] = (
    ("Length", lambda _m, load: Cell(format_duration(load.length_ns), load.length_ns / NS_PER_S)),
    ("Written (GB)", lambda _m, load: cells.number(load.written_bytes / GB, 1)),
    ("Temperature at the start (°C)", lambda m, load: _temperature(m.temperature_at(load.started_ns))),
    ("Highest temperature (°C)", lambda _m, load: _temperature(highest_temperature_c(load))),
    ("First minute (MB/s)", _first_rate),
    ("Time to the first throttle", _time_before),
    (
        "Written before the throttle (GB)",
        lambda _m, load: cells.number_or("none seen", load.throttling.bytes_before, 1, per=GB),
    ),
    (
        "Speed before the throttle (MB/s)",
        lambda _m, load: cells.number_or("throttled at once", load.throttling.before_bytes_per_s, 1, per=MB),
    ),
    (
        "Speed throttled (MB/s)",
        lambda _m, load: cells.number_or("none seen", load.throttling.throttled_bytes_per_s, 1, per=MB),
    ),
    ("Throttled / before (%)", _kept_share),
    ("Share of time throttled (%)", _throttled_share),
    ("Throttle events counted by the drive", _counted("throttle_events", 0)),
    ("Time throttled, counted by the drive (s)", _counted("throttled_s", 0)),
    ("Time above the warning limit (s)", _counted("warning_temperature_s", 0)),
    ("Time above the critical limit (s)", _counted("critical_temperature_s", 0)),
)
