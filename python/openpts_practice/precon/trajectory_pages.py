"""Random writes from each state over time and over drive fills, and what becomes of them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from openpts.analysis.minutes import Minute, whole_minutes
from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, grid, page
from openpts.pages.model import Axis, Block, Cell, Column, Mark, Page, PlotRule, Series, Table, Verdict
from openpts.pages.texts import capitalised
from openpts.procedures.kit.steps import transpose
from openpts.procedures.shared.methodology import nothing_page
from openpts.units import format_duration
from openpts_practice.precon import DriveState
from openpts_practice.precon.states import STATES, Comparison, CourseResults, reached_at

COLORS: Final = {DriveState.FRESH: 2, DriveState.SEQUENTIAL: 4, DriveState.RANDOM: 3}
_PRINTED_VALUES: Final = 200
_NOT_ITS_OWN: Final = Cell("-", tone="missing")


class _Along(Struct, frozen=True):
    """What the minutes are plotted over: the axis, and a minute's place on it; ``number`` is the plot's."""

    key: str
    number: str
    axis: Axis
    place: Callable[[Minute], float]


# LSI-PRE-01
def course_pages(comparison: Comparison, numbers: Iterator[int]) -> tuple[Page, ...]:
    """IOPS over time, with a mark at each full capacity, and over drive fills; ``numbers`` are the plots'."""
    minutes = [minute for course in comparison.courses.values() for minute in course.minutes]
    title = f"{comparison.conditions.workload.title} IOPS from Each State{comparison.level}"
    if not minutes:
        return (nothing_page(f"precon-time{comparison.key}", title, "no random writes were begun"),)
    time = ticks.time_axis("Time", 0, _room(minutes) * max(minute.end_ns for minute in minutes))
    most = max(comparison.fills(minute.written_bytes) for minute in minutes)
    over_time = _Along(
        "time", f"Plot X-PRECON-{next(numbers)}", time.axis, lambda minute: time.place(minute.end_ns)
    )
    over_fills = _Along(
        "fills",
        f"Plot X-PRECON-{next(numbers)}",
        ticks.linear_axis("Written since the start (x user capacity)", 0, _room(minutes) * most),
        lambda minute: comparison.fills(minute.written_bytes),
    )
    full = range(1, int(most) + 1)
    return (
        _page(
            comparison,
            over_time,
            f"{title} v Time",
            below=course_verdicts(comparison),
            marks=_marks(comparison, over_time),
        ),
        _page(
            comparison,
            over_fills,
            f"{title} v Drive Fills",
            below=(states_table(comparison),),
            rules=tuple(PlotRule(f"{n} x capacity", n, "limit", axis="x") for n in full),
        ),
    )


def _room(minutes: Sequence[Minute]) -> float:
    """Behind the last minute: a point on the frame would be cut off."""
    return 1.1 if len(minutes) <= len(STATES) else 1.0


def _page(
    comparison: Comparison,
    along: _Along,
    title: str,
    *,
    below: tuple[Block, ...],
    marks: tuple[Mark, ...] = (),
    rules: tuple[PlotRule, ...] = (),
) -> Page:
    name = PlotName(f"precon-{along.key}{comparison.key}", along.number, title)
    shown = _minutes_table(comparison, along, name.id)
    begun = [state for state in STATES if comparison.courses[state].minutes]
    counts = [sum(row.cells[at].value is not None for row in shown.rows) for at in range(len(STATES))]
    plot = Plot(
        x=along.axis,
        y=partial(ticks.amount_axis, "IOPS"),
        series=tuple(
            Series(str(state), "column", (at,), COLORS[state], style="mean" if counts[at] > 1 else "measured")
            for at, state in enumerate(STATES)
            if state in begun
        ),
        alt=f"minute means from {{high}} down to {{low}} IOPS; {', '.join(begun)}.",
        rules=rules,
        marks=marks,
        height_px=330,
    )
    return page(name, plot.over(name, shown), *below, shown)


def _marks(comparison: Comparison, along: _Along) -> tuple[Mark, ...]:
    """Where the fresh drive was written full once, twice, and so on."""
    minutes = comparison.courses[DriveState.FRESH].minutes
    found = []
    number = 1
    while (minute := reached_at(minutes, number * comparison.capacity_bytes)) is not None:
        found.append(Mark(f"{number}x", along.place(minute), minute.iops))
        number += 1
    return tuple(found)


