"""Courses of random writes from each state, and the rows in each: what is lost, which figure counts."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from openpts.analysis.minutes import Minute, whole_minutes
from openpts.procedures.kit.steps import transpose
from openpts.units import format_duration
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, grid, labels_axis, page, rows_table, values_of
from openpts_pages.model import (
    Axis,
    Block,
    Cell,
    Column,
    Figure,
    Mark,
    Page,
    PlotRule,
    Row,
    Series,
    Table,
    Verdict,
)
from openpts_pages.texts import capitalised
from openpts_practice.rows import BenchmarkProfile, FigureUnit, ProfileRow
from openpts_practice.rows.precon import DriveState
from openpts_practice.rows.precon.states import (
    STATES,
    Comparison,
    CourseResults,
    StateRow,
    counting_state,
    loss_of,
    reached_at,
)
from openpts_practice.rows.tables import definition_blocks, figure_cell, pass_cells, times_table, value_text
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


# More places than that have no room for their names on an axis, each with three bars.
_MOST_ON_AXIS: Final = 6
_HEIGHT_PX: Final = 330
# Above the highest bar stands its value.
_ROOM_FOR_TEXTS: Final = 1.25
_NOT_MEASURED: Final = "not measured"
_RULE: Final = (
    "Rule: for random use the figure after random writes counts, for sequential use the figure after "
    "sequential writes. Fresh figures are maxima, which no drive in use reaches."
)


# LSI-PRE-03, 04, LSI-PROC-05
def rows_pages(comparison: Comparison, numbers: Iterator[int]) -> tuple[Page, ...]:
    """Each row in each state, benchmark by benchmark, then what was done in which order."""
    pages = [
        page
        for n, one in enumerate(comparison.conditions.benchmarks, start=1)
        for page in _states_pages(comparison, one, n, numbers)
    ]
    return (*pages, _loss_page(comparison), _order_page(comparison))


class _RowGroup(Struct, frozen=True):
    """Rows with a plot and a table of their own: those of a unit, of one direction if they are many."""

    unit: FigureUnit
    direction: str
    places: tuple[int, ...]

    @property
    def title(self) -> str:
        """What the rows have in common: ``IOPS``, ``MB/s, Read``."""
        return f"{self.unit}, {self.direction}" if self.direction else self.unit.value

    @property
    def key(self) -> str:
        """The group's part of ids."""
        words = f"{self.unit.name} {self.direction}".lower()
        return re.sub("[^a-z0-9]+", "-", words).strip("-")


def _groups(comparison: Comparison, benchmark: BenchmarkProfile) -> tuple[_RowGroup, ...]:
    """By unit; where one has more rows than an axis has room for, by direction as well."""
    found: dict[tuple[FigureUnit, str], list[int]] = {}
    many = {
        unit for unit, rows in Counter(row.units[0] for row in benchmark.rows).items() if rows > _MOST_ON_AXIS
    }
    for place, row in zip(comparison.conditions.places(benchmark), benchmark.rows, strict=True):
        unit = row.units[0]
        found.setdefault((unit, row.direction if unit in many else ""), []).append(place)
    return tuple(_RowGroup(unit, direction, tuple(places)) for (unit, direction), places in found.items())


def _states_pages(
    comparison: Comparison, benchmark: BenchmarkProfile, number: int, numbers: Iterator[int]
) -> tuple[Page, ...]:
    """A page for each group of the benchmark's rows: bars and figures, the largest loss in words."""
    several = len(comparison.conditions.benchmarks) > 1
    page_id = f"precon-rows{comparison.key}{f'-{number}' if several else ''}"
    title = f"{benchmark.title}: Figures by State{comparison.level}"
    pages: list[Page] = []
    for group in _groups(comparison, benchmark):
        table = _values_table(comparison, group, page_id)
        if not values_of(table):
            continue
        first = () if pages else loss_verdicts(comparison, benchmark)
        pages.append(
            Page(
                f"{page_id}-{group.key}" if pages else page_id,
                f"{title} ({group.title})",
                (_bars(comparison, table, group, next(numbers)), *first, table),
                mandatory=True,
            )
        )
    return tuple(pages) or (nothing_page(page_id, title, "no row was measured"),)


def loss_verdicts(comparison: Comparison, benchmark: BenchmarkProfile) -> tuple[Verdict, ...]:
    """The largest losses of a benchmark, of rates and of response times, by the states that count."""
    worst: dict[bool, tuple[float, str]] = {}
    for place, row in zip(comparison.conditions.places(benchmark), benchmark.rows, strict=True):
        fresh, used = (comparison.rows[state][place] for state in (DriveState.FRESH, counting_state(row)))
        loss = loss_of(fresh, used)
        if loss is None or fresh.value is None or used.value is None or _reads_unwritten(row):
            continue
        is_time, unit = row.units[0].is_time, row.units[0]
        figures = f"{value_text(fresh.value, unit)} to {value_text(used.value, unit)} {unit}"
        where = f"{row.title} {counting_state(row)}, {figures}"
        amount = f"{cells.fixed(loss, 2)} times as long" if is_time else f"{cells.fixed(loss, 1)} % slower"
        if loss > worst.get(is_time, (1.0 if is_time else 0.0, ""))[0]:
            worst[is_time] = loss, f"up to {amount} ({where})"
    name = f"{benchmark.title}{comparison.level}"
    if not worst:
        return (Verdict(f"{name}: no row is slower than on the fresh drive, by the state that counts."),)
    return (Verdict(f"{name}, after preconditioning: {'; '.join(text for _, text in worst.values())}."),)


