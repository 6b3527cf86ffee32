"""Rows of benchmarks in each state: what is lost, and which figure counts."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from openpts.procedures.kit.content import repeat_figures
from openpts.record.reader import Run
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Sample
from openpts_pages import cells, ticks
from openpts_pages.kit import Cells, PlotName, labels_axis, page, rows_table, values_of
from openpts_pages.measure import Measure, Measured, Subject, key_of, measured
from openpts_pages.model import Cell, Column, Figure, Page, Series, Table, Verdict
from openpts_pages.texts import capitalised
from openpts_practice.rows import BenchmarkProfile, FigureUnit, ProfileRow
from openpts_practice.rows.precon import DriveState, InitialState, PreconConditions
from openpts_practice.rows.precon.courses import COLORS, Courses, steady_text
from openpts_practice.rows.precon.states import (
    STATES,
    CourseResults,
    StateRow,
    counting_state,
    course_of,
    loss_of,
    state_row,
)
from openpts_practice.rows.tables import (
    cover_rows,
    definition_blocks,
    figure_cell,
    pass_cells,
    row_measure,
    samples_of,
    spread_verdicts,
    times_of,
    times_table,
    value_text,
)
from openpts_pts.shared.preparation_page import nothing_page

_USED: Final = (DriveState.SEQUENTIAL, DriveState.RANDOM)
# More places than that have no room for their names on an axis, each with three bars.
_MOST_ON_AXIS: Final = 6
# Room for the value above the highest bar.
_ROOM_FOR_TEXTS: Final = 1.25
_NOT_MEASURED: Final = "not measured"
_RULE: Final = (
    "Rule: for random use the figure after random writes counts, for sequential use the figure after "
    "sequential writes. Fresh figures are maxima, which no drive in use reaches."
)


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
        return re.sub("[^a-z0-9]+", "-", f"{self.unit.name} {self.direction}".lower()).strip("-")


_FRESH: Final[tuple[Measure[CourseResults], ...]] = (
    Measure("fresh_first_minute", "{name}, first minute FOB", "IOPS", lambda course: course.first_iops),
    Measure("fresh_steady", "{name}, steady from FOB", "IOPS", lambda course: course.steady_iops),
)
_RANDOM: Final = Measure[CourseResults](
    "random_steady", "{name}, steady after RND", "IOPS", lambda course: course.steady_iops
)


class Comparison(Courses, frozen=True):
    """Courses and rows; these are those of all benchmarks in their order, by state."""

    rows: dict[DriveState, tuple[StateRow, ...]]

    @classmethod
    def of(cls, run: Run, conditions: PreconConditions, entropy_pct: float | None) -> "Comparison":
        """The run, or a level of entropy of it, from the record."""
        courses, rows = {}, {}
        for state in STATES:
            situation = InitialState(state, entropy_pct)
            courses[state] = course_of(run, conditions, situation)
            places = range(len(conditions.rows))
            rows[state] = tuple(state_row(run, conditions, situation, place) for place in places)
        return cls(run, conditions, entropy_pct, courses, rows)

    def samples(self, state: DriveState, benchmark: BenchmarkProfile) -> list[Sample]:
        """All steps of a benchmark in a state, in the order in which they ran."""
        situation = InitialState(state, self.entropy_pct)
        places = self.conditions.places(benchmark)
        return samples_of(self.run, {self.conditions.row_number(situation, place) for place in places})

    # LSI-PRE-03, 04, LSI-PROC-05
    def rows_pages(self, numbers: Iterator[int]) -> Iterator[Page]:
        """Each row in each state, benchmark by benchmark, then what was done in which order."""
        for n, one in enumerate(self.conditions.benchmarks, start=1):
            yield from self._states_pages(one, n, numbers)
        yield self._loss_page()
        yield self._sequence_page()

    def _groups(self, benchmark: BenchmarkProfile) -> tuple[_RowGroup, ...]:
        """By unit; where one has more rows than an axis has room for, by direction as well."""
        found: dict[tuple[FigureUnit, str], list[int]] = {}
        rows = Counter(row.units[0] for row in benchmark.rows)
        for place, row in zip(self.conditions.places(benchmark), benchmark.rows, strict=True):
            unit = row.units[0]
            found.setdefault((unit, row.direction if rows[unit] > _MOST_ON_AXIS else ""), []).append(place)
        return tuple(_RowGroup(unit, direction, tuple(places)) for (unit, direction), places in found.items())

    def _states_pages(
        self, benchmark: BenchmarkProfile, number: int, numbers: Iterator[int]
    ) -> tuple[Page, ...]:
        """A page for each group of the benchmark's rows: bars and figures, the largest loss as a sentence."""
        several = len(self.conditions.benchmarks) > 1
        page_id = f"precon-rows{self.key}{f'-{number}' if several else ''}"
        title = f"{benchmark.title}: Figures by State{self.level}"
        pages: list[Page] = []
        for group in self._groups(benchmark):
            table = self._values_table(group, page_id)
            if not values_of(table):
                continue
            name = PlotName(f"{page_id}-{group.key}" if pages else page_id, "", f"{title} ({group.title})")
            loss = None if pages else self.loss_verdict(benchmark)
            pages.append(page(name, self._bars(table, group, next(numbers)), loss, table))
        return tuple(pages) or (nothing_page(page_id, title, "no row was measured"),)

    def loss_verdict(self, benchmark: BenchmarkProfile) -> Verdict:
        """The largest losses of a benchmark, of rates and of response times, by the states that count."""
        worst: dict[bool, tuple[float, str]] = {}
        for place, row in zip(self.conditions.places(benchmark), benchmark.rows, strict=True):
            fresh, used = (self.rows[state][place] for state in (DriveState.FRESH, counting_state(row)))
            loss = loss_of(fresh, used)
            if loss is None or fresh.value is None or used.value is None or _reads_unwritten(row):
                continue
            unit = row.units[0]
            figures = f"{value_text(fresh.value, unit)} to {value_text(used.value, unit)} {unit}"
            where = f"{row.title} {counting_state(row)}, {figures}"
            longer, slower = f"{cells.fixed(loss, 2)} times as long", f"{cells.fixed(loss, 1)} % slower"
            if loss > worst.get(unit.is_time, (1.0 if unit.is_time else 0.0, ""))[0]:
                worst[unit.is_time] = loss, f"up to {longer if unit.is_time else slower} ({where})"
        name = f"{benchmark.title}{self.level}"
        if not worst:
            return Verdict(f"{name}: no row is slower than on the fresh drive, by the state that counts.")
        return Verdict(f"{name}, after preconditioning: {'; '.join(text for _, text in worst.values())}.")

    def _loss_page(self) -> Page:
        title = f"Loss by State and the Figure that Counts{self.level}"
        name = PlotName(f"precon-loss{self.key}", "", title)
        worst = map(self.loss_verdict, self.conditions.benchmarks)
        return page(name, *worst, Verdict(_RULE), self._loss_table())

    def _values_table(self, group: _RowGroup, page_id: str) -> Table:
        """The figures of a group, a column for each state, and the range that a drive in use has."""
        rows = self.conditions.rows
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
                    *(figure_cell(self.rows[state][place].measured.figure(group.unit)) for state in STATES),
                    self._true_range(place, group.unit),
                )
                for place in group.places
            ),
            note=f"True range: {DriveState.SEQUENTIAL} and {DriveState.RANDOM}. {DriveState.FRESH} is a "
            "maximum.",
        )

    def _true_range(self, place: int, unit: FigureUnit) -> Cell:
        used = [self.rows[state][place].value for state in _USED]
        known = [value for value in used if value is not None]
        if len(known) < len(used):
            return cells.missing(_NOT_MEASURED)
        return cells.words(" to ".join(value_text(value, unit) for value in (min(known), max(known))))

    def _bars(self, table: Table, group: _RowGroup, number: int) -> Figure:
        """A bar for each state, side by side for each row."""
        rows = [self.conditions.rows[place][1] for place in group.places]
        labels = tuple(row.name if group.direction else _label(row) for row in rows)
        unit, values = group.unit, values_of(table)
        return Figure(
            id=f"{table.id}-plot",
            number=f"Plot X-PRECON-{number}",
            title=f"Figures by state - {group.title}{self.level}",
            kind="bars",
            table_id=table.id,
            x=labels_axis("Row", labels),
            y=ticks.linear_axis(unit.value, 0, _ROOM_FOR_TEXTS * max(values)),
            alt=f"{len(labels)} rows in three states, from {value_text(min(values), unit)} to "
            f"{value_text(max(values), unit)} {unit}.",
            series=tuple(
                Series(str(state), "column", (n,), COLORS[state], style="bars")
                for n, state in enumerate(STATES)
            ),
            height_px=330,
        )

    def title(self, place: int) -> str:
        """A row among those of all benchmarks."""
        benchmark, row = self.conditions.rows[place]
        return row.title if len(self.conditions.benchmarks) == 1 else f"{benchmark.title}: {row.title}"

    def _loss_table(self) -> Table:
        """What each state costs against the fresh figure, and the figure that counts."""
        rows = self.conditions.rows
        units = {row.units[0].is_time for _, row in rows}
        unwritten = [self.title(place) for place, (_, row) in enumerate(rows) if _reads_unwritten(row)]
        note = "Loss = (FOB - state) / FOB. Time = state / FOB: more than 1 is a loss."
        if unwritten:
            rows_named = ", ".join(unwritten)
            note += f" Not of the flash: {rows_named}, since most of a fresh drive was never written."
        kinds = [
            (state, is_time, f"Time {state} (x {DriveState.FRESH})" if is_time else f"Loss {state} (%)")
            for is_time in sorted(units)
            for state in _USED
        ]
        return rows_table(
            f"precon-loss{self.key}-table",
            "Loss against the fresh drive, and the figure that counts",
            (
                "Row:<1.7",
                *(Column(label) for _, _, label in kinds),
                "Use:<0.8 | Counts:<0.8 | Figure that counts | Unit:<0.5",
            ),
            (
                (
                    self.title(place),
                    *(self._loss(place, state, is_time=is_time) for state, is_time, _ in kinds),
                    *self.counting_cells(place, row),
                )
                for place, (_, row) in enumerate(rows)
            ),
            note=note,
        )

    def _loss(self, place: int, state: DriveState, *, is_time: bool) -> Cell:
        fresh, used = self.rows[DriveState.FRESH][place], self.rows[state][place]
        if fresh.unit.is_time is not is_time:
            return cells.none()
        if fresh.value is None or used.value is None:
            return cells.missing((fresh if fresh.value is None else used).absence)
        loss = loss_of(fresh, used)
        if loss is None:
            return cells.missing("fresh figure is 0")
        return cells.number(loss, 2) if is_time else cells.percent(loss)

    def counting_cells(self, place: int, row: ProfileRow) -> tuple[Cell, ...]:
        """Use, the state that counts, the figure there, and its unit."""
        unit, counting = row.units[0], self.rows[counting_state(row)][place]
        figure = cells.missing(counting.absence)
        if counting.value is not None:
            figure = Cell(value_text(counting.value, unit), counting.value)
        use = "random" if row.random_pct else "sequential"
        return Cell(use), Cell(str(counting_state(row))), figure, Cell(unit.value)

    def _sequence_page(self) -> Page:
        """In which order rows were measured, what had been written before, and when each benchmark ran."""
        name = PlotName(f"precon-order{self.key}", "", f"Order, Passes and Times of the Rows{self.level}")
        benchmarks = self.conditions.benchmarks
        rows: list[Cells] = []
        for state in STATES:
            for n, place in enumerate(_in_sequence(self.rows[state])):
                benchmark, row = self.conditions.rows[place]
                of = f"{benchmark.title}, " if len(benchmarks) > 1 else ""
                found = self._sequence_cells(self.rows[state][place], first=not n)
                rows.append((f"{capitalised(state)}: {of}{_label(row)}", *found))
        table = rows_table(
            f"{name.id}-table",
            "Rows in the order in which they were measured",
            "State and row:<2.1 | Written since (x user capacity) | State before:^0.8 | Passes:0.6 | "
            "Median (MB/s) | RSE (%):0.6 | Median (IOPS) | ART (ms):0.8 | MRT (ms):0.8",
            rows,
            note="Order: reads, then writes in the state's own order, then other writes. After a row of "
            f"other writes, {self.conditions.recondition_passes:g} x user capacity of the state's "
            "conditioning restores the state. A fresh drive can't be restored: its rows include the effect "
            "of earlier writes.",
        )
        times = times_table(
            f"{name.id}-times",
            self.run,
            [
                (f"{capitalised(state)}: {one.title}", self.samples(state, one))
                for state in STATES
                for one in benchmarks
            ],
        )
        return page(name, table, times)

    def _sequence_cells(self, one: StateRow, *, first: bool) -> tuple[Cell, ...]:
        found = pass_cells(one.measured)
        if not found:
            return (cells.missing(_NOT_MEASURED),) * 8
        return (
            cells.number(self.fills(one.written_before_bytes), 3),
            Cell(("made" if first else "restored") if one.conditioned else "kept"),
            *found,
        )

    def definition_pages(self) -> Iterator[Page]:
        """What exactly was done, benchmark by benchmark."""
        fresh, target = self.rows[DriveState.FRESH], self.run.manifest.target
        for n, one in enumerate(self.conditions.benchmarks, start=1):
            name = PlotName(f"precon-definition-{n}", "", f"{one.title} - Definition of the Rows")
            rows = [fresh[place].measured for place in self.conditions.places(one)]
            yield page(name, *definition_blocks(f"{name.id}-table", one, rows, target))

    def spread_verdicts(self) -> tuple[Verdict, ...]:
        """The rows whose passes make no figure, or need more."""
        return spread_verdicts(
            (f"{row.title} {state}", self.rows[state][place].figure)
            for state in STATES
            for place, (_, row) in enumerate(self.conditions.rows)
        )

    def measures(self) -> tuple[Measured, ...]:
        """The course of random writes, and of each row the figure that counts."""
        fresh, random = (self.courses[state] for state in (DriveState.FRESH, DriveState.RANDOM))
        steady = steady_text(list(self.courses.values()))
        workload = Subject(f"{self.conditions.workload.title}{self.level}", steady=steady)
        benchmarks = [(one, tuple(self.conditions.places(one))) for one in self.conditions.benchmarks]
        rows = self.conditions.rows
        of_rows = (
            row_measure(row).of(
                self.rows[state][place].figure,
                Subject(
                    f"{benchmark.title}: {row.title}, {state}{self.level}",
                    key_of(f"{benchmark.name} {row.title} {state}{self.level}"),
                    steady=steady,
                ),
            )
            for benchmark, places in cover_rows(benchmarks, lambda place: rows[place][1])
            for place in places
            for row in (rows[place][1],)
            for state in (counting_state(row),)
        )
        return (*measured(_FRESH, fresh, workload), _RANDOM.of(random, workload), *of_rows)

    def figures(self) -> dict[str, Any]:
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
                    else self.fills(course.steady_after_bytes),
                    "elapsed_s": course.elapsed_ns / NS_PER_S,
                    "drive_fills": self.fills(course.written_bytes),
                }
                for state, course in self.courses.items()
            },
            "benchmarks": [
                {
                    "benchmark": benchmark.name,
                    "title": benchmark.title,
                    "times": {
                        state.name.lower(): times_of(self.run, self.samples(state, benchmark))
                        for state in STATES
                    },
                }
                for benchmark in self.conditions.benchmarks
            ],
            "rows": [
                self._row_figures(benchmark, place)
                for benchmark in self.conditions.benchmarks
                for place in self.conditions.places(benchmark)
            ],
        }

    def _row_figures(self, benchmark: BenchmarkProfile, place: int) -> dict[str, Any]:
        _, row = self.conditions.rows[place]
        by_state = {state: self.rows[state][place] for state in STATES}
        losses = {state: loss_of(by_state[DriveState.FRESH], by_state[state]) for state in _USED}
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


def _reads_unwritten(row: ProfileRow) -> bool:
    """Whether a row reads all of a fresh drive, which answers most of it without its flash."""
    return row.read_pct > 0 and row.span_bytes is None


def _label(row: ProfileRow) -> str:
    """A row below its place on the axis, where there is little room: ``RND 4 KiB QD32 R70``."""
    direction = {100: "R", 0: "W"}.get(row.read_pct, f"R{row.read_pct}")
    return f"{row.name} {direction}"


def _in_sequence(rows: Sequence[StateRow]) -> list[int]:
    """The places of the rows as they were measured; rows that never were come last."""
    return sorted(
        range(len(rows)),
        key=lambda at: rows[at].measured.passes[0].started_ns if rows[at].measured.passes else float("inf"),
    )
