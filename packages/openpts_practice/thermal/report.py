"""The report of thermal throttling: speed and temperature over time and over each other.

Implements: SOL-BMK-06, HYP-TMP-02.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

from msgspec.structs import replace

from openpts.procedures.kit.content import OVER_TIME, Curve, ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import transpose
from openpts.record.health import EXTERNAL_TEMPERATURE, TelemetrySeries
from openpts.record.reader import Run
from openpts.units import GB, MB, NS_PER_S, format_block_size, format_duration
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, grid, page, table
from openpts_pages.measure import Measure, Subject, key_of, measured
from openpts_pages.model import (
    Axis,
    Band,
    Block,
    Cell,
    Column,
    Figure,
    Page,
    PlotRule,
    Series,
    Table,
    Verdict,
)
from openpts_pages.texts import NOT_REPORTED, NOT_STATED
from openpts_pages.ticks import TimeAxis
from openpts_practice.thermal import COLD, DUTY_CYCLE, WARM, ThermalConditions
from openpts_practice.thermal.phases import NAMES, RULE, HeatingLoad, ThermalRun
from openpts_practice.thermal.results import HeatPoint, Throttling, merged
from openpts_pts.shared.preparation_page import methodology, nothing_page, state_page

_COLD_COLOR, _WARM_COLOR, _TEMPERATURE_COLOR, _METER_COLOR, _LIMIT_WITHIN_K = 2, 3, 3, 1, 15
_MOST_POINTS: Final = 1500
_SHORTEST_IDLE_NS: Final = NS_PER_S // 10
_SCATTERED: Final = 400
_PRINTED_VALUES: Final = 200
_NO_TEMPERATURE: Final = Verdict("Temperature: not reported (the record has none).", "fail")
_Point = tuple[float, int, float]  # place on x, number of its group, MB/s


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
        explanation="as long as it is not too hot",
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


class ThermalReport(ThermalRun, frozen=True):
    """What a run measured, a method for each page."""

    def pages(self) -> Iterator[Page]:
        """In their order."""
        yield state_page(self.run, "Purge and Pre-conditioning")
        yield self.course()
        yield self.results()
        yield self.scatter()
        yield self.duty_cycle()

    def course(self) -> Page:
        """The cold and the warm run over time, and the temperature of the drive below (SOL-BMK-06)."""
        page_id, title = "thermal-course", "MB/s and Temperature v Time - Cold and Warm Run"
        loads = [load for number in (COLD, WARM) if (load := self.loads.get(number))]
        if not loads:
            return nothing_page(page_id, title, "no run was measured")
        panels = self._panels(loads, page_id, title, "X-THERMAL-1")
        blocks = (*panels, self.verdict(COLD), self.verdict(WARM), Verdict(RULE))
        return Page(page_id, title, blocks, mandatory=True)

    def duty_cycle(self) -> Page:
        """The duty cycle over time, the temperature of the drive below."""
        page_id, title = "thermal-duty", "MB/s and Temperature v Time - Duty Cycle"
        load, conditions = self.loads.get(DUTY_CYCLE), self.conditions
        if load is None:
            return nothing_page(page_id, title, "it was not measured")
        busy, idle = format_duration(conditions.busy_ns), format_duration(conditions.idle_ns)
        text = Verdict(f"{busy} of writes and {idle} without I/O alternate.")
        panels = self._panels([load], page_id, title, "X-THERMAL-3")
        return Page(page_id, title, (*panels, text, self.verdict(DUTY_CYCLE)), mandatory=True)

    def _panels(
        self, loads: Sequence[HeatingLoad], page_id: str, title: str, number: str
    ) -> tuple[Block, ...]:
        """Speed above temperature, over the same time from the first load's first I/O, and their values."""
        origin_ns, end_ns = loads[0].started_ns, max(load.ended_ns for load in loads)
        time = ticks.time_axis("Time", 0, max(1, end_ns - origin_ns))
        bands = _bands(loads, time, origin_ns)
        points = [
            (time.place(load.started_ns - origin_ns + at_ns), index, bytes_per_s / MB)
            for index, load in enumerate(loads)
            for at_ns, bytes_per_s in _speeds(_thinned(load.points, _MOST_POINTS // len(loads)))
        ]
        speed = _apart(
            f"{page_id}-speed-values",
            "Values plotted: MB/s up to each moment",
            Col(f"Elapsed ({time.unit_name})", lambda point: cells.number(point[0], 3), width=0),
            [load.name for load in loads],
            points,
            printed=_PRINTED_VALUES // 2 * len(loads),
        )
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
        known = [(t_ns, value) for t_ns, value in self.temperatures if origin_ns <= t_ns <= end_ns]
        if not known:
            return figure, _NO_TEMPERATURE, speed
        below, shown = self._temperature_panel(known, page_id, time, origin_ns)
        below = replace(
            below, number=f"Plot {number}b", bands=tuple(replace(band, label="") for band in bands)
        )
        return figure, below, speed, shown

    def _temperature_panel(
        self, known: Sequence[tuple[int, float]], page_id: str, time: TimeAxis, origin_ns: int
    ) -> tuple[Figure, Table]:
        meter = self.run.telemetry_series.get(EXTERNAL_TEMPERATURE)
        beside = [] if meter is None else [meter.at(t_ns) for t_ns, _ in known if t_ns >= meter.t_ns[0]]
        values = [*(value for _, value in known), *beside]
        limits = self._limits(values)
        shown = table(
            f"{page_id}-temperature-values",
            "Values plotted: temperature",
            Col(
                f"Elapsed ({time.unit_name})",
                lambda point: cells.number(time.place(point[0] - origin_ns), 3),
                width=0,
            ),
            [
                Col("Temperature (°C)", lambda point: cells.number(point[1], 0)),
                *([Col("Operator's meter (°C)", _by_meter(meter))] if meter is not None and beside else ()),
            ],
            known[:: -(-len(known) // _MOST_POINTS)],
            printed=_PRINTED_VALUES // 2,
        )
        plot = Plot(
            part="temperature",
            x=time.axis,
            y=_temperature_axis([*values, *(limit.value for limit in limits)]),
            series=(
                Series("Sensor", "column", (0,), _TEMPERATURE_COLOR, style="line"),
                *(
                    (Series("Operator's meter", "column", (1,), _METER_COLOR, style="line"),)
                    if beside
                    else ()
                ),
            ),
            alt="",
            rules=limits,
            height_px=165,
            zoom_group=page_id,
        )
        figure = plot.over(PlotName(page_id, "", "Temperature of the drive"), shown)
        alt = f"Temperature from {min(values):.0f} to {max(values):.0f} °C."
        return replace(figure, alt=alt), shown

    def _limits(self, temperatures: Sequence[float]) -> tuple[PlotRule, ...]:
        """Limits of the drive that its temperature came near; those far above would flatten the plot."""
        return tuple(
            PlotRule(f"{label} {value:.0f} °C", value, "limit")
            for label in ("warning", "critical")
            if (value := self.limit_c(f"{label}_limit_c")) is not None
            and value <= max(temperatures) + _LIMIT_WITHIN_K
        )

    def scatter(self) -> Page:
        """Speed over temperature: the cold run by thirds of its time, and the warm run."""
        name = PlotName("thermal-scatter", "Plot X-THERMAL-2", "MB/s v Temperature")
        parts: list[tuple[str, Sequence[HeatPoint]]] = []
        if cold := self.loads.get(COLD):
            points = _thinned(cold.points, _SCATTERED)
            ends = [len(points) * third // 3 for third in range(4)]
            thirds = zip(("first", "second", "last"), pairwise(ends), strict=True)
            parts += [(f"Cold run, {third} third", points[start:end]) for third, (start, end) in thirds]
        if warm := self.loads.get(WARM):
            parts.append((NAMES[WARM], _thinned(warm.points, _SCATTERED)))
        known = (
            (group, [one for one in own if one.temperature_c is not None and one.elapsed_ns])
            for group, own in parts
        )
        groups = [(group, own) for group, own in known if own]
        if not groups:
            return nothing_page(name.id, name.title, "the record has no temperatures of this drive")
        plotted = [
            (one.temperature_c or 0.0, index, one.bytes_per_s / MB)
            for index, (_, own) in enumerate(groups)
            for one in own
        ]
        temperatures = [temperature_c for temperature_c, _, _ in plotted]
        plot = Plot(
            x=_temperature_axis(temperatures),
            y=_rate_axis,
            series=tuple(
                Series(group, "column", (index,), color, style="points")
                for index, ((group, _), color) in enumerate(zip(groups, (1, 5, 3, 4), strict=False))
            ),
            alt=f"{{count}} points from {min(temperatures):.0f} to {max(temperatures):.0f} °C.",
            rules=tuple(replace(limit, axis="x") for limit in self._limits(temperatures)),
        )
        head: Col[_Point] = Col("Temperature (°C)", lambda point: cells.number(point[0], 0), width=0)
        shown = _apart(f"{name.id}-values", "Values plotted", head, [group for group, _ in groups], plotted)
        text = Verdict(
            "Each point is the mean speed of a stretch of a run over the temperature at its end; the cold "
            "run is shown by thirds of its time."
        )
        return page(name, plot.over(name, shown), text, shown)

    def results(self) -> Page:
        """Every run in a column, and what surrounded them."""
        page_id, title = "thermal-results", "Thermal Throttling - Results"
        conditions = self.conditions
        sources = dict.fromkeys(health.reading.source for health in self.run.health)

        def limit(name: str) -> str:
            value_c = self.limit_c(name)
            return NOT_REPORTED if value_c is None else f"{value_c:.0f} °C"

        surroundings = items_table(
            f"{page_id}-surroundings",
            "Surroundings and sources of temperatures",
            [
                ("Air around the drive", _air(conditions)),
                ("Cooling", conditions.airflow or "not stated"),
                ("Log of the drive", "; ".join(sources) or NOT_REPORTED),
                ("Warning limit of the drive (WCTEMP)", limit("warning_limit_c")),
                ("Critical limit of the drive (CCTEMP)", limit("critical_limit_c")),
            ],
        )
        runs = transpose(
            f"{page_id}-runs",
            "Cold run, warm run and duty cycle, apart",
            _columns(self),
            [(name, self.loads.get(number)) for number, name in NAMES.items()],
            head=Col("", cells.words, align="left", width=1.6),
        )
        return Page(page_id, title, (runs, *self.verdicts(), Verdict(RULE), surroundings), mandatory=True)

    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether each load was slowed down by heat."""
        return tuple(map(self.verdict, NAMES))

    def test_rows(self) -> Rows:
        """The test's fields of the header."""
        conditions, loads = self.conditions, self.loads
        cold, warm, duty = (
            format_duration(load.length_ns) if (load := loads.get(number)) else "NOT RUN" for number in NAMES
        )
        return stimulus_rows(
            self.run,
            ("Test Stimulus", f"SEQ {format_block_size(conditions.block_size_bytes)} W"),
            ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
            ("Cold run", cold),
            ("Warm run", warm),
            ("Duty cycle", duty),
            ("Busy / idle", f"{format_duration(conditions.busy_ns)} / {format_duration(conditions.idle_ns)}"),
            ("Air", _air(conditions)),
            ("Cooling", conditions.airflow or NOT_STATED),
        )


def _air(conditions: ThermalConditions) -> str:
    return "not stated" if conditions.ambient_c is None else f"{conditions.ambient_c:g} °C, as stated"


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


def _thinned(points: Sequence[HeatPoint], most: int) -> Sequence[HeatPoint]:
    """Put together so that there are no more than so many."""
    if len(points) <= most:
        return points
    return merged(points, -(-points[-1].end_ns // most))


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


def _by_meter(meter: TelemetrySeries) -> Callable[[tuple[int, float]], Cell]:
    """What the operator's meter read at a moment of the drive's sensor."""
    return lambda point: cells.number_or(
        "not sampled yet", meter.at(point[0]) if point[0] >= meter.t_ns[0] else None, 1
    )


def _temperature_axis(temperatures: Sequence[float]) -> Axis:
    return ticks.linear_axis("Temperature (°C)", min(temperatures) - 1, max(temperatures) + 1)


def _rate_axis(rates: Sequence[float]) -> Axis:
    return ticks.linear_axis("Throughput (MB/s)", 0, max(rates))


def _columns(thermal: ThermalRun) -> list[Col[HeatingLoad]]:
    """What is shown of each load."""

    def temperature(value_c: float | None) -> Cell:
        return cells.number_or("not reported", value_c, 0)

    def time_before(load: HeatingLoad) -> Cell:
        first_ns = load.throttling.first_ns
        if first_ns is None:
            return cells.missing("none seen")
        return Cell(format_duration(first_ns), first_ns / NS_PER_S)

    def kept_share(load: HeatingLoad) -> Cell:
        before, during = load.throttling.before_bytes_per_s, load.throttling.throttled_bytes_per_s
        return cells.percent_or("none seen", 100 * during / before if before and during is not None else None)

    def share(load: HeatingLoad) -> Cell:
        share = load.throttling.share
        return cells.percent_or("not known", None if share is None else 100 * share)

    def first_rate(load: HeatingLoad) -> Cell:
        first_minute, *_ = merged(load.points, thermal.conditions.minute_ns)
        return cells.number(first_minute.bytes_per_s / MB, 1)

    def amount(
        label: str, of: Callable[[Throttling], float | None], per: int, absent: str
    ) -> Col[HeatingLoad]:
        return Col(label, lambda load: cells.number_or(absent, of(load.throttling), 1, per=per))

    def counted(label: str, name: str) -> Col[HeatingLoad]:
        return Col(label, lambda load: cells.number_or("not in the log", load.counted(name), 0))

    return [
        Col("Length", lambda load: Cell(format_duration(load.length_ns), load.length_ns / NS_PER_S)),
        Col("Written (GB)", lambda load: cells.number(load.written_bytes / GB, 1)),
        Col(
            "Temperature at the start (°C)", lambda load: temperature(thermal.temperature_at(load.started_ns))
        ),
        Col("Highest temperature (°C)", lambda load: temperature(load.highest_temperature_c)),
        Col("First minute (MB/s)", first_rate),
        Col("Time to the first throttle", time_before),
        amount("Written before the throttle (GB)", attrgetter("bytes_before"), GB, "none seen"),
        amount("Speed before the throttle (MB/s)", attrgetter("before_bytes_per_s"), MB, "throttled at once"),
        amount("Speed throttled (MB/s)", attrgetter("throttled_bytes_per_s"), MB, "none seen"),
        Col("Throttled / before (%)", kept_share),
        Col("Share of time throttled (%)", share),
        counted("Throttle events counted by the drive", "throttle_events"),
        counted("Time throttled, counted by the drive (s)", "throttled_s"),
        counted("Time above the warning limit (s)", "warning_temperature_s"),
        counted("Time above the critical limit (s)", "critical_temperature_s"),
    ]


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the record."""
    found = ThermalReport(run, run.conditions(ThermalConditions))
    return ReportContent(
        verdicts=found.verdicts(),
        measures=tuple(
            one
            for number, name in NAMES.items()
            for one in measured(_MEASURES, found.loads.get(number), Subject(name))
        ),
        sections=methodology(run, "Thermal Throttling", found.test_rows(), found.pages),
        figures=lambda: {"loads": {key_of(name): _figures(found, number) for number, name in NAMES.items()}},
        curves=lambda: tuple(curve for load in found.loads.values() for curve in _curves(load)),
    )


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
        "highest_temperature_c": load.highest_temperature_c,
        "evidence": throttling.evidence.value,
        "first_throttle_s": None if throttling.first_ns is None else throttling.first_ns / NS_PER_S,
        "written_before_throttle_bytes": throttling.bytes_before,
        "before_bytes_per_s": throttling.before_bytes_per_s,
        "throttled_bytes_per_s": throttling.throttled_bytes_per_s,
        "throttled_share": throttling.share,
    }
