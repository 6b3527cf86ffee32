"""What was sampled beside the I/O: a summary of each value, what happened on the link, panels over time."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import fsum
from statistics import fmean
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.record.health import EXTERNAL_TEMPERATURE, TelemetrySeries, difference
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_S, format_capacity
from openpts.vocabulary.sample import (
    DRIVE_ENERGY,
    DRIVE_FREE_BLOCKS,
    DRIVE_HOST_WRITES,
    DRIVE_MEDIA_WRITES,
    Sample,
)
from openpts_pages import cells, ticks
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Cell, Column, Figure, Page, PlotRule, Series, Table, Verdict

# A row of a plotted table holds so much time: as short as the rows stay few.
_MOST_ROWS: Final = 1500
_WIDTHS_S: Final = (1, 5, 10, 30, 60, 300, 600, 1800, 3600)
# What does not change is stored again within ten minutes at the most: after more than that it is not known.
_HOLDS_NS: Final = 1200 * NS_PER_S

# The ends of names, which are units, as they are shown, with what their values are divided by.
_UNITS: Final = {
    "_bytes_per_s": ("MB/s", MB),
    "_ios_per_s": ("I/Os per s", 1),
    "_gt_per_s": ("GT/s", 1),
    "_per_s": ("1/s", 1),
    "_pct": ("%", 1),
    "_mhz": ("MHz", 1),
    "_w": ("W", 1),
    "_c": ("°C", 1),
}
_SUBJECTS: Final = {
    "cpu_engine_": "The engine's processors",
    "cpu_others_": "Other processors",
    "cpu_all_": "All processors",
    "cpu_pressure_": "Waiting for a processor",
    "cpu_quota_": "Processor quota used up",
    "cpu_throttled_": "Processors held back by heat",
    "engine_wait_": "Engine thread waiting for a processor",
    "engine_awake_": "Engine thread waiting or at work",
    "memory_use_": "Memory bandwidth used by processors",
    "memory_pressure_": "Waiting for memory",
    "others_": "Other drives",
    "power_": "Power",
    "link_": "PCIe link",
    "aer_port_": "PCIe errors, port",
    "aer_": "PCIe errors",
}


class Quantity(Struct, frozen=True):
    """What a value is of, its unit, empty for a plain number, and what it is divided by to be in it."""

    title: str
    unit: str
    divisor: float

    @property
    def heading(self) -> str:
        """``Temperature, sensor 1 (°C)``."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def quantity(name: str) -> Quantity:
    """The label and unit of a name in the record: ``temperature_sensor_1_c``, ``cpu_engine_busy_pct``."""
    ending = next((ending for ending in _UNITS if name.endswith(ending)), "")
    unit, divisor = _UNITS.get(ending, ("", 1))
    rest = name.removesuffix(ending)
    begin = next((begin for begin in _SUBJECTS if f"{rest}_".startswith(begin)), rest.split("_")[0])
    subject = _SUBJECTS.get(begin, begin.capitalize())
    detail = rest.removeprefix(begin.rstrip("_")).replace("_", " ").strip()
    return Quantity(", ".join(filter(None, (subject, detail))), unit, divisor)


def mean_over_time(series: TelemetrySeries) -> float:
    """Each value counts for as long as it held; the last one for as long as the shortest of the others."""
    spans = [after - before for before, after in zip(series.t_ns, series.t_ns[1:], strict=False)]
    if not any(spans):
        return series.values[-1]
    spans.append(min(span for span in spans if span))
    return fsum(span * value for span, value in zip(spans, series.values, strict=True)) / fsum(spans)


def value_at(series: TelemetrySeries, t_ns: int) -> float | None:
    """The last value that was stored until then; None before the first."""
    after = bisect_right(series.t_ns, t_ns)
    return series.values[after - 1] if after else None


