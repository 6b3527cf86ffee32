"""Pages of demand variation over its window: IOPS, response times and CPU use by demand.

PTS Table 13-3 and Plot 14-1 (6 to 8, 15).
"""

from collections.abc import Callable, Iterator
from functools import partial
from statistics import fmean
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.header import of_cycle
from openpts.procedures.kit.steps import ART, CPU_SYS, IOPS, MRT, THROUGHPUT, Metric, columns_of
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, format_block_size, format_latency_ms
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.workload import Workload
from openpts_pages import cells, ticks
from openpts_pages.kit import (
    NO_ROUND,
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
    table,
    values_of,
)
from openpts_pages.model import Axis, Cell, Column, Mark, Page, PlotRule, Series, Table, Verdict
from openpts_pts.shared.demand.conditions import DemandConditions
from openpts_pts.shared.demand.results import DemandResults, OperatingPoint, PointResults, analyze_demand
from openpts_pts.shared.steady_state_pages import judged_sentence, rounds_reason
from openpts_pts.shared.tracking.pages import TrackedPhase, tracked_phase


class Names(Struct, frozen=True):
    """A test's words: ``titles`` are those of plots 1 to 15, whose numbers begin behind ``plots_before``.

    ``over_rounds``: preconditioning is plotted over its tracking rounds, not over time.
    """

    prefix: str
    test: str
    bar: str
    section: int | str
    plots_before: int
    titles: tuple[str, ...]
    over_rounds: bool = False

    def plot(self, number: int, *, detail: str = "", suffix: str = "") -> PlotName:
        """The name of plot 1 to 15; ``suffix`` distinguishes pages of the same plot."""
        title = f"{self.titles[number - 1]} - {detail}" if detail else self.titles[number - 1]
        return self._required(number, suffix).named(self.prefix, title)

    @property
    def required(self) -> tuple[Required, ...]:
        """All plots that the specification demands."""
        return tuple(self._required(number) for number in range(1, len(self.titles) + 1))

    def _required(self, number: int, suffix: str = "") -> Required:
        plot = number + self.plots_before
        return Required(f"{number}{suffix}", f"Plot {self.section}-{plot}{suffix}")


HISTOGRAMS: Final = (
    "MaxIOPS Prewrites",
    "Max IOPS Histogram",
    "MidIOPS Prewrites",
    "Mid IOPS Histogram",
    "MinIOPS Prewrites",
    "Min IOPS Histogram",
    "IOPS v Total OIO",
)
VARIATION: Final = (
    "DV IOPS Plot, TC=Tracking",
    "DV Steady State Plot, Tracking Variable",
    "Demand Variation Plot",
    "Demand Intensity Plot",
)


class DemandRun(Struct, frozen=True):
    """A run of CBW or DIRTH with the results of its samples."""

    run: Run
    names: Names
    conditions: DemandConditions
    results: DemandResults
    preconditioning: TrackedPhase

    @property
    def pattern(self) -> str:
        """The access pattern with its R/W mix: ``RND 8 KiB 65/35``."""
        return pattern_text(self.conditions.workload, self.conditions.workload.read_pct)

    @property
    def writes(self) -> str:
        """The pattern of preconditioning and pre-writes."""
        return pattern_text(self.conditions.workload, 0)


def demand_run(run: Run, names: Names) -> DemandRun:
    """Analyze a run from its record alone."""
    conditions = run.conditions(DemandConditions)
    finished = of_cycle(run.manifest.cycles, 1)
    results = analyze_demand(
        conditions,
        ((step.place.number, step.sample) for step in run.phase(Phase.ROUND)),
        finished.outcome.steady_round if finished else None,
    )
    return DemandRun(run, names, conditions, results, tracked_phase(run, Phase.WDPC))


def pattern_text(workload: Workload, read_pct: int) -> str:
    """A workload with an R/W mix in the header's words."""
    if len(workload.block_sizes) > 1:
        what = "Composite" if workload.name == "composite" else workload.title
    else:
        order = {0: "SEQ", 100: "RND"}.get(workload.random_pct, f"RND {workload.random_pct} %")
        what = f"{order} {format_block_size(workload.block_sizes[0].block_size_bytes)}"
    return f"{what} {read_pct}/{100 - read_pct}"


