"""The report of the preconditioning comparison: courses of random writes, and rows, from three states.

Implements: LSI-PRE-01 to 05, LSI-ENT-01, LSI-PROC-02 to 06.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any, Final

from openpts.analysis.minutes import whole_minutes
from openpts.procedures.kit.content import IOPS, OVER_FILLS, Curve, ReportContent, repeat_figures
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.record.reader import Run
from openpts.units import NS_PER_S
from openpts_pages.measure import Measure, Measured, Subject, key_of, measured
from openpts_pages.model import Block, Page, Verdict
from openpts_pages.texts import capitalised
from openpts_practice.rows import BenchmarkProfile
from openpts_practice.rows.conditions import free_space_words
from openpts_practice.rows.precon import DriveState, PreconConditions
from openpts_practice.rows.precon.pages import (
    course_pages,
    course_verdicts,
    definition_pages,
    entropy_page,
    rows_pages,
)
from openpts_practice.rows.precon.states import (
    STATES,
    Comparison,
    CourseResults,
    comparisons_of,
    counting_state,
    loss_of,
)
from openpts_practice.rows.tables import cover_rows, row_measure, spread_verdicts, times_of
from openpts_pts.shared.preparation_page import conditioning_tables, methodology, purge_verdicts, purges_table

_TITLE: Final = "Preconditioning Comparison"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    comparisons = comparisons_of(run)
    return ReportContent(
        verdicts=tuple(
            verdict for one in comparisons for verdict in (*course_verdicts(one), *_spread_verdicts(one))
        ),
        measures=tuple(measure for one in comparisons for measure in _measures(one)),
        sections=methodology(run, _TITLE, _test_rows(comparisons), lambda: _pages(comparisons)),
        figures=lambda: _figures(comparisons),
        curves=lambda: tuple(_curve(one, state) for one in comparisons for state in STATES),
    )


def _curve(comparison: Comparison, state: DriveState) -> Curve:
    """Over drive fills: what makes drives of different capacities comparable."""
    workload = f"{comparison.conditions.workload.title}{comparison.level}"
    return Curve(
        f"{workload} from {state}",
        f"{workload} IOPS v Drive Fills, {capitalised(state)}",
        "IOPS of each minute at its end",
        OVER_FILLS,
        IOPS,
        tuple(
            (comparison.fills(minute.written_bytes), minute.iops)
            for minute in whole_minutes(comparison.courses[state].minutes, comparison.conditions.minute_ns)
        ),
    )


def _spread_verdicts(comparison: Comparison) -> tuple[Verdict, ...]:
    return spread_verdicts(
        (f"{row.title} {state}", comparison.rows[state][place].figure)
        for state in STATES
        for place, (_, row) in enumerate(comparison.conditions.rows)
    )


def _pages(comparisons: Sequence[Comparison]) -> tuple[Page, ...]:
    numbers = count(1)
    of_levels = [
        page for one in comparisons for page in (*course_pages(one, numbers), *rows_pages(one, numbers))
    ]
    by_entropy = (entropy_page(comparisons),) if len(comparisons) > 1 else ()
    return (_preparation_page(comparisons[0]), *of_levels, *by_entropy, *definition_pages(comparisons[0]))


def _measures(comparison: Comparison) -> tuple[Measured, ...]:
    """The course of random writes, and of each row the figure that counts."""
    fresh, random = (comparison.courses[state] for state in (DriveState.FRESH, DriveState.RANDOM))
    steady = _state_text([comparison])
    workload = Subject(f"{comparison.conditions.workload.title}{comparison.level}", steady=steady)
    benchmarks = [(one, tuple(comparison.conditions.places(one))) for one in comparison.conditions.benchmarks]
    rows = comparison.conditions.rows
    of_rows = (
        row_measure(row).of(
            comparison.rows[state][place].figure,
            Subject(
                f"{benchmark.title}: {row.title}, {state}{comparison.level}",
                key_of(f"{benchmark.name} {row.title} {state}{comparison.level}"),
                steady=steady,
            ),
        )
        for benchmark, places in cover_rows(benchmarks, lambda place: rows[place][1])
        for place in places
        for row in (rows[place][1],)
        for state in (counting_state(row),)
    )
    return (*measured(_FRESH, fresh, workload), _RANDOM.of(random, workload), *of_rows)


_FRESH: Final[tuple[Measure[CourseResults], ...]] = (
    Measure("fresh_first_minute", "{name}, first minute FOB", "IOPS", lambda course: course.first_iops),
    Measure("fresh_steady", "{name}, steady from FOB", "IOPS", lambda course: course.steady_iops),
)
_RANDOM: Final = Measure[CourseResults](
    "random_steady", "{name}, steady after RND", "IOPS", lambda course: course.steady_iops
)


def _state_text(comparisons: Sequence[Comparison]) -> str:
    courses = [course for one in comparisons for course in one.courses.values()]
    reached = sum(course.steady_round is not None for course in courses)
    begun = sum(bool(course.tracked_iops) for course in courses)
    if not begun:
        return "n/a (no minute was judged)"
    return f"reached from {reached} of {begun} {'state' if begun == 1 else 'states'}"


def _test_rows(comparisons: Sequence[Comparison]) -> Rows:
    conditions = comparisons[0].conditions
    first, *others = conditions.benchmarks
    more = f" and {len(others)} more" if others else ""
    return stimulus_rows(
        comparisons[0].run,
        ("Test Stimulus 1", f"{conditions.workload.title}, from each state"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Duration", f"until steady, {conditions.drive_fills:g} x User Capacity"),
        ("Test Stimulus 2", f"{first.title}{more}"),
        ("TOIO - TC/QD", "see definition"),
        ("Rows", str(len(conditions.rows))),
        (
            "States",
            ", ".join(map(str, conditions.situations[:3]))
            if len(comparisons) == 1
            else _levels_text(conditions),
        ),
        ("Steady State", _state_text(comparisons)),
    )


def _levels_text(conditions: PreconConditions) -> str:
    levels = ", ".join(f"{level:g}" for level in conditions.entropies_pct)
    return f"{len(STATES)} of each entropy: {levels} %"


def _preparation_page(comparison: Comparison) -> Page:
    """The purge that each state begins with, and what was written to make or restore it."""
    page_id, run = "precon-preparation", comparison.run
    blocks: list[Block] = [
        Verdict(
            "FOB: purge, a test file for the rows that read. After SEQ: purge, sequential conditioning. "
            "After RND: purge, random writes until steady, which are also the course of the fresh drive."
        )
    ]
    names = [capitalised(str(situation)) for situation in comparison.conditions.situations]
    if comparison.conditions.leave_free is not None:
        blocks.append(Verdict(f"Conditioning: {free_space_words(comparison.conditions.leave_free)}."))
    blocks += purge_verdicts(run, names)
    blocks += [purges_table(run, page_id, names), *conditioning_tables(run, page_id)]
    return Page(page_id, "Purge and Conditioning of Each State", tuple(blocks), mandatory=True)


def _figures(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Key numbers, JSON-ready; with levels of entropy, an entry for each."""
    if comparisons[0].entropy_pct is None:
        return _of_level(comparisons[0])
    return {"levels": [{"entropy_pct": one.entropy_pct, **_of_level(one)} for one in comparisons]}


