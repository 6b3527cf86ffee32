"""What was sampled beside the I/O: a summary of each value, and the temperatures over time."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from openpts.record.health import TelemetryPoint
from openpts.record.reader import Run
from openpts.report import cells, ticks
from openpts.report.model import Block, Cell, Column, Figure, Row, Series, Table, Verdict
from openpts.report.printable import printable
from openpts.units import NS_PER_S

_TEMPERATURE: Final = "temperature_c"
_THROTTLED: Final = "throttled"
# A row of the plotted table holds so much time: as short as the rows stay few.
_MOST_ROWS: Final = 1500
_WIDTHS_S: Final = (1, 5, 10, 30, 60, 300, 600, 1800, 3600)
_PRINTED_VALUES: Final = 200
_MEAN, _LOWEST, _HIGHEST = range(3)
_MEAN_COLOR, _RANGE_COLOR = 2, 6


def telemetry_blocks(run: Run) -> tuple[Block, ...]:
    """Lowest, mean and highest of what was sampled, and a figure of the temperature where it is a series."""
    values: dict[str, list[TelemetryPoint]] = defaultdict(list)
    for point in run.telemetry:
        values[point.name].append(point)
    if not values:
        return (Verdict("Telemetry: not reported (nothing was sampled beside the I/O)."),)
    throttled = values.pop(_THROTTLED, [])
    summary = (_summary(values),) if values else ()
    return (*summary, *_throttling(throttled), *_temperature(run, values.get(_TEMPERATURE, ())))


def _throttling(points: Sequence[TelemetryPoint]) -> tuple[Verdict, ...]:
    """How much of the time heat slowed the device down, where it tells that."""
    if not points:
        return ()
    share_pct = 100 * fmean(point.value for point in points)
    if not share_pct:
        return (Verdict("Heat slowed the device down in none of the samples.", "pass"),)
    return (Verdict(f"Heat slowed the device down in {cells.fixed(share_pct, 1)} % of the samples.", "fail"),)


def _summary(values: dict[str, list[TelemetryPoint]]) -> Table:
    return Table(
        id="run-conditions-telemetry",
        title="Telemetry of the device",
        head=Column("Value", align="left", width=2),
        columns=(Column("Samples"), Column("Lowest"), Column("Mean"), Column("Highest")),
        rows=tuple(
            Row(
                Cell(_title(name)),
                (
                    cells.number(len(sampled), 0),
                    cells.number(min(sampled), 1),
                    cells.number(fmean(sampled), 1),
                    cells.number(max(sampled), 1),
                ),
            )
            for name, points in sorted(values.items())
            for sampled in [[point.value for point in points]]
        ),
    )


def _title(name: str) -> str:
    """``temperature_sensor_1_c`` as ``Temperature, sensor 1 (°C)``."""
    what, *of_it = printable(name).removesuffix("_c").split("_")
    words = ", ".join(filter(None, (what.capitalize(), " ".join(of_it))))
    return f"{words} (°C)" if name.endswith("_c") else words


def _temperature(run: Run, points: Sequence[TelemetryPoint]) -> tuple[Block, ...]:
    if len({point.t_ns for point in points}) < 2:
        return ()
    first_ns = min(run.steps[0].sample.started_ns, points[0].t_ns) if run.steps else points[0].t_ns
    width_ns = _width_ns(points)
    buckets: dict[int, list[float]] = defaultdict(list)
    for point in points:
        buckets[(point.t_ns - first_ns) // width_ns].append(point.value)
    time = ticks.time_axis("Time", 0, (max(buckets) + 1) * width_ns)
    rows = tuple(
        Row(
            cells.number(time.place((number + 0.5) * width_ns), 3),
            (
                cells.number(fmean(values), 1),
                cells.number(min(values), 1),
                cells.number(max(values), 1),
            ),
        )
        for number, values in sorted(buckets.items())
    )
    table = Table(
        id="run-conditions-temperature-values",
        title=f"Values plotted: each {width_ns // NS_PER_S:,} s",
        head=Column(f"Elapsed ({time.unit_name})"),
        columns=(Column("Mean (°C)"), Column("Lowest (°C)"), Column("Highest (°C)")),
        rows=rows,
        printed=3 * len(rows) <= _PRINTED_VALUES,
    )
    lowest, highest = min(point.value for point in points), max(point.value for point in points)
    figure = Figure(
        id="run-conditions-temperature",
        number="X-RUN-1",
        title="Temperature of the device",
        kind="lines",
        table_id=table.id,
        x=time.axis,
        y=ticks.linear_axis("Temperature (°C)", lowest - 1, highest + 1),
        alt=f"Temperature of the device over the run: from {lowest:g} to {highest:g} C.",
        series=(
            Series("Lowest", "column", (_LOWEST,), _RANGE_COLOR, style="line"),
            Series("Highest", "column", (_HIGHEST,), _RANGE_COLOR, style="line"),
            Series("Mean", "column", (_MEAN,), _MEAN_COLOR, style="mean", emphasis=True),
        ),
        height_px=260,
    )
    return (figure, table)


def _width_ns(points: Sequence[TelemetryPoint]) -> int:
    """The shortest time for a row of the table with which there are not too many."""
    span_s = (points[-1].t_ns - points[0].t_ns) / NS_PER_S
    fitting = (width_s for width_s in _WIDTHS_S if span_s <= width_s * _MOST_ROWS)
    return next(fitting, _WIDTHS_S[-1]) * NS_PER_S