def width_ns(first_ns: int, last_ns: int) -> int:
    """The shortest time for a row of a table with which there are not too many."""
    span_s = (last_ns - first_ns) / NS_PER_S
    fitting = (width_s for width_s in _WIDTHS_S if span_s <= width_s * _MOST_ROWS)
    return next(fitting, _WIDTHS_S[-1]) * NS_PER_S


def rows_of_time(
    series: TelemetrySeries, first_ns: int, row_ns: int
) -> Iterator[tuple[int, Sequence[float]]]:
    """The number of each row and its values, or the one that still held where nothing was stored in it."""
    begin, number = 0, max(0, (series.t_ns[0] - first_ns) // row_ns)
    last = (series.t_ns[-1] - first_ns) // row_ns
    while number <= last:
        end = bisect_left(series.t_ns, first_ns + (number + 1) * row_ns, begin)
        if end > begin:
            yield number, series.values[begin:end]
        elif begin and first_ns + number * row_ns - series.t_ns[begin - 1] <= _HOLDS_NS:
            yield number, series.values[begin - 1 : begin]
        begin, number = end, number + 1


_THROTTLED: Final = "throttled"
_FOREIGN: Final = "foreign_bytes"
_OF_MODELS: Final = (DRIVE_ENERGY, DRIVE_MEDIA_WRITES, DRIVE_HOST_WRITES, DRIVE_FREE_BLOCKS)
_SINGLE_PROCESSOR: Final = re.compile(r"cpu_([0-9]+)_([a-z]+)_pct")
_STATES: Final = {
    "busy": "Busy (%)",
    "user": "User (%)",
    "sys": "Sys (%)",
    "iowait": "I/O wait (%)",
    "irq": "Irq (%)",
    "softirq": "Softirq (%)",
    "steal": "Steal (%)",
}
_MOST_PROCESSORS: Final = 16
# Values of the link: rate and lanes, and counters of errors.
_LINK: Final = ("link_gt_per_s", "link_width")
_ERRORS: Final = re.compile(r"aer_(port_)?(correctable|nonfatal|fatal)_errors")
_MOST_MARKS: Final = 8
# What a purge discarded just before may be in the first samples of a cycle.
_SETTLED_NS: Final = 3 * NS_PER_S
_WHAT: Final = "I/O of others on the device under test"


def telemetry_page(run: Run) -> Page:
    """What was sampled, for the page on the conditions during the run."""
    return Page("telemetry", "Telemetry", telemetry_blocks(run))


def telemetry_blocks(run: Run) -> tuple[Block, ...]:
    """All that the record holds of what was sampled."""
    series = run.telemetry_series
    if not series:
        return (Verdict("Telemetry: not reported (nothing was sampled beside the I/O)."),)
    single = {name: of_name for name, of_name in series.items() if _SINGLE_PROCESSOR.fullmatch(name)}
    left_out = {_THROTTLED, _FOREIGN, *_OF_MODELS, *single}
    values = {name: of_name for name, of_name in series.items() if name not in left_out}
    changes = sorted(_changes(series))
    return (
        *((_summary(values),) if values else ()),
        *_throttling(series.get(_THROTTLED)),
        *_above_sensor(series),
        *_link(series, changes, run),
        *foreign_io(run, series.get(_FOREIGN)),
        *((_processors(single),) if single else ()),
        *panels(run, values, changes[:_MOST_MARKS]),
    )


def _throttling(throttled: TelemetrySeries | None) -> tuple[Verdict, ...]:
    """How much of the time heat slowed the device down, where it reports that."""
    if throttled is None:
        return ()
    share_pct = 100 * fmean(throttled.values)
    if not share_pct:
        return (Verdict("Heat slowed the device down in none of the samples.", "pass"),)
    return (Verdict(f"Heat slowed the device down in {cells.fixed(share_pct, 1)} % of the samples.", "fail"),)


def _above_sensor(series: Mapping[str, TelemetrySeries]) -> tuple[Verdict, ...]:
    """By how much the operator's meter was above the drive's own sensor (HYP-TMP-02)."""
    if EXTERNAL_TEMPERATURE not in series:
        return ()
    above = difference(series[EXTERNAL_TEMPERATURE], series.get(TEMPERATURE))
    if above is None:
        return (
            Verdict("Operator's meter less the drive's sensor: n/a (the drive reported no temperature)."),
        )
    most, mean = (f"{value:+.1f} K" for value in (max(above.values), fmean(above.values)))
    return (Verdict(f"Operator's meter less the drive's sensor: {most} at most, {mean} on average."),)


def _summary(values: Mapping[str, TelemetrySeries]) -> Table:
    return rows_table(
        "run-conditions-telemetry",
        "Telemetry of device and host",
        "Value:<2 | Values stored | Lowest | Mean | Highest",
        (_summary_row(quantity(name), series) for name, series in sorted(values.items())),
        note="A value is stored when it changes and holds until the next one; means are weighted by time.",
    )


def _summary_row(of: Quantity, series: TelemetrySeries) -> Cells:
    shown = (min(series.values), mean_over_time(series), max(series.values))
    count = cells.number(len(series.values), 0)
    return (of.heading, count, *(cells.number(value / of.divisor, 1) for value in shown))


def _processors(single: Mapping[str, TelemetrySeries]) -> Table:
    """The busiest ones, each by itself."""
    shares: dict[int, dict[str, float]] = {}
    for name, series in single.items():
        if match := _SINGLE_PROCESSOR.fullmatch(name):
            shares.setdefault(int(match[1]), {})[match[2]] = mean_over_time(series)
    busiest = sorted(shares, key=lambda cpu: (-shares[cpu].get("busy", 0), cpu))[:_MOST_PROCESSORS]
    left_out = len(shares) - len(busiest)
    return rows_table(
        "run-conditions-processors",
        "Mean shares of the time of each processor",
        ("Processor:<", *(Column(title) for title in _STATES.values())),
        ((str(cpu), *(cells.cpu_share(shares[cpu].get(state)) for state in _STATES)) for cpu in busiest),
        note=f"The busiest processors; {left_out:,} others are left out." if left_out else "",
    )


def _changes(series: Mapping[str, TelemetrySeries]) -> Iterator[tuple[int, str]]:
    """When the link became another one, and when errors were counted on it."""
    for name, of_name in series.items():
        counts = _ERRORS.fullmatch(name) is not None
        if not counts and name not in _LINK:
            continue
        what = quantity(name)
        moments = zip(of_name.t_ns, of_name.values, strict=True)
        for (_, before), (t_ns, after) in pairwise(moments):
            if counts and after > before:
                yield t_ns, f"{what.title}: {after - before:,.0f} more"
            elif not counts and after != before:
                yield t_ns, f"{what.heading}: {before:g} to {after:g}"


def _link(
    series: Mapping[str, TelemetrySeries], changes: list[tuple[int, str]], run: Run
) -> tuple[Block, ...]:
    if not any(name in series for name in _LINK):
        return ()
    if not changes:
        link = " x".join(f"{series[name].values[0]:g}" for name in _LINK if name in series)
        counted = any(map(_ERRORS.fullmatch, series))
        errors = "no error was counted on it" if counted else "errors on it: not reported"
        return (Verdict(f"The PCIe link was {link} (GT/s, lanes) all the time; {errors}.", "pass"),)
    start_ns = run.steps[0].sample.started_ns if run.steps else changes[0][0]
    table = rows_table(
        "run-conditions-link",
        "What happened on the PCIe link",
        "Elapsed (s) | Change:<4",
        ((cells.number((t_ns - start_ns) / NS_PER_S, 0), text) for t_ns, text in changes),
    )
    text = f"The PCIe link changed, or errors were counted on it: {len(changes):,} times."
    return (Verdict(text, "fail"), table)


def foreign_io(run: Run, counted: TelemetrySeries | None) -> tuple[Verdict, ...]:
    """By how much the kernel's count of the device's bytes grew more than the engine's own, cycle by cycle.

    The two are read one after the other, so they may differ by what was in flight.
    """
    if counted is None or not run.steps:
        return ()
    by_cycle = defaultdict[int, list[Sample]](list)
    for step in run.steps:
        by_cycle[step.place.cycle].append(step.sample)
    grown = [growth for samples in by_cycle.values() if (growth := _growth(samples, counted)) is not None]
    if not grown:
        return (Verdict(f"{_WHAT}: n/a (the run is too short for the interval of the samples)."),)
    steps = (step.sample.step for step in run.steps)
    in_flight_bytes = (
        sum(s.toio * s.block_size_bytes for s in step.stimuli) for step in steps if not step.is_idle
    )
    in_flight = max(in_flight_bytes, default=0)
    if min(grown) < -in_flight:
        return (Verdict(f"{_WHAT}: n/a (the kernel counted fewer bytes than the engine transferred)."),)
    foreign = fsum(growth for growth in grown if growth > in_flight)
    if foreign:
        return (Verdict(f"{_WHAT}: {format_capacity(int(foreign))}, by the kernel's count.", "fail"),)
    return (Verdict(f"{_WHAT}: none, to within {format_capacity(in_flight)} of I/O in flight.", "pass"),)


def _growth(samples: Sequence[Sample], counted: TelemetrySeries) -> float | None:
    """Within the steps of a cycle: the purge before them is not the engine's."""
    begin_ns = samples[0].started_ns + _SETTLED_NS
    end_ns = samples[-1].started_ns + samples[-1].elapsed_ns
    before, after = value_at(counted, begin_ns), value_at(counted, end_ns)
    return None if begin_ns >= end_ns or before is None or after is None else after - before


TEMPERATURE: Final = "temperature_c"
_PRINTED_VALUES: Final = 200
_PRINTED_BESIDE_OTHERS: Final = 60
_RANGE_COLOR: Final = 6
_COLORS: Final = (2, 3, 1, 4, 5, 0)


class Panel(Struct, frozen=True):
    """Several values in one plot: ``key`` is for its id, ``names`` of the record have a label each.

    ``highest`` is where the axis ends at least.
    """

    key: str
    number: str
    title: str
    axis_title: str
    names: Mapping[str, str]
    highest: float = 0.0


_TEMPERATURE: Final = Panel("temperature", "X-RUN-1", "Temperature of the device", "Temperature (°C)", {})
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
        PlotRule(label, axis.time.place(t_ns - axis.first_ns), "limit", axis="x")
        for t_ns, label in marks
        if axis.first_ns <= t_ns <= axis.last_ns
    )
    drawn = (
        [_temperature(shown[TEMPERATURE], shown.get(EXTERNAL_TEMPERATURE), axis)]
        if TEMPERATURE in shown
        else []
    )
    drawn += [_lines(panel, shown, axis) for panel in _panels(shown)]
    return tuple(
        block
        for place, (figure, table) in enumerate(drawn)
        for block in (figure if place else replace(figure, rules=rules), table)
    )


