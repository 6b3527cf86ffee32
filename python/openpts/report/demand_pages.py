"""Pages of demand variation over its window: IOPS, response times and CPU use by demand.

PTS Table 13-3 and Plot 14-1 (6 to 8, 15).
"""

from collections.abc import Callable
from statistics import fmean
from typing import Final

from openpts.analysis.demand import PointResults
from openpts.analysis.operating_points import OperatingPoint
from openpts.report import cells, ticks
from openpts.report.demand_words import DemandRun, choice_rule, choice_sentence
from openpts.report.matrix_pages import values_of
from openpts.report.model import Axis, Cell, Column, Figure, Mark, Page, Row, Rule, Series, Table, Verdict
from openpts.report.steady_state_pages import PlotName
from openpts.units import MB, NS_PER_MS, format_latency_ms

_MEAN_COLOR: Final = 6
_RANGE_COLOR: Final = 0
_MEAN, _LEAST, _LARGEST = 1, 2, 3  # columns of the table by TOIO
_NO_CPU: Final = "System CPU use: n/a (not recorded in every Round of this run)."


def variation_plot_page(demand: DemandRun) -> Page:
    """IOPS over QD, a series per TC (6)."""
    name = demand.names.plot(6)
    lead = Verdict(f"P6 {demand.pattern} - IOPS vs QD, every TC: {demand.averaging}")
    if not demand.results.results:
        return _nothing_page(name, lead)
    table = _by_demand(f"{name.id}-values", "Values plotted: IOPS", demand, _iops_cell)
    values = values_of(table)
    figure = Figure(
        id=f"{name.id}-plot",
        number=name.number,
        title=name.title,
        kind="lines",
        table_id=table.id,
        x=_demand_axis("QD", [row.head.value or 0 for row in table.rows]),
        y=ticks.linear_axis("IOPS", 0, max(values)),
        alt=f"{name.title}: {len(values)} operating points, from {cells.fixed(min(values), 0)} to "
        f"{cells.fixed(max(values), 0)} IOPS.",
        series=_tc_series(table),
        palette="mix",
    )
    return Page(name.id, name.title, (lead, figure, table), mandatory=True)


def intensity_page(demand: DemandRun) -> Page:
    """Average response time over IOPS, a series per TC, the chosen points ringed (7)."""
    name, results = demand.names.plot(7), demand.results
    lead = Verdict(f"P7 {demand.pattern} - ART vs IOPS, every TC: {demand.averaging}")
    if results.chosen is None:
        return _nothing_page(name, lead)
    table = _curves(f"{name.id}-values", demand)
    latencies = values_of(table)
    if not latencies:
        return _nothing_page(name, Verdict("No I/O was completed: there is nothing to plot.", "fail"))
    limit_ms = demand.conditions.art_limit_ns / NS_PER_MS
    figure = Figure(
        id=f"{name.id}-plot",
        number=name.number,
        title=name.title,
        kind="lines",
        table_id=table.id,
        x=ticks.linear_axis("IOPS", 0, max(row.head.value or 0 for row in table.rows)),
        y=ticks.log_axis("Average response time (ms)", [*latencies, limit_ms]),
        alt=f"{name.title}: average response times from {format_latency_ms(min(latencies) * NS_PER_MS)} to "
        f"{format_latency_ms(max(latencies) * NS_PER_MS)} ms. {choice_sentence(demand).text}",
        series=_tc_series(table),
        rules=(Rule(f"{limit_ms:g} ms", limit_ms, "limit"),),
        marks=_marks(demand),
        palette="mix",
        height_px=430,
    )
    return Page(
        name.id,
        name.title,
        (lead, figure, choice_sentence(demand), Verdict(choice_rule(demand)), *_knee(demand), table),
        mandatory=True,
    )


def cpu_page(demand: DemandRun) -> Page:
    """System CPU use over QD and TC as columns (8)."""
    name = demand.names.plot(8)
    lead = Verdict(
        f"P8 {demand.pattern} - System CPU utilization during demand variation: {demand.averaging}"
    )
    if not demand.results.results:
        return _nothing_page(name, lead)
    table = _by_demand(
        f"{name.id}-values",
        "System CPU use (%): share of all processors",
        demand,
        lambda result: cells.cpu_share(result.cpu_sys_pct),
        tcs_from_low=True,
    )
    values = values_of(table)
    if not values:
        return Page(name.id, name.title, (lead, Verdict(_NO_CPU)), mandatory=True)
    figure = Figure(
        id=f"{name.id}-plot",
        number=name.number,
        title=name.title,
        kind="columns3d",
        table_id=table.id,
        x=Axis("QD", "category", (0, len(table.rows)), (), tuple(row.head.text for row in table.rows)),
        y=ticks.linear_axis("CPU Sys (%)", 0, max(values)),
        alt=f"{name.title}: {len(values)} columns, from {cells.fixed(min(values), 1)} to "
        f"{cells.fixed(max(values), 1)} % of all processors.",
        series=_tc_series(table),
        palette="mix",
        height_px=400,
        depth_title="TC",
    )
    return Page(name.id, name.title, (lead, figure, table), mandatory=True)


