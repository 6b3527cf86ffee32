"""What the streams of a step did, for any report: how the host limited them, and IOPS over time."""

from openpts.analysis.figures import Figures, counted
from openpts.analysis.host_limits import late_streams, processors_full
from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, column_series, grid
from openpts.pages.model import Block, Column, Verdict
from openpts.units import NS_PER_US
from openpts.vocabulary.sample import Interval, Measured, Sample


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