def _panels(series: Mapping[str, TelemetrySeries]) -> Iterator[Panel]:
    busy = {name: label for name, label in _BUSY.items() if name in series}
    if busy:
        yield Panel("processors", "X-RUN-2", "Processors at work", "Processors (%)", busy, 100)
    others = {name: label for name, label in _OTHERS.items() if name in series and max(series[name].values)}
    if others:
        yield Panel("others", "X-RUN-3", "I/O on other drives of the host", "Others (MB/s)", others)
    meters = [name for name in series if name.startswith("power_")][: len(_COLORS)]
    if meters:
        power = {name: quantity(name).title.removeprefix("Power, ") for name in meters}
        yield Panel("power", "X-RUN-4", "Power", "Power (W)", power)


class _TimeAxis(Struct, frozen=True):
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

    def table(self, key: str, labels: Iterable[str], rows: Mapping[int, Cells], most_printed: int) -> Table:
        """Values by the number of their row, printed if they are not too many."""
        columns = tuple(map(Column, labels))
        return rows_table(
            f"run-conditions-{key}-values",
            f"Values plotted: each {self.row_ns // NS_PER_S:,} s",
            (Column(f"Elapsed ({self.time.unit_name})"), *columns),
            (
                (cells.number(self.time.place((number + 0.5) * self.row_ns), 3), *values)
                for number, values in rows.items()
            ),
            printed=len(columns) * len(rows) <= most_printed,
        )

    def figure(
        self, panel: Panel, table: Table, y: tuple[float, float], alt: str, *series: Series, height_px: int
    ) -> Figure:
        """The lines of a table, zoomed with those of the other panels."""
        return Figure(
            id=f"run-conditions-{panel.key}",
            number=panel.number,
            title=panel.title,
            kind="lines",
            table_id=table.id,
            x=self.time.axis,
            y=ticks.linear_axis(panel.axis_title, *y),
            alt=alt,
            series=series,
            height_px=height_px,
            zoom_group="run-conditions",
        )


