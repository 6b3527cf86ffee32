"""Pages of sustained performance: both runs beside one another, their rows, and the course of the load."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.minutes import Minute
from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, labels_axis, page, page_of, table
from openpts.pages.model import WIDTH_PX, Block, Cell, Figure, Page, Series, Table, Verdict
from openpts.procedures.kit.steps import ART, MRT, THROUGHPUT
from openpts.procedures.shared.methodology import fills_text, stimulus_words
from openpts.procedures.shared.minutes_table import list_minutes, minutes_axis, spread_columns
from openpts.record.reader import Run
from openpts.units import GB, format_duration, format_latency_ms
from openpts.vocabulary.stimulus import Stimulus
from openpts_practice.benchmark_rows.benchmark_profile import FigureUnit
from openpts_practice.benchmark_rows.tables import (
    definition_table,
    definition_verdicts,
    figure_cell,
    passes_table,
)
from openpts_practice.sustained import SustainedConditions
from openpts_practice.sustained.results import ClaimResult, ClaimSource, Pair

_FRESH_COLOR, _SUSTAINED_COLOR = 2, 3
_MEAN_COLOR, _SPREAD_COLOR = 2, 6
_HALF_PX: Final = 360
_BARS_HEIGHT_PX: Final = 260
# What has room on an axis as wide as a page.
_CHARACTERS_ACROSS: Final = 96
_SPREAD: Final = (
    Series("Lowest interval of a minute", "column", (1,), _SPREAD_COLOR, style="line"),
    Series("Highest interval of a minute", "column", (2,), _SPREAD_COLOR, style="line"),
)
_PRINTED_VALUES: Final = 200


class MeasuredLoad(Struct, frozen=True):
    """The load as measured. ``slowest`` is the minute with the slowest I/O."""

    stimulus: Stimulus | None
    minutes: tuple[Minute, ...]
    spreads: tuple[tuple[float, float] | None, ...]
    elapsed_ns: int
    written_bytes: int
    ios: int
    slowest: Minute | None
    ended_by: str


class SustainedRun(Struct, frozen=True):
    """Everything that the pages show of a run."""

    run: Run
    conditions: SustainedConditions
    pairs: tuple[Pair, ...]
    load: MeasuredLoad
    claims: tuple[ClaimResult, ...]
    claim_source: ClaimSource

    @property
    def parts(self) -> tuple["_Part", ...]:
        """What is in one plot: rows of one benchmark, unit and direction that have room for their labels."""
        groups: dict[tuple[str, FigureUnit, str], list[Pair]] = {}
        for pair in self.pairs:
            for unit in pair.row.units:
                groups.setdefault((pair.benchmark, unit, pair.row.direction), []).append(pair)
        chunks = (
            (f"{f'{benchmark}: ' if benchmark else ''}{direction} ({unit})", unit, chunk)
            for (benchmark, unit, direction), pairs in groups.items()
            for chunk in _with_room(pairs, unit)
        )
        return tuple(_Part(number, *chunk) for number, chunk in enumerate(chunks, start=1))


class _Part(Struct, frozen=True):
    """Rows that share a plot and a table; ``number`` is that of the plot."""

    number: int
    title: str
    unit: FigureUnit
    pairs: Sequence[Pair]


def _with_room(pairs: Sequence[Pair], unit: FigureUnit) -> Iterator[Sequence[Pair]]:
    most = max(1, _CHARACTERS_ACROSS // max(len(_label(pair, unit)) for pair in pairs))
    each = math.ceil(len(pairs) / math.ceil(len(pairs) / most))
    return (pairs[start : start + each] for start in range(0, len(pairs), each))


def _label(pair: Pair, unit: FigureUnit) -> str:
    ratio_pct = pair.ratio_pct(unit)
    decimals = 0 if ratio_pct is not None and ratio_pct >= 10 else 1
    text = "n/a" if ratio_pct is None else f"{cells.fixed(ratio_pct, decimals)} %"
    return f"{pair.row.name}: {text}"


# HYP-SUS-02, HYP-SUS-03
def ratio_page(measured: SustainedRun) -> Page:
    """Run #1 and run #2 side by side for each unit, the ratio below each pair."""
    name = PlotName("sustained-ratio", "", "Sustained Performance: Run #2 / Run #1")
    if not any(pair.fresh.passes for pair in measured.pairs):
        return page_of(name, absent="no figure was measured")
    tables = [_pairs_table(part) for part in measured.parts]
    figures = [_bars(part, table) for part, table in zip(measured.parts, tables, strict=True)]
    rule = Verdict(
        "Run #1 is on the purged drive, run #2 follows the load immediately; before each the test file is "
        "written in sequence. Sustained performance is run #2 in per cent of run #1; of response times it is "
        "run #1 in per cent of run #2."
    )
    return page(name, *figures, rule, _unwritten(measured), *tables)


