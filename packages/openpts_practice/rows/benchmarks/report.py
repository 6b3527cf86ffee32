"""The report of benchmark profiles: the figures that a benchmark's users know, and what they are.

Implements: SOL-BMK-04, 05, 07 to 10, SOL-STAT-01, LSI-GEN-02.
"""

from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from openpts.analysis.settling import judge, look_of
from openpts.procedures.kit.content import ReportContent, repeat_figures
from openpts.procedures.kit.header import Rows, active_range_amount_text
from openpts.record.reader import Run
from openpts.units import format_duration
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.settling import SettlingRule
from openpts_pages import cells, measure, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import category_axis
from openpts_pages.measure import Subject, key_of
from openpts_pages.model import Block, Figure, Page, Series, Table, Verdict
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
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, state_page

_TITLE: Final = "Benchmark Profiles"
_COLORS: Final = {"Read": 2, "Write": 3}
_MIX_COLORS: Final = (1, 4, 5, 6)
# Above the highest bar stands its value.
_ROOM_FOR_TEXTS: Final = 1.1
# More rows than that have their passes on a page of their own.
_ROWS_WITH_PASSES: Final = 12
Measured = tuple[tuple[BenchmarkProfile, tuple[MeasuredRow, ...]], ...]


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(BenchmarksConditions)
    measured = _measured(run, conditions)
    return ReportContent(
        verdicts=_verdicts(conditions, measured),
        measures=_measures(measured),
        sections=methodology(
            run, _TITLE, _test_rows(run, conditions), lambda: _pages(run, conditions, measured)
        ),
        figures=lambda: {
            "benchmarks": [
                _figures(benchmark, rows) | times_of(run, _samples(run, conditions, benchmark))
                for benchmark, rows in measured
            ]
        },
    )


def _measured(run: Run, conditions: BenchmarksConditions) -> Measured:
    """All rows of all benchmarks, which the test numbers through."""
    rows = iter(measured_rows(run, conditions))
    return tuple((one, tuple(islice(rows, len(one.rows)))) for one in conditions.benchmarks)


def _samples(run: Run, conditions: BenchmarksConditions, benchmark: BenchmarkProfile) -> list[Sample]:
    places = conditions.places(benchmark)
    return samples_of(run, range(places.start + 1, places.stop + 1))


def _verdicts(conditions: BenchmarksConditions, measured: Measured) -> tuple[Verdict, ...]:
    rows = [one for _, rows in measured for one in rows]
    whole = sum(bool(one.passes) for one in rows)
    free = f", {free_space_words(conditions.leave_free)}" if conditions.leave_free else ""
    state = (
        f"after {conditions.precondition_passes:g} x user capacity of sequential writes{free}"
        if conditions.precondition_passes
        else "on the purged drive: these are its best figures, not those of a drive in use"
    )
    counted = Verdict(
        f"{whole} of {len(rows)} rows measured, {state}.", "info" if whole == len(rows) else "fail"
    )
    several = len(measured) > 1
    spread = spread_verdicts(
        (f"{benchmark.title}, {one.row.title}" if several else one.row.title, one.first_figure)
        for benchmark, of_it in measured
        for one in of_it
    )
    doubts = [benchmark.title for benchmark, _ in measured if not benchmark.confirmed]
    left_out = (
        (Verdict(f"Left out because of the sector size: {'; '.join(conditions.impossible)}."),)
        if conditions.impossible
        else ()
    )
    if not doubts:
        return (counted, *spread, *left_out)
    return (counted, *spread, Verdict(f"Definition not confirmed: {'; '.join(doubts)}."), *left_out)


def _measures(measured: Measured) -> tuple[measure.Measured, ...]:
    return tuple(
        row_measure(one.row).of(
            one.first_figure,
            Subject(f"{benchmark.title}: {one.row.title}", key_of(f"{benchmark.name} {one.row.title}")),
        )
        for benchmark, rows in cover_rows(measured, lambda one: one.row)
        for one in rows
    )


def _test_rows(run: Run, conditions: BenchmarksConditions) -> Rows:
    names = [benchmark.name for benchmark in conditions.benchmarks]
    rows = sum(len(benchmark.rows) for benchmark in conditions.benchmarks)
    return (
        ("Data Pattern", "each benchmark's own"),
        ("AR & Amount", active_range_amount_text(run)),
        ("Test Stimulus 1", names[0]),
        ("Test Stimulus 2", names[1] if len(names) > 1 else "N/A"),
        ("Test Stimulus 3", names[2] if len(names) > 2 else "N/A"),
        ("Benchmarks", str(len(names))),
        ("Rows", str(rows)),
        ("TOIO - TC/QD", "see definitions"),
        ("Duration", "see definitions"),
        ("Steady State", NO_STEADY_STATE),
    )


