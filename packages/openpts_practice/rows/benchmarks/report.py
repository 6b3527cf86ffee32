"""The report of benchmark profiles: the figures that a benchmark's users know, and what they are.

Implements: SOL-BMK-04, 05, 07 to 10, SOL-STAT-01, LSI-GEN-02.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from msgspec import Struct, structs

from openpts.procedures.kit.content import ReportContent, repeat_figures
from openpts.procedures.kit.header import Rows, active_range_amount_text
from openpts.record.reader import Run
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.sample import Phase, Sample
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import PlotName, category_axis, page, values_of
from openpts_pages.measure import Measured, Subject, key_of
from openpts_pages.model import Figure, Page, Series, Table, Verdict
from openpts_practice.rows import BenchmarkProfile, FigureUnit
from openpts_practice.rows.benchmarks import BenchmarksConditions
from openpts_practice.rows.conditions import free_space_words
from openpts_practice.rows.steps import Score, as_ssd_score
from openpts_practice.rows.tables import (
    MeasuredRow,
    cover_rows,
    definition_blocks,
    each_pass_table,
    measured_rows,
    passes_table,
    row_measure,
    samples_of,
    shown_table,
    spread_verdicts,
    times_of,
    times_table,
)
from openpts_pts.shared.one_pass import EMPTIED
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, state_page
from openpts_pts.shared.rounds.results import one_pass_of

_COLORS: Final = {"Read": 2, "Write": 3}
_MIX_COLORS: Final = (1, 4, 5, 6)
# Room for the value above the highest bar.
_ROOM_FOR_TEXTS: Final = 1.1
# More rows than that have their passes on a page of their own.
_ROWS_WITH_PASSES: Final = 12


class MeasuredBenchmark(Struct, frozen=True):
    """A benchmark and its rows as measured; ``number`` is its place among those of the run, from 1."""

    number: int
    benchmark: BenchmarkProfile
    rows: tuple[MeasuredRow, ...]

    def shown(self, remarks: Iterable[Verdict]) -> Page:
        """The benchmark's own table, with a plot of its first unit."""
        benchmark, rows = self.benchmark, self.rows
        doubt = "" if benchmark.confirmed else " (definition not confirmed)"
        name = PlotName(
            f"benchmarks-{self.number}", f"Plot X-BENCHMARKS-{self.number}", f"{benchmark.title}{doubt}"
        )
        units = dict.fromkeys(unit for one in rows for unit in one.row.units)
        tables = {unit: shown_table(f"{name.id}-{_key(unit)}", rows, unit) for unit in units}
        first = next(iter(units))
        return page(
            name,
            self._figure(name.number, tables[first], first) if values_of(tables[first]) else None,
            Verdict(self._statistic_text()),
            None if benchmark.confirmed else Verdict(f"Definition not confirmed: {benchmark.doubt}."),
            *remarks,
            *tables.values(),
            _score_table(f"{name.id}-score", self.score) if benchmark.score == "as-ssd" else None,
        )

    def _statistic_text(self) -> str:
        statistics = ", ".join(dict.fromkeys(one.row.statistic.value for one in self.rows))
        below = "There is one pass."
        if any(len(one.passes) > 1 for one in self.rows):
            below = (
                "Below it: median, lowest and highest of the passes, and their relative standard error (RSE)."
            )
        return f"The large figure is what the benchmark shows: the {statistics} of its passes. {below}"

    def _figure(self, number: str, table: Table, unit: FigureUnit) -> Figure:
        """Bars side by side for the directions of each row."""
        title, values = self.benchmark.title, values_of(table)
        directions = [column.label.removesuffix(f" ({unit})") for column in table.columns]
        mixes = [direction for direction in directions if direction not in _COLORS]
        colors = _COLORS | {mix: _MIX_COLORS[n % len(_MIX_COLORS)] for n, mix in enumerate(mixes)}
        return Figure(
            id=f"{table.id}-plot",
            number=number,
            title=f"{title} - {unit}",
            kind="bars",
            table_id=table.id,
            x=category_axis("Row", table),
            y=ticks.linear_axis(unit.value, 0, _ROOM_FOR_TEXTS * max(values)),
            alt=f"{title}: {len(table.rows)} rows, from {cells.fixed(min(values), 1)} to "
            f"{cells.fixed(max(values), 1)} {unit}.",
            series=tuple(
                Series(direction, "column", (column,), colors[direction], style="bars")
                for column, direction in enumerate(directions)
            ),
            height_px=280,
        )

    @property
    def score(self) -> Score | None:
        """The score of AS SSD; None if one of its rows was not measured."""
        by_direction: dict[str, dict[str, float]] = {"Read": {}, "Write": {}}
        for one in self.rows:
            rate = one.value(FigureUnit.MB_PER_S) if FigureUnit.MB_PER_S in one.row.units else None
            if rate is not None:
                by_direction[one.row.direction][one.row.name] = rate
        return as_ssd_score(by_direction["Read"], by_direction["Write"])

    def definition(self, target: TargetFacts) -> Iterator[Page]:
        """What exactly was done, and every pass."""
        title, page_id = self.benchmark.title, f"benchmarks-{self.number}-definition"
        blocks = definition_blocks(f"{page_id}-table", self.benchmark, self.rows, target)
        passes = (passes_table(f"{page_id}-passes", self.rows), each_pass_table(f"{page_id}-each", self.rows))
        if len(self.rows) <= _ROWS_WITH_PASSES:
            yield page(PlotName(page_id, "", f"{title} - Definition and Passes"), *blocks, *passes)
            return
        yield page(PlotName(page_id, "", f"{title} - Definition"), *blocks)
        yield page(PlotName(f"benchmarks-{self.number}-passes", "", f"{title} - Passes"), *passes)

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        score = self.score if self.benchmark.score == "as-ssd" else None
        return {
            "benchmark": self.benchmark.name,
            "title": self.benchmark.title,
            "definition_confirmed": self.benchmark.confirmed,
            "rows": [_row_figures(one) for one in self.rows],
            "score": None if score is None else structs.asdict(score),
        }


