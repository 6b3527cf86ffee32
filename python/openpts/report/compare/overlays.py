"""Courses and curves of several drives in one plot: the run with the median of each set stands for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from operator import itemgetter

from msgspec.structs import replace

from openpts.analysis.minutes import minutes_of
from openpts.analysis.response_times import ResponseTimes, nines_supported, response_times
from openpts.pages import cells, ticks
from openpts.pages.kit import PlotName
from openpts.pages.model import Axis, Block, Cell, Column, Figure, Row, Series, Table, Verdict
from openpts.procedures.pts.wsat.conditions import WriteSaturationConditions
from openpts.report.compare.colors import color_of
from openpts.report.compare.contenders import ComparedRun, ComparedTest
from openpts.report.compare.metrics import Metric, typical_run
from openpts.units import NS_PER_MS
from openpts.vocabulary.part import Part

_PRINTED_VALUES = 60
_STEPS_PER_NINE = 4
_MOST_NINES = 7

Point = tuple[float, Cell]


@dataclass(frozen=True, slots=True)
class Typical:
    """The run that stands for a set, under the set's name; ``place`` is the set's."""

    name: str
    run: ComparedRun
    place: int


def overlay_blocks(test: ComparedTest, metrics: tuple[Metric, ...]) -> tuple[Block, ...]:
    """The overlays that a test has; none for most."""
    drawn = {"wsat": _saturation, "lat": _confidence, "cbw": _demand, "dirth": _demand}.get(test.test)
    if drawn is None:
        return ()
    typical = [
        Typical(one.name, typical_run(one, metrics), number) for number, one in enumerate(test.contenders)
    ]
    blocks = tuple(drawn(test, typical))
    return (_sentence(typical), *blocks) if blocks else ()


def _sentence(typical: Sequence[Typical]) -> Verdict:
    runs = "; ".join(f"{one.name}: {one.run.manifest.test_id}" for one in typical)
    return Verdict(
        f"In the plots below each set has one run: that with the median of its first key value. {runs}."
    )


def _saturation(test: ComparedTest, typical: Sequence[Typical]) -> Iterable[Block]:
    """IOPS of each minute over time, for each workload that two runs have."""
    titles = dict.fromkeys(title for one in typical for title in _workloads(one.run))
    for number, title in enumerate(titles, start=1):
        courses = [(one, _minutes(one.run, title)) for one in typical]
        courses = [(one, minutes) for one, minutes in courses if minutes]
        if len(courses) < 2:
            continue
        last_ns = max(end_ns for _, minutes in courses for end_ns, _ in minutes)
        time = ticks.time_axis("Time", 0, last_ns)
        table = _table(
            f"compare-{test.test}-course-{number}-values",
            f"Values plotted: IOPS of each minute at its end, {title}",
            time.axis.title,
            [
                (one, [(time.place(end_ns), cells.number(iops, 1)) for end_ns, iops in minutes])
                for one, minutes in courses
            ],
            3,
        )
        values = _values(table)
        yield _figure(
            PlotName(
                f"compare-{test.test}-course-{number}",
                f"Plot X-COMPARE-WSAT-{number + 1}",
                f"WSAT IOPS v Time - {title.replace(' KiB', 'KiB')}",
            ),
            table,
            (time.axis, ticks.amount_axis("IOPS", values)),
            [one for one, _ in courses],
            style="line",
        )
        yield table


def _workloads(run: ComparedRun) -> tuple[str, ...]:
    conditions = run.manifest.conditions
    assert isinstance(conditions, WriteSaturationConditions)  # noqa: S101 asked of this test's runs alone
    return tuple(workload.title for workload in conditions.workloads)


def _minutes(run: ComparedRun, title: str) -> list[tuple[int, float]]:
    """End in ns and IOPS of each minute of a workload's stimulus."""
    titles = _workloads(run)
    if title not in titles:
        return []
    steps = run.run.part(Part.SATURATION, cycle=titles.index(title) + 1)
    minutes = minutes_of([step.sample for step in steps], run.manifest.conditions.minute_ns)
    return [(minute.end_ns, minute.iops) for minute in minutes]


