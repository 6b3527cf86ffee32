"""Pages of sustained performance: both runs beside one another, and the course of the load."""

from dataclasses import dataclass
from typing import Final

from openpts.analysis.minutes import Minute
from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, page, table
from openpts.pages.model import Axis, Cell, Figure, Page, Series, Table, Verdict
from openpts.procedures.extended.sustained.claims import ClaimSource, NamedClaim
from openpts.procedures.extended.sustained.conditions import ShortFigure, SustainedConditions
from openpts.procedures.extended.sustained.results import Pair
from openpts.procedures.shared.methodology import fills_text, nothing_page, stimulus_words
from openpts.procedures.shared.minutes_table import elapsed_cell, elapsed_column, minutes_axis
from openpts.record.reader import Run
from openpts.units import GB, MB, format_block_size, format_duration, format_latency_ms
from openpts.vocabulary.stimulus import AccessPattern, Stimulus

_FRESH_COLOR, _SUSTAINED_COLOR = 2, 3
_MEAN_COLOR, _SPREAD_COLOR = 2, 6
_HALF_PX: Final = 360
_SPREAD: Final = (
    Series("Lowest interval of a minute", "column", (1,), _SPREAD_COLOR, style="line"),
    Series("Highest interval of a minute", "column", (2,), _SPREAD_COLOR, style="line"),
)
_PRINTED_VALUES: Final = 200


@dataclass(frozen=True, slots=True)
class Load:
    """The load as measured. ``slowest`` is the minute with the slowest I/O."""

    stimulus: Stimulus | None
    minutes: tuple[Minute, ...]
    spreads: tuple[tuple[float, float] | None, ...]
    elapsed_ns: int
    written_bytes: int
    ios: int
    slowest: Minute | None
    ended_by: str


@dataclass(frozen=True, slots=True)
class SustainedRun:
    """Everything that the pages show of a run."""

    run: Run
    conditions: SustainedConditions
    pairs: tuple[Pair, ...]
    load: Load
    claims: tuple[NamedClaim, ...]
    claim_source: ClaimSource

    def figure_name(self, figure: ShortFigure) -> str:
        """``SEQ 128 KiB W``."""
        return figure_name(figure, self.conditions)


def figure_name(figure: ShortFigure, conditions: SustainedConditions) -> str:
    """``SEQ 128 KiB W``."""
    operation = "R" if figure.read_pct else "W"
    return f"{figure.access_pattern.short} {format_block_size(figure_bytes(figure, conditions))} {operation}"


def figure_bytes(figure: ShortFigure, conditions: SustainedConditions) -> int:
    """The block size of a figure."""
    if figure.access_pattern is AccessPattern.SEQUENTIAL:
        return conditions.sequential_block_size_bytes
    return conditions.random_block_size_bytes


# HYP-SUS-02, HYP-SUS-03
def ratio_page(measured: SustainedRun) -> Page:
    """Run #1 and run #2 side by side, the ratio below each pair."""
    page_id, title = "sustained-ratio", "Sustained Performance: Run #2 / Run #1"
    if not any(pair.fresh is not None for pair in measured.pairs):
        return nothing_page(page_id, title, "no figure was measured")
    halves = [
        (number, unit, [pair for pair in measured.pairs if pair.figure.unit == unit])
        for number, unit in ((1, "MB/s"), (2, "IOPS"))
    ]
    tables = tuple(_pairs_table(measured, number, unit, pairs) for number, unit, pairs in halves)
    figures = tuple(
        _bars(measured, number, unit, pairs, table)
        for (number, unit, pairs), table in zip(halves, tables, strict=True)
    )
    rule = Verdict(
        "Run #1 is on the purged drive, run #2 follows the load immediately. Sustained performance is run #2 "
        f"in per cent of run #1. Each figure lasts {format_duration(measured.conditions.figure_ns)}, in the "
        f"first {measured.conditions.span_pct:g} % of the active range, written in sequence before."
    )
    return Page(page_id, title, (*figures, rule, *tables), mandatory=True)


def _pairs_table(measured: SustainedRun, number: int, unit: str, pairs: list[Pair]) -> Table:
    columns: list[Col[Pair]] = [
        Col("Run #1 (fresh)", lambda pair: _value(pair.fresh)),
        Col("Run #2 (after the load)", lambda pair: _value(pair.sustained)),
        Col("Run #2 / run #1 (%)", _ratio),
    ]
    head: Col[Pair] = Col("Figure", lambda pair: Cell(measured.figure_name(pair.figure)), align="left")
    return table(f"sustained-pairs-{number}", f"Short figures ({unit})", head, columns, pairs)


def _value(value: float | None) -> Cell:
    return cells.missing("not measured") if value is None else cells.number(value, 0 if value >= 100 else 1)


