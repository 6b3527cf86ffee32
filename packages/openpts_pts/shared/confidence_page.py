"""Response time histograms and confidence level plots, RT CLP (PTS 9.3.6.2, 10.3.4; CBW and DIRTH: bars)."""

import math
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.latency import ResponseTimes, enough_for, ios_needed, nines_percentile, nines_supported
from openpts.units import NS_PER_MS, format_duration, format_latency_ms, in_ms
from openpts_pages import cells, ticks
from openpts_pages.kit import Plot, PlotName, page, rows_table
from openpts_pages.model import Axis, Cell, Column, Figure, Page, PlotRule, Row, Series, Table, Verdict

SURE_COUNT_FACTOR: Final = 1.5
USUAL_NINES: Final = (3, 4, 5)
_REQUIRED_NINES: Final = 5
_BAR_COLOR, _LEVEL_COLOR = 6, 3


class Applied(Struct, frozen=True):
    """The stimulus of the response times: ``RND 4 KiB RW0``, ``TC 1 / QD 1``; ``nines`` that were requested,
    if any.
    """

    workload: str
    demand: str
    nines: int | None = None


def confidence_page(times: ResponseTimes | None, applied: Applied, name: PlotName) -> Page:
    """Bars of I/O counts over response time with the confidence levels, and the response times by name."""
    if times is None or not times.recorded_ios:
        reason = "it never began" if times is None else "no I/O was completed"
        sentence = Verdict(f"Response time histogram of {applied.workload}: n/a ({reason}).", "fail")
        return page(name, sentence)
    shown = histogram_table(f"{name.id}-values", times, levels=True)
    return page(
        name,
        histogram_figure(times, name, shown, levels=True),
        Verdict(summary_sentence(times, applied)),
        *_nines_verdict(times, applied),
        levels_table(f"{name.id}-levels", times, applied),
        shown,
    )


def histogram_figure(times: ResponseTimes, name: PlotName, table: Table, *, levels: bool = False) -> Figure:
    """Bars of ``table``, which ``histogram_table`` made with the same ``levels``, to the MRT at least.

    With ``levels`` their cumulated share is drawn on a nines axis. ART, the nines that the I/Os suffice for,
    and MRT are lines across.
    """
    bars = Series("I/Os", "column", (0,), _BAR_COLOR, style="bars")
    level = Series("Confidence level", "column", (1,), _LEVEL_COLOR, style="line", second_axis=True)
    # to one nine more than the I/Os suffice for
    shares = ticks.nines_axis("Confidence level (%)", nines_supported(times.recorded_ios) + 1)
    rules = response_time_rules(times)
    plot = Plot(
        x=_time_axis(times),
        y=ticks.count_axis("I/O count", max(found.ios for found in times.bins)),
        y2=shares if levels else None,
        series=(bars, level) if levels else (bars,),
        alt=f"{'; '.join(f'{rule.label} ms' for rule in rules)}. "
        f"{len(times.bins)} bins, {times.recorded_ios:,} I/Os.",
        rules=rules,
    )
    return plot.over(name, table)


def response_time_rules(times: ResponseTimes) -> tuple[PlotRule, ...]:
    """ART, 3 to 5 nines as far as the I/Os suffice, and MRT as lines at their response time."""
    named: list[tuple[str, float | None, str]] = [("ART", times.mean_latency_ns, "average")]
    named += [(f"{n} 9s", times.percentile_ns(nines_percentile(n)), "limit") for n in USUAL_NINES]
    named.append(("MRT", times.max_latency_ns, "limit"))
    return tuple(
        PlotRule(f"{label} {format_latency_ms(value_ns)}", value_ns / NS_PER_MS, style, axis="x")
        for label, value_ns, style in named
        if value_ns is not None
    )


def histogram_table(table_id: str, times: ResponseTimes, *, levels: bool = False) -> Table:
    """Counts from each bin's edge to the next and, with ``levels``, the share of I/Os up to that edge.

    Edges are 20 to a decade. A bin without an I/O has no bar; 100 % lies on no nines scale.
    """
    edges = [times.bins[0].low_ns, *(found.high_ns for found in times.bins)] if times.bins else []
    counts = [*(found.ios for found in times.bins), None]
    reached = [0.0, *(found.level_pct for found in times.bins)]
    count_column = Column("I/Os up to the next edge")
    return rows_table(
        table_id,
        "Values plotted: I/Os by response time",
        (
            "Response time above (ms)",
            *((count_column, Column("I/Os up to here (%)")) if levels else (count_column,)),
        ),
        (
            (
                Cell(format_latency_ms(edge_ns), edge_ns / NS_PER_MS),
                *((_count(ios), _level(level_pct)) if levels else (_count(ios),)),
            )
            for edge_ns, ios, level_pct in zip(edges, counts, reached, strict=False)
        ),
        note=_counted(times),
        printed=False,
    )


