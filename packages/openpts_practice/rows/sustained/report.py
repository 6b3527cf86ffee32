"""The report of sustained performance: both runs beside one another, their rows, the course of the load.

Implements: HYP-SUS-01 to 05, SOL-BMK-04, LSI-GEN-03.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.minutes import Minute, minutes_of, pieces_of
from openpts.procedures.kit.content import Curve, ReportContent, iops_curve, repeat_figures
from openpts.procedures.kit.header import Rows, demand_text, of_cycle, stimulus_rows
from openpts.procedures.kit.steps import ART, MRT, THROUGHPUT
from openpts.record.reader import Run
from openpts.units import GB, NS_PER_S, format_duration, format_latency_ms
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, labels_axis, page, page_of, table
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import WIDTH_PX, Block, Cell, Figure, Page, Series, Table, Verdict
from openpts_practice.rows import FigureUnit
from openpts_practice.rows.steps import RowFigure
from openpts_practice.rows.sustained import DATA_SHEET_FIGURES, DataSheetClaim, SustainedConditions
from openpts_practice.rows.sustained.results import (
    ClaimResult,
    ClaimSource,
    Pair,
    claim_result,
    claims_page,
    claims_verdict,
)
from openpts_practice.rows.tables import (
    definition_blocks,
    figure_cell,
    measured_rows,
    passes_table,
    row_measure,
    spread_verdicts,
    value_text,
)
from openpts_pts.shared.minutes_table import list_minutes, minutes_axis, spread_columns
from openpts_pts.shared.preparation_page import fills_text, methodology, state_page, stimulus_text
from openpts_pts.shared.saturation import spread_of

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
_MOST_ON_COVER: Final = 16


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


class SustainedReport(Struct, frozen=True):
    """What a run measured, a method for each page."""

    run: Run
    conditions: SustainedConditions
    pairs: tuple[Pair, ...]
    load: MeasuredLoad
    claims: tuple[ClaimResult, ...]
    claim_source: ClaimSource

    @classmethod
    def of(cls, run: Run) -> "SustainedReport":
        """Load, idle recovery and claims, as far as they were measured."""
        conditions = run.conditions(SustainedConditions)
        samples = [step.sample for step in run.phase(Phase.LOAD)]
        finished = of_cycle(run.manifest.cycles, 1)
        pieces, minutes = pieces_of(samples), minutes_of(samples, conditions.minute_ns)
        load = MeasuredLoad(
            stimulus=samples[0].step.stimulus if samples else None,
            minutes=minutes,
            spreads=spread_of(minutes, pieces),
            elapsed_ns=pieces[-1].end_ns if pieces else 0,
            written_bytes=sum(sample.write.bytes for sample in samples),
            ios=sum(sample.ios for sample in samples),
            slowest=max(minutes, key=lambda minute: minute.max_latency_ns or 0, default=None),
            ended_by=finished.outcome.ended_by if finished else "",
        )
        fresh, sustained = (measured_rows(run, conditions, before) for before in (0, len(conditions.rows)))
        several = len(conditions.benchmarks) > 1
        pairs = tuple(
            Pair(benchmark.title if several else "", *both)
            for (benchmark, _), *both in zip(conditions.rows, fresh, sustained, strict=True)
        )
        claims, source = claims_of(conditions, run.manifest.dut)
        return cls(
            run=run,
            conditions=conditions,
            pairs=pairs,
            load=load,
            claims=tuple(claim_result(claim, pairs, pieces, load.stimulus) for claim in claims),
            claim_source=source,
        )

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

    def pages(self) -> Iterator[Page]:
        """Rows of run #1 and run #2, the load, the claims, what was done before."""
        yield self.ratio()
        yield self.definition()
        yield self.load_course()
        title, purpose = self.conditions.workload.title, self.run.manifest.purpose
        yield claims_page(self.claims, self.claim_source, title, purpose)
        yield state_page(self.run, "Purge and Test Files")

    # HYP-SUS-02, HYP-SUS-03
    def ratio(self) -> Page:
        """Run #1 and run #2 side by side for each unit, the ratio below each pair."""
        name = PlotName("sustained-ratio", "", "Sustained Performance: Run #2 / Run #1")
        if not any(pair.fresh.passes for pair in self.pairs):
            return page_of(name, absent="no figure was measured")
        tables = [_pairs_table(part) for part in self.parts]
        figures = [_bars(part, table) for part, table in zip(self.parts, tables, strict=True)]
        rule = Verdict(
            "Run #1 is on the purged drive, run #2 follows the load immediately; before each the test file "
            "is written in sequence. Sustained performance is run #2 in per cent of run #1; of response "
            "times it is run #1 in per cent of run #2."
        )
        return page(name, *figures, rule, self._unwritten(), *tables)

    def _unwritten(self) -> Verdict | None:
        """A warning about rows that read LBAs which were never written in run #1."""
        names = [pair.name for pair in self.pairs if pair.row.span_bytes is None and pair.row.read_pct]
        text = "read the whole range, most of which run #1 never wrote: not figures of the flash"
        return Verdict(f"{', '.join(names)}: {text}.", "fail") if names else None

    # SOL-BMK-04, LSI-GEN-03
    def definition(self) -> Page:
        """What exactly each row applied, and the passes of both runs."""
        name = PlotName("sustained-definition", "", "Rows of Run #1 and Run #2 - Definition and Passes")
        blocks: list[Block] = []
        for number, benchmark in enumerate(self.conditions.benchmarks, start=1):
            rows = [pair.fresh for pair in self.pairs if pair.benchmark in {"", benchmark.title}]
            blocks += definition_blocks(f"{name.id}-{number}", benchmark, rows, self.run.manifest.target)
        runs = ([pair.fresh for pair in self.pairs], [pair.sustained for pair in self.pairs])
        for number, rows in enumerate(runs, start=1):
            passes = passes_table(f"{name.id}-passes-{number}", rows)
            blocks.append(replace(passes, title=f"Run #{number}: {passes.title}"))
        return page(name, *blocks)

    # HYP-SUS-04, HYP-SUS-05
    def load_course(self) -> Page:
        """IOPS of the load over time, with the slowest answer of all."""
        load = self.load
        title = f"Load: IOPS v Time - {self.conditions.workload.title}"
        name = PlotName("sustained-load", f"Plot X-SUSTAINED-{len(self.parts) + 1}", title)
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
        sentence = self.load_sentence()
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

    def load_sentence(self) -> Verdict:
        """What was applied, how long, how much was written, and the slowest answer."""
        load = self.load
        if load.stimulus is None or load.slowest is None or load.slowest.max_latency_ns is None:
            return Verdict("Load: n/a (it never began).", "fail")
        end = f"ended by: {load.ended_by}" if load.ended_by else "not completed"
        return Verdict(
            f"Load ({stimulus_text(load.stimulus)}): {format_duration(load.elapsed_ns)}, "
            f"{cells.fixed(load.written_bytes / GB, 1)} GB written = "
            f"{fills_text(self.run, load.written_bytes)}; "
            f"{end}. Maximum response time of its {load.ios:,} I/Os: "
            f"{format_latency_ms(load.slowest.max_latency_ns)} ms, in minute {load.slowest.number}.",
            "info" if load.ended_by else "fail",
        )

    # HYP-SUS-03
    def ratios_verdict(self) -> Verdict:
        """The rows that lose most and least, and those of which there is no ratio."""
        ratios = {pair: pair.ratio_pct(_unit(pair)) for pair in self.pairs}
        found = {pair: ratio_pct for pair, ratio_pct in ratios.items() if ratio_pct is not None}
        if not found:
            return Verdict("Sustained performance: n/a (no row was measured in both runs).", "fail")
        ends = dict.fromkeys((min(found, key=found.__getitem__), max(found, key=found.__getitem__)))
        texts = [_ratio_text(found[pair], pair) for pair in ends]
        missing = len(self.pairs) - len(found)
        left = f"; {missing} of {len(self.pairs)} rows have no figure in both runs" if missing else ""
        return Verdict(f"Sustained performance: {' to '.join(texts)}{left}.", "fail" if missing else "info")

    def measures(self) -> tuple[Measured, ...]:
        """What is left of each row, in per cent and in its own unit, and the slowest answer."""
        ratio = _RATIO if len(self.pairs) <= _MOST_ON_COVER else dataclasses.replace(_RATIO, on_cover=False)
        pairs = [ratio.of(pair, Subject(pair.name)) for pair in self.pairs]
        sustained = [
            _sustained(pair).of(pair.sustained.first_figure, Subject(pair.name)) for pair in self.pairs
        ]
        return (*pairs, *sustained, _SLOWEST.of(self.load))

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions, load = self.conditions, self.load
        demand = "N/A" if load.stimulus is None else demand_text(load.stimulus.tc, load.stimulus.qd)
        return stimulus_rows(
            self.run,
            ("Test Stimulus 1", f"Run #1: {', '.join(one.name for one in conditions.benchmarks)}"),
            ("Rows", str(len(conditions.rows))),
            ("TOIO - TC/QD", "see definitions"),
            ("Duration", "see definitions"),
            ("Test Stimulus 2", f"Load: {conditions.workload.title}"),
            ("TOIO - TC/QD", demand),
            ("Duration", format_duration(load.elapsed_ns) if load.minutes else "NOT RUN"),
            ("Test Stimulus 3", "Run #2: as run #1"),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        load = self.load
        return {
            "figures": [
                {
                    "row": pair.name,
                    "unit": unit.value,
                    **dict(zip(("run_1", "run_2"), pair.values(unit), strict=True)),
                    "sustained_pct": pair.ratio_pct(unit),
                    "passes": {
                        name: None if (figure := one.figure(unit)) is None else repeat_figures(figure.passes)
                        for name, one in (("run_1", pair.fresh), ("run_2", pair.sustained))
                    },
                }
                for pair in self.pairs
                for unit in pair.row.units
            ],
            "load": {
                "elapsed_s": load.elapsed_ns / NS_PER_S,
                "written_bytes": load.written_bytes,
                "max_response_time_ms": MRT.value(load.slowest),
                "ended_by": load.ended_by or None,
            },
            "claims": [
                {
                    "figure": claim.figure.name,
                    "claimed": claim.claimed,
                    "kept": None if claim.sustained is None else not claim.missed,
                    "held_s": None if claim.held_ns is None else claim.held_ns / NS_PER_S,
                }
                for claim in self.claims
            ],
        }

    # HYP-SUS-05
    def curve(self) -> Curve:
        """IOPS over the load."""
        title = self.conditions.workload.title
        return iops_curve(f"load of {title}", f"Load: IOPS v Time - {title}", self.load.minutes)


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


def claims_of(conditions: SustainedConditions, dut: Facts) -> tuple[tuple[DataSheetClaim, ...], ClaimSource]:
    """The claims that the operator gave; without any, those that the drive's own facts have."""
    if conditions.claims:
        return conditions.claims, ClaimSource("given by the operator")
    rated = {name: dut.get(f"rated_{figure.claim_name}") for name, figure in DATA_SHEET_FIGURES.items()}
    facts = {name: fact for name, fact in rated.items() if fact is not None}
    claims = tuple(DataSheetClaim(name, float(fact.value)) for name, fact in facts.items() if fact.value)
    # without a value, the source says why there is none
    sources = dict.fromkeys(fact.source for fact in facts.values() if fact.value or not claims)
    return claims, ClaimSource("; ".join(sources), stands_in=bool(claims))


def _ratio_text(ratio_pct: float, pair: Pair) -> str:
    unit = _unit(pair)
    fresh, sustained = (value_text(value or 0, unit) for value in pair.values(unit))
    return f"{cells.fixed(ratio_pct, 1)} % ({pair.name}, {fresh} to {sustained} {unit})"


def _unit(pair: Pair) -> FigureUnit:
    return pair.row.units[0]


_RATIO: Final = Measure[Pair](
    "sustained_pct",
    "{name}, run #2 / run #1",
    "%",
    lambda pair: pair.ratio_pct(_unit(pair)),
    decimals=1,
    better=Better.HIGHER,
    explanation="left of the fresh figure",
)


def _sustained(pair: Pair) -> Measure[RowFigure]:
    """Run #2 of a row, in the unit in which its benchmark shows it."""
    own = row_measure(pair.row)
    return dataclasses.replace(own, key=f"run_2_{own.key}", label="{name}, run #2", on_cover=False)


_MRT: Final = replace(MRT, absent="no load")
_SLOWEST: Final = Measure[MeasuredLoad](
    "load_max_response_time", "Load, maximum response time", "ms", lambda load: _MRT.cell(load.slowest)
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = SustainedReport.of(run)
    return ReportContent(
        verdicts=(
            found.ratios_verdict(),
            *spread_verdicts(
                (f"{pair.name}, {name}", of_run.first_figure)
                for pair in found.pairs
                for name, of_run in (("run #1", pair.fresh), ("run #2", pair.sustained))
            ),
            found.load_sentence(),
            claims_verdict(found.claims, found.claim_source),
        ),
        measures=found.measures(),
        sections=methodology(run, "Sustained Performance and Claims", found.test_rows(), found.pages),
        figures=found.figures,
        curves=lambda: (found.curve(),),
    )
