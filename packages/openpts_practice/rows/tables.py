"""Rows of benchmarks as tables: what the tool would show, every pass, and the exact definition.

Implements: SOL-STAT-01 to 06, SOL-GEN-07, LSI-GEN-01, LSI-GEN-03, LSI-PROC-05.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, TypeVar

from msgspec import Struct

from openpts.analysis.run_comparison import Quality, SetRule
from openpts.procedures.kit.content import repeat_figures, rse_cell, set_remarks, spread_remarks
from openpts.record.reader import Run
from openpts.units import GIB, MIB, NS_PER_MS, NS_PER_S, block_size_kib, format_capacity, format_duration
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import DataPattern, RandomData, RandomOnce, Stimulus
from openpts.vocabulary.workload import data_text
from openpts_pages import cells
from openpts_pages.kit import Cells, rows_table
from openpts_pages.measure import Measure
from openpts_pages.model import Block, Cell, Column, Table, Verdict
from openpts_practice.rows import BenchmarkProfile, FigureUnit, ProfileRow, Statistic
from openpts_practice.rows.conditions import ProfileTestConditions
from openpts_practice.rows.steps import RowFigure, passes_of, row_figure

R = TypeVar("R")
_NOT_MEASURED = "not measured"
# More columns than these do not fit beside each other on paper.
_MOST_PASSES_PRINTED = 7
_NO_SUCH_ROW = Cell("-", tone="missing")
_DATA_NOTE = (
    "RND: incompressible, fresh for each write. RND_ONCE: random, made once for each buffer of the queue and "
    "written repeatedly."
)


class MeasuredRow(Struct, frozen=True):
    """A row and its complete passes; ``pause_ns`` and ``warm_up_ns`` are those that came before them.

    ``rule`` says when the passes are accepted.
    """

    row: ProfileRow
    passes: tuple[Sample, ...]
    rule: SetRule
    pause_ns: int = 0
    warm_up_ns: int = 0

    @property
    def stimulus(self) -> Stimulus | None:
        """What was issued."""
        return self.passes[0].step.stimulus if self.passes else None

    def figure(self, unit: FigureUnit) -> RowFigure | None:
        """The row in a unit, by the benchmark's statistic."""
        return row_figure(self.passes, unit, self.row.statistic, self.rule)

    def value(self, unit: FigureUnit) -> float | None:
        """What the benchmark would show in a unit; None if not measured, or of passes that are discarded."""
        figure = self.figure(unit)
        return None if figure is None or figure.discarded else figure.shown

    @property
    def first_figure(self) -> RowFigure | None:
        """The row in the unit in which the benchmark shows it first."""
        return self.figure(self.row.units[0])


def measured_row(row: ProfileRow, samples: Sequence[Sample], rule: SetRule) -> MeasuredRow:
    """The steps of a row by kind: idle time, the warm-up that is thrown away, passes."""
    busy = [sample for sample in samples if not sample.step.is_idle]
    warm_up = busy[:1] if row.warm_up_ns else []
    return MeasuredRow(
        row=row,
        passes=passes_of(row, samples),
        rule=rule,
        pause_ns=sum(sample.elapsed_ns for sample in samples if sample.step.is_idle),
        warm_up_ns=sum(sample.elapsed_ns for sample in warm_up),
    )


def measured_rows(
    run: Run, conditions: ProfileTestConditions, rows_before: int = 0
) -> tuple[MeasuredRow, ...]:
    """The rows of all benchmarks, which the test numbers through behind ``rows_before`` others."""
    return tuple(
        measured_row(
            row, [step.sample for step in run.phase(Phase.PROFILE, number=number)], conditions.set_rule
        )
        for number, (_, row) in enumerate(conditions.rows, start=rows_before + 1)
    )


def samples_of(run: Run, numbers: Container[int]) -> list[Sample]:
    """All steps of the rows with these numbers, in the order in which they ran."""
    return [step.sample for step in run.phase(Phase.PROFILE) if step.place.number in numbers]


# SOL-GEN-07
def times_of(run: Run, samples: Sequence[Sample]) -> dict[str, str | None]:
    """When the first of the steps began and the last ended, ISO 8601, UTC; None where that is not known."""
    if not samples:
        return {"started_at": None, "ended_at": None}
    end_ns = max(sample.started_ns + sample.elapsed_ns for sample in samples)
    return {"started_at": run.time_at(samples[0].started_ns), "ended_at": run.time_at(end_ns)}


