"""What the streams of a step did, for any report: a table, percentile curves, and IOPS over time."""

from typing import Final

from openpts.analysis.figures import Figures, counted
from openpts.analysis.host_limits import late_streams, lateness, processors_full
from openpts.analysis.latency import ios_needed
from openpts.analysis.response_times import nines_percentile, nines_supported
from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, column_series, grid, table
from openpts.pages.model import Block, Cell, Column, Table, Verdict
from openpts.units import MB, NS_PER_US
from openpts.vocabulary.sample import Interval, Measured, Sample, StreamSample

PERCENTILES: Final = (50.0, 99.0, 99.9, 99.99)
_ALL: Final = "all"
_MARKED: Final = "the host was late"

Part = tuple[str, Sample | StreamSample]
"""A stream, or all of them, with its label."""


def stream_blocks(name: PlotName, sample: Sample) -> tuple[Block, ...]:
    """All blocks for one step: verdict on the host, table, percentile curves with values, IOPS over time.

    The ids begin with that of ``name``. A step without a plot's values has the tables alone.
    """
    shown = stream_table(name, sample)
    curves, course = stream_percentiles(name, sample), stream_course(name, sample)
    return (*host_verdicts(sample), shown, *curves, *course)


def host_verdicts(sample: Sample) -> tuple[Verdict, ...]:
    """A sentence for each way in which the host, and not the drive, limited the step."""
    found = []
    for number, late in late_streams(sample):
        share = cells.fixed(100 * late.late_share, 2)
        label = labels_of(sample)[number]
        found.append(
            f"{label}: the host submitted {share} % of the planned I/Os more than "
            f"{late.bound_ns / NS_PER_US:,.0f} µs late. Its latencies are not the drive's alone."
        )
    if processors_full(sample):
        found.append("No processor time was left on the host: a faster host may show more IOPS.")
    return tuple(Verdict(text, "fail") for text in found)


def labels_of(sample: Sample) -> tuple[str, ...]:
    """The names of the streams; their numbers from 1 where they have none."""
    return tuple(stream.name or f"stream {n}" for n, stream in enumerate(sample.step.streams, start=1))


def parts_of(sample: Sample) -> tuple[Part, ...]:
    """Each stream with its label, and all of them together where there are several."""
    if not sample.streams:
        return tuple((label, sample) for label in labels_of(sample))
    return (*zip(labels_of(sample), sample.streams, strict=True), (_ALL, sample))


def stream_table(name: PlotName, sample: Sample, title: str = "Streams") -> Table:
    """A row for each stream: rates, response times, how late planned I/Os were."""
    stimuli = dict(zip(labels_of(sample), sample.step.stimuli, strict=True))

    def stimulus(part: Part) -> Cell:
        return cells.words(str(stimuli[part[0]])) if part[0] in stimuli else cells.none()

    columns: list[Col[Part]] = [
        Col("Stimulus", stimulus, align="left", width=2),
        Col("IOPS", lambda part: cells.number(_figures(part[1]).iops, 1)),
        Col("MB/s", lambda part: cells.number(_figures(part[1]).bytes_per_s / MB, 1)),
        Col("Mean (ms)", lambda part: _latency(part, _figures(part[1]).mean_latency_ns)),
        *(_percentile_column(percentile) for percentile in PERCENTILES),
        Col("Max (ms)", lambda part: _latency(part, _figures(part[1]).max_latency_ns)),
    ]
    if any(part.slips for _, part in parts_of(sample)):
        columns += [Col("Late (%)", _late_share), Col("Late by, 99 % (µs)", _late_by)]
    if any(part.unissued for _, part in parts_of(sample)):
        columns.append(Col("Not issued", lambda part: cells.count(part[1].unissued)))
    head: Col[Part] = Col("Stream", lambda part: cells.words(part[0]))
    return table(f"{name.id}-streams", title, head, columns, parts_of(sample))


def stream_percentiles(name: PlotName, sample: Sample) -> tuple[Block, ...]:
    """Response time over its percentile, a curve for each stream, with the values plotted."""
    parts = [(label, _figures(part)) for label, part in parts_of(sample) if label != _ALL]
    most = max((nines_supported(figures.distribution.count) for _, figures in parts), default=0)
    if not most:
        return ()
    head: Col[float] = Col("Percentile (%)", lambda percentile: Cell(f"{percentile:.12g}", percentile))
    shown = grid(
        f"{name.id}-percentiles",
        "Values plotted: response time (ms)",
        head,
        [(Column(label), figures) for label, figures in parts],
        _percentiles(most),
        cell=lambda percentile, figures: _percentile(figures, percentile),
    )
    plot = Plot(
        x=ticks.nines_axis("Percentile", max(2, most)),
        y=lambda values: ticks.log_axis("Response time (ms)", values),
        series=column_series(shown),
        alt="a curve for each of the streams, from {low} to {high} ms.",
        decimals=None,
        part="percentile-plot",
    )
    return plot.over(name, shown), shown


def stream_course(name: PlotName, sample: Sample) -> tuple[Block, ...]:
    """IOPS in each interval, a line for each stream, with the values plotted."""
    labels = labels_of(sample)
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
        cell=lambda one, number: cells.number(_figures(one.streams[number] if one.streams else one).iops, 1),
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


def _figures(measured: Measured) -> Figures:
    return Figures.of(counted(measured), measured.elapsed_ns)


def _latency(part: Part, value_ns: float | None) -> Cell:
    """A response time; marked where the host had a part in it."""
    late = lateness(part[1])
    return cells.latency(value_ns, note=_MARKED if late is not None and late.limits else "")


def _percentile_column(percentile: float) -> Col[Part]:
    def cell(part: Part) -> Cell:
        figures = _figures(part[1])
        value_ns = figures.percentile_ns(percentile)
        if value_ns is None and figures.ios:
            return _too_few(percentile)
        return _latency(part, value_ns)

    return Col(f"{percentile:g} % (ms)", cell)


def _percentile(figures: Figures, percentile: float) -> Cell:
    value_ns = figures.percentile_ns(percentile)
    return _too_few(percentile) if value_ns is None and figures.ios else cells.latency(value_ns)


def _too_few(percentile: float) -> Cell:
    return cells.missing(f"fewer than {ios_needed(percentile):,} I/Os")


def _percentiles(most_nines: int) -> tuple[float, ...]:
    """Each count of nines, and half way to the next one."""
    found = [10.0, 50.0, 90.0]
    for nines in range(2, most_nines + 1):
        half_way = 100 - (100 - nines_percentile(nines - 1)) / 2
        found += [round(half_way, 12), nines_percentile(nines)]
    return tuple(found)


def _late_share(part: Part) -> Cell:
    late = lateness(part[1])
    if late is None:
        return cells.missing("nothing planned")
    return cells.number(100 * late.late_share, 2, note=f"by more than {late.bound_ns / NS_PER_US:,.0f} µs")


def _late_by(part: Part) -> Cell:
    late = lateness(part[1])
    p99_ns = None if late is None else late.slips.percentile_ns(99)
    return cells.missing("nothing planned") if p99_ns is None else cells.number(p99_ns / NS_PER_US, 1)