def _minutes_table(comparison: Comparison, along: _Along, page_id: str) -> Table:
    """A row per minute of each course, in the column of its start state."""
    minutes = [
        (state, minute)
        for state in STATES
        for minute in whole_minutes(comparison.courses[state].minutes, comparison.conditions.minute_ns)
    ]
    return grid(
        f"{page_id}-values",
        "Values plotted: mean of each minute, at its end",
        Col(along.axis.title, lambda one: cells.number(along.place(one[1]), 3)),
        [(Column(f"{state} (IOPS)"), state) for state in STATES],
        minutes,
        cell=lambda one, state: cells.number(one[1].iops, 1) if one[0] is state else _NOT_ITS_OWN,
        printed=2 * len(minutes) <= _PRINTED_VALUES,
    )


def course_verdicts(comparison: Comparison) -> tuple[Verdict, ...]:
    """A sentence for each course: where random writes from a state began, where they settled."""
    return tuple(_course_verdict(comparison, state) for state in STATES)


def _course_verdict(comparison: Comparison, state: DriveState) -> Verdict:
    course, start = comparison.courses[state], f"{capitalised(state)}{comparison.level}"
    if course.first_iops is None:
        why = (
            "random writes cut short in their first minute" if course.minutes else "random writes never begun"
        )
        return Verdict(f"{start}: n/a ({why}).", "fail")
    begin = f"{start}: {cells.fixed(course.first_iops, 0)} IOPS in the first minute"
    if course.steady_iops is None or course.steady_after_ns is None or course.factor is None:
        return Verdict(
            f"{begin}; STEADY STATE NOT REACHED in {format_duration(course.elapsed_ns)} and "
            f"{cells.fixed(comparison.fills(course.written_bytes), 2)} drive fills.",
            "fail",
        )
    return Verdict(
        f"{begin}, {cells.fixed(course.steady_iops, 0)} in Steady State, found after "
        f"{format_duration(course.steady_after_ns)} and "
        f"{cells.fixed(comparison.fills(course.steady_after_bytes or 0), 2)} drive fills (rules of 2.1.24): "
        f"factor {cells.fixed(course.factor, 2)}."
    )


def states_table(comparison: Comparison) -> Table:
    """First minute, steady state, how long it took, from each state."""
    fills = comparison.fills
    rows: list[Col[CourseResults]] = [
        Col("First minute (IOPS)", lambda one: cells.number_or("not measured", one.first_iops, 0)),
        Col("Steady State (IOPS)", lambda one: _number(one.steady_iops, 0)),
        Col("First minute / Steady State", lambda one: _number(one.factor, 2)),
        Col("Time until it was found", lambda one: _time(one.steady_after_ns)),
        Col(
            "Drive fills until it was found",
            lambda one: _number(one.steady_after_bytes and fills(one.steady_after_bytes), 2),
        ),
        Col("Range of the window (%)", lambda one: _window(one, "range_pct")),
        Col("Slope of the window (%)", lambda one: _window(one, "slope_excursion_pct")),
        Col("Written in all (x user capacity)", lambda one: cells.number(fills(one.written_bytes), 2)),
    ]
    return transpose(
        f"precon-states{comparison.key}",
        f"{comparison.conditions.workload.title} from each state{comparison.level}",
        rows,
        [(str(state), comparison.courses[state]) for state in STATES],
        head=Col("", cells.words, align="left", width=1.6),
        note=_rule_text(comparison),
    )


def _rule_text(comparison: Comparison) -> str:
    conditions = comparison.conditions
    return (
        "Steady State: range at most 20 % and slope at most 10 % of the average over five minutes, which "
        f"begin {format_duration(conditions.tracking_period_ns)} or {conditions.tracking_fills:g} drive "
        f"fills apart, whichever is shorter; {DriveState.FRESH} and {DriveState.SEQUENTIAL} not before "
        f"{conditions.steady_after_drive_fills:g} drive fills, since a fresh drive's plateau is steady too."
    )


def _number(value: float | None, decimals: int) -> Cell:
    return cells.number_or("not reached", value, decimals)


def _time(value_ns: int | None) -> Cell:
    return cells.missing("not reached") if value_ns is None else cells.words(format_duration(value_ns))


def _window(course: CourseResults, name: str) -> Cell:
    if course.verdict is None:
        return cells.missing("fewer than five minutes")
    return cells.percent(float(getattr(course.verdict, name)))