def _ratio(pair: Pair) -> Cell:
    return cells.missing("not measured") if pair.ratio_pct is None else cells.percent(pair.ratio_pct)


def _bars(measured: SustainedRun, number: int, unit: str, pairs: list[Pair], shown: Table) -> Figure:
    labels = tuple(
        measured.figure_name(pair.figure)
        + (": n/a" if pair.ratio_pct is None else f": {cells.fixed(pair.ratio_pct, 0)} %")
        for pair in pairs
    )
    words = "sequential" if unit == "MB/s" else "random"
    plot = Plot(
        part=f"bars-{number}",
        kind="bars",
        x=Axis("Run #2 in % of run #1", "category", (0, len(labels)), (), labels),
        y=lambda values: ticks.linear_axis(unit, 0, 1.08 * max(values, default=1.0)),
        series=(
            Series("Run #1 (fresh)", "column", (0,), _FRESH_COLOR, style="bars"),
            Series("Run #2 (after the load)", "column", (1,), _SUSTAINED_COLOR, style="bars"),
        ),
        alt=f"{'; '.join(labels)}.",
        height_px=300,
        width_px=_HALF_PX,
    )
    name = PlotName("sustained", f"Plot X-SUSTAINED-{number}", f"Sustained performance, {words}")
    return plot.over(name, shown)


# HYP-SUS-04, HYP-SUS-05
def load_page(measured: SustainedRun) -> Page:
    """IOPS of the load over time, with the slowest answer of all."""
    load = measured.load
    title = f"Load: IOPS v Time - {measured.conditions.workload.title}"
    name = PlotName("sustained-load", "Plot X-SUSTAINED-3", title)
    if not load.minutes:
        return nothing_page(name.id, name.title, "the load never began")
    time = minutes_axis(load.minutes)
    shown = table(
        f"{name.id}-values",
        "Values plotted: mean of each minute, at its end",
        Col(elapsed_column(time).label, lambda one: elapsed_cell(one[0].end_ns, time), width=0),
        _LOAD_COLUMNS,
        list(zip(load.minutes, load.spreads, strict=True)),
        printed=_PRINTED_VALUES,
    )
    style = "mean" if len(load.minutes) > 1 else "measured"
    rates = [minute.iops for minute in load.minutes]
    spread = [rate for spread in load.spreads if spread for rate in spread]
    sentence = load_sentence(measured)
    plot = Plot(
        x=time.axis,
        y=ticks.amount_axis("IOPS", [*rates, *spread]),
        series=(
            *(_SPREAD if any(load.spreads) and len(load.minutes) > 1 else ()),
            Series("Mean of a minute", "column", (0,), _MEAN_COLOR, style=style, emphasis=True),
        ),
        alt=f"minute means from {cells.fixed(max(rates), 0)} down to {cells.fixed(min(rates), 0)}. "
        f"{sentence.text}",
    )
    return page(name, plot.over(name, shown), sentence, shown)


def _interval(spread: tuple[float, float] | None, end: int) -> Cell:
    return cells.number_or("no whole interval", None if spread is None else spread[end], 1)


_LOAD_COLUMNS: Final[tuple[Col[tuple[Minute, tuple[float, float] | None]], ...]] = (
    Col("IOPS", lambda one: cells.number(one[0].iops, 1)),
    Col("Lowest interval (IOPS)", lambda one: _interval(one[1], 0)),
    Col("Highest interval (IOPS)", lambda one: _interval(one[1], 1)),
    Col("MB/s", lambda one: cells.number(one[0].bandwidth_bytes_per_s / MB, 1)),
    Col("ART (ms)", lambda one: cells.latency(one[0].mean_latency_ns)),
    Col("MRT (ms)", lambda one: cells.latency(one[0].max_latency_ns)),
)


def load_sentence(measured: SustainedRun) -> Verdict:
    """What was applied, how long, how much was written, and the slowest answer."""
    load = measured.load
    if load.stimulus is None or load.slowest is None or load.slowest.max_latency_ns is None:
        return Verdict("Load: n/a (it never began).", "fail")
    end = f"ended by: {load.ended_by}" if load.ended_by else "not completed"
    return Verdict(
        f"Load ({stimulus_words(load.stimulus)}): {format_duration(load.elapsed_ns)}, "
        f"{cells.fixed(load.written_bytes / GB, 1)} GB written = "
        f"{fills_text(measured.run, load.written_bytes)}; "
        f"{end}. Maximum response time of its {load.ios:,} I/Os: "
        f"{format_latency_ms(load.slowest.max_latency_ns)} ms, in minute {load.slowest.number}.",
        "info" if load.ended_by else "fail",
    )
