"""What was sampled beside the I/O over the time of the run: panels with one axis of time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.kit import rows_table
from openpts.pages.model import Block, Cell, Column, Figure, Row, Rule, Series
from openpts.record.health import TelemetrySeries
from openpts.record.reader import Run
from openpts.report.telemetry_series import quantity, rows_of_time, width_ns
from openpts.units import NS_PER_S

TEMPERATURE: Final = "temperature_c"
_ZOOM: Final = "run-conditions"
_PRINTED_VALUES: Final = 200
_PRINTED_BESIDE_OTHERS: Final = 60
_MEAN, _LOWEST, _HIGHEST = range(3)
_MEAN_COLOR, _RANGE_COLOR = 2, 6
_COLORS: Final = (2, 3, 1, 4, 5, 0)
_HEIGHT_PX: Final = 260
_LOW_HEIGHT_PX: Final = 200


@dataclass(frozen=True, slots=True)
class Panel:
    """Several values in one plot: ``key`` is for its id, ``names`` of the record have a label each.

    ``highest`` is where the axis ends at least.
    """

    key: str
    number: str
    title: str
    axis_title: str
    names: Mapping[str, str]
    highest: float = 0.0


_BUSY: Final = {
    "cpu_engine_busy_pct": "the engine's",
    "cpu_others_busy_pct": "all others",
    "cpu_all_busy_pct": "all",
}
_OTHERS: Final = {"others_read_bytes_per_s": "read", "others_write_bytes_per_s": "written"}


def panels(
    run: Run, series: Mapping[str, TelemetrySeries], marks: Sequence[tuple[int, str]]
) -> tuple[Block, ...]:
    """Temperature, processors, I/O of others and power, as far as they are series.

    ``marks`` are moments with a label each, drawn into the panel of the temperature, or else the first.
    """
    shown = {name: of_name for name, of_name in series.items() if of_name.t_ns[0] < of_name.t_ns[-1]}
    if not shown:
        return ()
    axis = _TimeAxis.of(run, tuple(shown.values()))
    rules = tuple(
        Rule(label, axis.time.place(t_ns - axis.first_ns), "limit", axis="x")
        for t_ns, label in marks
        if axis.first_ns <= t_ns <= axis.last_ns
    )
    blocks: list[Block] = []
    if TEMPERATURE in shown:
        blocks += _temperature(shown[TEMPERATURE], axis, rules)
        rules = ()
    for panel in _panels(shown):
        blocks += _lines(panel, shown, axis, rules)
        rules = ()
    return tuple(blocks)


def _panels(series: Mapping[str, TelemetrySeries]) -> Iterator[Panel]:
    busy = {name: label for name, label in _BUSY.items() if name in series}
    if busy:
        yield Panel("processors", "X-RUN-2", "Processors at work", "Processors (%)", busy, 100)
    others = {name: label for name, label in _OTHERS.items() if name in series and max(series[name].values)}
    if others:
        yield Panel("others", "X-RUN-3", "I/O on other drives of the host", "Others (MB/s)", others)
    power = {
        name: quantity(name).title.removeprefix("Power, ") for name in series if name.startswith("power_")
    }
    if power:
        yield Panel("power", "X-RUN-4", "Power", "Power (W)", dict(list(power.items())[: len(_COLORS)]))


@dataclass(frozen=True, slots=True)
class _TimeAxis:
    """From the first step, or what was sampled before it, to the last sample; rows of so much time."""

    first_ns: int
    last_ns: int
    row_ns: int
    time: ticks.TimeAxis

    @classmethod
    def of(cls, run: Run, series: Sequence[TelemetrySeries]) -> "_TimeAxis":
        first_ns = min(of_name.t_ns[0] for of_name in series)
        if run.steps:
            first_ns = min(first_ns, run.steps[0].sample.started_ns)
        last_ns = max(of_name.t_ns[-1] for of_name in series)
        row_ns = width_ns(first_ns, last_ns)
        rows = (last_ns - first_ns) // row_ns + 1
        return cls(first_ns, last_ns, row_ns, ticks.time_axis("Time", 0, rows * row_ns))

    @property
    def head(self) -> Column:
        return Column(f"Elapsed ({self.time.unit_name})")

    @property
    def rows_title(self) -> str:
        return f"Values plotted: each {self.row_ns // NS_PER_S:,} s"

    def row_head(self, number: int) -> Cell:
        return cells.number(self.time.place((number + 0.5) * self.row_ns), 3)


def _temperature(series: TelemetrySeries, axis: _TimeAxis, rules: tuple[Rule, ...]) -> tuple[Block, ...]:
    rows = tuple(
        Row(
            axis.row_head(number),
            (cells.number(fmean(values), 1), cells.number(min(values), 1), cells.number(max(values), 1)),
        )
        for number, values in rows_of_time(series, axis.first_ns, axis.row_ns)
    )
    table = rows_table(
        "run-conditions-temperature-values",
        axis.rows_title,
        (axis.head, "Mean (°C) | Lowest (°C) | Highest (°C)"),
        rows,
        printed=3 * len(rows) <= _PRINTED_VALUES,
    )
    lowest, highest = min(series.values), max(series.values)
    figure = Figure(
        id="run-conditions-temperature",
        number="X-RUN-1",
        title="Temperature of the device",
        kind="lines",
        table_id=table.id,
        x=axis.time.axis,
        y=ticks.linear_axis("Temperature (°C)", lowest - 1, highest + 1),
        alt=f"Temperature of the device over the run: from {lowest:g} to {highest:g} C.",
        series=(
            Series("Lowest", "column", (_LOWEST,), _RANGE_COLOR, style="line"),
            Series("Highest", "column", (_HIGHEST,), _RANGE_COLOR, style="line"),
            Series("Mean", "column", (_MEAN,), _MEAN_COLOR, style="mean", emphasis=True),
        ),
        rules=rules,
        height_px=_HEIGHT_PX,
        zoom_group=_ZOOM,
    )
    return (figure, table)


def _lines(
    panel: Panel, series: Mapping[str, TelemetrySeries], axis: _TimeAxis, rules: tuple[Rule, ...]
) -> tuple[Block, ...]:
    """The mean of each row, a line for each value."""
    means: dict[str, dict[int, float]] = {}
    for name in panel.names:
        divisor = quantity(name).divisor
        of_rows = rows_of_time(series[name], axis.first_ns, axis.row_ns)
        means[name] = {number: fmean(values) / divisor for number, values in of_rows}
    numbers = sorted(set().union(*means.values()))
    table = rows_table(
        f"run-conditions-{panel.key}-values",
        axis.rows_title,
        (axis.head, *(Column(label) for label in panel.names.values())),
        (
            (axis.row_head(number), *(_mean(of_name.get(number)) for of_name in means.values()))
            for number in numbers
        ),
        printed=len(panel.names) * len(numbers) <= _PRINTED_BESIDE_OTHERS,
    )
    highest = max(value for of_name in means.values() for value in of_name.values())
    figure = Figure(
        id=f"run-conditions-{panel.key}",
        number=panel.number,
        title=panel.title,
        kind="lines",
        table_id=table.id,
        x=axis.time.axis,
        y=ticks.linear_axis(panel.axis_title, 0, max(highest, panel.highest)),
        alt=f"{panel.axis_title}, {', '.join(panel.names.values())}, over the run: up to {highest:,.3g}.",
        series=tuple(
            Series(label, "column", (place,), _COLORS[place], style="line")
            for place, label in enumerate(panel.names.values())
        ),
        rules=rules,
        height_px=_LOW_HEIGHT_PX,
        zoom_group=_ZOOM,
    )
    return (figure, table)


def _mean(value: float | None) -> Cell:
    return cells.number_or("nothing was sampled", value, 2)