def _unwritten(measured: SustainedRun) -> Verdict | None:
    """A warning about rows that read LBAs which were never written in run #1."""
    names = [pair.name for pair in measured.pairs if pair.row.span_bytes is None and pair.row.read_pct]
    text = "read the whole range, most of which run #1 never wrote: not figures of the flash"
    return Verdict(f"{', '.join(names)}: {text}.", "fail") if names else None


def _pairs_table(part: _Part) -> Table:
    unit = part.unit
    columns: list[Col[Pair]] = [
        Col("Run #1 (fresh)", lambda pair: figure_cell(pair.fresh.figure(unit))),
        Col("Run #2 (after the load)", lambda pair: figure_cell(pair.sustained.figure(unit))),
        Col(
            "Run #1 / run #2 (%)" if unit.is_time else "Run #2 / run #1 (%)",
            lambda pair: cells.percent_or("no figure in both runs", pair.ratio_pct(unit)),
        ),
    ]
    head: Col[Pair] = Col("Row", lambda pair: Cell(pair.row.title), align="left")
    return table(f"sustained-pairs-{part.number}", part.title, head, columns, part.pairs)


def _bars(part: _Part, shown: Table) -> Figure:
    labels = tuple(_label(pair, part.unit) for pair in part.pairs)
    is_narrow = max(map(len, labels)) * len(labels) <= _CHARACTERS_ACROSS // 2
    plot = Plot(
        part=f"bars-{part.number}",
        kind="bars",
        x=labels_axis("Sustained performance of each row", labels),
        y=lambda values: ticks.linear_axis(str(part.unit), 0, 1.08 * max(values, default=1.0)),
        series=(
            Series("Run #1 (fresh)", "column", (0,), _FRESH_COLOR, style="bars"),
            Series("Run #2 (after the load)", "column", (1,), _SUSTAINED_COLOR, style="bars"),
        ),
        alt=f"{'; '.join(labels)}.",
        height_px=_BARS_HEIGHT_PX,
        width_px=_HALF_PX if is_narrow else WIDTH_PX,
    )
    name = PlotName("sustained", f"Plot X-SUSTAINED-{part.number}", f"Sustained performance, {part.title}")
    return plot.over(name, shown)


# SOL-BMK-04, LSI-GEN-03
def definition_page(measured: SustainedRun) -> Page:
    """What exactly each row applied, and the passes of both runs."""
    name = PlotName("sustained-definition", "", "Rows of Run #1 and Run #2 - Definition and Passes")
    blocks: list[Block] = []
    for number, benchmark in enumerate(measured.conditions.benchmarks, start=1):
        rows = [pair.fresh for pair in measured.pairs if pair.benchmark in {"", benchmark.title}]
        blocks += [
            definition_table(f"{name.id}-{number}", benchmark, rows, measured.run.manifest.target),
            *definition_verdicts(benchmark),
        ]
    for run, named in (
        ("Run #1", [pair.fresh for pair in measured.pairs]),
        ("Run #2", [pair.sustained for pair in measured.pairs]),
    ):
        passes = passes_table(f"{name.id}-passes-{run[-1]}", named)
        blocks.append(replace(passes, title=f"{run}: {passes.title}"))
    return page(name, *blocks)


# HYP-SUS-04, HYP-SUS-05
def load_page(measured: SustainedRun) -> Page:
    """IOPS of the load over time, with the slowest answer of all."""
    load = measured.load
    title = f"Load: IOPS v Time - {measured.conditions.workload.title}"
    name = PlotName("sustained-load", f"Plot X-SUSTAINED-{len(measured.parts) + 1}", title)
    if not load.minutes:
        return page_of(name, absent="the load never began")
    time = minutes_axis(load.minutes)
    shown = list_minutes(
        f"{name.id}-values",
        "Values plotted: mean of each minute, at its end",
        spread_columns("no whole interval", THROUGHPUT, ART, MRT),
        list(zip(load.minutes, load.spreads, strict=True)),
        time=time,
        end_ns=lambda one: one[0].end_ns,
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