def times_table(table_id: str, run: Run, parts: Iterable[tuple[str, Sequence[Sample]]]) -> Table:
    """Start and end of each benchmark, from its first row on; its test file is written before."""

    def when(time: str | None, samples: Sequence[Sample]) -> Cell:
        if time is None:
            return cells.missing("not in the record" if samples else _NOT_MEASURED)
        return cells.words(time.replace("T", " ").removesuffix("Z"))

    def row(name: str, samples: Sequence[Sample]) -> Cells:
        busy_ns = sum(sample.elapsed_ns for sample in samples if not sample.step.is_idle)
        lasted = cells.words(format_duration(busy_ns)) if samples else cells.missing(_NOT_MEASURED)
        return name, *(when(time, samples) for time in times_of(run, samples).values()), lasted

    simulated = run.manifest.target.simulation is not None
    return rows_table(
        table_id,
        "Start and end of each benchmark",
        "Benchmark:<1.6 | Start (UTC) | End (UTC) | Of it under load",
        (row(name, samples) for name, samples in parts),
        note="Virtual time of the simulated drive, counted from the start of the run." if simulated else "",
    )


_MOST_ON_COVER: Final = 24


def cover_rows(
    benchmarks: Sequence[tuple[BenchmarkProfile, tuple[R, ...]]], row_of: Callable[[R], ProfileRow]
) -> list[tuple[BenchmarkProfile, tuple[R, ...]]]:
    """All rows; of many the first of each benchmark, reads and writes in turn: a cover has little room."""
    if sum(len(rows) for _, rows in benchmarks) <= _MOST_ON_COVER:
        return list(benchmarks)
    most = max(1, _MOST_ON_COVER // len(benchmarks))
    found = []
    for benchmark, rows in benchmarks:
        # benchmarks have all their reads first, and the first rows alone no write
        reads = [one for one in rows if row_of(one).read_pct == 100]
        others = [one for one in rows if row_of(one).read_pct != 100]
        in_turn = [one for pair in zip_longest(reads, others) for one in pair if one is not None]
        found.append((benchmark, tuple(in_turn[:most])))
    return found


# SOL-STAT-05
def figure_cell(figure: RowFigure | None) -> Cell:
    """What the tool would show; below it the spread of several passes, and their median if that is another.

    Of passes that lie too far apart there is no large figure, once they are as many as a set may need.
    """
    if figure is None:
        return cells.missing(_NOT_MEASURED)
    if figure.discarded:
        return Cell("discarded", note=_spread_note(figure, with_shown=True), tone="missing")
    note = _spread_note(figure) if figure.passes.count > 1 else ""
    tone = "fail" if figure.passes.quality is Quality.MORE_RUNS else ""
    return Cell(value_text(figure.shown, figure.unit), figure.shown, note, tone)


def _spread_note(figure: RowFigure, *, with_shown: bool = False) -> str:
    """``median 2,041.0, 1,990.2 to 2,077.7; RSE 1.2 %``, and what the passes lack."""
    passes, own = figure.passes, figure.statistic is Statistic.MEDIAN
    low, high, middle, shown = (
        value_text(value, figure.unit) for value in (passes.low, passes.high, passes.median, figure.shown)
    )
    parts = [
        *([f"{figure.statistic} {shown}"] if with_shown and not own else []),
        *([f"median {middle}"] if with_shown or not own else []),
        f"{low} to {high}",
    ]
    return "; ".join((", ".join(parts), *spread_remarks(passes, "pass")))


def value_text(value: float, unit: FigureUnit) -> str:
    """A value as the report prints it in its unit."""
    if unit is FigureUnit.MILLISECONDS:
        return cells.latency(value * NS_PER_MS).text
    return cells.fixed(value, 0 if unit is FigureUnit.IOPS else 1)


def row_measure(row: ProfileRow) -> Measure[RowFigure]:
    """The measure of a row in its first unit, under the subject's name."""
    unit = row.units[0]
    return Measure(unit.name.lower(), "{name}", unit.value, _measured_cell, repeats=_several)


def _several(figure: RowFigure) -> Mapping[str, Any] | None:
    return repeat_figures(figure.passes) if figure.passes.count > 1 else None


def _measured_cell(figure: RowFigure) -> Cell:
    """A figure away from its page: with its spread only; none of passes that are discarded."""
    note = "; ".join(spread_remarks(figure.passes, "pass")) if figure.passes.count > 1 else ""
    if figure.discarded:
        return cells.missing(note)
    return Cell(value_text(figure.shown, figure.unit), figure.shown, note)


def shown_table(table_id: str, measured: Sequence[MeasuredRow], unit: FigureUnit) -> Table:
    """The table that users of the benchmark know: a line per name, a column per direction.

    Where no name has two directions, each line has its own, and there is one column.
    """
    rows = [one for one in measured if unit in one.row.units]
    directions = dict.fromkeys(one.row.direction for one in rows)
    single = len({one.row.name for one in rows}) == len(rows) and len(directions) > 1
    columns = {one.row.direction: unit.value if single else f"{one.row.direction} ({unit})" for one in rows}
    lines: dict[str, dict[str, MeasuredRow]] = {}
    for one in rows:
        name = one.row.title if single else one.row.name
        lines.setdefault(name, {})[columns[one.row.direction]] = one
    labels = dict.fromkeys(columns.values())
    return rows_table(
        table_id,
        f"As the benchmark shows it: {unit}",
        ("Row:<1.3", *(Column(label) for label in labels)),
        (
            (name, *(figure_cell(line[at].figure(unit)) if at in line else _NO_SUCH_ROW for at in labels))
            for name, line in lines.items()
        ),
    )


# SOL-STAT-05, 06
def spread_verdicts(figures: Iterable[tuple[str, RowFigure | None]]) -> tuple[Verdict, ...]:
    """The rows whose passes make no figure, and those that need more of them; nothing if there is none."""
    found = [(name, figure.passes) for name, figure in figures if figure is not None]
    named: dict[Quality, list[str]] = {}
    for name, passes in found:
        named.setdefault(passes.quality, []).append(name)
    rule = found[0][1].rule if found else SetRule()
    above = f"RSE above {rule.rse_limit_pct:g} % with"
    texts = {
        Quality.DISCARDED: f"Discarded, {above} {rule.most} passes or more",
        Quality.MORE_RUNS: f"More passes needed (--until-rse), {above} fewer than {rule.most}",
    }
    return tuple(
        Verdict(f"{text}: {', '.join(named[quality])}.", "fail")
        for quality, text in texts.items()
        if quality in named
    )


def passes_table(table_id: str, measured: Sequence[MeasuredRow]) -> Table:
    """Each row with median, range and spread of its passes, in all units."""
    return rows_table(
        table_id,
        "Passes as measured",
        "Row:<1.7 | Passes:0.5 | Median (MB/s) | Lowest (MB/s) | Highest (MB/s) | RSE (%):0.6 | "
        "Median (IOPS) | Median ART (ms) | MRT (ms)",
        ((one.row.title, *_passes_cells(one)) for one in measured),
        note="MB/s are 10^6 bytes/s. ART is the mean of a pass; MRT is the longest of all passes. RSE: "
        "relative standard error, |s / (mean x sqrt(N))| of the MB/s.",
    )


def _passes_cells(one: MeasuredRow) -> tuple[Cell, ...]:
    found = pass_cells(one)
    rate = one.figure(FigureUnit.MB_PER_S)
    if not found or rate is None:
        return (cells.number(len(one.passes), 0), *([cells.missing(_NOT_MEASURED)] * 7))
    return (*found[:2], cells.number(rate.passes.low, 1), cells.number(rate.passes.high, 1), *found[2:])


def pass_cells(one: MeasuredRow) -> tuple[Cell, ...]:
    """Passes, median and RSE of the MB/s, median IOPS, ART, MRT; nothing of a row without any I/O."""
    rate, iops, time = (
        one.figure(unit) for unit in (FigureUnit.MB_PER_S, FigureUnit.IOPS, FigureUnit.MILLISECONDS)
    )
    if rate is None or iops is None or time is None:
        return ()
    return (
        cells.number(len(one.passes), 0),
        _median_cell(rate),
        rse_cell(rate.passes, "pass"),
        _median_cell(iops),
        _median_cell(time),
        cells.latency(max(sample.max_latency_ns or 0 for sample in one.passes)),
    )


def _median_cell(figure: RowFigure) -> Cell:
    """The median of the passes, struck out where they are discarded."""
    middle = figure.passes.median
    return Cell(value_text(middle, figure.unit), middle, struck=figure.discarded)


# SOL-STAT-05, 06
def each_pass_table(table_id: str, measured: Sequence[MeasuredRow]) -> Table | None:
    """Every pass of every row, in the row's first unit, and whether they make a figure; None of single ones.

    The passes of a row that is discarded are struck out.
    """
    figures = [(one.row, figure) for one in measured if (figure := one.first_figure) is not None]
    most = max((figure.passes.count for _, figure in figures), default=0)
    if most < 2:
        return None
    return rows_table(
        table_id,
        "Pass by pass",
        (
            "Row:<1.7",
            *(Column(f"Pass {number}", width=0.6) for number in range(1, most + 1)),
            "RSE (%):0.6 | Statement:<1.6",
        ),
        ((f"{row.title} ({figure.unit})", *_each_pass_cells(figure, most)) for row, figure in figures),
        printed=most <= _MOST_PASSES_PRINTED,
    )


def _each_pass_cells(figure: RowFigure, most: int) -> tuple[Cell, ...]:
    passes, struck = figure.passes, figure.discarded
    return (
        *(Cell(value_text(value, figure.unit), value, struck=struck) for value in passes.values),
        *((cells.none(),) * (most - passes.count)),
        rse_cell(passes, "pass"),
        Cell(
            "; ".join(set_remarks(passes, "pass")) or "accepted",
            tone="" if passes.quality in {Quality.ACCEPTED, Quality.ONE_RUN} else "fail",
        ),
    )


def definition_blocks(
    table_id: str, benchmark: BenchmarkProfile, measured: Sequence[MeasuredRow], target: TargetFacts
) -> tuple[Block, ...]:
    """What was issued for each row; where that is from, what is in doubt, what the tool does otherwise."""
    table = rows_table(
        table_id,
        f"Definition {'(confirmed)' if benchmark.confirmed else '(not confirmed)'}, as applied",
        "Row:<1.5 | Access:<1.5 | QD x T:^0.6 | Span:0.7 | Pause:0.6 | Warm-up:0.6 | Passes:0.8 | "
        "Statistic:<0.55 | Data written:<0.9",
        ((one.row.title, *_definition_cells(one, target)) for one in measured),
        note=f"Statistic: what the tool makes of its passes. {_DATA_NOTE}",
    )
    texts = [f"Source: {benchmark.source}."]
    if benchmark.doubt:
        texts.append(f"Definition not confirmed: {benchmark.doubt}.")
    if benchmark.differences:
        texts.append(f"Unlike the tool: {benchmark.differences}")
    return (table, *map(Verdict, texts))


def _definition_cells(one: MeasuredRow, target: TargetFacts) -> tuple[Cell, ...]:
    stimulus, row = one.stimulus, one.row
    if stimulus is None:
        return (cells.words(row.access), *([cells.missing(_NOT_MEASURED)] * 7))
    start, end = stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
    length_ns = max(sample.elapsed_ns for sample in one.passes)
    return (
        cells.words(_access_text(row)),
        Cell(f"{stimulus.qd} x {stimulus.tc}"),
        Cell(_span_text(end - start, of_a_file=row.span_bytes is not None)),
        Cell("none" if not one.pause_ns else format_duration(one.pause_ns)),
        Cell("none" if not one.warm_up_ns else format_duration(one.warm_up_ns)),
        Cell(f"{len(one.passes)} x {length_ns / NS_PER_S:.3g} s"),
        Cell(row.statistic.value),
        Cell("-" if row.read_pct == 100 else _data_word(stimulus.data)),
    )


def _data_word(data: DataPattern) -> str:
    """The word for the two random patterns, which the note explains."""
    match data:
        case RandomData():
            return "RND"
        case RandomOnce():
            return "RND_ONCE"
        case _:
            return data_text(data)


def _span_text(span_bytes: int, *, of_a_file: bool) -> str:
    """A test file in base 2, as benchmarks name it; the range of a drive in base 10."""
    for unit, unit_bytes in (("GiB", GIB), ("MiB", MIB)):
        if of_a_file and span_bytes % unit_bytes == 0:
            return f"{span_bytes // unit_bytes:,} {unit}"
    return format_capacity(span_bytes)


def _access_text(row: ProfileRow) -> str:
    """Order, sizes and mix: a mix of sizes with its weights."""
    if len(row.block_sizes) == 1:
        share = "" if row.random_pct in {0, 100} else f", {row.random_pct} % random"
        return f"{row.access} {row.read_pct}/{100 - row.read_pct}{share}"
    sizes = ", ".join(f"{block_size_kib(s.block_size_bytes)}:{s.weight}" for s in row.block_sizes)
    return f"RND {row.read_pct}/{100 - row.read_pct}; KiB:weight {sizes}"
