"""The report of response times under load, with the map of read rate by write rate."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, Final

from msgspec.structs import replace

from openpts.procedures.kit.content import OVER_IOPS, Curve, ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import ART, IOPS, MRT
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, format_block_size, format_duration, format_latency_ms, in_ms
from openpts.vocabulary.sample import Sample
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, grid, heat_map, page, table
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Column, Page, PlotRule, Series, Table, Verdict
from openpts_practice.qos import Limit, Operation, QosConditions, mix_text
from openpts_practice.qos.points import Point
from openpts_practice.qos.results import Mix, QosRun, Search, contour, qos_run
from openpts_pts.shared.preparation_page import methodology, nothing_page, state_page
from openpts_pts.shared.tracking.pages import tracking_rounds_page, tracking_sentence

PERCENTILES: Final = (50.0, 99.0, 99.9, 99.99)

DONE_NOTE: Final = (
    "Done: per cent of the I/Os offered that were done, of reads or writes whichever is less. Percentiles of "
    "a load that is not carried are those of the I/Os that were done; they grow with the time measured."
)


def percentiles_of(conditions: QosConditions) -> tuple[float, ...]:
    """The percentiles that are always shown, and those of the limits."""
    return tuple(sorted({*PERCENTILES, *(limit.percentile for limit in conditions.limits)}))


def percentile_text(percentile: float) -> str:
    """``p99.9``."""
    return f"p{percentile:.12g}"


def percentile_columns(operations: Sequence[Operation], percentiles: Sequence[float]) -> list[Col[Point]]:
    """A column for each percentile of reads, then of writes."""
    return [
        Col(
            f"{operation.plural.capitalize()} {percentile_text(percentile)}",
            partial(percentile_cell, operation=operation, percentile=percentile),
        )
        for operation in operations
        for percentile in percentiles
    ]


def percentile_cell(point: Point, operation: Operation, percentile: float) -> Cell:
    """A percentile in ms, or why there is none."""
    value_ns = point.percentile_ns(operation, percentile)
    if value_ns is None:
        return cells.missing("too few I/Os" if point.distribution(operation).count else "no I/O")
    return cells.latency(value_ns)


def done_cell(point: Point, late_pct: float) -> Cell:
    """Per cent of the I/Os offered that were done."""
    return cells.number(
        point.done_pct,
        1,
        note="limited by the host" if point.is_limited_by_host else "",
        tone="" if point.is_carried(late_pct) else "fail",
    )


_HEAT_PX: Final = 420


def map_pages(measured: QosRun, numbers: Iterator[int]) -> tuple[Page, ...]:
    """A heat map for each percentile that a limit is of, and all pairs in the order of their measurement."""
    if not measured.pairs:
        return (nothing_page("qos-map", "Map of Read Rate by Write Rate", "no pair was measured"),)
    by_figure: dict[str, list[Limit]] = {}
    for limit in measured.conditions.limits:
        by_figure.setdefault(limit.figure, []).append(limit)
    done = _map_table(
        measured,
        "qos-map-done",
        "I/Os done (%)",
        lambda point: done_cell(point, measured.conditions.late_pct),
    )
    heat = [_heat_page(measured, limits, done, next(numbers)) for limits in by_figure.values()]
    return (*heat, _pairs_page(measured, done))


def _heat_page(measured: QosRun, limits: Sequence[Limit], done: Table, number: int) -> Page:
    operation, percentile = limits[0].operation, limits[0].percentile
    name = PlotName(
        f"qos-map-{operation}-p{percentile:g}".replace(".", "-"),
        f"Plot X-QOS-{number}",
        f"Map of Read Rate by Write Rate: {limits[0].figure} (ms)",
    )
    shown = _map_table(
        measured,
        f"{name.id}-table",
        f"{limits[0].figure} (ms)",
        lambda point: percentile_cell(point, operation, percentile),
    )
    lines = _contour_table(measured, f"{name.id}-contour", limits)
    verdicts = _contour_verdicts(measured, limits)
    figure = heat_map(
        replace(name, id=f"{name.id}-plot"),
        shown,
        done.id,
        (_peak_axis(measured, Operation.WRITE), _peak_axis(measured, Operation.READ)),
        " ".join((f"{len(measured.pairs)} pairs of rates.", *(verdict.text for verdict in verdicts))),
        contour_id=lines.id if lines.rows else "",
        height_px=_HEAT_PX,
    )
    words = Verdict(
        "Each cell: the percentile in ms, and below it the per cent of the I/Os offered that were done. A "
        "response time counts from the moment for which the I/O was planned."
    )
    return page(name, figure, words, *verdicts, lines if lines.rows else None, shown)


def _peak_axis(measured: QosRun, operation: Operation) -> str:
    peak = measured.peaks.get(100 if operation is Operation.READ else 0)
    of = "" if peak is None else f" of {peak.iops:,.0f} IOPS"
    return f"{operation.plural.capitalize()} offered (%{of})"


def _map_table(measured: QosRun, table_id: str, title: str, cell: Callable[[Point], Cell]) -> Table:
    """Read rates from the highest down, write rates from the least on, as on a map."""
    loads = sorted(measured.conditions.loads_pct)

    def of(reads_pct: float, writes_pct: float) -> Cell:
        point = measured.pairs.get((reads_pct, writes_pct))
        return cells.missing("not measured") if point is None else cell(point)

    return grid(
        table_id,
        title,
        Col("Reads (% of the peak)", lambda pct: Cell(f"{pct:g} %", pct), width=0.8),
        [(Column(f"{pct:g} %", pct), pct) for pct in loads],
        loads[::-1],
        cell=of,
        group="Writes (% of the peak)",
    )


def _contour_values(measured: QosRun, limit: Limit) -> list[list[float | None]]:
    """The limit's percentile by read rate and write rate, ns; infinity where the drive carries less."""
    loads = sorted(measured.conditions.loads_pct)

    def of(point: Point | None) -> float | None:
        if point is None:
            return None
        if not point.is_carried(measured.conditions.late_pct):
            return math.inf
        return point.percentile_ns(limit.operation, limit.percentile)

    return [[of(measured.pairs.get((reads, writes))) for writes in loads] for reads in loads]


