"""The key values of a test for the executive summary: one table, the same columns for all tests."""

from openpts.pages import cells
from openpts.pages.model import Cell, Column, Row, Table


def summary_table(test: str, state: str, deviations: int, values: tuple[tuple[str, Cell, str], ...]) -> Table:
    """Key values of one test: name, cell and unit of each."""
    return Table(
        id="summary",
        title="Key values",
        head=Column("Test", align="left", width=0.6),
        columns=(
            Column("Key value", align="left", width=1.4),
            Column("Result", width=1),
            Column("Unit", align="left", width=0.5),
            Column("Steady State", align="left", width=1.2),
            Column("Deviations", align="center", width=0.7),
        ),
        rows=tuple(
            Row(
                Cell(test),
                (Cell(name), cell, Cell(unit), Cell(state), Cell(str(deviations), float(deviations))),
            )
            for name, cell, unit in values
        ),
    )


def key_value(value: float | None) -> Cell:
    """A whole number of the summary, or n/a."""
    return cells.number_or("not measured", value, 0)