def _of_level(comparison: Comparison) -> dict[str, Any]:
    return {
        "courses": {
            state.name.lower(): {
                "first_minute_iops": course.first_iops,
                "steady_iops": course.steady_iops,
                "factor": course.factor,
                "steady_after_s": None
                if course.steady_after_ns is None
                else course.steady_after_ns / NS_PER_S,
                "steady_after_drive_fills": None
                if course.steady_after_bytes is None
                else comparison.fills(course.steady_after_bytes),
                "elapsed_s": course.elapsed_ns / NS_PER_S,
                "drive_fills": comparison.fills(course.written_bytes),
            }
            for state, course in comparison.courses.items()
        },
        "benchmarks": [
            {
                "benchmark": benchmark.name,
                "title": benchmark.title,
                "times": {
                    state.name.lower(): times_of(comparison.run, comparison.samples(state, benchmark))
                    for state in STATES
                },
            }
            for benchmark in comparison.conditions.benchmarks
        ],
        "rows": [
            _row_figures(comparison, benchmark, place)
            for benchmark in comparison.conditions.benchmarks
            for place in comparison.conditions.places(benchmark)
        ],
    }


def _row_figures(comparison: Comparison, benchmark: BenchmarkProfile, place: int) -> dict[str, Any]:
    _, row = comparison.conditions.rows[place]
    by_state = {state: comparison.rows[state][place] for state in STATES}
    losses = {
        state: loss_of(by_state[DriveState.FRESH], by_state[state])
        for state in (DriveState.SEQUENTIAL, DriveState.RANDOM)
    }
    word = "factor_{}" if row.units[0].is_time else "loss_{}_pct"
    return {
        "benchmark": benchmark.name,
        "row": row.title,
        "unit": row.units[0].value,
        "counts": counting_state(row).name.lower(),
        **{state.name.lower(): one.value for state, one in by_state.items()},
        "passes": {
            state.name.lower(): None if one.figure is None else repeat_figures(one.figure.passes)
            for state, one in by_state.items()
        },
        **{word.format(state.name.lower()): loss for state, loss in losses.items()},
    }
