"""The report of the preconditioning comparison: courses of random writes, and rows, from three states.

Implements: LSI-PRE-01 to 05, LSI-PROC-03 to 06.
"""

from typing import Any, Final

from openpts.analysis.minutes import whole_minutes
from openpts.pages.measure import Measure, Measured, Subject, measured
from openpts.pages.model import Block, Page, Verdict
from openpts.pages.texts import capitalised
from openpts.procedures.extended.precon.conditions import DriveState
from openpts.procedures.extended.precon.results import CourseResults
from openpts.procedures.extended.precon.rows_pages import rows_pages
from openpts.procedures.extended.precon.states import STATES, Comparison, comparison_of, counting_state
from openpts.procedures.extended.precon.trajectory_pages import course_pages, course_verdicts
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.curve import IOPS, OVER_FILLS, Curve
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.spread import repeat_figures
from openpts.procedures.shared.benchmark.results import loss_pct
from openpts.procedures.shared.benchmark.tables import row_measure, spread_verdicts
from openpts.procedures.shared.methodology import (
    conditioning_tables,
    methodology_section,
    purge_verdicts,
    purges_table,
)
from openpts.record.reader import Run
from openpts.units import NS_PER_S

_TITLE: Final = "Preconditioning Comparison"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    comparison = comparison_of(run)
    return ReportContent(
        verdicts=(*course_verdicts(comparison), *_spread_verdicts(comparison)),
        measures=_measures(comparison),
        sections=lambda standing, report_date: (
            methodology_section(
                run,
                standing,
                report_date,
                title=_TITLE,
                test_rows=_test_rows(comparison),
                pages=(_preparation_page(comparison), *course_pages(comparison), *rows_pages(comparison)),
            ),
        ),
        figures=_figures(comparison),
        curves=lambda: tuple(_curve(comparison, state) for state in STATES),
    )


def _curve(comparison: Comparison, state: DriveState) -> Curve:
    """Over drive fills: what makes drives of different capacities comparable."""
    workload = comparison.conditions.workload.title
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
        for place, row in enumerate(comparison.conditions.benchmark.rows)
    )


def _measures(comparison: Comparison) -> tuple[Measured, ...]:
    """The course of random writes, and of each row the figure that counts."""
    fresh, random = (comparison.courses[state] for state in (DriveState.FRESH, DriveState.RANDOM))
    steady = _state_text(comparison)
    workload = Subject(comparison.conditions.workload.title, steady=steady)
    rows = (
        row_measure(row).of(
            comparison.rows[state][place].figure, Subject(f"{row.title}, {state}", steady=steady)
        )
        for place, row in enumerate(comparison.conditions.benchmark.rows)
        for state in (counting_state(row),)
    )
    return (*measured(_FRESH, fresh, workload), _RANDOM.of(random, workload), *rows)


_FRESH: Final[tuple[Measure[CourseResults], ...]] = (
    Measure("fresh_first_minute", "{name}, first minute FOB", "IOPS", lambda course: course.first_iops),
    Measure("fresh_steady", "{name}, steady from FOB", "IOPS", lambda course: course.steady_iops),
)
_RANDOM: Final = Measure[CourseResults](
    "random_steady", "{name}, steady after RND", "IOPS", lambda course: course.steady_iops
)


def _state_text(comparison: Comparison) -> str:
    reached = sum(course.steady_round is not None for course in comparison.courses.values())
    begun = sum(bool(course.tracked_iops) for course in comparison.courses.values())
    if not begun:
        return "n/a (no minute was judged)"
    return f"reached from {reached} of {begun} {'state' if begun == 1 else 'states'}"


def _test_rows(comparison: Comparison) -> Rows:
    conditions = comparison.conditions
    return stimulus_rows(
        comparison.run,
        ("Test Stimulus 1", f"{conditions.workload.title}, from each state"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Duration", f"until steady, {conditions.drive_fills:g} x User Capacity"),
        ("Test Stimulus 2", conditions.benchmark.title),
        ("TOIO - TC/QD", "see definition"),
        ("Rows", str(len(conditions.benchmark.rows))),
        ("States", ", ".join(STATES)),
        ("Steady State", _state_text(comparison)),
    )


def _preparation_page(comparison: Comparison) -> Page:
    """The purge that each state begins with, and what was written to make or restore it."""
    page_id, run = "precon-preparation", comparison.run
    blocks: list[Block] = [
        Verdict(
            "FOB: purge, a test file for the rows that read. After SEQ: purge, sequential conditioning. "
            "After RND: purge, random writes until steady, which are also the course of the fresh drive."
        ),
    ]
    names = [capitalised(state) for state in STATES]
    blocks += purge_verdicts(run, names)
    blocks += [purges_table(run, page_id, names), *conditioning_tables(run, page_id)]
    return Page(page_id, "Purge and Conditioning of Each State", tuple(blocks), mandatory=True)


def _figures(comparison: Comparison) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
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
        "rows": [
            _row_figures(comparison, place) for place in range(len(comparison.conditions.benchmark.rows))
        ],
    }


def _row_figures(comparison: Comparison, place: int) -> dict[str, Any]:
    row = comparison.conditions.benchmark.rows[place]
    values = {state: comparison.rows[state][place].value for state in STATES}
    fresh = values[DriveState.FRESH]
    return {
        "row": row.title,
        "unit": row.units[0].value,
        "counts": counting_state(row).name.lower(),
        **{state.name.lower(): values[state] for state in STATES},
        "passes": {
            state.name.lower(): None if figure is None else repeat_figures(figure.passes)
            for state in STATES
            for figure in (comparison.rows[state][place].figure,)
        },
        **{
            f"loss_{state.name.lower()}_pct": None
            if fresh is None or (used := values[state]) is None
            else loss_pct(fresh, used)
            for state in (DriveState.SEQUENTIAL, DriveState.RANDOM)
        },
    }