def _pages(run: Run, conditions: BenchmarksConditions, measured: Measured) -> tuple[Page, ...]:
    prepared = state_page(run, "Purge, Pre-conditioning and Test Files")
    parts = [(one.title, _samples(run, conditions, one)) for one in conditions.benchmarks]
    pages = [replace(prepared, blocks=(*prepared.blocks, times_table("benchmarks-times", run, parts)))]
    for number, (benchmark, rows) in enumerate(measured, start=1):
        rested = settling_verdicts(run, number, conditions.settling)
        shown = _shown_page(number, benchmark, rows, (*rested, *_unwritten(conditions, rows)))
        pages += [shown, *_definition_pages(run, number, benchmark, rows)]
    return tuple(pages)


def _unwritten(conditions: BenchmarksConditions, rows: tuple[MeasuredRow, ...]) -> tuple[Verdict, ...]:
    """A warning about rows that read LBAs never written: a drive answers these without its flash."""
    whole = [one.row for one in rows if one.row.span_bytes is None]
    if conditions.leave_free is not None and conditions.leave_free.places > 1 and whole:
        return (
            Verdict(
                f"{', '.join(row.title for row in whole)}: accesses the whole range with its free places: "
                "reads of these are not a figure of the flash, and writes fill them.",
                "fail",
            ),
        )
    names = [row.title for row in whole if row.read_pct]
    if conditions.precondition_passes >= 1 or not names:
        return ()
    return (
        Verdict(
            f"{', '.join(names)}: reads the whole range, most of which was never written: not a figure of "
            "the flash; precondition the drive to get one.",
            "fail",
        ),
    )


def _shown_page(
    number: int, benchmark: BenchmarkProfile, rows: tuple[MeasuredRow, ...], remarks: tuple[Verdict, ...]
) -> Page:
    """The benchmark's own table, with a plot of its first unit."""
    page_id = f"benchmarks-{number}"
    doubt = "" if benchmark.confirmed else " (definition not confirmed)"
    units = dict.fromkeys(unit for one in rows for unit in one.row.units)
    tables = {unit: shown_table(f"{page_id}-{_key(unit)}", rows, unit) for unit in units}
    first = next(iter(units))
    blocks: list[Block] = []
    if any(cell.value is not None for row in tables[first].rows for cell in row.cells):
        blocks.append(_figure(f"Plot X-BENCHMARKS-{number}", benchmark, tables[first], first))
    blocks.append(Verdict(_statistic_text(rows)))
    if not benchmark.confirmed:
        blocks.append(Verdict(f"Definition not confirmed: {benchmark.doubt}."))
    blocks += [*remarks, *tables.values()]
    if benchmark.score == "as-ssd":
        blocks.append(_score_table(page_id, _score(rows)))
    return Page(page_id, f"{benchmark.title}{doubt}", tuple(blocks), mandatory=True)


def _key(unit: FigureUnit) -> str:
    return unit.name.lower().replace("_", "-")


def _statistic_text(rows: tuple[MeasuredRow, ...]) -> str:
    statistics = ", ".join(dict.fromkeys(one.row.statistic.value for one in rows))
    several = any(len(one.passes) > 1 for one in rows)
    below = (
        " Below it: median, lowest and highest of the passes, and their relative standard error (RSE)."
        if several
        else " There is one pass."
    )
    return f"The large figure is what the benchmark shows: the {statistics} of its passes.{below}"


