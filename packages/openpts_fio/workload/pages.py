"""Pages of tests that apply job files: what a job is, rates and response times of each of its streams."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.host_limits import late_streams, processors_full
from openpts.analysis.latency import Figures, ResponseTimes, counted, nines_percentile, nines_supported
from openpts.errors import UsageError
from openpts.procedures.kit.header import demand_text
from openpts.procedures.kit.steps import ART, IOPS, IOS, LONGEST, MEAN, THROUGHPUT, HasFigures, Metric
from openpts.units import MB, NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.run_request import CourseFigure, ImportedCourse
from openpts.vocabulary.sample import Interval, Measured, Sample
from openpts.vocabulary.stimulus import Step, Stream
from openpts_fio.workload import WorkloadConditions
from openpts_fio.workload.job import ALL_STREAMS, FioJob, by_name, names_of, parts_named, stream_names
from openpts_fio.workload.steps import translation_of
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, column_series, grid, page, rows_table, table, values_of
from openpts_pages.measure import Measure
from openpts_pages.model import Axis, Block, Cell, Column, Page, Series, Table, Verdict
from openpts_pts.shared.confidence_page import percentile_cell, times_figures

_OPERATIONS: Final = ("read", "write", "trim")


class StreamTimes(Struct, frozen=True):
    """One operation of a stream, or of all streams: its rates and its response times."""

    stream: str
    operation: str
    times: ResponseTimes

    @property
    def name(self) -> str:
        """``reader, read``."""
        return f"{self.stream}, {self.operation}"


def stream_times(samples: Sequence[Sample]) -> tuple[StreamTimes, ...]:
    """Each operation of each stream in all of these steps; behind them those of all, if there are several."""
    names = stream_names([sample.step for sample in samples])
    several = (ALL_STREAMS,) if len(names) > 1 else ()
    return tuple(found for name in (*names, *several) for found in _of_stream(samples, name))


def _of_stream(samples: Sequence[Sample], name: str) -> Iterator[StreamTimes]:
    parts = parts_named(samples, name)
    for operation in _OPERATIONS:
        alone = (part.operations[operation] for part in parts)
        times = ResponseTimes.of(alone, sum(part.elapsed_ns for part in parts))
        if times.ios:
            yield StreamTimes(name, operation, times)


def whole_of(found: Sequence[StreamTimes]) -> tuple[StreamTimes, ...]:
    """Times of all streams together, or of the only stream."""
    return tuple(one for one in found if one.stream == ALL_STREAMS) or tuple(found)


STREAM_MEASURES: Final[tuple[Measure[StreamTimes], ...]] = (
    Measure("iops", "{name}, IOPS", "IOPS", lambda one: one.times.iops, on_cover=False),
    Measure(
        "mb_per_s",
        "{name}, throughput",
        "MB/s",
        lambda one: THROUGHPUT.value(one.times),
        decimals=1,
        on_cover=False,
    ),
    Measure(
        "mean", "{name}, average", "ms", lambda one: cells.latency(one.times.mean_latency_ns), on_cover=False
    ),
    Measure("p99", "{name}, 99 %", "ms", lambda one: level_cell(one.times, 99.0), on_cover=False),
    Measure("p99_99", "{name}, 99.99 %", "ms", lambda one: level_cell(one.times, 99.99), on_cover=False),
)
COVER_MEASURES: Final = tuple(
    dataclasses.replace(one, on_cover=one.key in {"iops", "p99"}) for one in STREAM_MEASURES
)
"""The same of what the cover shows as well."""


def level_cell(times: ResponseTimes, percentile: float) -> Cell:
    """A percentile, or how many I/Os there are for it."""
    value_ns = times.percentile_ns(percentile)
    return cells.too_few(times.recorded_ios) if value_ns is None else cells.latency(value_ns)


def times_of_stream(one: StreamTimes) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "stream": one.stream,
        "operation": one.operation,
        "bytes": one.times.bytes,
        "mb_per_s": THROUGHPUT.value(one.times),
        **(times_figures(one.times, None) or {}),
    }


_LOW_PERCENTILES: Final = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0)
_FEWEST_NINES: Final = 3


def stream_blocks(
    name: PlotName, samples: Sequence[Sample], found: Sequence[StreamTimes]
) -> tuple[Block, ...]:
    """Rates, response times and percentiles of each stream in all steps, and the course of the last one.

    Above them is what the host, and not the drive, had to do with it.
    """
    if not found:
        return ()
    host = dict.fromkeys(verdict for sample in samples for verdict in host_verdicts(sample))
    curves = _percentiles_table(f"{name.id}-percentiles", found)
    plotted = (_percentiles_plot(curves, found).over(name, curves),) if values_of(curves) else ()
    shown = _streams_table(f"{name.id}-streams", found)
    return (*host, shown, *plotted, curves, *stream_course(name, samples[-1]))


def _streams_table(table_id: str, found: Sequence[StreamTimes]) -> Table:
    head: Col[StreamTimes] = Col("Stream", lambda one: Cell(one.stream), align="left", width=1.5)
    times_of = attrgetter("times")
    return table(
        table_id,
        "Rates and response times (ms) of the streams",
        head,
        [
            Col("Operation", lambda one: Cell(one.operation), align="left", width=0.8),
            *(metric.column(times_of) for metric in (IOS, IOPS, THROUGHPUT, replace(MEAN, label="Average"))),
            Col("99 %", lambda one: percentile_cell(one.times, 2)),
            Col("99.9 %", lambda one: percentile_cell(one.times, 3)),
            Col("99.99 %", lambda one: percentile_cell(one.times, 4)),
            replace(LONGEST, label="Maximum").column(times_of),
        ],
        found,
        note="A percentile of N nines needs 10^N I/Os.",
    )


def _levels(found: Sequence[StreamTimes]) -> tuple[float, ...]:
    most = max(_FEWEST_NINES, *(nines_supported(one.times.recorded_ios) for one in found))
    return (*_LOW_PERCENTILES, *(nines_percentile(n) for n in range(1, most + 1)))


def _percentiles_table(table_id: str, found: Sequence[StreamTimes]) -> Table:
    head: Col[StreamTimes] = Col("Stream", lambda one: Cell(one.name), align="left", width=1.5)
    columns = [(Column(f"{level:.10g} %", level), level) for level in _levels(found)]
    return grid(
        table_id,
        "Values plotted: response times (ms) that shares of the I/Os do not exceed",
        head,
        columns,
        found,
        cell=lambda one, level: level_cell(one.times, level),
        printed=False,
    )


def _percentiles_plot(shown: Table, found: Sequence[StreamTimes]) -> Plot:
    nines = max(_FEWEST_NINES, *(nines_supported(one.times.recorded_ios) for one in found))
    return Plot(
        x=ticks.nines_axis("Share of the I/Os (%)", nines),
        y=lambda values: ticks.log_axis("Response time (ms)", values),
        series=tuple(
            Series(row.head.text, "row", (line,), line, emphasis=found[line].stream == ALL_STREAMS)
            for line, row in enumerate(shown.rows)
        ),
        alt="{rows} curves of percentiles, from {low} to {high} ms.",
        decimals=None,
    )


_MOST_LINES: Final = 8
_COURSES: Final = {
    CourseFigure.IOPS: ("IOPS", 1.0),
    CourseFigure.THROUGHPUT: ("Throughput (MB/s)", float(MB)),
    CourseFigure.LATENCY: ("Average response time (ms)", float(NS_PER_MS)),
}


class DemandedStep(Struct, frozen=True):
    """A step of one load: what it issues, by how many threads of which queue depth, and what came of it."""

    load: str
    tc: int
    qd: int
    figures: Figures

    @classmethod
    def of(cls, sample: Sample) -> "DemandedStep | None":
        """None for a step of several loads, or of several depths."""
        stimuli = sample.step.stimuli
        loads = {(str(one), one.qd) for one in stimuli}
        if len(loads) != 1:
            return None
        ((load, qd),) = loads
        figures = Figures.of(counted(sample), sample.elapsed_ns)
        return cls(load, sum(one.tc for one in stimuli), qd, figures)


def demand_pages(samples: Sequence[Sample]) -> Iterator[Page]:
    """IOPS and response times over queue depth, a line for each thread count, and over threads."""
    found = [one for sample in samples if (one := DemandedStep.of(sample)) is not None]
    for axis, other in (("qd", "tc"), ("tc", "qd")):
        places = sorted({getattr(one, axis) for one in found})
        for metric in (IOPS, ART) if len(places) > 1 else ():
            title = f"{metric.label} v {'Queue Depth' if axis == 'qd' else 'Jobs'}"
            name = PlotName(
                f"workload-{axis}-{metric.key}", f"Plot X-WORKLOAD-{axis.upper()}-{metric.key.upper()}", title
            )
            yield _demand_page(name, metric, found, places, other)


def _demand_page(
    name: PlotName,
    metric: Metric[HasFigures],
    found: Sequence[DemandedStep],
    places: Sequence[int],
    other: str,
) -> Page:
    axis, title = ("qd", "Queue depth") if other == "tc" else ("tc", "Jobs")
    lines = sorted({(one.load, getattr(one, other)) for one in found})
    by_place = {(one.load, getattr(one, other), getattr(one, axis)): one.figures for one in found}
    head: Col[tuple[str, int]] = Col(
        "Load", lambda line: Cell(f"{line[0]}, {other.upper()} {line[1]}"), align="left", width=2
    )
    shown = grid(
        f"{name.id}-values",
        f"{metric.label} ({metric.unit})",
        head,
        [(Column(str(place), float(place)), place) for place in places],
        lines,
        cell=lambda line, place: metric.cell(by_place.get((*line, place))),
    )
    plot = Plot(
        x=Axis(title, "log", (places[0] / 1.15, places[-1] * 1.15), tuple(map(float, places))),
        y=lambda values: ticks.linear_axis(metric.axis_title, 0, max(values)),
        series=tuple(Series(row.head.text, "row", (line,), line) for line, row in enumerate(shown.rows)),
        alt="{rows} lines, from {low} to {high}.",
        decimals=metric.decimals,
    )
    return page(name, plot.over(name, shown), shown, mandatory=False)


def course_pages(courses: Sequence[ImportedCourse]) -> Iterator[Page]:
    """Pages of what logs of another program say over time: for each figure, and so many jobs as one shows."""
    for figure, (label, unit) in _COURSES.items():
        of_figure = [one for one in courses if one.figure is figure]
        for step_ms in dict.fromkeys(one.step_ms for one in of_figure):
            alike = [one for one in of_figure if one.step_ms == step_ms]
            for number, first in enumerate(range(0, len(alike), _MOST_LINES), start=1):
                more = f" ({number})" if len(alike) > _MOST_LINES else ""
                name = PlotName(
                    f"workload-log-{figure}-{step_ms}-{number}",
                    f"Plot X-WORKLOAD-LOG-{figure.upper()}-{number}",
                    f"{label} over Time{more}",
                )
                yield _course_page(name, label, unit, alike[first : first + _MOST_LINES])


def _course_page(name: PlotName, label: str, unit: float, courses: Sequence[ImportedCourse]) -> Page:
    count, step_ms = max(len(one.values) for one in courses), courses[0].step_ms
    time = ticks.time_axis("Time", 0, count * step_ms * NS_PER_MS)
    head: Col[int] = Col(
        f"Time ({time.unit_name})", lambda at: cells.number(time.place((at + 1) * step_ms * NS_PER_MS), 3)
    )

    def shown_at(at: int, one: ImportedCourse) -> Cell:
        value = one.values[at] if at < len(one.values) else None
        return Cell("") if value is None else cells.number(value / unit, 3 if unit > 1 else 0)

    shown = grid(
        f"{name.id}-values",
        f"Values plotted: {label}, as the logs have it",
        head,
        [(Column(f"{one.of}, {one.operation}"), one) for one in courses],
        range(count),
        cell=shown_at,
        printed=False,
    )
    plot = Plot(
        x=time.axis,
        y=lambda values: ticks.linear_axis(label, 0, max(values)),
        series=column_series(shown, style="line"),
        alt="a line for each of the logs, from {low} to {high}.",
    )
    return page(name, plot.over(name, shown), shown, mandatory=False)


def job_page(
    page_id: str, title: str, conditions: WorkloadConditions, job: FioJob, user_capacity_bytes: int
) -> Page:
    """A job as it was read, what openpts makes of it, and what of it counts for nothing."""
    blocks: list[Block] = [_lines_table(f"{page_id}-text", f"{job.name}, as it was read", job.lines)]
    if job.values:
        values = by_name(job.values).items()
        blocks.append(items_table(f"{page_id}-values", "Values of its variables", values))
    try:
        translation = translation_of(conditions, job, user_capacity_bytes)
    except UsageError as error:  # of a record by an openpts that reads job files in another way
        blocks.append(Verdict(f"Streams: n/a ({error}).", "fail"))
        return Page(page_id, title, tuple(blocks), mandatory=True)
    blocks.append(_steps_table(f"{page_id}-steps", translation.steps))
    for key, name, lines in (
        ("notes", "What openpts does in another way than fio", translation.notes),
        ("ignored", "Options without effect here", translation.ignored),
    ):
        if lines:
            blocks.append(_lines_table(f"{page_id}-{key}", name, lines))
    return Page(page_id, title, tuple(blocks), mandatory=True)


def _lines_table(table_id: str, title: str, lines: Sequence[str]) -> Table:
    return rows_table(
        table_id, title, "No.:0 | Text:<", ((str(number), line) for number, line in enumerate(lines, start=1))
    )


def _steps_table(table_id: str, steps: Iterable[Step]) -> Table:
    numbered = [(number, stream) for number, step in enumerate(steps, start=1) for stream in step.streams]
    head: Col[tuple[int, Stream]] = Col("Step", lambda one: Cell(str(one[0])), align="left", width=0.4)
    return table(
        table_id,
        "Streams at full length",
        head,
        [
            Col("Stream", lambda one: Cell(one[1].name or "-"), align="left", width=1.2),
            Col("Stimulus", lambda one: Cell(str(one[1].stimulus)), align="left", width=2),
            Col(
                "Demand", lambda one: Cell(demand_text(one[1].stimulus.tc, one[1].stimulus.qd)), align="left"
            ),
            Col(
                "Range (%)",
                lambda one: Cell("{0.start_pct:.3g} to {0.end_pct:.3g}".format(one[1].stimulus.active_range)),
            ),
            Col("Starts after (s)", lambda one: cells.number(one[1].delay_ns / NS_PER_S, 1), width=0.8),
        ],
        numbered,
    )


def host_verdicts(sample: Sample) -> tuple[Verdict, ...]:
    """A sentence for each way in which the host, and not the drive, limited the step."""
    labels = names_of(sample.step)
    found = [
        f"{labels[number]}: the host submitted {cells.fixed(100 * late.late_share, 2)} % of the planned I/Os "
        f"more than {late.bound_ns / NS_PER_US:,.0f} µs late. Its latencies are not the drive's alone."
        for number, late in late_streams(sample)
    ]
    if processors_full(sample):
        found.append("No processor time was left on the host: a faster host may show more IOPS.")
    return tuple(Verdict(text, "fail") for text in found)


def stream_course(name: PlotName, sample: Sample) -> tuple[Block, ...]:
    """IOPS in each interval, a line for each stream, with the values plotted."""
    labels = names_of(sample.step)
    whole = [one for one in sample.intervals if 2 * one.elapsed_ns >= sample.interval_ns]
    if len(whole) < 2:
        return ()
    time = ticks.time_axis("Time", 0, (whole[-1].index + 1) * sample.interval_ns)
    head: Col[Interval] = Col(
        f"Time ({time.unit_name})",
        lambda one: cells.number(time.place((one.index + 1) * sample.interval_ns), 3),
    )
    shown = grid(
        f"{name.id}-course",
        "Values plotted: IOPS in each interval",
        head,
        [(Column(label), number) for number, label in enumerate(labels)],
        whole,
        cell=lambda one, number: cells.number(_iops(one.streams[number] if one.streams else one), 1),
        printed=False,
    )
    plot = Plot(
        x=time.axis,
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
        series=column_series(shown, style="line"),
        alt="a line for each of the streams, from {low} to {high} IOPS.",
        part="course-plot",
    )
    return plot.over(name, shown), shown


def _iops(measured: Measured) -> float:
    return Figures.of(counted(measured), measured.elapsed_ns).iops