def point_text(point: OperatingPoint) -> str:
    """An operating point in a title: ``TC32-QD8``."""
    return f"TC{point.tc}-QD{point.qd}"


def steady_state_sentence(demand: DemandRun) -> Verdict:
    """Whether demand variation came to steady state, with its rule."""
    results = demand.results
    what = f"Demand variation (IOPS of {demand.pattern} at {results.tracked})"
    return judged_sentence(what, results, len(results.rounds), rounds_reason(results))


def choice_rule(demand: DemandRun) -> str:
    """How the points are chosen, with this run's limits."""
    conditions = demand.conditions
    return (
        f"MaxIOPS: of the points with ART below {format_latency_ms(conditions.art_limit_ns)} ms, those "
        f"within {conditions.plateau_pct:g} % of the highest IOPS; of these the lowest TOIO, then the higher "
        "TC. MinIOPS: the lowest demand. MidIOPS: nearest to the IOPS that divide the range between them "
        f"into {conditions.mid_points + 1} equal parts."
    )


def choice_sentence(demand: DemandRun) -> Verdict:
    """The points chosen, or that there is none below the limit."""
    chosen = demand.results.chosen
    if chosen is None:
        return Verdict("Operating points: n/a (no Round was completed).", "fail")
    limit = format_latency_ms(demand.conditions.art_limit_ns)
    points = [
        f"{name} {measured.point} with {measured.iops:,.0f} IOPS"
        + ("" if (art_ns := measured.mean_latency_ns) is None else f" and ART {format_latency_ms(art_ns)} ms")
        for name, measured in chosen.named
    ]
    missing = "" if chosen.middles else " No point lies strictly between: there is no MidIOPS point."
    if chosen.below_art_limit:
        return Verdict(f"{'; '.join(points)}.{missing}", "pass" if chosen.middles else "fail")
    return Verdict(
        f"No operating point has an ART below {limit} ms: the point with the lowest ART takes the place of "
        f"MaxIOPS. {'; '.join(points)}.{missing}",
        "fail",
    )


_MEAN_COLOR: Final = 6
_RANGE_COLOR: Final = 0
_CPU: Final = replace(CPU_SYS, decimals=1)
_NO_CPU: Final = "System CPU use: n/a (not recorded in every Round of this run)."
_NO_IO: Final = Verdict("No I/O was completed: there is nothing to plot.", "fail")


def demand_pages(demand: DemandRun) -> Iterator[Page]:
    """IOPS over QD, response time over IOPS, and CPU use, a series per TC (6 to 8)."""
    names, results = demand.names, demand.results.results
    tcs = sorted(demand.conditions.tcs)

    def lead(what: str) -> Verdict:
        return Verdict(f"{what}: {demand.results.window.averaging}")

    def by_demand(name: PlotName, title: str, tcs: list[int], cell: Callable[[PointResults], Cell]) -> Table:
        return grid(
            f"{name.id}-values",
            f"{title}; {demand.results.window.averaging}",
            Col("QD", cells.count, width=0.5),
            [(Column(f"TC {tc}", tc), tc) for tc in tcs],
            sorted(demand.conditions.qds) if results else (),
            cell=lambda qd, tc: cell(results[OperatingPoint(tc, qd)]),
        )

    yield plot_page(
        names.plot(6),
        lead(f"P6 {demand.pattern} - IOPS vs QD, every TC"),
        lambda shown: Plot(
            x=_demand_axis("QD", heads_of(shown)),
            y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
            series=_tc_series(shown),
            alt="{count} operating points, from {low} to {high} IOPS.",
            palette="mix",
        ),
        by_demand(names.plot(6), "Values plotted: IOPS", tcs[::-1], replace(IOPS, decimals=0).cell),
    )
    yield _intensity_page(demand, lead(f"P7 {demand.pattern} - ART vs IOPS, every TC"))
    yield plot_page(
        names.plot(8),
        lead(f"P8 {demand.pattern} - System CPU utilization during demand variation"),
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
        by_demand(names.plot(8), "System CPU use (%): share of all processors", tcs, _CPU.cell),
        absent=Verdict(_NO_CPU) if results else NO_ROUND,
    )