def _confidence(test: ComparedTest, typical: Sequence[Typical]) -> Iterable[Block]:
    """Response time at each confidence level, as far as the I/Os of a run suffice."""
    times = [(one, _histogram(one.run)) for one in typical]
    curves = [(one, _levels(found)) for one, found in times if found is not None and found.recorded_ios]
    if len(curves) < 2:
        return
    table = _table(
        f"compare-{test.test}-levels-values",
        "Values plotted: response time (ms) that so many per cent of the I/Os do not exceed",
        "Confidence level (%)",
        curves,
        6,
    )
    nines = max(min(_MOST_NINES, nines_supported(found.recorded_ios)) for _, found in times if found)
    yield _figure(
        PlotName(
            f"compare-{test.test}-levels",
            "Plot X-COMPARE-LAT-2",
            "Response Time v Confidence Level - RND 4KiB RW0",
        ),
        table,
        (
            ticks.nines_axis("Confidence level (%)", nines),
            ticks.log_axis("Response time (ms)", _values(table)),
        ),
        [one for one, _ in curves],
    )
    yield table


def _histogram(run: ComparedRun) -> ResponseTimes | None:
    samples = [step.sample for step in run.run.part(Part.HISTOGRAM)]
    return response_times(samples) if samples else None


def _levels(times: ResponseTimes) -> list[Point]:
    """Four levels to each nine, evenly spaced on the axis."""
    last = _STEPS_PER_NINE * min(_MOST_NINES, nines_supported(times.recorded_ios))
    found = []
    for step in range(1, last + 1):
        level_pct = round(100 - 100 * 10 ** (-step / _STEPS_PER_NINE), 12)
        if (value_ns := times.percentile_ns(level_pct)) is not None:
            found.append((level_pct, cells.latency(value_ns)))
    return found


def _demand(test: ComparedTest, typical: Sequence[Typical]) -> Iterable[Block]:
    """ART over IOPS of all operating points."""
    curves = [(one, _points(one.run)) for one in typical]
    curves = [(one, points) for one, points in curves if points]
    if len(curves) < 2:
        return
    table = _table(
        f"compare-{test.test}-demand-values",
        "Values plotted: ART (ms) of each operating point at its IOPS",
        "IOPS",
        curves,
        1,
    )
    iops = [row.head.value for row in table.rows if row.head.value]
    yield _figure(
        PlotName(
            f"compare-{test.test}-demand",
            f"Plot X-COMPARE-{test.test.upper()}-2",
            "Demand Intensity: ART v IOPS of all TC/QD",
        ),
        table,
        (ticks.amount_axis("IOPS", iops), ticks.log_axis("ART (ms)", _values(table))),
        [one for one, _ in curves],
        style="points",
    )
    yield table


def _points(run: ComparedRun) -> list[Point]:
    return [
        (point["iops"], cells.latency(point["art_ms"] * NS_PER_MS))
        for point in run.content.figures["operating_points"]
        if point["iops"] and point["art_ms"]
    ]


def _table(
    table_id: str, title: str, x_title: str, curves: Sequence[tuple[Typical, list[Point]]], decimals: int
) -> Table:
    """A row for each place on x, a column for each set; a set that has nothing there has no value."""
    places: dict[tuple[float, int], dict[int, Cell]] = {}
    for number, (_, points) in enumerate(curves):
        for x, cell in points:
            again = next(n for n in count() if number not in places.get((x, n), {}))
            places.setdefault((x, again), {})[number] = cell
    table = Table(
        id=table_id,
        title=title,
        head=Column(x_title),
        columns=tuple(Column(one.name) for one, _ in curves),
        rows=tuple(
            Row(
                Cell(cells.fixed(x, decimals), x),
                tuple(found.get(number, Cell("-")) for number in range(len(curves))),
            )
            for (x, _), found in sorted(places.items(), key=itemgetter(0))
        ),
    )
    return replace(table, printed=table.value_count <= _PRINTED_VALUES)


def _style(style: str, place: int) -> str:
    """Lines without markers are told apart by more than their colour."""
    return "dashed" if style == "line" and place % 2 else style


def _values(table: Table) -> list[float]:
    return [cell.value for row in table.rows for cell in row.cells if cell.value is not None]


def _figure(
    name: PlotName,
    table: Table,
    axes: tuple[Axis, Axis],
    shown: Sequence[Typical],
    style: str = "measured",
) -> Figure:
    values = _values(table)
    whose = ", ".join(one.name for one in shown)
    return Figure(
        id=name.id,
        number=name.number,
        title=name.title,
        kind="lines",
        table_id=table.id,
        x=axes[0],
        y=axes[1],
        alt=f"{name.title} of {whose}: from {min(values):,.4g} to {max(values):,.4g}.",
        series=tuple(
            Series(one.name, "column", (n,), color_of(one.place), style=_style(style, one.place))
            for n, one in enumerate(shown)
        ),
    )