def levels_table(table_id: str, times: ResponseTimes, applied: Applied) -> Table:
    """ART, nines and MRT with the confidence level of each (PTS 9.3.6.2)."""
    return rows_table(
        table_id,
        "Response times and their confidence levels",
        "Item:<1.4 | Response time (ms) | Confidence level (%)",
        (
            ("Average (ART)", *_average_cells(times)),
            *(_nines_row(times, nines) for nines in _nines_shown(times, applied)),
            ("Maximum (MRT)", cells.latency(times.max_latency_ns), Cell("100", 100)),
        ),
        note="Confidence level: share of the I/Os at or below the response time. N nines need 10^N I/Os; 1.5 "
        "times that is recommended (9.2 step 3.3.3). " + _counted(times),
    )


def summary_sentence(times: ResponseTimes, applied: Applied) -> str:
    """Workload, demand, length, IOPS and N: the text box of the plot."""
    return (
        f"{applied.workload} at {applied.demand} for {format_duration(times.elapsed_ns)}: "
        f"{cells.fixed(times.iops, 1)} IOPS, N = {times.ios:,} I/Os."
    )


def percentile_cell(times: ResponseTimes, nines: int, *, required: bool = False) -> Cell:
    """The response time of so many nines; with too few I/Os n/a, or where ``required`` the maximum."""
    percentile, ios = nines_percentile(nines), times.recorded_ios
    value_ns = times.percentile_ns(percentile)
    if value_ns is not None:
        sure = ios >= SURE_COUNT_FACTOR * ios_needed(percentile)
        return cells.latency(value_ns, note="" if sure else f"low n, N = {ios:,}")
    if required and ios and times.max_latency_ns is not None:
        return cells.latency(times.max_latency_ns, note=f"= MRT, N = {ios:,}")
    return cells.too_few(ios)


def _average_cells(times: ResponseTimes) -> tuple[Cell, Cell]:
    if times.mean_latency_ns is None:
        return cells.missing("no I/O"), cells.missing("no I/O")
    level_pct = times.level_pct(times.mean_latency_ns)
    return cells.latency(times.mean_latency_ns), cells.missing("no I/O") if level_pct is None else _level(
        level_pct
    )


def _nines_row(times: ResponseTimes, nines: int) -> Row:
    percentile = nines_percentile(nines)
    known = times.percentile_ns(percentile) is not None
    return Row(
        Cell(f"{nines} nines"),
        (
            percentile_cell(times, nines, required=nines == _REQUIRED_NINES),
            Cell(_nines_text(percentile), percentile) if known else cells.missing("too few I/Os"),
        ),
    )


def _nines_shown(times: ResponseTimes, applied: Applied) -> Sequence[int]:
    most = max(*USUAL_NINES, applied.nines or 0, nines_supported(times.recorded_ios))
    return range(min(*USUAL_NINES, applied.nines or USUAL_NINES[0]), most + 1)


def _nines_verdict(times: ResponseTimes, applied: Applied) -> tuple[Verdict, ...]:
    """Whether the I/Os suffice for the nines asked for."""
    if applied.nines is None:
        return ()
    needed, ios = 10**applied.nines, times.recorded_ios
    enough = enough_for(ios, applied.nines)
    sentence = f"{applied.nines} nines need {needed:,} I/Os: N = {ios:,}"
    return (Verdict(f"{sentence}." if enough else f"{sentence} is too few.", "pass" if enough else "fail"),)


def _counted(times: ResponseTimes) -> str:
    if times.recorded_ios == times.ios:
        return ""
    return (
        f"Shares and nines are of the {times.recorded_ios:,} simulated I/Os, which represent {times.ios:,} "
        "at this scale."
    )


def _count(ios: int | None) -> Cell:
    if ios is None:
        return Cell("-")
    return Cell(f"{ios:,}", float(ios) if ios else None)


def _level(level_pct: float) -> Cell:
    """A share with as many nines as it has, and two digits more."""
    if level_pct >= 100:
        return Cell("100")
    digits = max(2, math.ceil(-math.log10(1 - level_pct / 100)))
    return Cell(cells.fixed(level_pct, digits), level_pct)


def _nines_text(percentile: float) -> str:
    return f"{percentile:.10f}".rstrip("0").rstrip(".")


def _time_axis(times: ResponseTimes) -> Axis:
    low, high = times.bins[0].low_ns / NS_PER_MS, times.bins[-1].high_ns / NS_PER_MS
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if math.log10(high / low) < 2 else (1,)
    places = [factor * 10.0**exponent for exponent in range(first, last + 1) for factor in factors]
    return Axis("Response time (ms)", "log", (low, high), tuple(t for t in places if low <= t <= high))


def times_figures(times: ResponseTimes | None, nines: int | None) -> dict[str, Any] | None:
    """Response times of a histogram, JSON-ready; a percentile that the I/Os don't suffice for is None."""
    if times is None:
        return None
    percentiles = {
        f"p{nines_percentile(n):.10f}".rstrip("0").replace(".", "_") + "_ms": in_ms(
            times.percentile_ns(nines_percentile(n))
        )
        for n in sorted({3, 4, 5, nines or 5})
    }
    return {
        "ios": times.ios,
        "recorded_ios": times.recorded_ios,
        "elapsed_s": times.elapsed_ns / 1e9,
        "iops": times.iops,
        "art_ms": in_ms(times.mean_latency_ns),
        **percentiles,
        "mrt_ms": in_ms(times.max_latency_ns),
    }