def _intensity_page(demand: DemandRun, lead: Verdict) -> Page:
    """Average response time over IOPS, the chosen points ringed (7)."""
    name, limit_ms = demand.names.plot(7), demand.conditions.art_limit_ns / NS_PER_MS
    sentence = choice_sentence(demand)
    shown = _curves(f"{name.id}-values", demand)
    if demand.results.chosen is not None and not values_of(shown):
        return page(name, _NO_IO, NO_ROUND)
    return plot_page(
        name,
        lead,
        lambda shown: Plot(
            x=ticks.linear_axis("IOPS", 0, max(heads_of(shown))),
            y=lambda values: ticks.log_axis("Average response time (ms)", [*values, limit_ms]),
            series=_tc_series(shown),
            alt=f"{sentence.text} Average response times from {{low}} to {{high}} ms.",
            decimals=None,
            rules=(PlotRule(f"{limit_ms:g} ms", limit_ms, "limit"),),
            marks=_marks(demand),
            palette="mix",
            height_px=430,
        ),
        shown,
        sentence,
        Verdict(choice_rule(demand)),
        _knee(demand),
    )


def toio_pages(demand: DemandRun) -> Iterator[Page]:
    """IOPS over TOIO: the mean of the points of each, and the range of them; then bandwidth (15)."""
    name = demand.names.plot(15)
    yield _toio_page(
        demand,
        name,
        Verdict(
            f"P15 {demand.pattern} - IOPS vs TOIO: each bar is the mean of the operating points of that "
            f"TOIO, the line in it their range; each point {demand.results.window.averaging}"
        ),
        replace(IOPS, decimals=0),
    )
    bandwidth = demand.names.plot(15, suffix="b")
    yield _toio_page(
        demand,
        PlotName(bandwidth.id, bandwidth.number, "BW v Total OIO"),
        Verdict(f"P15b {demand.pattern} - bandwidth vs TOIO, as plot P15"),
        replace(THROUGHPUT, label="Bandwidth (MB/s)"),
        mandatory=False,
    )


def _toio_page(
    demand: DemandRun, name: PlotName, lead: Verdict, metric: Metric[PointResults], *, mandatory: bool = True
) -> Page:
    """A row per TOIO: how many points it has, their mean and range, and each point in its TC's column."""
    unit, number = metric.unit, metric.shown
    rows = [
        (group.toio, {one.point.tc: metric.value(one) or 0.0 for one in group.points})
        for group in demand.results.by_toio()
    ]

    def point(row: tuple[int, dict[int, float]], tc: int) -> Cell:
        return number(row[1][tc]) if tc in row[1] else cells.none()

    columns: list[Col[tuple[int, dict[int, float]]]] = [
        Col("Points", lambda row: cells.count(len(row[1])), width=0.6),
        Col(f"Mean {unit}", lambda row: number(fmean(row[1].values()))),
        Col(f"Least {unit}", lambda row: number(min(row[1].values()))),
        Col(f"Largest {unit}", lambda row: number(max(row[1].values()))),
        *(Col(f"TC {tc}", partial(point, tc=tc), tc) for tc in sorted(demand.conditions.tcs, reverse=True)),
    ]
    mean, least, largest = 1, 2, 3
    return plot_page(
        name,
        lead,
        lambda shown: Plot(
            kind="bars",
            x=category_axis("Total OIO", shown),
            y=lambda values: ticks.linear_axis(metric.label, 0, max(values)),
            series=(
                Series("Mean of the points", "column", (mean,), _MEAN_COLOR, style="bars"),
                Series("Least to largest", "column", (least, largest), _RANGE_COLOR, style="range"),
            ),
            alt=f"{{rows}} TOIO, from {{low}} to {{high}} {metric.label}.",
            height_px=320,
        ),
        table(
            f"{name.id}-values",
            f"Values plotted: {unit}",
            Col("TOIO", lambda row: cells.count(row[0]), width=0.5),
            columns,
            rows,
        ),
        mandatory=mandatory,
    )


