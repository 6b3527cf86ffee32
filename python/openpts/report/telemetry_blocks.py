"""What was sampled beside the I/O: a summary of each value, and the temperatures over time."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from openpts.record.health import TelemetrySeries
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
    if not run.telemetry_series:
        return (Verdict("Telemetry: not reported (nothing was sampled beside the I/O)."),)
    values = {name: series for name, series in run.telemetry_series.items() if name != _THROTTLED}
    summary = (_summary(values),) if values else ()
    return (
        *summary,
        *_throttling(run.telemetry_series.get(_THROTTLED)),
        *_temperature(run, values.get(_TEMPERATURE)),
    )


def _throttling(throttled: TelemetrySeries | None) -> tuple[Verdict, ...]:
    """How much of the time heat slowed the device down, where it tells that."""
    if throttled is None:
        return ()
    share_pct = 100 * fmean(throttled.values)
    if not share_pct:
        return (Verdict("Heat slowed the device down in none of the samples.", "pass"),)
    return (Verdict(f"Heat slowed the device down in {cells.fixed(share_pct, 1)} % of the samples.", "fail"),)


def _summary(values: Mapping[str, TelemetrySeries]) -> Table:
    return Table(
        id="run-conditions-telemetry",
        title="Telemetry of the device",
        head=Column("Value", align="left", width=2),
        columns=(Column("Samples"), Column("Lowest"), Column("Mean"), Column("Highest")),
        rows=tuple(
            Row(
                Cell(_title(name)),
                (
                    cells.number(len(series.values), 0),
                    cells.number(min(series.values), 1),
                    cells.number(fmean(series.values), 1),
                    cells.number(max(series.values), 1),
                ),
            )
            for name, series in sorted(values.items())
        ),
    )


def _title(name: str) -> str:
    """``temperature_sensor_1_c`` as ``Temperature, sensor 1 (°C)``."""
    what, *of_it = printable(name).removesuffix("_c").split("_")
    words = ", ".join(filter(None, (what.capitalize(), " ".join(of_it))))
    return f"{words} (°C)" if name.endswith("_c") else words


def _temperature(run: Run, series: TelemetrySeries | None) -> tuple[Block, ...]:
    if series is None or series.t_ns[0] == series.t_ns[-1]:
        return ()
    first_ns = min(run.steps[0].sample.started_ns, series.t_ns[0]) if run.steps else series.t_ns[0]
    width_ns = _width_ns(series)
    buckets = _buckets(series, first_ns, width_ns)
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
        for number, values in buckets.items()
    )
    table = Table(
        id="run-conditions-temperature-values",
        title=f"Values plotted: each {width_ns // NS_PER_S:,} s",
        head=Column(f"Elapsed ({time.unit_name})"),
        columns=(Column("Mean (°C)"), Column("Lowest (°C)"), Column("Highest (°C)")),
        rows=rows,
        printed=3 * len(rows) <= _PRINTED_VALUES,
    )
    lowest, highest = min(series.values), max(series.values)
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


def _width_ns(series: TelemetrySeries) -> int:
    """The shortest time for a row of the table with which there are not too many."""
    span_s = (series.t_ns[-1] - series.t_ns[0]) / NS_PER_S
    fitting = (width_s for width_s in _WIDTHS_S if span_s <= width_s * _MOST_ROWS)
    return next(fitting, _WIDTHS_S[-1]) * NS_PER_S


def _buckets(series: TelemetrySeries, first_ns: int, width_ns: int) -> dict[int, Sequence[float]]:
    """The values of each row that has any, by the row's number."""
    buckets: dict[int, Sequence[float]] = {}
    begin = 0
    while begin < len(series.t_ns):
        number = (series.t_ns[begin] - first_ns) // width_ns
        end = bisect_left(series.t_ns, first_ns + (number + 1) * width_ns, begin)
        buckets[number] = series.values[begin:end]
        begin = end
    return buckets
