"""A run of CBW or DIRTH and its pages over rounds and demands (PTS Table 13-3, Plot 14-1: 1 to 8, 15)."""

from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from operator import itemgetter
from statistics import fmean
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.minutes import Minute, minutes_of
from openpts.procedures.kit.header import data_text, of_cycle
from openpts.procedures.kit.steps import ART, CPU_SYS, IOPS, MRT, THROUGHPUT, Metric, columns_of
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, block_size_kib, format_block_size, format_capacity, format_duration
from openpts.units import format_latency_ms as latency_text
from openpts.vocabulary.sample import Phase, StepState
from openpts_pages import cells, ticks
from openpts_pages.kit import (
    NO_ROUND,
    Cells,
    Col,
    Plot,
    PlotName,
    Required,
    category_axis,
    column_series,
    grid,
    heads_of,
    page,
    plot_page,
    rows_table,
    table,
    values_of,
)
from openpts_pages.model import Axis, Band, Block, Cell, Column, Mark, Page, PlotRule, Series, Table, Verdict
from openpts_pts.shared.demand.conditions import DemandConditions
from openpts_pts.shared.demand.results import DemandResults, OperatingPoint, PointResults, analyze_demand
from openpts_pts.shared.minutes_table import TIMES_AND_CPU, iops_column, list_minutes
from openpts_pts.shared.preparation_page import preparation_page, short_form_table, wipc_table
from openpts_pts.shared.tracking import ROUND_WORD, TrackedPhase
from openpts_pts.shared.window_page import (
    Window,
    height_over_rounds,
    judged_sentence,
    round_columns,
    window_band,
)

_BEHIND_VARIATION: Final = (
    "MaxIOPS Prewrites",
    "Max IOPS Histogram",
    "MidIOPS Prewrites",
    "Mid IOPS Histogram",
    "MinIOPS Prewrites",
    "Min IOPS Histogram",
    "IOPS v Total OIO",
)
_VARIATION: Final = (
    "DV IOPS Plot, TC=Tracking",
    "DV Steady State Plot, Tracking Variable",
    "Demand Variation Plot",
    "Demand Intensity Plot",
)
_COLORS: Final = 8
_MEAN_COLOR, _RANGE_COLOR = 6, 0
_CPU: Final = replace(CPU_SYS, decimals=1)
_NO_CPU: Final = "System CPU use: n/a (not recorded in every Round of this run)."
_NO_IO: Final = Verdict("No I/O was completed: there is nothing to plot.", "fail")


class Names(Struct, frozen=True):
    """A test's words: the numbers of plots 1 to 15 begin behind ``plots_before``.

    ``prewrites`` and ``cpu`` are the titles in which the tests differ. ``over_rounds``: preconditioning is
    plotted over its tracking rounds, not over time.
    """

    prefix: str
    test: str
    bar: str
    section: int
    plots_before: int
    prewrites: str
    cpu: str
    over_rounds: bool = False

    def plot(self, number: int, *, suffix: str = "") -> PlotName:
        """The name of plot 1 to 15; ``suffix`` distinguishes pages of the same plot."""
        return self._required(number, suffix).named(self.prefix, self._titles[number - 1])

    @property
    def required(self) -> tuple[Required, ...]:
        """All plots that the specification demands."""
        return tuple(self._required(number) for number in range(1, len(self._titles) + 1))

    @property
    def _titles(self) -> tuple[str, ...]:
        preconditioning = ("PC IOPS Plot", "PC Steady State Plot")
        return (*preconditioning, self.prewrites, *_VARIATION, self.cpu, *_BEHIND_VARIATION)

    def _required(self, number: int, suffix: str = "") -> Required:
        return Required(f"{number}{suffix}", f"Plot {self.section}-{number + self.plots_before}{suffix}")