def points_page(demand: DemandRun) -> Page:
    """All operating points in their order (ours, beside the plots)."""
    name = PlotName(f"{demand.names.prefix}-points", "", f"{demand.names.test} Operating Points")
    results = demand.results.results.values()
    if not results:
        return page(name, choice_sentence(demand), NO_ROUND, mandatory=False)
    has_cpu = any(result.cpu is not None for result in results)
    columns: list[Col[PointResults]] = [
        Col("TOIO", lambda r: Cell(str(r.point.toio), float(r.point.toio))),
        *columns_of([IOPS]),
        Col("Range of Rounds (%)", _range),
        *columns_of((THROUGHPUT, ART, MRT)),
        *columns_of([_CPU] if has_cpu else []),
        Col("Point", lambda r: Cell(", ".join(_roles(demand, r.point)) or "-"), align="left"),
    ]
    shown = table(
        f"{name.id}-table",
        f"Operating points in the order of their minutes: {demand.results.window.averaging}",
        Col("TC / QD", lambda r: Cell(str(r.point)), align="left", width=0),
        columns,
        results,
        note="IOPS, MB/s, ART and CPU Sys are means of the Rounds' values, MRT is the maximum of the Rounds."
        + ("" if has_cpu else f" {_NO_CPU}"),
    )
    return page(name, choice_sentence(demand), Verdict(choice_rule(demand)), shown, mandatory=False)


def _range(result: PointResults) -> Cell:
    spread = max(result.iops_by_round) - min(result.iops_by_round)
    return cells.percent(100 * spread / result.iops if result.iops else 0.0)


def _roles(demand: DemandRun, point: OperatingPoint) -> list[str]:
    """MaxIOPS, MinIOPS, MidIOPS: as far as the point was chosen for it."""
    chosen = demand.results.chosen
    return [name for name, measured in (chosen.named if chosen else ()) if measured.point == point]


def _marks(demand: DemandRun) -> tuple[Mark, ...]:
    """One ring per chosen point, with all that it was chosen for."""
    chosen = demand.results.chosen
    return tuple(
        Mark(f"{', '.join(_roles(demand, one.point))} {one.point}", one.iops, art_ms)
        for one in dict.fromkeys(chosen.in_order if chosen else ())
        if (art_ms := ART.value(one)) is not None
    )


def _knee(demand: DemandRun) -> Verdict | None:
    if demand.results.chosen is None:
        return None
    toio = demand.results.knee_toio()
    rule = f"twice that at {demand.results.chosen.minimum.point}"
    if toio is None:
        return Verdict(f"Knee (openpts' own): ART exceeds {rule} at no TOIO of this run.")
    return Verdict(f"Knee (openpts' own): from TOIO {toio:,} on, the mean ART of its points exceeds {rule}.")


def _curves(table_id: str, demand: DemandRun) -> Table:
    """A row per operating point with its IOPS as head, and its response time in its TC's column."""
    tcs, qds = sorted(demand.conditions.tcs), sorted(demand.conditions.qds)
    results = demand.results.results if demand.results.chosen is not None else {}
    return grid(
        table_id,
        "Values plotted: average response time (ms)",
        Col("IOPS", IOPS.cell, width=0),
        [(Column(f"TC {tc}", tc), tc) for tc in tcs],
        [results[OperatingPoint(tc, qd)] for tc in tcs for qd in qds] if results else (),
        cell=lambda result, tc: ART.cell(result) if result.point.tc == tc else cells.none(),
        note=f"Each TC's rows go from QD {qds[0]} to {qds[-1]}; the operating points page has all.",
        printed=False,
    )


def _demand_axis(title: str, values: list[float]) -> Axis:
    """Queue depths or thread counts: logarithmic, every value ticked."""
    return Axis(title, "log", (min(values) / 1.15, max(values) * 1.15), tuple(sorted(values)))


def _tc_series(shown: Table) -> tuple[Series, ...]:
    """A series per thread count, which has the same color in all plots."""
    ranks = {tc: rank for rank, tc in enumerate(sorted(column.value or 0 for column in shown.columns))}
    return column_series(shown, style="spline", color_of=lambda _n, column: ranks[column.value or 0])