def _contour_table(measured: QosRun, table_id: str, limits: Sequence[Limit]) -> Table:
    """The points of each contour: where it crosses a rate of the map."""
    loads = sorted(measured.conditions.loads_pct)
    peaks = [measured.peaks[mix].iops if mix in measured.peaks else None for mix in (0, 100)]
    points = [
        (limit, line, _between(loads, column), _between(loads, row))
        for limit in limits
        for line, places in enumerate(contour(_contour_values(measured, limit), limit.latency_ns), start=1)
        for column, row in places
    ]

    def rate(at: int) -> Col[tuple[Limit, int, float, float]]:
        label, peak = ("Writes", "Reads")[at], peaks[at]
        return Col(
            f"{label} (IOPS)",
            lambda one: cells.number_or("no peak", None if peak is None else one[2:][at] / 100 * peak, 1),
        )

    columns: list[Col[tuple[Limit, int, float, float]]] = [
        Col("Line", lambda one: cells.count(one[1])),
        Col("Writes (% of the peak)", lambda one: cells.number(one[2], 1)),
        Col("Reads (% of the peak)", lambda one: cells.number(one[3], 1)),
        rate(0),
        rate(1),
    ]
    head: Col[tuple[Limit, int, float, float]] = Col(
        "Limit", lambda one: Cell(f"{format_latency_ms(one[0].latency_ns)} ms"), width=0.6
    )
    return table(table_id, "Contours, interpolated between neighboring pairs", head, columns, points)


def _between(loads: Sequence[float], place: float) -> float:
    """The load at a place among those of the map: 0.5 is halfway between the first two."""
    at = min(int(place), len(loads) - 2)
    return loads[at] + (place - at) * (loads[at + 1] - loads[at])


def _contour_verdicts(measured: QosRun, limits: Sequence[Limit]) -> list[Verdict]:
    """How many pairs keep each limit."""
    found = []
    for limit in limits:
        states = [point.keeps(limit, measured.conditions.late_pct) for point in measured.pairs.values()]
        unknown = f", {states.count(None)} not judged (too few I/Os)" if None in states else ""
        hosts = sum(point.is_limited_by_host for point in measured.pairs.values())
        host = f"; the host limited {hosts}, whose response times are not the drive's alone" if hosts else ""
        refused = sum(not point.is_carried(measured.conditions.late_pct) for point in measured.pairs.values())
        found.append(
            Verdict(
                f"{limit}: kept at {states.count(True)} of {len(states)} pairs{unknown}; the drive does not "
                f"carry {refused}{host}.",
                "fail" if hosts else "info",
            )
        )
    return found