class DemandRun(Struct, frozen=True):
    """A run of CBW or DIRTH with the results of its samples, and a method for each page."""

    run: Run
    names: Names
    conditions: DemandConditions
    results: DemandResults
    preconditioning: TrackedPhase

    @classmethod
    def of(cls, run: Run, names: Names) -> "DemandRun":
        """Analyze a run from its record alone."""
        conditions = run.conditions(DemandConditions)
        finished = of_cycle(run.manifest.cycles, 1)
        results = analyze_demand(
            conditions,
            ((step.place.number, step.sample) for step in run.phase(Phase.ROUND)),
            finished.outcome.steady_round if finished else None,
        )
        return cls(run, names, conditions, results, TrackedPhase.of(run))

    def pattern(self, read_pct: int | None = None) -> str:
        """The access pattern in the header's words: ``RND 8 KiB 65/35``, with its own R/W mix or another."""
        workload = self.conditions.workload
        if len(workload.block_sizes) > 1:
            what = "Composite" if workload.name == "composite" else workload.title
        else:
            order = {0: "SEQ", 100: "RND"}.get(workload.random_pct, f"RND {workload.random_pct} %")
            what = f"{order} {format_block_size(workload.block_sizes[0].block_size_bytes)}"
        reads = workload.read_pct if read_pct is None else read_pct
        return f"{what} {reads}/{100 - reads}"

    @property
    def _precondition(self) -> str:
        """Pattern and demand of preconditioning and of the pre-writes between rounds."""
        at = self.conditions
        return f"{self.pattern(0)} TC{at.precondition_tc}-QD{at.precondition_qd}"

    def steady_state(self) -> Verdict:
        """Whether demand variation came to steady state, with its rule."""
        results = self.results
        what = f"Demand variation (IOPS of {self.pattern()} at {results.tracked})"
        return judged_sentence(what, results, len(results.rounds))

    def choice_rule(self) -> Verdict:
        """How the points are chosen, with this run's limits."""
        conditions = self.conditions
        return Verdict(
            f"MaxIOPS: of the points with ART below {latency_text(conditions.art_limit_ns)} ms, those "
            f"within {conditions.plateau_pct:g} % of the highest IOPS; of these the lowest TOIO, then the "
            "higher TC. MinIOPS: the lowest demand. MidIOPS: nearest to the IOPS that divide the range "
            f"between them into {conditions.mid_points + 1} equal parts."
        )

    def choice(self) -> Verdict:
        """The points chosen, or that there is none below the limit."""
        chosen = self.results.chosen
        if chosen is None:
            return Verdict("Operating points: n/a (no Round was completed).", "fail")
        points = "; ".join(
            f"{name} {measured.point} with {measured.iops:,.0f} IOPS"
            + ("" if (art_ns := measured.mean_latency_ns) is None else f" and ART {latency_text(art_ns)} ms")
            for name, measured in chosen.named
        )
        missing = "" if chosen.middles else " No point lies strictly between: there is no MidIOPS point."
        if chosen.below_art_limit:
            return Verdict(f"{points}.{missing}", "pass" if chosen.middles else "fail")
        return Verdict(
            f"No operating point has an ART below {latency_text(self.conditions.art_limit_ns)} ms: the point "
            f"with the lowest ART takes the place of MaxIOPS. {points}.{missing}",
            "fail",
        )

    def _record(self) -> str:
        """The conditions below the determination data."""
        conditions, covered = self.conditions, self.conditions.active_range
        skipped = ", ".join(map(block_size_kib, conditions.skipped_block_sizes_bytes))
        left_out = f"; not possible on this device: {skipped} KiB" if skipped else ""
        return (
            f"ActiveRange = ({covered.start_pct:g},{covered.end_pct:g}); "
            f"Data Pattern = {data_text(conditions)}; Access Pattern = {self.pattern()}{left_out}."
        )

    def preparation(self) -> Page:
        """The purge report."""
        page_id, run = f"{self.names.prefix}-preparation", self.run
        wipc: tuple[Block, ...] = (wipc_table(run, page_id),) if run.phase(Phase.WIPC) else ()
        if in_one_pass := run.phase(Phase.CONDITIONING):
            wipc = (short_form_table(run, page_id, in_one_pass, None, None), *wipc)
        title = f"{self.names.test} Purge Report and Pre-conditioning Report"
        return preparation_page(run, page_id, title, *wipc, self.preconditioning.sentence)

    def preconditioning_course(self) -> Page:
        """Plot 1: over tracking rounds for CBW, over time for DIRTH."""
        make, over = self.preconditioning.over_time, "Time"
        if self.names.over_rounds:
            make, over = self.preconditioning.over_rounds, ROUND_WORD
        return make(self.names.plot(1), Verdict(f"P1 WDPC {self._precondition} - IOPS vs {over}"))

    def preconditioning_window(self) -> Page:
        """Plot 2: the window in which preconditioning came to steady state."""
        lead = Verdict(f"P2 WDPC {self._precondition} - steady state of the pre-conditioning")
        made = self.preconditioning.window(self.names.plot(2), self._record())
        return replace(made, blocks=(lead, *made.blocks))

    def prewrites(self) -> Page:
        """Plot 3: IOPS of each minute of the pre-writes between rounds, one behind the other."""
        name, steps = self.names.plot(3), self.run.phase(Phase.ROUND_PREWRITE)
        if not steps:
            return page(name, Verdict("No pre-write was begun.", "fail"))
        starts_ns = [0, *accumulate(step.sample.elapsed_ns for step in steps)]
        time = ticks.time_axis("Time in pre-writes, one behind the other", 0, starts_ns[-1])
        by_color: dict[int, list[int]] = {}  # from the first color again beyond the last
        bands, placed = list[Band](), list[tuple[int, int, Minute]]()  # number of the round, end, minute
        for step, start_ns, end_ns in zip(steps, starts_ns, starts_ns[1:], strict=False):
            number = step.place.number
            by_color.setdefault((number - 1) % _COLORS, []).append(number)
            tone = "plain" if number % 2 else "allowed"
            bands.append(Band("x", time.place(start_ns), time.place(end_ns), tone, str(number)))
            minutes = minutes_of([step.sample], self.conditions.minute_ns)
            placed += ((number, start_ns + minute.end_ns, minute) for minute in minutes)
        iops = iops_column(self.conditions.minute_ns)

        def of_color(label: str, color: int) -> Col[tuple[int, int, Minute]]:
            return Col(
                f"IOPS, {label}",
                lambda one: iops.cell(one[2]) if (one[0] - 1) % _COLORS == color else cells.none(),
            )

        labels = [
            f"Round{'s' if len(n) > 1 else ''} {', '.join(map(str, n))}" for _, n in sorted(by_color.items())
        ]
        columns: list[Col[tuple[int, int, Minute]]] = [
            *(of_color(label, color) for color, label in enumerate(labels)),
            Col("Round", lambda one: cells.count(one[0])),
            *(metric.column(itemgetter(2)) for metric in TIMES_AND_CPU),
        ]
        title = "Every minute of the pre-writes"
        shown = list_minutes(f"{name.id}-values", title, columns, placed, time=time, end_ns=itemgetter(1))
        plot = Plot(
            x=time.axis,
            y=lambda values: ticks.linear_axis("IOPS", 0, max(values, default=0.0)),
            series=tuple(Series(label, "column", (n,), n, style="points") for n, label in enumerate(labels)),
            alt=f"{len(steps)} pre-writes of {{count}} minutes in all, from {{low}} to {{high}} IOPS.",
            bands=tuple(bands),
        )
        lead = Verdict(f"P3 {self._precondition} - pre-writes before each Round, numbered on top.")
        return page(name, lead, plot.over(name, shown), self._prewrites_summary(), shown)

    def _prewrites_summary(self) -> Table:
        conditions, capacity_bytes = self.conditions, self.run.manifest.target.user_capacity_bytes

        def rows() -> Iterator[Cells]:
            for step in self.run.phase(Phase.ROUND_PREWRITE):
                sample, written = step.sample, step.sample.write.bytes
                ended = Cell((sample.ended_by or "-").replace("_", " "))
                yield (
                    cells.count(step.place.number),
                    *(metric.cell(sample) for metric in (IOPS, THROUGHPUT, ART, MRT)),
                    format_duration(sample.elapsed_ns),
                    f"{format_capacity(written)} = {100 * written / capacity_bytes:.2f} %",
                    ended
                    if sample.state is StepState.COMPLETE
                    else cells.words(sample.state.value, tone="fail"),
                )

        return rows_table(
            f"{self.names.prefix}-prewrites",
            "Pre-writes between rounds",
            "Round:0 | IOPS | MB/s | ART (ms) | MRT (ms) | Time:< | Written:<1.5 | Ended by:<",
            rows(),
            note=f"A pre-write lasts at least {format_duration(conditions.prewrite_shortest_ns)}, then until "
            f"{format_duration(conditions.prewrite_longest_ns)} or {conditions.prewrite_capacity_pct:g} % of "
            "the user capacity are reached, whichever comes first.",
        )

    def variation(self) -> Page:
        """Plot 4: IOPS over the rounds at the tracked thread count, a series per queue depth."""
        name, results, sentence = self.names.plot(4), self.results, self.steady_state()
        tracked, rounds = results.tracked, len(results.rounds)
        lead = Verdict(f"P4 {self.pattern()} TC{tracked.tc} - IOPS vs Round, every QD")
        if not rounds:
            return page(name, lead, sentence)
        points = [point for point in results.points if point.tc == tracked.tc]
        shown = grid(
            f"{name.id}-values",
            f"Values plotted: IOPS at TC {tracked.tc} in each Round",
            Col("QD", lambda point: cells.count(point.qd), width=0),
            zip(round_columns(rounds), range(rounds), strict=True),
            points,
            cell=lambda point, n: cells.number(results.iops_by_round(point)[n], 0),
            printed=200,
        )
        plot = Plot(
            x=ticks.rounds_axis(rounds),
            y=partial(ticks.amount_axis, "IOPS"),
            series=tuple(
                Series(f"QD {point.qd}", "row", (line,), line, style="spline", emphasis=point == tracked)
                for line, point in enumerate(points)
            ),
            alt=f"{{rows}} queue depths over Rounds 1 to {rounds}, from {{low}} to {{high}} IOPS. "
            f"{sentence.text}",
            bands=window_band(results),
            palette="mix",
            height_px=height_over_rounds(rounds),
        )
        return page(name, lead, plot.over(name, shown), sentence, shown)

    def variation_window(self) -> Page:
        """Plot 5: the window of the tracking variable with its determination data."""
        results, tracked = self.results, self.results.tracked
        lead = f"P5 {self.pattern()} {point_text(tracked)} - steady state of the tracking variable"
        window = Window(
            variable=f"{self.pattern()} at {tracked}",
            metric=IOPS,
            verdict=results.verdict,
            values=results.iops_by_round(tracked),
            reason=results.reason(),
            conditions=self._record(),
        )
        made = window.page(self.names.plot(5))
        return replace(made, blocks=(Verdict(lead), *made.blocks))

    def _by_demand(self, name: PlotName, title: str, tcs: list[int], metric: Metric[PointResults]) -> Table:
        """A row per queue depth, a column per thread count."""
        results = self.results.results
        return grid(
            f"{name.id}-values",
            f"{title}; {self.results.window.averaging}",
            Col("QD", cells.count, width=0.5),
            [(Column(f"TC {tc}", tc), tc) for tc in tcs],
            sorted(self.conditions.qds) if results else (),
            cell=lambda qd, tc: metric.cell(results[OperatingPoint(tc, qd)]),
        )

    def _lead(self, number: int, what: str) -> Verdict:
        return Verdict(f"P{number} {self.pattern()} - {what}: {self.results.window.averaging}")

    def iops(self) -> Page:
        """Plot 6: IOPS over QD, a series per TC."""
        name, tcs = self.names.plot(6), sorted(self.conditions.tcs, reverse=True)
        return plot_page(
            name,
            self._lead(6, "IOPS vs QD, every TC"),
            lambda shown: Plot(
                x=_demand_axis(heads_of(shown)),
                y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
                series=_tc_series(shown),
                alt="{count} operating points, from {low} to {high} IOPS.",
                palette="mix",
            ),
            self._by_demand(name, "Values plotted: IOPS", tcs, replace(IOPS, decimals=0)),
        )

    def intensity(self) -> Page:
        """Plot 7: average response time over IOPS, a series per TC, the chosen points ringed."""
        name, limit_ms = self.names.plot(7), self.conditions.art_limit_ns / NS_PER_MS
        tcs, qds = sorted(self.conditions.tcs), sorted(self.conditions.qds)
        results, chosen, sentence = self.results.results, self.results.chosen, self.choice()
        shown = grid(
            f"{name.id}-values",
            "Values plotted: average response time (ms)",
            Col("IOPS", IOPS.cell, width=0),
            [(Column(f"TC {tc}", tc), tc) for tc in tcs],
            [results[OperatingPoint(tc, qd)] for tc in tcs for qd in qds] if chosen else (),
            cell=lambda result, tc: ART.cell(result) if result.point.tc == tc else cells.none(),
            note=f"Each TC's rows go from QD {qds[0]} to {qds[-1]}; the operating points page has all.",
            printed=False,
        )
        if chosen is None:
            return page(name, self._lead(7, "ART vs IOPS, every TC"), NO_ROUND)
        if not values_of(shown):
            return page(name, _NO_IO, NO_ROUND)
        toio, rule = self.results.knee_toio(), f"twice that at {chosen.minimum.point}"
        knee = f"ART exceeds {rule} at no TOIO of this run."
        if toio is not None:
            knee = f"from TOIO {toio:,} on, the mean ART of its points exceeds {rule}."
        return plot_page(
            name,
            self._lead(7, "ART vs IOPS, every TC"),
            lambda shown: Plot(
                x=ticks.linear_axis("IOPS", 0, max(heads_of(shown))),
                y=lambda values: ticks.log_axis("Average response time (ms)", [*values, limit_ms]),
                series=_tc_series(shown),
                alt=f"{sentence.text} Average response times from {{low}} to {{high}} ms.",
                decimals=None,
                rules=(PlotRule(f"{limit_ms:g} ms", limit_ms, "limit"),),
                marks=tuple(  # one ring per chosen point, with all that it was chosen for
                    Mark(f"{', '.join(self.roles(one.point))} {one.point}", one.iops, art_ms)
                    for one in dict.fromkeys(chosen.in_order)
                    if (art_ms := ART.value(one)) is not None
                ),
                palette="mix",
                height_px=430,
            ),
            shown,
            sentence,
            self.choice_rule(),
            Verdict(f"Knee (openpts' own): {knee}"),
        )

    def roles(self, point: OperatingPoint) -> list[str]:
        """MaxIOPS, MinIOPS, MidIOPS: as far as the point was chosen for it."""
        chosen = self.results.chosen
        return [name for name, measured in (chosen.named if chosen else ()) if measured.point == point]

    def cpu(self) -> Page:
        """Plot 8: CPU use over QD, a series per TC."""
        name, title = self.names.plot(8), "System CPU use (%): share of all processors"
        return plot_page(
            name,
            self._lead(8, "System CPU utilization during demand variation"),
            lambda shown: Plot(
                kind="columns3d",
                x=category_axis("QD", shown),
                y=lambda values: ticks.linear_axis("CPU Sys (%)", 0, max(values)),
                series=_tc_series(shown),
                alt="{count} columns, from {low} to {high} % of all processors.",
                decimals=1,
                palette="mix",
                height_px=400,
                depth_title="TC",
            ),
            self._by_demand(name, title, sorted(self.conditions.tcs), _CPU),
            absent=Verdict(_NO_CPU) if self.results.results else NO_ROUND,
        )

    def over_toio(self) -> Page:
        """Plot 15: IOPS over TOIO, the mean of the points of each, and the range of them."""
        lead = (
            f"P15 {self.pattern()} - IOPS vs TOIO: each bar is the mean of the operating points of that "
            f"TOIO, the line in it their range; each point {self.results.window.averaging}"
        )
        return self._toio_page(self.names.plot(15), lead, replace(IOPS, decimals=0))

    def bandwidth_over_toio(self) -> Page:
        """The same of bandwidth (ours, beside plot 15)."""
        name = replace(self.names.plot(15, suffix="b"), title="BW v Total OIO")
        lead = f"P15b {self.pattern()} - bandwidth vs TOIO, as plot P15"
        return self._toio_page(name, lead, replace(THROUGHPUT, label="Bandwidth (MB/s)"), mandatory=False)

    def _toio_page(
        self, name: PlotName, lead: str, metric: Metric[PointResults], *, mandatory: bool = True
    ) -> Page:
        """A row per TOIO: how many points it has, their mean and range, and each point in its TC's column."""
        unit, tcs = metric.unit, sorted(self.conditions.tcs, reverse=True)

        def rows() -> Iterator[Cells]:
            for toio, points in self.results.by_toio().items():
                values = {one.point.tc: metric.value(one) or 0.0 for one in points}
                mean, least, largest = fmean(values.values()), min(values.values()), max(values.values())
                yield (
                    cells.count(toio),
                    cells.count(len(values)),
                    *(metric.shown(value) for value in (mean, least, largest)),
                    *(metric.shown(values[tc]) if tc in values else cells.none() for tc in tcs),
                )

        return plot_page(
            name,
            Verdict(lead),
            lambda shown: Plot(
                kind="bars",
                x=category_axis("Total OIO", shown),
                y=lambda values: ticks.linear_axis(metric.label, 0, max(values)),
                series=(
                    Series("Mean of the points", "column", (1,), _MEAN_COLOR, style="bars"),
                    Series("Least to largest", "column", (2, 3), _RANGE_COLOR, style="range"),
                ),
                alt=f"{{rows}} TOIO, from {{low}} to {{high}} {metric.label}.",
                height_px=320,
            ),
            rows_table(
                f"{name.id}-values",
                f"Values plotted: {unit}",
                (
                    f"TOIO:0.5 | Points:0.6 | Mean {unit} | Least {unit} | Largest {unit}",
                    *(Column(f"TC {tc}", float(tc)) for tc in tcs),
                ),
                rows(),
            ),
            mandatory=mandatory,
        )

    def points(self) -> Page:
        """All operating points in their order (ours, beside the plots)."""
        name = PlotName(f"{self.names.prefix}-points", "", f"{self.names.test} Operating Points")
        results = self.results.results.values()
        if not results:
            return page(name, self.choice(), NO_ROUND, mandatory=False)
        has_cpu = any(result.cpu is not None for result in results)

        def spread(result: PointResults) -> Cell:
            reach = max(result.iops_by_round) - min(result.iops_by_round)
            return cells.percent(100 * reach / result.iops if result.iops else 0.0)

        columns: list[Col[PointResults]] = [
            Col("TOIO", lambda r: Cell(str(r.point.toio), float(r.point.toio))),
            *columns_of([IOPS]),
            Col("Range of Rounds (%)", spread),
            *columns_of((THROUGHPUT, ART, MRT)),
            *columns_of([_CPU] if has_cpu else []),
            Col("Point", lambda r: Cell(", ".join(self.roles(r.point)) or "-"), align="left"),
        ]
        shown = table(
            f"{name.id}-table",
            f"Operating points in the order of their minutes: {self.results.window.averaging}",
            Col("TC / QD", lambda r: Cell(str(r.point)), align="left", width=0),
            columns,
            results,
            note="IOPS, MB/s, ART and CPU Sys are means of the Rounds' values, MRT is the maximum of the "
            "Rounds." + ("" if has_cpu else f" {_NO_CPU}"),
        )
        return page(name, self.choice(), self.choice_rule(), shown, mandatory=False)


def point_text(point: OperatingPoint) -> str:
    """An operating point in a title: ``TC32-QD8``."""
    return f"TC{point.tc}-QD{point.qd}"


def _demand_axis(values: list[float]) -> Axis:
    """Queue depths: logarithmic, every value ticked."""
    return Axis("QD", "log", (min(values) / 1.15, max(values) * 1.15), tuple(sorted(values)))


def _tc_series(shown: Table) -> tuple[Series, ...]:
    """A series per thread count, which has the same color in all plots."""
    ranks = {tc: rank for rank, tc in enumerate(sorted(column.value or 0 for column in shown.columns))}
    return column_series(shown, style="spline", color_of=lambda _n, column: ranks[column.value or 0])