def _figure(number: str, benchmark: BenchmarkProfile, table: Table, unit: FigureUnit) -> Figure:
    """Bars side by side for the directions of each row."""
    directions = [column.label.removesuffix(f" ({unit})") for column in table.columns]
    mixes = [direction for direction in directions if direction not in _COLORS]
    values = [cell.value for row in table.rows for cell in row.cells if cell.value is not None]
    return Figure(
        id=f"{table.id}-plot",
        number=number,
        title=f"{benchmark.title} - {unit}",
        kind="bars",
        table_id=table.id,
        x=category_axis("Row", table),
        y=ticks.linear_axis(unit.value, 0, _ROOM_FOR_TEXTS * max(values)),
        alt=f"{benchmark.title}: {len(table.rows)} rows, from {cells.fixed(min(values), 1)} to "
        f"{cells.fixed(max(values), 1)} {unit}.",
        series=tuple(
            Series(
                direction,
                "column",
                (column,),
                _COLORS.get(direction)
                or _MIX_COLORS[(mixes.index(direction) if direction in mixes else 0) % len(_MIX_COLORS)],
                style="bars",
            )
            for column, direction in enumerate(directions)
        ),
        height_px=280,
    )


def _score(rows: tuple[MeasuredRow, ...]) -> Score | None:
    by_direction: dict[str, dict[str, float]] = {"Read": {}, "Write": {}}
    for one in rows:
        figure = one.figure(FigureUnit.MB_PER_S)
        if figure is not None and not figure.discarded and FigureUnit.MB_PER_S in one.row.units:
            by_direction[one.row.direction][one.row.name] = figure.shown
    return as_ssd_score(by_direction["Read"], by_direction["Write"])


def _score_table(page_id: str, score: Score | None) -> Table:
    values = (None,) * 3 if score is None else (score.read, score.write, score.total)
    return items_table(
        f"{page_id}-score",
        "Score, by the formula that reviews of the tool give (not confirmed by its author)",
        [
            (label, cells.number_or("a row was not measured or is discarded", value, 0))
            for label, value in zip(("Read", "Write", "Total"), values, strict=True)
        ],
        note="Read = 0.1 Seq + 4K + 4K-64Thrd; Write likewise; Total = 0.15 Seq W + 0.1 Seq R + 2 x 4K R + "
        "4K W + 4K-64Thrd W + 1.5 x 4K-64Thrd R; all MB/s. It is 8, 1 and 4 % below the one result published "
        "with all rows (LSI deck: 258, 347, 733).",
    )


def _definition_pages(
    run: Run, number: int, benchmark: BenchmarkProfile, rows: tuple[MeasuredRow, ...]
) -> tuple[Page, ...]:
    """What exactly was done, and every pass."""
    page_id = f"benchmarks-{number}-definition"
    blocks = definition_blocks(f"{page_id}-table", benchmark, rows, run.manifest.target)
    each = each_pass_table(f"{page_id}-each", rows)
    passes = (passes_table(f"{page_id}-passes", rows), *((each,) if each else ()))
    title = benchmark.title
    if len(rows) <= _ROWS_WITH_PASSES:
        return (Page(page_id, f"{title} - Definition and Passes", (*blocks, *passes), mandatory=True),)
    return (
        Page(page_id, f"{title} - Definition", blocks, mandatory=True),
        Page(f"benchmarks-{number}-passes", f"{title} - Passes", passes, mandatory=True),
    )


def _figures(benchmark: BenchmarkProfile, rows: tuple[MeasuredRow, ...]) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    score = _score(rows) if benchmark.score == "as-ssd" else None
    return {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "definition_confirmed": benchmark.confirmed,
        "rows": [_row_figures(one) for one in rows],
        "score": None if score is None else {"read": score.read, "write": score.write, "total": score.total},
    }


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


# SOL-DEV-04
def settling_verdicts(run: Run, number: int, rule: SettlingRule | None) -> tuple[Verdict, ...]:
    """A sentence on the idle time with that number; none without a rule, or if there was none."""
    samples = [step.sample for step in run.phase(Phase.REST, number=number)]
    if rule is None or not samples:
        return ()
    # the log is read before the first look as well
    readings = [
        one.reading
        for one in run.health
        if (one.phase, one.number) == (Phase.REST, number) and (one.t_ns or 0) > samples[0].started_ns
    ]
    idle_ns, looks = 0, []
    # idle time and a look in turns; what was cut short has no reading
    for idle, probe, reading in zip(samples[::2], samples[1::2], readings, strict=False):
        idle_ns += idle.elapsed_ns
        looks.append(look_of(idle_ns, probe, reading))
    verdict = judge(looks, rule)
    waited = f"Idle for {format_duration(idle_ns)} before the first row"
    if verdict.settled:
        return (Verdict(f"{waited}: the drive had settled, its last {rule.looks} looks agree."),)
    return (Verdict(f"{waited}, and NOT settled: {verdict.restless}.", "fail"),)