def _pairs_page(measured: QosRun, done: Table) -> Page:
    """All pairs, from the first that was measured on."""
    rates = {point: pair for pair, point in measured.pairs.items()}
    columns: list[Col[Point]] = [
        Col("Reads (%)", lambda point: cells.number(rates[point][0], 0)),
        Col("Writes (%)", lambda point: cells.number(rates[point][1], 0)),
        *percentile_columns(list(Operation), percentiles_of(measured.conditions)),
    ]
    numbers = {point: number for number, point in enumerate(measured.pairs.values(), start=1)}
    shown = table(
        "qos-pairs-table",
        "Response times of each pair (ms), in the order of measurement",
        Col("No.", lambda point: cells.count(numbers[point]), width=0),
        columns,
        measured.pairs.values(),
        note=DONE_NOTE,
    )
    order = Verdict(
        "Pairs were measured in an order drawn from the seed, each after "
        f"{measured.conditions.settle_ns / 1e9:g} s at its rates that do not count: a drift of the drive is "
        "spread over the map, not mistaken for an effect of the load."
    )
    return Page("qos-pairs", "Pairs of the Map", (order, done, shown), mandatory=True)


_TITLE: Final = "Response Times under Load"
_SUBJECT: Final = "Preparation"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    measured = qos_run(run)
    return ReportContent(
        verdicts=(tracking_sentence(measured.preparation, _SUBJECT), *_search_verdicts(measured)),
        measures=_measures(measured),
        sections=methodology(run, _TITLE, _test_rows(measured), lambda: _pages(measured)),
        figures=lambda: _figures(measured),
        curves=lambda: tuple(_curves(measured)),
    )


def _pages(measured: QosRun) -> tuple[Page, ...]:
    numbers = count(1)
    name = PlotName("qos-writes", f"Plot X-QOS-{next(numbers)}", "Preparation: Random Writes until Steady")
    return (
        state_page(measured.run, "Purge and Pre-conditioning"),
        tracking_rounds_page(measured.preparation, name, subject=_SUBJECT),
        _highest_page(measured),
        *(_curve_page(measured, mix, numbers) for mix in measured.mixes),
        *map_pages(measured, numbers),
    )


def _measures(measured: QosRun) -> tuple[Measured, ...]:
    steady = "reached" if measured.preparation.results.steady else "not reached"
    peaks = (
        _PEAK.of(measured.peaks.get(mix), Subject(name, key, steady=steady))
        for mix, name, key in ((100, "reads", "reads"), (0, "writes", "writes"))
    )
    searches = (_HIGHEST.of(search, Subject(search.name, steady=steady)) for search in measured.searches)
    return (*searches, *peaks)


def _highest(search: Search) -> Cell:
    kept, broken = search.bracket.kept, search.bracket.broken
    if kept is None or broken is None:
        return cells.missing(search.absence)
    return cells.number(kept.ios_per_s, 1, note=f"broken at {broken.ios_per_s:,.1f} IOPS")


_HIGHEST: Final = Measure[Search](
    "highest_load", "Highest load, {name}", "IOPS", _highest, words="the most that keeps it"
)
_PEAK: Final = Measure[Sample](
    "peak", "Peak of {name}", "IOPS", lambda sample: sample.iops, decimals=1, words="without a limit"
)


def _curves(measured: QosRun) -> Iterator[Curve]:
    """Each percentile of reads and writes over the load of each mix."""
    for mix in measured.mixes:
        for operation in Operation:
            for percentile in PERCENTILES:
                found = [
                    (point.ios_per_s, value_ns / NS_PER_MS)
                    for point in mix.points
                    if (value_ns := point.percentile_ns(operation, percentile)) is not None
                ]
                if found:
                    figure = f"p{percentile:g} of {operation.plural}"
                    yield Curve(
                        f"{mix} {figure}",
                        f"R/W {mix}: {figure} v Load",
                        "Response time (ms) at the load offered",
                        OVER_IOPS,
                        partial(ticks.log_axis, "Response time (ms)"),
                        tuple(found),
                        lambda value_ms: cells.latency(value_ms * NS_PER_MS),
                    )


def _test_rows(measured: QosRun) -> Rows:
    conditions = measured.conditions
    size, loads = format_block_size(conditions.block_size_bytes), conditions.loads_pct
    arrivals = {"poisson": "Poisson", "fixed": "fixed rate"}[conditions.arrivals]
    return stimulus_rows(
        measured.run,
        ("Test Stimulus 1", f"RND {size} R, RND {size} W"),
        ("TOIO - TC/QD", f"{demand_text(conditions.tc, conditions.qd)} each"),
        ("Arrivals", arrivals),
        ("Loads", f"{min(loads):g} to {max(loads):g} % of the peaks"),
        ("Duration", f"{format_duration(conditions.minute_ns)} each"),
        ("Mixes (R/W %)", ", ".join(map(mix_text, conditions.mixes_read_pct))),
        ("Limits", f"{len(conditions.limits)}, see pages"),
        ("Steady State", "reached" if measured.preparation.results.steady else "not reached"),
    )