def toio_page(demand: DemandRun) -> Page:
    """IOPS over TOIO: the mean of the points of each, and from the least of them to the largest (15)."""
    name = demand.names.plot(15)
    lead = Verdict(
        f"P15 {demand.pattern} - IOPS vs TOIO: each bar is the mean of the operating points of that TOIO, "
        f"the line in it their range; each point {demand.averaging}"
    )
    if not demand.results.results:
        return _nothing_page(name, lead)
    table = _toio_table(f"{name.id}-values", demand, "IOPS", lambda result: result.iops, 0)
    return Page(name.id, name.title, (lead, _toio_figure(name, table, "IOPS"), table), mandatory=True)


def toio_bandwidth_page(demand: DemandRun) -> Page:
    """Bandwidth over TOIO: the other half of the same plot (15)."""
    name = demand.names.plot(15, suffix="b")
    name = PlotName(name.id, name.number, "BW v Total OIO")
    lead = Verdict(f"P15b {demand.pattern} - bandwidth vs TOIO, as plot P15")
    if not demand.results.results:
        return _nothing_page(name, lead, mandatory=False)
    table = _toio_table(
        f"{name.id}-values", demand, "MB/s", lambda result: result.bandwidth_bytes_per_s / MB, 1
    )
    return Page(name.id, name.title, (lead, _toio_figure(name, table, "Bandwidth (MB/s)"), table))


def points_page(demand: DemandRun) -> Page:
    """All operating points in their order (ours, beside the plots)."""
    title = f"{demand.names.test} Operating Points"
    page_id = f"{demand.names.prefix}-points"
    if not demand.results.results:
        return _nothing_page(PlotName(page_id, "", title), choice_sentence(demand), mandatory=False)
    has_cpu = any(result.cpu_sys_pct is not None for result in demand.results.results.values())
    table = Table(
        id=f"{page_id}-table",
        title=f"Operating points in the order of their minutes: {demand.averaging}",
        head=Column("TC / QD", align="left", width=0),
        columns=(
            Column("TOIO"),
            Column("IOPS"),
            Column("Range of Rounds (%)"),
            Column("MB/s"),
            Column("ART (ms)"),
            Column("MRT (ms)"),
            *((Column("CPU Sys (%)"),) if has_cpu else ()),
            Column("Point", align="left"),
        ),
        rows=tuple(_point_row(demand, result, has_cpu) for result in demand.results.results.values()),
        note="IOPS, MB/s, ART and CPU Sys are means of the Rounds' values, MRT is the maximum of the Rounds."
        + ("" if has_cpu else f" {_NO_CPU}"),
    )
    return Page(page_id, title, (choice_sentence(demand), Verdict(choice_rule(demand)), table))


def _point_row(demand: DemandRun, result: PointResults, has_cpu: bool) -> Row:
    spread = max(result.iops_by_round) - min(result.iops_by_round)
    return Row(
        Cell(str(result.point)),
        (
            Cell(str(result.point.toio), float(result.point.toio)),
            cells.number(result.iops, 1),
            cells.percent(100 * spread / result.iops if result.iops else 0.0),
            cells.number(result.bandwidth_bytes_per_s / MB, 1),
            cells.latency(result.art_ns),
            cells.latency(result.mrt_ns),
            *((cells.cpu_share(result.cpu_sys_pct),) if has_cpu else ()),
            Cell(", ".join(_roles(demand, result.point)) or "-"),
        ),
    )


def _roles(demand: DemandRun, point: OperatingPoint) -> list[str]:
    """MaxIOPS, MinIOPS, MidIOPS: as far as the point was chosen for it."""
    chosen = demand.results.chosen
    if chosen is None:
        return []
    named = [("MaxIOPS", chosen.maximum), ("MinIOPS", chosen.minimum)]
    named += [("MidIOPS", middle) for middle in chosen.middles]
    return [name for name, measured in named if measured.point == point]


def _marks(demand: DemandRun) -> tuple[Mark, ...]:
    """One ring per chosen point, with all that it was chosen for."""
    chosen = demand.results.chosen
    points = dict.fromkeys(chosen.in_order) if chosen else {}
    return tuple(
        Mark(
            f"{', '.join(_roles(demand, measured.point))} {measured.point}",
            measured.iops,
            measured.art_ns / NS_PER_MS,
        )
        for measured in points
        if measured.art_ns is not None
    )


def _knee(demand: DemandRun) -> tuple[Verdict, ...]:
    if demand.results.chosen is None:
        return ()
    toio = demand.results.knee_toio()
    rule = f"twice that at {demand.results.chosen.minimum.point}"
    if toio is None:
        return (Verdict(f"Knee (openpts' own): ART exceeds {rule} at no TOIO of this run."),)
    return (
        Verdict(f"Knee (openpts' own): from TOIO {toio:,} on, the mean ART of its points exceeds {rule}."),
    )


