"""The rows of a profile in the three states: what is lost, which figure counts for which use."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.model import Axis, Cell, Column, Figure, Page, Row, Series, Table, Verdict
from openpts.pages.texts import capitalised
from openpts.procedures.extended.precon.conditions import DriveState
from openpts.procedures.extended.precon.states import STATES, Comparison, StateRow, counting_state
from openpts.procedures.extended.precon.trajectory_pages import COLORS
from openpts.procedures.kit.benchmark_profile import FigureUnit, ProfileRow
from openpts.procedures.kit.spread import rse_cell
from openpts.procedures.shared.benchmark.results import loss_pct
from openpts.procedures.shared.benchmark.tables import definition_table, figure_cell, median_cell, value_text
from openpts.procedures.shared.methodology import nothing_page

# More places than that have no room for their names on an axis.
_MOST_ON_AXIS: Final = 6
_NOT_MEASURED: Final = "not measured"
_RULE: Final = (
    "Rule: for random use the figure after random writes counts, for sequential use the figure after "
    "sequential writes. Fresh figures are maxima, which no drive in use reaches."
)


# LSI-PRE-03, 04
def rows_pages(comparison: Comparison) -> tuple[Page, ...]:
    """Each row in each state, then what was done in which order."""
    return (_states_page(comparison), _loss_page(comparison), _order_page(comparison))


@dataclass(frozen=True, slots=True)
class _Group:
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


def _groups(rows: Sequence[ProfileRow]) -> tuple[_Group, ...]:
    """By unit; where one has more rows than an axis has room for, by direction as well."""
    found: dict[tuple[FigureUnit, str], list[int]] = {}
    many = {unit for unit, count in Counter(row.units[0] for row in rows).items() if count > _MOST_ON_AXIS}
    for place, row in enumerate(rows):
        unit = row.units[0]
        found.setdefault((unit, row.direction if unit in many else ""), []).append(place)
    return tuple(_Group(unit, direction, tuple(places)) for (unit, direction), places in found.items())


def _states_page(comparison: Comparison) -> Page:
    page_id, title = "precon-rows", f"{comparison.conditions.benchmark.title}: Figures by State"
    groups = _groups(comparison.conditions.benchmark.rows)
    tables = [_values_table(comparison, group, page_id) for group in groups]
    figures = [
        _dumbbells(comparison, table, group, 3 + n)
        for n, (table, group) in enumerate(zip(tables, groups, strict=True))
        if _values(table)
    ]
    if not figures:
        return nothing_page(page_id, title, "no row was measured")
    return Page(page_id, title, (*figures, *tables), mandatory=True)


def _loss_page(comparison: Comparison) -> Page:
    title = "Loss by State and the Figure that Counts"
    return Page("precon-loss", title, (Verdict(_RULE), _loss_table(comparison)), mandatory=True)


def _values_table(comparison: Comparison, group: _Group, page_id: str) -> Table:
    """The figures of a group, a column for each state."""
    rows = comparison.conditions.benchmark.rows
    return Table(
        id=f"{page_id}-{group.key}",
        title=f"Figures by state: {group.title}",
        head=Column("Row", align="left", width=1.4),
        columns=tuple(Column(f"{state} ({group.unit})") for state in STATES),
        rows=tuple(
            Row(
                Cell(rows[place].title),
                tuple(
                    figure_cell(comparison.rows[state][place].measured.figure(group.unit)) for state in STATES
                ),
            )
            for place in group.places
        ),
    )


def _values(table: Table) -> list[float]:
    return [value for row in table.rows for cell in row.cells if (value := cell.value) is not None]


def _dumbbells(comparison: Comparison, table: Table, group: _Group, number: int) -> Figure:
    """A point per state, joined by a whisker from the least to the largest."""
    rows = comparison.conditions.benchmark.rows
    labels = tuple(rows[n].name if group.direction else _label(rows[n]) for n in group.places)
    unit = group.unit
    values = _values(table)
    lines = tuple(range(len(labels)))
    return Figure(
        id=f"{table.id}-plot",
        number=f"Plot X-PRECON-{number}",
        title=f"Figures by state - {group.title}",
        kind="bars",
        table_id=table.id,
        x=Axis("Row", "category", (0, len(labels)), (), labels),
        y=ticks.amount_axis(unit.value, values),
        alt=f"{len(labels)} rows in three states, from {value_text(min(values), unit)} to "
        f"{value_text(max(values), unit)} {unit}.",
        series=(
            Series("Range of the states", "row", lines, 0, style="whiskers"),
            *(
                Series(str(state), "column", (n,), COLORS[state], style="points")
                for n, state in enumerate(STATES)
            ),
        ),
        height_px=155,
    )


def _label(row: ProfileRow) -> str:
    """A row below its place on the axis, where there is little room: ``RND 4 KiB QD32 R70``."""
    direction = {100: "R", 0: "W"}.get(row.read_pct, f"R{row.read_pct}")
    return f"{row.name} {direction}"


def _loss_table(comparison: Comparison) -> Table:
    """What each state costs against the fresh figure, and the figure that counts."""
    return Table(
        id="precon-loss-table",
        title="Loss against the fresh drive, and the figure that counts",
        head=Column("Row", align="left", width=1.5),
        columns=(
            Column(f"Loss {DriveState.SEQUENTIAL} (%)"),
            Column(f"Loss {DriveState.RANDOM} (%)"),
            Column("Use", align="left", width=0.8),
            Column("Counts", align="left", width=0.8),
            Column("Figure that counts"),
            Column("Unit", align="left", width=0.5),
        ),
        rows=tuple(
            Row(Cell(row.title), _loss_cells(comparison, place, row))
            for place, row in enumerate(comparison.conditions.benchmark.rows)
        ),
        note="Loss = (FOB - state) / FOB; of response times a negative value is a loss.",
    )


def _loss_cells(comparison: Comparison, place: int, row: ProfileRow) -> tuple[Cell, ...]:
    by_state = {state: comparison.rows[state][place] for state in STATES}
    counting = counting_state(row)
    value = by_state[counting].value
    unit = row.units[0]
    return (
        _loss(by_state[DriveState.FRESH], by_state[DriveState.SEQUENTIAL]),
        _loss(by_state[DriveState.FRESH], by_state[DriveState.RANDOM]),
        Cell("random" if row.random_pct else "sequential"),
        Cell(str(counting)),
        cells.missing(by_state[counting].absence) if value is None else Cell(value_text(value, unit), value),
        Cell(unit.value),
    )


def _loss(fresh: StateRow, used: StateRow) -> Cell:
    if fresh.value is None or used.value is None:
        return cells.missing((fresh if fresh.value is None else used).absence)
    loss = loss_pct(fresh.value, used.value)
    return cells.missing("fresh figure is 0") if loss is None else cells.percent(loss)


def _order_page(comparison: Comparison) -> Page:
    """In which order rows were measured, what had been written before, and every range of passes."""
    page_id = "precon-order"
    rows = [
        Row(
            Cell(f"{capitalised(state)}: {_label(one.measured.row)}"),
            _order_cells(comparison, one, first=not n),
        )
        for state in STATES
        for n, one in enumerate(_in_order(comparison.rows[state]))
    ]
    table = Table(
        id=f"{page_id}-table",
        title="Rows in the order in which they were measured",
        head=Column("State and row", align="left", width=2.1),
        columns=(
            Column("Written since (x user capacity)"),
            Column("State before", align="center", width=0.8),
            Column("Passes", width=0.6),
            Column("Median (MB/s)"),
            Column("RSE (%)", width=0.6),
            Column("Median (IOPS)"),
            Column("ART (ms)", width=0.8),
            Column("MRT (ms)", width=0.8),
        ),
        rows=tuple(rows),
        note="Order: reads, then writes in the state's own order, then other writes. After a row of other "
        f"writes, {comparison.conditions.recondition_passes:g} x user capacity of the state's conditioning "
        "restores the state. A fresh drive can't be restored: its rows include the effect of earlier writes.",
    )
    definition = definition_table(
        f"{page_id}-definition",
        comparison.conditions.benchmark,
        [one.measured for one in comparison.rows[DriveState.FRESH]],
        comparison.capacity_bytes,
    )
    return Page(page_id, "Order, Passes and Definition of the Rows", (table, definition), mandatory=True)


def _in_order(rows: Sequence[StateRow]) -> list[StateRow]:
    """As they were measured; rows that never were come last."""
    return sorted(
        rows,
        key=lambda one: one.measured.passes[0].started_ns if one.measured.passes else float("inf"),
    )


def _order_cells(comparison: Comparison, one: StateRow, *, first: bool) -> tuple[Cell, ...]:
    rate, iops, time = (
        one.measured.figure(unit) for unit in (FigureUnit.MB_PER_S, FigureUnit.IOPS, FigureUnit.MILLISECONDS)
    )
    if rate is None or iops is None or time is None:
        return (cells.missing(_NOT_MEASURED),) * 8
    passes = one.measured.passes
    return (
        cells.number(comparison.fills(one.written_before_bytes), 3),
        Cell(("made" if first else "restored") if one.conditioned else "kept"),
        cells.number(len(passes), 0),
        median_cell(rate),
        rse_cell(rate.passes, "pass"),
        median_cell(iops),
        median_cell(time),
        cells.latency(max(sample.max_latency_ns or 0 for sample in passes)),
    )