def _key(unit: FigureUnit) -> str:
    return unit.name.lower().replace("_", "-")


def _score_table(table_id: str, score: Score | None) -> Table:
    values = (None,) * 3 if score is None else (score.read, score.write, score.total)
    return items_table(
        table_id,
        "Score, by the formula that reviews of the tool give (not confirmed by its author)",
        [
            (label, cells.number_or("a row was not measured or is discarded", value, 0))
            for label, value in zip(("Read", "Write", "Total"), values, strict=True)
        ],
        note="Read = 0.1 Seq + 4K + 4K-64Thrd; Write likewise; Total = 0.15 Seq W + 0.1 Seq R + 2 x 4K R + "
        "4K W + 4K-64Thrd W + 1.5 x 4K-64Thrd R; all MB/s. It is 8, 1 and 4 % below the one result published "
        "with all rows (LSI deck: 258, 347, 733).",
    )


def _row_figures(one: MeasuredRow) -> dict[str, Any]:
    return {
        "name": one.row.name,
        "read_pct": one.row.read_pct,
        "passes": len(one.passes),
        "statistic": one.row.statistic.value,
        "shown": [
            {
                "unit": unit.value,
                "value": figure.shown,
                "min": figure.passes.low,
                "max": figure.passes.high,
                **repeat_figures(figure.passes),
            }
            for unit in one.row.units
            if (figure := one.figure(unit)) is not None
        ],
    }


