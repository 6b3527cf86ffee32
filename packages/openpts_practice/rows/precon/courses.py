"""Courses of random writes from each state: where they begin, where they settle."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from openpts.analysis.minutes import Minute, whole_minutes
from openpts.procedures.kit.content import IOPS, OVER_FILLS, Curve
from openpts.procedures.kit.steps import transpose
from openpts.record.reader import Run
from openpts.units import format_duration
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, grid, page
from openpts_pages.model import Axis, Block, Cell, Column, Mark, Page, PlotRule, Series, Table, Verdict
from openpts_pages.texts import capitalised
from openpts_practice.rows.precon import DriveState, PreconConditions
from openpts_practice.rows.precon.states import STATES, CourseResults, reached_at
from openpts_pts.shared.preparation_page import nothing_page

COLORS: Final = {DriveState.FRESH: 2, DriveState.SEQUENTIAL: 4, DriveState.RANDOM: 3}
_PRINTED_VALUES: Final = 200
_NOT_ITS_OWN: Final = Cell("-", tone="missing")


class _Along(Struct, frozen=True):
    """What the minutes are plotted over: the axis, and a minute's place on it; ``number`` is the plot's."""

    key: str
    number: str
    axis: Axis
    place: Callable[[Minute], float]


class Courses(Struct, frozen=True):
    """One level of entropy of a run, or the entire run: courses by the state from which they start."""

    run: Run
    conditions: PreconConditions
    entropy_pct: float | None
    courses: dict[DriveState, CourseResults]

    @property
    def capacity_bytes(self) -> int:
        """User capacity."""
        return self.run.manifest.target.user_capacity_bytes

    def fills(self, amount_bytes: float) -> float:
        """An amount in user capacities."""
        return amount_bytes / self.capacity_bytes if self.capacity_bytes else 0.0

    @property
    def key(self) -> str:
        """The level's part of ids; empty where there are none."""
        return "" if self.entropy_pct is None else f"-e{self.entropy_pct:g}".replace(".", "_")

    @property
    def level(self) -> str:
        """The level behind titles and names: ``, entropy 46 %``."""
        return "" if self.entropy_pct is None else f", entropy {self.entropy_pct:g} %"

    # LSI-PRE-01
    def course_pages(self, numbers: Iterator[int]) -> tuple[Page, ...]:
        """IOPS over time, with a mark at each full capacity, and over drive fills."""
        minutes = [minute for course in self.courses.values() for minute in course.minutes]
        title = f"{self.conditions.workload.title} IOPS from Each State{self.level}"
        if not minutes:
            return (nothing_page(f"precon-time{self.key}", title, "no random writes were begun"),)
        time = ticks.time_axis("Time", 0, _room(minutes) * max(minute.end_ns for minute in minutes))
        most = max(self.fills(minute.written_bytes) for minute in minutes)
        over_time = _Along(
            "time", f"Plot X-PRECON-{next(numbers)}", time.axis, lambda minute: time.place(minute.end_ns)
        )
        over_fills = _Along(
            "fills",
            f"Plot X-PRECON-{next(numbers)}",
            ticks.linear_axis("Written since the start (x user capacity)", 0, _room(minutes) * most),
            lambda minute: self.fills(minute.written_bytes),
        )
        full = tuple(PlotRule(f"{n} x capacity", n, "limit", axis="x") for n in range(1, int(most) + 1))
        verdicts, marks = self.course_verdicts(), self._marks(over_time)
        return (
            self._page(over_time, f"{title} v Time", *verdicts, marks=marks),
            self._page(over_fills, f"{title} v Drive Fills", self._states_table(), rules=full),
        )

    def _page(
        self,
        along: _Along,
        title: str,
        *below: Block,
        marks: tuple[Mark, ...] = (),
        rules: tuple[PlotRule, ...] = (),
    ) -> Page:
        name = PlotName(f"precon-{along.key}{self.key}", along.number, title)
        shown = self._minutes_table(along, name.id)
        begun = [state for state in STATES if self.courses[state].minutes]
        counts = [sum(row.cells[at].value is not None for row in shown.rows) for at in range(len(STATES))]
        styles = ["mean" if count > 1 else "measured" for count in counts]
        plot = Plot(
            x=along.axis,
            y=partial(ticks.amount_axis, "IOPS"),
            series=tuple(
                Series(str(state), "column", (at,), COLORS[state], style=styles[at])
                for at, state in enumerate(STATES)
                if state in begun
            ),
            alt=f"minute means from {{high}} down to {{low}} IOPS; {', '.join(begun)}.",
            rules=rules,
            marks=marks,
            height_px=330,
        )
        return page(name, plot.over(name, shown), *below, shown)

    def _marks(self, along: _Along) -> tuple[Mark, ...]:
        """Where the fresh drive was written full once, twice, and so on."""
        minutes = self.courses[DriveState.FRESH].minutes
        found = []
        number = 1
        while (minute := reached_at(minutes, number * self.capacity_bytes)) is not None:
            found.append(Mark(f"{number}x", along.place(minute), minute.iops))
            number += 1
        return tuple(found)

    def _minutes_table(self, along: _Along, page_id: str) -> Table:
        """A row per minute of each course, in the column of its start state."""
        minutes = [
            (state, minute)
            for state in STATES
            for minute in whole_minutes(self.courses[state].minutes, self.conditions.minute_ns)
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

    def course_verdicts(self) -> tuple[Verdict, ...]:
        """A sentence for each course: where random writes from a state began, where they settled."""
        return tuple(self._course_verdict(state) for state in STATES)

    def _course_verdict(self, state: DriveState) -> Verdict:
        course, start = self.courses[state], f"{capitalised(state)}{self.level}"
        if course.first_iops is None:
            why = "cut short in their first minute" if course.minutes else "never begun"
            return Verdict(f"{start}: n/a (random writes {why}).", "fail")
        begin = f"{start}: {cells.fixed(course.first_iops, 0)} IOPS in the first minute"
        if course.steady_iops is None or course.steady_after_ns is None or course.factor is None:
            return Verdict(
                f"{begin}; STEADY STATE NOT REACHED in {format_duration(course.elapsed_ns)} and "
                f"{cells.fixed(self.fills(course.written_bytes), 2)} drive fills.",
                "fail",
            )
        return Verdict(
            f"{begin}, {cells.fixed(course.steady_iops, 0)} in Steady State, found after "
            f"{format_duration(course.steady_after_ns)} and "
            f"{cells.fixed(self.fills(course.steady_after_bytes or 0), 2)} drive fills (rules of 2.1.24): "
            f"factor {cells.fixed(course.factor, 2)}."
        )

    def _states_table(self) -> Table:
        """First minute, steady state, how long it took, from each state."""
        fills = self.fills
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
            f"precon-states{self.key}",
            f"{self.conditions.workload.title} from each state{self.level}",
            rows,
            [(str(state), self.courses[state]) for state in STATES],
            head=Col("", cells.words, align="left", width=1.6),
            note=self._rule_text(),
        )

    def _rule_text(self) -> str:
        conditions = self.conditions
        return (
            "Steady State: range at most 20 % and slope at most 10 % of the average over five minutes. They "
            f"begin {format_duration(conditions.tracking_period_ns)} or {conditions.tracking_fills:g} drive "
            f"fills apart, whichever is shorter; {DriveState.FRESH} and {DriveState.SEQUENTIAL} not before "
            f"{conditions.steady_after_drive_fills:g} drive fills, since a fresh drive's plateau is steady "
            "too."
        )

    def curve(self, state: DriveState) -> Curve:
        """Over drive fills: what makes drives of different capacities comparable."""
        workload = f"{self.conditions.workload.title}{self.level}"
        return Curve(
            f"{workload} from {state}",
            f"{workload} IOPS v Drive Fills, {capitalised(state)}",
            "IOPS of each minute at its end",
            OVER_FILLS,
            IOPS,
            tuple(
                (self.fills(minute.written_bytes), minute.iops)
                for minute in whole_minutes(self.courses[state].minutes, self.conditions.minute_ns)
            ),
        )


def steady_text(courses: Sequence[CourseResults]) -> str:
    """From how many states random writes came to steady state."""
    reached = sum(course.steady_round is not None for course in courses)
    begun = sum(bool(course.tracked_iops) for course in courses)
    if not begun:
        return "n/a (no minute was judged)"
    return f"reached from {reached} of {begun} {'state' if begun == 1 else 'states'}"


def _room(minutes: Sequence[Minute]) -> float:
    """Behind the last minute: a point on the frame would be cut off."""
    return 1.1 if len(minutes) <= len(STATES) else 1.0


def _number(value: float | None, decimals: int) -> Cell:
    return cells.number_or("not reached", value, decimals)


def _time(value_ns: int | None) -> Cell:
    return cells.missing("not reached") if value_ns is None else cells.words(format_duration(value_ns))


def _window(course: CourseResults, name: str) -> Cell:
    if course.verdict is None:
        return cells.missing("fewer than five minutes")
    return cells.percent(float(getattr(course.verdict, name)))