def _reads_unwritten(row: ProfileRow) -> bool:
    """Whether a row reads all of a fresh drive, which answers most of it without its flash."""
    return row.read_pct > 0 and row.span_bytes is None


def _loss_page(comparison: Comparison) -> Page:
    title = f"Loss by State and the Figure that Counts{comparison.level}"
    worst: list[Block] = [
        verdict for one in comparison.conditions.benchmarks for verdict in loss_verdicts(comparison, one)
    ]
    blocks = (*worst, Verdict(_RULE), _loss_table(comparison))
    return Page(f"precon-loss{comparison.key}", title, blocks, mandatory=True)


def _values_table(comparison: Comparison, group: _RowGroup, page_id: str) -> Table:
    """The figures of a group, a column for each state, and the range that a drive in use has."""
    rows = comparison.conditions.rows
    return rows_table(
        f"{page_id}-{group.key}-values",
        f"Figures by state: {group.title}",
        (
            "Row:<1.4",
            *(Column(f"{state} ({group.unit})") for state in STATES),
            Column(f"True range ({group.unit})"),
        ),
        (
            (
                rows[place][1].title,
                *(figure_cell(comparison.rows[state][place].measured.figure(group.unit)) for state in STATES),
                _true_range(comparison, place, group.unit),
            )
            for place in group.places
        ),
        note=f"True range: {DriveState.SEQUENTIAL} and {DriveState.RANDOM}. {DriveState.FRESH} is a maximum.",
    )


def _true_range(comparison: Comparison, place: int, unit: FigureUnit) -> Cell:
    used = [comparison.rows[state][place].value for state in STATES if state is not DriveState.FRESH]
    known = [value for value in used if value is not None]
    if len(known) < len(used):
        return cells.missing(_NOT_MEASURED)
    return cells.words(" to ".join(value_text(value, unit) for value in (min(known), max(known))))


def _bars(comparison: Comparison, table: Table, group: _RowGroup, number: int) -> Figure:
    """A bar for each state, side by side for each row."""
    rows = [comparison.conditions.rows[place][1] for place in group.places]
    labels = tuple(row.name if group.direction else _label(row) for row in rows)
    unit = group.unit
    values = values_of(table)
    return Figure(
        id=f"{table.id}-plot",
        number=f"Plot X-PRECON-{number}",
        title=f"Figures by state - {group.title}{comparison.level}",
        kind="bars",
        table_id=table.id,
        x=labels_axis("Row", labels),
        y=ticks.linear_axis(unit.value, 0, _ROOM_FOR_TEXTS * max(values)),
        alt=f"{len(labels)} rows in three states, from {value_text(min(values), unit)} to "
        f"{value_text(max(values), unit)} {unit}.",
        series=tuple(
            Series(str(state), "column", (n,), COLORS[state], style="bars") for n, state in enumerate(STATES)
        ),
        height_px=_HEIGHT_PX,
    )


def _label(row: ProfileRow) -> str:
    """A row below its place on the axis, where there is little room: ``RND 4 KiB QD32 R70``."""
    direction = {100: "R", 0: "W"}.get(row.read_pct, f"R{row.read_pct}")
    return f"{row.name} {direction}"


def _title(comparison: Comparison, place: int) -> str:
    """A row among those of all benchmarks."""
    benchmark, row = comparison.conditions.rows[place]
    return row.title if len(comparison.conditions.benchmarks) == 1 else f"{benchmark.title}: {row.title}"


def _loss_table(comparison: Comparison) -> Table:
    """What each state costs against the fresh figure, and the figure that counts."""
    rows = comparison.conditions.rows
    units = {row.units[0].is_time for _, row in rows}
    unwritten = [_title(comparison, place) for place, (_, row) in enumerate(rows) if _reads_unwritten(row)]
    note = "Loss = (FOB - state) / FOB. Time = state / FOB: more than 1 is a loss."
    if unwritten:
        note += f" Not of the flash: {', '.join(unwritten)}, since most of a fresh drive was never written."
    used = (DriveState.SEQUENTIAL, DriveState.RANDOM)
    kinds = [
        (state, is_time, f"Time {state} (x {DriveState.FRESH})" if is_time else f"Loss {state} (%)")
        for is_time in sorted(units)
        for state in used
    ]
    return rows_table(
        f"precon-loss{comparison.key}-table",
        "Loss against the fresh drive, and the figure that counts",
        (
            "Row:<1.7",
            *(Column(label) for _, _, label in kinds),
            "Use:<0.8 | Counts:<0.8 | Figure that counts | Unit:<0.5",
        ),
        (
            (
                _title(comparison, place),
                *(_loss(comparison, place, state, is_time=is_time) for state, is_time, _ in kinds),
                *_counting_cells(comparison, place, row),
            )
            for place, (_, row) in enumerate(rows)
        ),
        note=note,
    )


