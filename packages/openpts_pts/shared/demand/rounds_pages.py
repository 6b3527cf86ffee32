"""Pages of demand variation over its rounds, and of its histograms, each with the pre-writes before it.

PTS Table 13-3 and Plot 14-1 (3 to 5).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import ResponseTimes, nines_percentile, response_times
from openpts.analysis.minutes import Minute, minutes_of
from openpts.procedures.kit.steps import ART, IOPS, MRT, THROUGHPUT
from openpts.record.reader import StepRecord
from openpts.units import MB, format_capacity, format_duration, format_latency_ms
from openpts.vocabulary.sample import Phase, StepState
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Cells, Col, Plot, PlotName, grid, page, rows_table
from openpts_pages.model import Band, Block, Cell, Column, Figure, Page, Row, Series, Table, Verdict
from openpts_pages.ticks import TimeAxis
from openpts_pts.shared.confidence_page import histogram_figure, histogram_table, percentile_cell
from openpts_pts.shared.demand.pages import DemandRun, choice_rule, point_text, steady_state_sentence
from openpts_pts.shared.minutes_table import (
    elapsed_cell,
    elapsed_column,
    minute_columns,
    minute_row,
    minutes_axis,
)
from openpts_pts.shared.steady_state_pages import (
    Window,
    height_over_rounds,
    round_columns,
    rounds_reason,
    window_band,
    window_page,
)

_COLORS: Final = 8


class _Prewrite(Struct, frozen=True):
    """The pre-write of one round, placed behind those before it; times in ns."""

    step: StepRecord
    start_ns: int
    minutes: tuple[Minute, ...]

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.step.sample.elapsed_ns

    @property
    def number(self) -> int:
        return self.step.place.number


def prewrites_page(demand: DemandRun) -> Page:
    """IOPS of each minute of the pre-writes between rounds, one behind the other (3)."""
    name = demand.names.plot(3)
    prewrites = _prewrites(demand)
    if not prewrites:
        return page(name, Verdict("No pre-write was begun.", "fail"))
    time = ticks.time_axis("Time in pre-writes, one behind the other", 0, prewrites[-1].end_ns)
    shown = _prewrites_table(f"{name.id}-values", prewrites, time, demand.conditions.minute_ns)
    plot = Plot(
        x=time.axis,
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values, default=0.0)),
        series=tuple(
            Series(label, "column", (n,), n, style="points") for n, label in enumerate(_groups(prewrites))
        ),
        alt=f"{len(prewrites)} pre-writes of {{count}} minutes in all, from {{low}} to {{high}} IOPS.",
        bands=tuple(
            Band(
                "x",
                time.place(prewrite.start_ns),
                time.place(prewrite.end_ns),
                "plain" if prewrite.number % 2 else "allowed",
                str(prewrite.number),
            )
            for prewrite in prewrites
        ),
    )
    conditions = demand.conditions
    lead = Verdict(
        f"P3 {demand.writes} TC{conditions.precondition_tc}-QD{conditions.precondition_qd} - pre-writes "
        "before each Round, numbered on top."
    )
    return page(name, lead, plot.over(name, shown), _summary(demand, prewrites), shown)


def _prewrites(demand: DemandRun) -> list[_Prewrite]:
    placed: list[_Prewrite] = []
    for step in demand.run.phase(Phase.ROUND_PREWRITE):
        start_ns = placed[-1].end_ns if placed else 0
        placed.append(_Prewrite(step, start_ns, minutes_of([step.sample], demand.conditions.minute_ns)))
    return placed


def _groups(prewrites: Sequence[_Prewrite]) -> list[str]:
    """A color for each Round, from the first one again beyond the last: the Rounds of each, by name."""
    numbers = [prewrite.number for prewrite in prewrites]
    groups = [[n for n in numbers if (n - 1) % _COLORS == color] for color in range(_COLORS)]
    return [
        f"Round{'s' if len(of_color) > 1 else ''} {', '.join(map(str, of_color))}"
        for of_color in groups
        if of_color
    ]


def _prewrites_table(table_id: str, prewrites: Sequence[_Prewrite], time: TimeAxis, minute_ns: int) -> Table:
    groups = _groups(prewrites)
    rows = []
    for prewrite in prewrites:
        own = (prewrite.number - 1) % _COLORS
        for minute in prewrite.minutes:
            iops, *rest = minute_row(minute, time, minute_ns).cells
            by_color = tuple(iops if color == own else Cell("-") for color in range(len(groups)))
            head = elapsed_cell(prewrite.start_ns + minute.end_ns, time)
            rows.append(Row(head, (*by_color, Cell(str(prewrite.number), float(prewrite.number)), *rest)))
    return rows_table(
        table_id,
        "Every minute of the pre-writes",
        (
            elapsed_column(time),
            *(Column(f"IOPS, {label}") for label in groups),
            "Round | ART (ms) | MRT (ms) | CPU Sys (%)",
        ),
        rows,
        printed=False,
    )


def _summary(demand: DemandRun, prewrites: Sequence[_Prewrite]) -> Table:
    conditions = demand.conditions
    capacity_bytes = demand.run.manifest.target.user_capacity_bytes
    return rows_table(
        f"{demand.names.prefix}-prewrites",
        "Pre-writes between rounds",
        "Round:0 | IOPS | MB/s | ART (ms) | MRT (ms) | Time:< | Written:<1.5 | Ended by:<",
        (_summary_row(prewrite, capacity_bytes) for prewrite in prewrites),
        note=f"A pre-write lasts at least {format_duration(conditions.prewrite_shortest_ns)}, then until "
        f"{format_duration(conditions.prewrite_longest_ns)} or {conditions.prewrite_capacity_pct:g} % of the "
        "user capacity are reached, whichever comes first.",
    )


def _summary_row(prewrite: _Prewrite, capacity_bytes: int) -> Cells:
    sample = prewrite.step.sample
    written = sample.write.bytes
    complete = sample.state is StepState.COMPLETE
    return (
        Cell(str(prewrite.number), float(prewrite.number)),
        *(metric.cell(sample) for metric in (IOPS, THROUGHPUT, ART, MRT)),
        format_duration(sample.elapsed_ns),
        f"{format_capacity(written)} = {100 * written / capacity_bytes:.2f} %",
        Cell((sample.ended_by or "-").replace("_", " "))
        if complete
        else cells.words(sample.state.value, tone="fail"),
    )


def variation_page(demand: DemandRun) -> Page:
    """IOPS over the rounds at the tracked thread count, a series per queue depth (4)."""
    name, results = demand.names.plot(4), demand.results
    lead = Verdict(f"P4 {demand.pattern} TC{results.tracked.tc} - IOPS vs Round, every QD")
    sentence = steady_state_sentence(demand)
    if not results.rounds:
        return page(name, lead, sentence)
    points = [point for point in results.points if point.tc == results.tracked.tc]
    rounds = range(len(results.rounds))
    shown = grid(
        f"{name.id}-values",
        f"Values plotted: IOPS at TC {results.tracked.tc} in each Round",
        Col("QD", lambda point: cells.count(point.qd), width=0),
        zip(round_columns([n + 1 for n in rounds]), rounds, strict=True),
        points,
        cell=lambda point, n: cells.number(results.iops_by_round(point)[n], 0),
        printed=200,
    )
    plot = Plot(
        x=ticks.rounds_axis(len(results.rounds)),
        y=partial(ticks.amount_axis, "IOPS"),
        series=tuple(
            Series(f"QD {point.qd}", "row", (line,), line, style="spline", emphasis=point == results.tracked)
            for line, point in enumerate(points)
        ),
        alt=f"{{rows}} queue depths over Rounds 1 to {len(results.rounds)}, from {{low}} to {{high}} IOPS. "
        f"{sentence.text}",
        bands=window_band(results),
        palette="mix",
        height_px=height_over_rounds(len(results.rounds)),
    )
    return page(name, lead, plot.over(name, shown), sentence, shown)


def variation_window_page(demand: DemandRun, record: str) -> Page:
    """The window of the tracking variable with its determination data (5)."""
    results = demand.results
    lead = Verdict(
        f"P5 {demand.pattern} {point_text(results.tracked)} - steady state of the tracking variable"
    )
    page = window_page(
        Window(
            variable=f"{demand.pattern} at {results.tracked}",
            metric=IOPS,
            verdict=results.verdict,
            values=results.iops_by_round(results.tracked),
            reason=rounds_reason(results),
            conditions=record,
        ),
        demand.names.plot(5),
    )
    return replace(page, blocks=(lead, *page.blocks))


_VALUE_COLOR: Final = 2
_OUTLIER_FACTOR: Final = 10


class Histogram(Struct, frozen=True):
    """One of the histograms: ``number`` in the record, the numbers of its two plots, its name."""

    number: int
    prewrite_plot: int
    histogram_plot: int
    role: str
    suffix: str = ""


def histograms(demand: DemandRun) -> tuple[Histogram, ...]:
    """In the order of the plots: maximum, those between, minimum."""
    count = max(1, demand.conditions.mid_points)
    middles = tuple(
        Histogram(number, 11, 12, "MidIOPS", "" if count == 1 else f".{number - 2}")
        for number in range(3, 3 + count)
    )
    return (Histogram(1, 9, 10, "MaxIOPS"), *middles, Histogram(2, 13, 14, "MinIOPS"))


def measured_histogram(demand: DemandRun, number: int) -> StepRecord | None:
    """The step of a histogram, if it was carried out to its end."""
    steps = demand.run.phase(Phase.HISTOGRAM, number=number)
    return next((step for step in steps if step.sample.state is StepState.COMPLETE), None)


def histogram_prewrite_page(demand: DemandRun, histogram: Histogram) -> Page:
    """IOPS of each minute of the pre-writes before a histogram (9, 11, 13)."""
    steps = demand.run.phase(Phase.HISTOGRAM_PREWRITE, number=histogram.number)
    name = demand.names.plot(histogram.prewrite_plot, suffix=histogram.suffix)
    minutes = minutes_of([step.sample for step in steps], demand.conditions.minute_ns)
    if not minutes:
        return page(name, _absence(demand, histogram, "pre-writes"))
    time = minutes_axis(minutes)
    shown = rows_table(
        f"{name.id}-values",
        "Every minute of the pre-writes",
        (elapsed_column(time), *minute_columns()),
        (minute_row(minute, time, demand.conditions.minute_ns) for minute in minutes),
        printed=False,
    )
    plot = Plot(
        x=time.axis,
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
        series=(Series("IOPS", "column", (0,), _VALUE_COLOR, style="spline"),),
        alt="{count} minutes, from {low} to {high} IOPS.",
    )
    demanded = steps[0].sample.step.stimulus
    at = f" TC{demanded.tc}-QD{demanded.qd}" if demanded else ""
    lead = Verdict(f"P{histogram.prewrite_plot} {demand.writes}{at} - pre-writes, IOPS vs time")
    facts = _prewrite_facts(name.id, steps)
    return page(name, lead, plot.over(name, shown), facts, *_unfinished(steps), shown)


def histogram_page(demand: DemandRun, histogram: Histogram) -> Page:
    """Count of I/Os over response time, with the largest (10, 12, 14)."""
    name = demand.names.plot(histogram.histogram_plot, suffix=histogram.suffix)
    step = measured_histogram(demand, histogram.number)
    if step is None or step.sample.step.stimulus is None:
        return page(name, _absence(demand, histogram, "histogram"))
    stimulus = step.sample.step.stimulus
    times = response_times([step.sample])
    facts = _facts(demand, name.id, step, times)
    at = f"TC{stimulus.tc}-QD{stimulus.qd}"
    lead = Verdict(
        f"P{histogram.histogram_plot} {demand.pattern} {at} - response time histogram at {histogram.role}, "
        f"{format_duration(step.sample.elapsed_ns)}"
    )
    if not times.bins:
        reason = Verdict("Histogram: n/a (no response time was recorded).", "fail")
        return page(name, lead, reason, facts)
    shown = histogram_table(f"{name.id}-values", times)
    figure, legend = _figure(name, shown, times), Verdict(_legend(at, times))
    rule = Verdict(choice_rule(demand)) if histogram.number == 1 else None
    return page(name, lead, figure, legend, rule, facts, shown)


def _figure(name: PlotName, table: Table, times: ResponseTimes) -> Figure:
    figure = histogram_figure(times, name, table)
    mrt = "n/a" if times.max_latency_ns is None else f"{format_latency_ms(times.max_latency_ns)} ms"
    (bars,) = figure.series
    return replace(
        figure,
        y=replace(figure.y, title="Count (A.U.)"),
        series=(replace(bars, label=f"I/Os, MRT = {mrt}"),),
        height_px=300,
    )


def _legend(at: str, times: ResponseTimes) -> str:
    """What the plot has to state beside its bars (Table 13-3); of percentiles what the I/Os suffice for."""
    named = [
        ("MRT", times.max_latency_ns),
        ("ART", times.mean_latency_ns),
        ("5 9s", times.percentile_ns(nines_percentile(5))),
    ]
    reported = [
        f"{name} {format_latency_ms(value_ns)} ms" for name, value_ns in named if value_ns is not None
    ]
    reported += [
        f"{cells.fixed(times.iops, 1)} IOPS",
        at,
        f"N = {times.ios:,}",
        format_duration(times.elapsed_ns),
    ]
    return f"{', '.join(reported)}."


def _facts(demand: DemandRun, page_id: str, step: StepRecord, times: ResponseTimes) -> Table:
    sample, stimulus = step.sample, step.sample.step.stimulus
    bandwidth = cells.number(sample.bandwidth_bytes_per_s / MB, 1)
    pairs: tuple[tuple[str, Cell, str, Cell], ...] = (
        (
            "Operating point",
            Cell(f"TC {stimulus.tc} / QD {stimulus.qd}" if stimulus else "n/a"),
            "ART (ms)",
            cells.latency(times.mean_latency_ns),
        ),
        ("Time", Cell(format_duration(times.elapsed_ns)), "3 nines (ms)", percentile_cell(times, 3)),
        ("IOPS", cells.number(times.iops, 1), "4 nines (ms)", percentile_cell(times, 4)),
        ("MB/s", bandwidth, "5 nines (ms)", percentile_cell(times, 5)),
        ("Number of I/Os", Cell(f"{times.ios:,}"), "MRT (ms)", cells.latency(times.max_latency_ns)),
        ("In the histogram", Cell(f"{times.recorded_ios:,}"), "5 % to 95 % (ms)", _middle(times)),
        (
            f"Slower than {_OUTLIER_FACTOR} x ART",
            _outliers(times),
            "Largest bin's end (ms)",
            cells.latency(times.bins[-1].high_ns) if times.bins else cells.missing("no I/O"),
        ),
    )
    return rows_table(
        f"{page_id}-facts",
        "Response times of the capture",
        "Item:< | Value:1.2 | Item:< | Value",
        pairs,
        note=f"Every completion time: {_capture(demand, step)}."
        + (
            ""
            if times.recorded_ios == times.ios
            else " Only some of the I/Os of a scaled drive are simulated."
        ),
    )


def _middle(times: ResponseTimes) -> Cell:
    """How closely the response times cluster: from the 5th to the 95th percentile."""
    low_ns, high_ns = times.distribution.percentile_ns(5), times.distribution.percentile_ns(95)
    if low_ns is None or high_ns is None:
        return cells.missing("no I/O")
    return Cell(f"{format_latency_ms(low_ns)} to {format_latency_ms(high_ns)}")


def _outliers(times: ResponseTimes) -> Cell:
    if times.mean_latency_ns is None or not times.recorded_ios:
        return cells.missing("no I/O")
    limit_ns = _OUTLIER_FACTOR * times.mean_latency_ns
    slower = sum(ios for low_ns, _, ios in times.distribution.buckets() if low_ns > limit_ns)
    return Cell(f"{slower:,} I/Os = {100 * slower / times.recorded_ios:.4f} %")


def _capture(demand: DemandRun, step: StepRecord) -> str:
    """Where the single I/Os are."""
    report = demand.run.manifest.capture
    if not step.sample.step.capture or report is None:
        return "not kept"
    folder, number = demand.run.capture_of(step)
    files = f"{folder}/*.parquet"
    lost = f"; not complete: {report.lost}" if report.lost else ""
    return f"{files}, rows with step = {number}{lost}"


def _prewrite_facts(page_id: str, steps: list[StepRecord]) -> Table:
    samples = [step.sample for step in steps]
    elapsed_ns = sum(sample.elapsed_ns for sample in samples)
    written = sum(sample.write.bytes for sample in samples)
    ios = sum(sample.ios for sample in samples)
    seconds = elapsed_ns / 1e9
    return items_table(
        f"{page_id}-facts",
        "Pre-writes",
        [
            ("Time", format_duration(elapsed_ns)),
            ("IOPS", cells.number(ios / seconds if seconds else 0.0, 1)),
            ("Throughput (MB/s)", cells.number(written / MB / seconds if seconds else 0.0, 1)),
        ],
    )


def _unfinished(steps: list[StepRecord]) -> Iterator[Block]:
    for step in steps:
        if step.sample.state is not StepState.COMPLETE:
            yield Verdict(f"These pre-writes were not completed: {step.sample.state.value}.", "fail")


def _absence(demand: DemandRun, histogram: Histogram, what: str) -> Verdict:
    """Why there is no such page."""
    chosen = demand.results.chosen
    begun = demand.run.phase(Phase.HISTOGRAM, number=histogram.number)
    if what == "histogram" and begun:
        reason = f"{begun[0].sample.state.value} before its end"
    elif histogram.role == "MidIOPS" and chosen is not None and histogram.number > 2 + len(chosen.middles):
        between = ", ".join(point_text(m.point) for m in (chosen.minimum, chosen.maximum))
        reason = f"no other operating point lies strictly between {between}"
    else:
        reason = "not reached in this run"
    return Verdict(f"{histogram.role} {what}: n/a ({reason}).", "fail")