def _curves(table_id: str, demand: DemandRun) -> Table:
    """A row per operating point with its IOPS as head, and its response time in its TC's column."""
    tcs = sorted(demand.conditions.tcs)
    rows = []
    for tc in tcs:
        for qd in sorted(demand.conditions.qds):
            result = demand.results.results[OperatingPoint(tc, qd)]
            art = cells.latency(result.art_ns)
            rows.append(
                Row(
                    cells.number(result.iops, 1),
                    tuple(art if column == tc else Cell("-") for column in tcs),
                )
            )
    return Table(
        id=table_id,
        title="Values plotted: average response time (ms)",
        head=Column("IOPS", width=0),
        columns=tuple(Column(f"TC {tc}", float(tc)) for tc in tcs),
        rows=tuple(rows),
        note="Each TC's rows go from QD "
        f"{min(demand.conditions.qds)} to {max(demand.conditions.qds)}; the operating points page has all.",
        printed=False,
    )


def _by_demand(
    table_id: str,
    title: str,
    demand: DemandRun,
    to_cell: Callable[[PointResults], Cell],
    *,
    tcs_from_low: bool = False,
) -> Table:
    """Rows QD, columns TC."""
    tcs = sorted(demand.conditions.tcs, reverse=not tcs_from_low)
    return Table(
        id=table_id,
        title=f"{title}; {demand.averaging}",
        head=Column("QD", width=0.5),
        columns=tuple(Column(f"TC {tc}", float(tc)) for tc in tcs),
        rows=tuple(
            Row(
                Cell(str(qd), float(qd)),
                tuple(to_cell(demand.results.results[OperatingPoint(tc, qd)]) for tc in tcs),
            )
            for qd in sorted(demand.conditions.qds)
        ),
    )


def _toio_table(
    table_id: str, demand: DemandRun, unit: str, value_of: Callable[[PointResults], float], decimals: int
) -> Table:
    """A row per TOIO: how many points it has, their mean and range, and each point in its TC's column."""
    tcs = sorted(demand.conditions.tcs, reverse=True)
    rows = []
    for group in demand.results.by_toio():
        by_tc = {result.point.tc: value_of(result) for result in group.points}
        values = list(by_tc.values())
        summed_up = [cells.number(of(values), decimals) for of in (fmean, min, max)]
        points = [cells.number(by_tc[tc], decimals) if tc in by_tc else Cell("-") for tc in tcs]
        count = Cell(str(len(values)), float(len(values)))
        rows.append(Row(Cell(f"{group.toio:,}", float(group.toio)), (count, *summed_up, *points)))
    return Table(
        id=table_id,
        title=f"Values plotted: {unit}",
        head=Column("TOIO", width=0.5),
        columns=(
            Column("Points", width=0.6),
            *(Column(f"{name} {unit}") for name in ("Mean", "Least", "Largest")),
            *(Column(f"TC {tc}", float(tc)) for tc in tcs),
        ),
        rows=tuple(rows),
    )


def _toio_figure(name: PlotName, table: Table, axis_title: str) -> Figure:
    largest = [cell.value for row in table.rows if (cell := row.cells[_LARGEST]).value is not None]
    least = [cell.value for row in table.rows if (cell := row.cells[_LEAST]).value is not None]
    return Figure(
        id=f"{name.id}-plot",
        number=name.number,
        title=name.title,
        kind="bars",
        table_id=table.id,
        x=Axis("Total OIO", "category", (0, len(table.rows)), (), tuple(row.head.text for row in table.rows)),
        y=ticks.linear_axis(axis_title, 0, max(largest)),
        alt=f"{name.title}: {len(table.rows)} TOIO, from {cells.fixed(min(least), 0)} to "
        f"{cells.fixed(max(largest), 0)} {axis_title}.",
        series=(
            Series("Mean of the points", "column", (_MEAN,), _MEAN_COLOR, style="bars"),
            Series("Least to largest", "column", (_LEAST, _LARGEST), _RANGE_COLOR, style="range"),
        ),
        height_px=320,
    )


def _demand_axis(title: str, values: list[float]) -> Axis:
    """Queue depths or thread counts: logarithmic, every value ticked."""
    return Axis(title, "log", (min(values) / 1.15, max(values) * 1.15), tuple(sorted(values)))


def _tc_series(table: Table) -> tuple[Series, ...]:
    """A series per thread count, which has the same colour in all plots."""
    colors = {tc: color for color, tc in enumerate(sorted(column.value or 0 for column in table.columns))}
    return tuple(
        Series(column.label, "column", (n,), colors[column.value or 0], style="spline")
        for n, column in enumerate(table.columns)
    )


def _iops_cell(result: PointResults) -> Cell:
    return cells.number(result.iops, 0)


def _nothing_page(name: PlotName, lead: Verdict, *, mandatory: bool = True) -> Page:
    reason = Verdict("No Round was completed: there is nothing to plot.", "fail")
    return Page(name.id, name.title, (lead, reason), mandatory=mandatory)
