"""The pages of the response time histograms, each with the pre-writes before it (Plot 14-1: 9 to 14)."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import ResponseTimes, nines_percentile, response_times
from openpts.analysis.minutes import minutes_of
from openpts.procedures.kit.steps import ART, MRT, columns_of, percentile, values_json
from openpts.record.reader import StepRecord
from openpts.units import MB, NS_PER_S, format_duration, format_latency_ms
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.stimulus import Stimulus
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Cells, Plot, page, rows_table
from openpts_pages.model import Cell, Page, Series, Table, Verdict
from openpts_pts.shared.confidence_page import histogram_figure, histogram_table, percentile_cell
from openpts_pts.shared.demand.pages import DemandRun, point_text
from openpts_pts.shared.minutes_table import TIMES_AND_CPU, iops_column, list_minutes, minutes_axis

_VALUE_COLOR: Final = 2
_OUTLIER_FACTOR: Final = 10


class Histogram(Struct, frozen=True):
    """One of a run's histograms: ``number`` in the record, the numbers of its two plots, its name."""

    demand: DemandRun
    number: int
    prewrite_plot: int
    histogram_plot: int
    role: str
    suffix: str = ""

    @property
    def measured(self) -> tuple[StepRecord, Stimulus, ResponseTimes] | None:
        """Step, stimulus and response times; None unless the step was carried out to its end."""
        for step in self.demand.run.phase(Phase.HISTOGRAM, number=self.number):
            stimulus = step.sample.step.stimulus
            if step.sample.state is StepState.COMPLETE and stimulus is not None:
                return step, stimulus, response_times([step.sample])
        return None

    def figures(self) -> dict[str, Any] | None:
        """Point and response times, JSON-ready; latencies in ms."""
        if (measured := self.measured) is None:
            return None
        _, stimulus, times = measured
        return {
            "point": self.role,
            "tc": stimulus.tc,
            "qd": stimulus.qd,
            "iops": times.iops,
            "ios": times.ios,
            "recorded_ios": times.recorded_ios,
            **values_json(times, (ART, *map(percentile, (99.9, 99.99, 99.999)), MRT)),
        }

    def prewrites(self) -> Page:
        """IOPS of each minute of the pre-writes before it (9, 11, 13)."""
        demand, minute_ns = self.demand, self.demand.conditions.minute_ns
        samples = [step.sample for step in demand.run.phase(Phase.HISTOGRAM_PREWRITE, number=self.number)]
        name = demand.names.plot(self.prewrite_plot, suffix=self.suffix)
        minutes = minutes_of(samples, minute_ns)
        if not minutes:
            return page(name, self._absence("pre-writes"))
        time = minutes_axis(minutes)
        shown = list_minutes(
            f"{name.id}-values",
            "Every minute of the pre-writes",
            (iops_column(minute_ns), *columns_of(TIMES_AND_CPU)),
            minutes,
            time=time,
            end_ns=lambda minute: minute.end_ns,
        )
        plot = Plot(
            x=time.axis,
            y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
            series=(Series("IOPS", "column", (0,), _VALUE_COLOR, style="spline"),),
            alt="{count} minutes, from {low} to {high} IOPS.",
        )
        stimulus = samples[0].step.stimulus
        at = f" TC{stimulus.tc}-QD{stimulus.qd}" if stimulus else ""
        lead = Verdict(f"P{self.prewrite_plot} {demand.pattern(0)}{at} - pre-writes, IOPS vs time")
        elapsed_ns = sum(sample.elapsed_ns for sample in samples)
        seconds = elapsed_ns / NS_PER_S
        ios, written = sum(sample.ios for sample in samples), sum(sample.write.bytes for sample in samples)
        facts = items_table(
            f"{name.id}-facts",
            "Pre-writes",
            [
                ("Time", format_duration(elapsed_ns)),
                ("IOPS", cells.number(ios / seconds if seconds else 0.0, 1)),
                ("Throughput (MB/s)", cells.number(written / MB / seconds if seconds else 0.0, 1)),
            ],
        )
        unfinished = (
            Verdict(f"These pre-writes were not completed: {sample.state.value}.", "fail")
            for sample in samples
            if sample.state is not StepState.COMPLETE
        )
        return page(name, lead, plot.over(name, shown), facts, *unfinished, shown)

    def page(self) -> Page:
        """Count of I/Os over response time, with the largest (10, 12, 14)."""
        demand, name = self.demand, self.demand.names.plot(self.histogram_plot, suffix=self.suffix)
        if (measured := self.measured) is None:
            return page(name, self._absence("histogram"))
        step, stimulus, times = measured
        at, length = f"TC{stimulus.tc}-QD{stimulus.qd}", format_duration(times.elapsed_ns)
        lead = Verdict(
            f"P{self.histogram_plot} {demand.pattern()} {at} - response time histogram at {self.role}, "
            f"{format_duration(step.sample.elapsed_ns)}"
        )
        facts = self._facts(f"{name.id}-facts", step, stimulus, times)
        if not times.bins:
            reason = Verdict("Histogram: n/a (no response time was recorded).", "fail")
            return page(name, lead, reason, facts)
        shown = histogram_table(f"{name.id}-values", times)
        figure = histogram_figure(times, name, shown)
        (bars,) = figure.series
        mrt = "n/a" if times.max_latency_ns is None else f"{format_latency_ms(times.max_latency_ns)} ms"
        figure = replace(
            figure,
            y=replace(figure.y, title="Count (A.U.)"),
            series=(replace(bars, label=f"I/Os, MRT = {mrt}"),),
            height_px=300,
        )
        # What the plot has to state beside its bars (Table 13-3); of percentiles what the I/Os suffice for.
        latencies = (
            ("MRT", times.max_latency_ns),
            ("ART", times.mean_latency_ns),
            ("5 9s", times.percentile_ns(nines_percentile(5))),
        )
        stated = [f"{what} {format_latency_ms(value)} ms" for what, value in latencies if value is not None]
        stated += [f"{cells.fixed(times.iops, 1)} IOPS", at, f"N = {times.ios:,}", length]
        rule = demand.choice_rule() if self.number == 1 else None
        return page(name, lead, figure, Verdict(f"{', '.join(stated)}."), rule, facts, shown)

    def _facts(self, table_id: str, step: StepRecord, stimulus: Stimulus, times: ResponseTimes) -> Table:
        none = cells.missing("no I/O")
        low_ns, high_ns = times.distribution.percentile_ns(5), times.distribution.percentile_ns(95)
        middle = slow = none
        if low_ns is not None and high_ns is not None:
            middle = Cell(f"{format_latency_ms(low_ns)} to {format_latency_ms(high_ns)}")
        if times.mean_latency_ns is not None and times.recorded_ios:
            limit_ns = _OUTLIER_FACTOR * times.mean_latency_ns
            slower = sum(ios for low_ns, _, ios in times.distribution.buckets() if low_ns > limit_ns)
            slow = Cell(f"{slower:,} I/Os = {100 * slower / times.recorded_ios:.4f} %")
        end = cells.latency(times.bins[-1].high_ns) if times.bins else none
        bandwidth = cells.number(step.sample.bandwidth_bytes_per_s / MB, 1)
        pairs: tuple[Cells, ...] = (
            ("Operating point", f"TC {stimulus.tc} / QD {stimulus.qd}", ART.label, ART.cell(times)),
            ("Time", format_duration(times.elapsed_ns), "3 nines (ms)", percentile_cell(times, 3)),
            ("IOPS", cells.number(times.iops, 1), "4 nines (ms)", percentile_cell(times, 4)),
            ("MB/s", bandwidth, "5 nines (ms)", percentile_cell(times, 5)),
            ("Number of I/Os", f"{times.ios:,}", MRT.label, MRT.cell(times)),
            ("In the histogram", f"{times.recorded_ios:,}", "5 % to 95 % (ms)", middle),
            (f"Slower than {_OUTLIER_FACTOR} x ART", slow, "Largest bin's end (ms)", end),
        )
        kept, capture = "not kept", self.demand.run.manifest.capture
        if step.sample.step.capture and capture is not None:
            folder, number = self.demand.run.capture_of(step)
            lost = f"; not complete: {capture.lost}" if capture.lost else ""
            kept = f"{folder}/*.parquet, rows with step = {number}{lost}"
        some = " Only some of the I/Os of a scaled drive are simulated."
        return rows_table(
            table_id,
            "Response times of the capture",
            "Item:< | Value:1.2 | Item:< | Value",
            pairs,
            note=f"Every completion time: {kept}.{'' if times.recorded_ios == times.ios else some}",
        )

    def _absence(self, what: str) -> Verdict:
        """Why there is no such page."""
        chosen = self.demand.results.chosen
        begun = self.demand.run.phase(Phase.HISTOGRAM, number=self.number)
        reason = "not reached in this run"
        if what == "histogram" and begun:
            reason = f"{begun[0].sample.state.value} before its end"
        elif self.role == "MidIOPS" and chosen is not None and self.number > 2 + len(chosen.middles):
            between = ", ".join(point_text(one.point) for one in (chosen.minimum, chosen.maximum))
            reason = f"no other operating point lies strictly between {between}"
        return Verdict(f"{self.role} {what}: n/a ({reason}).", "fail")


def histograms(demand: DemandRun) -> Iterator[Histogram]:
    """In the order of the plots: maximum, those between, minimum."""
    count = max(1, demand.conditions.mid_points)
    yield Histogram(demand, 1, 9, 10, "MaxIOPS")
    for number in range(1, count + 1):
        yield Histogram(demand, 2 + number, 11, 12, "MidIOPS", "" if count == 1 else f".{number}")
    yield Histogram(demand, 2, 13, 14, "MinIOPS")