def _temperature(
    series: TelemetrySeries, external: TelemetrySeries | None, axis: _TimeAxis
) -> tuple[Figure, Table]:
    """The drive's sensor, and beside it the operator's meter."""
    rows: dict[int, list[Cell]] = {
        number: [cells.number(of(values), 1) for of in (fmean, min, max)]
        for number, values in rows_of_time(series, axis.first_ns, axis.row_ns)
    }
    labels = ["Mean (°C)", "Lowest (°C)", "Highest (°C)"]
    values, beside = [*series.values], []
    if external is not None:
        labels.append("Operator's meter (°C)")
        values += external.values
        beside.append(Series("Operator's meter", "column", (3,), _COLORS[1], style="line"))
        of_rows = dict(rows_of_time(external, axis.first_ns, axis.row_ns))
        for number, row in rows.items():
            held = of_rows.get(number)
            row.append(cells.number_or("nothing was sampled", fmean(held) if held else None, 1))
    table = axis.table("temperature", labels, rows, _PRINTED_VALUES)
    lowest, highest = min(values), max(values)
    figure = axis.figure(
        _TEMPERATURE,
        table,
        (lowest - 1, highest + 1),
        f"Temperature of the device over the run: from {lowest:g} to {highest:g} C.",
        Series("Lowest", "column", (1,), _RANGE_COLOR, style="line"),
        Series("Highest", "column", (2,), _RANGE_COLOR, style="line"),
        Series("Mean", "column", (0,), _COLORS[0], style="mean", emphasis=True),
        *beside,
        height_px=260,
    )
    return figure, table


def _lines(panel: Panel, series: Mapping[str, TelemetrySeries], axis: _TimeAxis) -> tuple[Figure, Table]:
    """The mean of each row, a line for each value."""
    means: list[dict[int, float]] = []
    for name in panel.names:
        divisor = quantity(name).divisor
        of_rows = rows_of_time(series[name], axis.first_ns, axis.row_ns)
        means.append({number: fmean(values) / divisor for number, values in of_rows})
    rows = {
        number: [cells.number_or("nothing was sampled", of_name.get(number), 2) for of_name in means]
        for number in sorted(set().union(*means))
    }
    labels = panel.names.values()
    table = axis.table(panel.key, labels, rows, _PRINTED_BESIDE_OTHERS)
    highest = max(value for of_name in means for value in of_name.values())
    figure = axis.figure(
        panel,
        table,
        (0, max(highest, panel.highest)),
        f"{panel.axis_title}, {', '.join(labels)}, over the run: up to {highest:,.3g}.",
        *(Series(label, "column", (n,), _COLORS[n], style="line") for n, label in enumerate(labels)),
        height_px=200,
    )
    return figure, table