class BenchmarksReport(Struct, frozen=True):
    """What a run measured, benchmark by benchmark."""

    run: Run
    conditions: BenchmarksConditions
    measured: tuple[MeasuredBenchmark, ...]

    @classmethod
    def of(cls, run: Run) -> "BenchmarksReport":
        """All rows of all benchmarks, which the test numbers through."""
        conditions = run.conditions(BenchmarksConditions)
        rows = iter(measured_rows(run, conditions))
        found = (
            MeasuredBenchmark(number, one, tuple(islice(rows, len(one.rows))))
            for number, one in enumerate(conditions.benchmarks, start=1)
        )
        return cls(run, conditions, tuple(found))

    def samples(self, benchmark: BenchmarkProfile) -> list[Sample]:
        """All steps of a benchmark, in the order in which they ran."""
        places = self.conditions.places(benchmark)
        return samples_of(self.run, range(places.start + 1, places.stop + 1))

    def state(self) -> str:
        """In which state the rows were measured, in words."""
        conditions = self.conditions
        if in_one_pass := [
            step
            for step in self.run.phase(Phase.CONDITIONING)
            if conditions.one_pass and step.place.number <= EMPTIED
        ]:
            reason = one_pass_of(in_one_pass, None).why_not
            instead = f", in which the short form did not hold: {reason}" if reason else ""
            return f"after one pass of the short form{instead}"
        free = f", {free_space_words(conditions.leave_free)}" if conditions.leave_free else ""
        return (
            f"after {conditions.precondition_passes:g} x user capacity of sequential writes{free}"
            if conditions.precondition_passes
            else "on the purged drive: these are its best figures, not those of a drive in use"
        )

    def verdicts(self) -> Iterator[Verdict]:
        """How many rows were measured and in which state, those that make no figure, what is in doubt."""
        conditions = self.conditions
        rows = [one for measured in self.measured for one in measured.rows]
        complete = sum(bool(one.passes) for one in rows)
        tone = "info" if complete == len(rows) else "fail"
        yield Verdict(f"{complete} of {len(rows)} rows measured, {self.state()}.", tone)
        several = len(self.measured) > 1
        yield from spread_verdicts(
            (f"{of.benchmark.title}, {one.row.title}" if several else one.row.title, one.first_figure)
            for of in self.measured
            for one in of.rows
        )
        if doubts := [one.title for one in conditions.benchmarks if not one.confirmed]:
            yield Verdict(f"Definition not confirmed: {'; '.join(doubts)}.")
        if conditions.impossible:
            yield Verdict(f"Left out because of the sector size: {'; '.join(conditions.impossible)}.")

    def measures(self) -> Iterator[Measured]:
        """The rows, of many the first ones."""
        benchmarks = [(one.benchmark, one.rows) for one in self.measured]
        for benchmark, rows in cover_rows(benchmarks, lambda one: one.row):
            for one in rows:
                key = key_of(f"{benchmark.name} {one.row.title}")
                subject = Subject(f"{benchmark.title}: {one.row.title}", key)
                yield row_measure(one.row).of(one.first_figure, subject)

    def pages(self) -> Iterator[Page]:
        """What was done before, then each benchmark with its definition."""
        prepared = state_page(self.run, "Purge, Pre-conditioning and Test Files")
        parts = [(one.title, self.samples(one)) for one in self.conditions.benchmarks]
        times = times_table("benchmarks-times", self.run, parts)
        yield structs.replace(prepared, blocks=(*prepared.blocks, times))
        for one in self.measured:
            yield one.shown(tuple(self._unwritten(one.rows)))
            yield from one.definition(self.run.manifest.target)

    def _unwritten(self, rows: Iterable[MeasuredRow]) -> Iterator[Verdict]:
        """A warning about rows that read LBAs never written: a drive answers these without its flash."""
        conditions = self.conditions
        of_range = [one.row for one in rows if one.row.span_bytes is None]
        names = [row.title for row in of_range if row.read_pct]
        if conditions.leave_free is not None and conditions.leave_free.places > 1 and of_range:
            yield Verdict(
                f"{', '.join(row.title for row in of_range)}: accesses the whole range with its free places: "
                "reads of these are not a figure of the flash, and writes fill them.",
                "fail",
            )
        elif names and conditions.precondition_passes < 1:
            yield Verdict(
                f"{', '.join(names)}: reads the whole range, most of which was never written: not a figure "
                "of the flash; precondition the drive to get one.",
                "fail",
            )

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        names = [benchmark.name for benchmark in self.conditions.benchmarks]
        return (
            ("Data Pattern", "each benchmark's own"),
            ("AR & Amount", active_range_amount_text(self.run)),
            ("Test Stimulus 1", names[0]),
            ("Test Stimulus 2", names[1] if len(names) > 1 else "N/A"),
            ("Test Stimulus 3", names[2] if len(names) > 2 else "N/A"),
            ("Benchmarks", str(len(names))),
            ("Rows", str(len(self.conditions.rows))),
            ("TOIO - TC/QD", "see definitions"),
            ("Duration", "see definitions"),
            ("Steady State", NO_STEADY_STATE),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        return {
            "benchmarks": [
                one.figures() | times_of(self.run, self.samples(one.benchmark)) for one in self.measured
            ]
        }


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = BenchmarksReport.of(run)
    return ReportContent(
        verdicts=tuple(found.verdicts()),
        measures=tuple(found.measures()),
        sections=methodology(run, "Benchmark Profiles", found.test_rows(), found.pages),
        figures=found.figures,
    )