def _figures(measured: QosRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    conditions = measured.conditions
    return {
        "peaks_iops": {mix_text(mix): sample.iops for mix, sample in measured.peaks.items()},
        "highest_loads": [
            {
                "read_pct": search.mix.read_pct,
                "limit": str(search.limit),
                "kept_iops": _load(search.bracket.kept),
                "broken_iops": _load(search.bracket.broken),
                "reached": search.bracket.is_reached,
                "absence": search.absence or None,
                "doubt": search.doubt(conditions) or None,
            }
            for search in measured.searches
        ],
        "loads": [
            {"read_pct": mix.read_pct, **_of_point(point, conditions)}
            for mix in measured.mixes
            for point in mix.points
        ],
        "map": [
            {"reads_pct": reads_pct, "writes_pct": writes_pct, **_of_point(point, conditions)}
            for (reads_pct, writes_pct), point in measured.pairs.items()
        ],
    }


def _load(point: Point | None) -> float | None:
    return None if point is None else point.ios_per_s


def _of_point(point: Point, conditions: QosConditions) -> dict[str, Any]:
    return {
        "reads_per_s": point.reads_per_s,
        "writes_per_s": point.writes_per_s,
        "done_pct": point.done_pct,
        "carried": point.is_carried(conditions.late_pct),
        "limited_by_host": point.is_limited_by_host,
        **{
            f"{operation}_p{percentile:g}_ms": in_ms(point.percentile_ns(operation, percentile))
            for operation in Operation
            for percentile in PERCENTILES
        },
    }


_CURVE_PX: Final = 300
# A limit farther above the slowest value would leave the curve no room.
_FARTHEST_LIMIT: Final = 10
# p50 to p99.99 and further, from calm to alarming
_COLORS: Final = (2, 4, 1, 3, 6, 5)


def _highest_page(measured: QosRun) -> Page:
    """The highest load of each mix that keeps each limit, with the load above it that does not."""
    conditions = measured.conditions
    columns: list[Col[Search]] = [
        Col("Highest load that keeps it (IOPS)", _highest_cell),
        Col("% of the peak", _share_of_peak),
        Col("Percentile there (ms)", lambda one: _at(one, one.bracket.kept)),
        Col("Next load, breaks it (IOPS)", _broken),
        Col("Percentile there (ms)", lambda one: _at(one, one.bracket.broken)),
        Col("Measured (times)", _times),
    ]
    shown = table(
        "qos-highest-table",
        "Highest load that keeps a limit",
        Col("Mix (R/W %), limit", lambda one: Cell(one.name), align="left", width=2.2),
        columns,
        measured.searches,
        note="Percentile: of all measurements of the load together, below it the lowest and the highest of a "
        "single one.",
    )
    rule = Verdict(
        f"A load keeps a limit if the drive carries it, with no more than {conditions.late_pct:g} % of its "
        "I/Os not done, and the percentile is at or below the limit. A percentile takes so many I/Os that "
        "ten are slower. The true highest load lies between both columns of IOPS, which are "
        f"{conditions.width_pct:g} % apart at the most where the search came to its end; both ends are "
        f"measured {conditions.repeats} times."
    )
    return Page(
        "qos-highest",
        "Highest Load That Keeps a Limit",
        (*_search_verdicts(measured), rule, shown, _peaks_table(measured)),
        mandatory=True,
    )


def _search_verdicts(measured: QosRun) -> Iterator[Verdict]:
    """What was found of each mix and limit, in a sentence."""
    for search in measured.searches:
        kept, broken = search.bracket.kept, search.bracket.broken
        if kept is None or broken is None:
            yield Verdict(f"{search.name}: {search.absence}.", "info" if search.is_judged else "fail")
            continue
        share_pct = search.mix.share_pct(kept.ios_per_s)
        share = "" if share_pct is None else f" ({share_pct:.1f} % of the peak)"
        doubt = search.doubt(measured.conditions)
        yield Verdict(
            f"{search.name}: kept up to {kept.ios_per_s:,.1f} IOPS{share}, broken at {broken.ios_per_s:,.1f} "
            f"IOPS{f'; {doubt}' if doubt else ''}.",
            "fail" if doubt else "info",
        )


def _highest_cell(search: Search) -> Cell:
    kept = search.bracket.kept
    if kept is None or not search.bracket.is_reached:
        return cells.missing(search.absence)
    return cells.number(kept.ios_per_s, 1)


def _share_of_peak(search: Search) -> Cell:
    kept = search.bracket.kept
    share_pct = None if kept is None else search.mix.share_pct(kept.ios_per_s)
    return cells.number_or("no load keeps it" if kept is None else "no peak", share_pct, 1)


def _broken(search: Search) -> Cell:
    broken = search.bracket.broken
    if broken is None:
        return cells.none()
    return cells.number(broken.ios_per_s, 1) if search.is_judged else cells.missing("too few I/Os")


def _at(search: Search, point: Point | None) -> Cell:
    if point is None:
        return cells.none()
    value_ns, each = search.at(point), search.range_at(point)
    if value_ns is None:
        return cells.missing("too few I/Os")
    low, high = map(format_latency_ms, each or (value_ns, value_ns))
    return cells.latency(value_ns, note=f"{low} to {high}" if each else "")


def _times(search: Search) -> Cell:
    ends = (search.bracket.kept, search.bracket.broken)
    return Cell(" and ".join(str(len(end.samples)) for end in ends if end is not None) or "-")


def _peaks_table(measured: QosRun) -> Table:
    peaks, conditions = measured.peaks, measured.conditions
    columns = [metric.column(peaks.__getitem__) for metric in (IOPS, ART, MRT)]
    return table(
        "qos-peaks",
        f"Peaks: closed loop, TC {conditions.tc} / QD {conditions.qd}",
        Col("Mix (R/W %)", lambda mix: Cell(mix_text(mix)), align="left"),
        columns,
        peaks,
        note="The loads of the test are shares of these.",
    )


def _curve_page(measured: QosRun, mix: Mix, numbers: Iterator[int]) -> Page:
    """Percentiles over the load of a mix: flat at first, then steep."""
    page_id, title = f"qos-curve-{mix.read_pct}", f"Response Times v Load: R/W {mix}"
    if not mix.points:
        return nothing_page(page_id, title, "no load was measured")
    operations = [Operation.READ] * bool(mix.read_pct) + [Operation.WRITE] * bool(100 - mix.read_pct)
    percentiles = percentiles_of(measured.conditions)
    columns: list[Col[Point]] = [
        Col("% of the peak", lambda one: cells.number_or("no peak", mix.share_pct(one.ios_per_s), 1)),
        Col("Times", lambda one: Cell(str(len(one.samples)))),
        Col("Done (%)", lambda one: done_cell(one, measured.conditions.late_pct)),
        *percentile_columns(operations, percentiles),
    ]
    shown = table(
        f"{page_id}-table",
        "Percentiles of response times (ms)",
        Col("Load (IOPS)", lambda one: cells.number(one.ios_per_s, 1), width=0),
        columns,
        mix.points,
        note=DONE_NOTE,
    )
    figures = [
        _curve(measured, mix, operation, 3 + at * len(percentiles)).over(
            PlotName(page_id, f"Plot X-QOS-{next(numbers)}", f"{title}, {operation.plural}"), shown
        )
        for at, operation in enumerate(operations)
    ]
    return Page(page_id, title, (*figures, shown), mandatory=True)


def _curve(measured: QosRun, mix: Mix, operation: Operation, first: int) -> Plot:
    percentiles = percentiles_of(measured.conditions)
    slowest_ns = max(
        (one.percentile_ns(operation, percentile) or 0 for one in mix.points for percentile in percentiles),
        default=0,
    )
    limits = [
        limit
        for limit in measured.conditions.limits_of(mix.read_pct)
        if limit.operation is operation and limit.latency_ns <= _FARTHEST_LIMIT * slowest_ns
    ]
    refused = [one.ios_per_s for one in mix.points if not one.is_carried(measured.conditions.late_pct)]
    rules = [PlotRule(_rule_text(limit), limit.latency_ns / NS_PER_MS, "limit") for limit in limits]
    if refused:
        rules.append(PlotRule("not carried from here", min(refused), "average", axis="x"))
    limits_ms = [limit.latency_ns / NS_PER_MS for limit in limits]
    return Plot(
        part=operation,
        x=ticks.linear_axis("Load offered (IOPS)", 0, mix.points[-1].ios_per_s),
        y=lambda values: ticks.log_axis("Response time (ms)", [*values, *limits_ms]),
        series=tuple(
            Series(percentile_text(percentile), "column", (first + at,), _COLORS[at % len(_COLORS)])
            for at, percentile in enumerate(percentiles)
        ),
        alt="{rows} loads, from {low} to {high} ms.",
        decimals=None,
        rules=tuple(rules),
        height_px=_CURVE_PX,
    )


def _rule_text(limit: Limit) -> str:
    return f"{percentile_text(limit.percentile)} limit {format_latency_ms(limit.latency_ns)}"