def _loss(comparison: Comparison, place: int, state: DriveState, *, is_time: bool) -> Cell:
    fresh, used = comparison.rows[DriveState.FRESH][place], comparison.rows[state][place]
    if fresh.unit.is_time is not is_time:
        return cells.none()
    if fresh.value is None or used.value is None:
        return cells.missing((fresh if fresh.value is None else used).absence)
    loss = loss_of(fresh, used)
    if loss is None:
        return cells.missing("fresh figure is 0")
    return cells.number(loss, 2) if is_time else cells.percent(loss)


def _counting_cells(comparison: Comparison, place: int, row: ProfileRow) -> tuple[Cell, ...]:
    counting, unit = counting_state(row), row.units[0]
    value = comparison.rows[counting][place].value
    return (
        Cell("random" if row.random_pct else "sequential"),
        Cell(str(counting)),
        cells.missing(comparison.rows[counting][place].absence)
        if value is None
        else Cell(value_text(value, unit), value),
        Cell(unit.value),
    )


def _order_page(comparison: Comparison) -> Page:
    """In which order rows were measured, what had been written before, and when each benchmark ran."""
    page_id = f"precon-order{comparison.key}"
    benchmarks = comparison.conditions.benchmarks
    several = len(benchmarks) > 1
    rows = []
    for state in STATES:
        in_order = _in_order(comparison.rows[state])
        for n, place in enumerate(in_order):
            benchmark, row = comparison.conditions.rows[place]
            of = f"{benchmark.title}, " if several else ""
            one = comparison.rows[state][place]
            head = Cell(f"{capitalised(state)}: {of}{_label(row)}")
            rows.append(Row(head, _order_cells(comparison, one, first=not n)))
    table = rows_table(
        f"{page_id}-table",
        "Rows in the order in which they were measured",
        "State and row:<2.1 | Written since (x user capacity) | State before:^0.8 | Passes:0.6 | "
        "Median (MB/s) | RSE (%):0.6 | Median (IOPS) | ART (ms):0.8 | MRT (ms):0.8",
        rows,
        note="Order: reads, then writes in the state's own order, then other writes. After a row of other "
        f"writes, {comparison.conditions.recondition_passes:g} x user capacity of the state's conditioning "
        "restores the state. A fresh drive can't be restored: its rows include the effect of earlier writes.",
    )
    times = times_table(
        f"{page_id}-times",
        comparison.run,
        [
            (f"{capitalised(state)}: {one.title}", comparison.samples(state, one))
            for state in STATES
            for one in benchmarks
        ],
    )
    title = f"Order, Passes and Times of the Rows{comparison.level}"
    return Page(page_id, title, (table, times), mandatory=True)


# LSI-ENT-01
def entropy_page(comparisons: Sequence[Comparison]) -> Page:
    """The figure of each row that counts, by the entropy of the data."""
    page_id = "precon-entropy"
    table = rows_table(
        f"{page_id}-table",
        "Figures that count, by entropy of the data written",
        (
            "Row:<2.0",
            *(Column(f"Entropy {one.entropy_pct:g} %", one.entropy_pct) for one in comparisons),
            "State:<0.8 | Unit:<0.5",
        ),
        (
            (
                _title(comparisons[0], place),
                *(_counting_cells(one, place, row)[2] for one in comparisons),
                str(counting_state(row)),
                row.units[0].value,
            )
            for place, (_, row) in enumerate(comparisons[0].conditions.rows)
        ),
        note="Rows with data of their own write that in each state, unless --row-data test was given.",
    )
    return Page(page_id, "Figures that Count by Entropy", (table,), mandatory=True)


def definition_pages(comparison: Comparison) -> tuple[Page, ...]:
    """What exactly was done, benchmark by benchmark."""
    return tuple(
        Page(
            f"precon-definition-{n}",
            f"{one.title} - Definition of the Rows",
            definition_blocks(
                f"precon-definition-{n}-table",
                one,
                [comparison.rows[DriveState.FRESH][at].measured for at in comparison.conditions.places(one)],
                comparison.run.manifest.target,
            ),
            mandatory=True,
        )
        for n, one in enumerate(comparison.conditions.benchmarks, start=1)
    )


def _in_order(rows: Sequence[StateRow]) -> list[int]:
    """The places of the rows as they were measured; rows that never were come last."""
    return sorted(
        range(len(rows)),
        key=lambda at: rows[at].measured.passes[0].started_ns if rows[at].measured.passes else float("inf"),
    )


def _order_cells(comparison: Comparison, one: StateRow, *, first: bool) -> tuple[Cell, ...]:
    found = pass_cells(one.measured)
    if not found:
        return (cells.missing(_NOT_MEASURED),) * 8
    return (
        cells.number(comparison.fills(one.written_before_bytes), 3),
        Cell(("made" if first else "restored") if one.conditioned else "kept"),
        *found,
    )
