"""The order and extent of a report, and the table of key values in front of it."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from openpts_pages.kit import rows_table
from openpts_pages.measure import Measured
from openpts_pages.model import Cell, Row, Table


class Style(StrEnum):
    """FULL begins with the answer, SPECIFICATION has the order of SNIA's sample, SHORT the form of TKperf."""

    FULL = "full"
    SPECIFICATION = "specification"
    SHORT = "short"


KEY_VALUES_ID: Final = "summary"


def cover_table(test: str, deviations: int, measures: Iterable[Measured]) -> Table:
    """What the cover of a run on its own shows."""
    return _table(
        _row(test, deviations, one, one.cover_label, one.cover_cell) for one in measures if one.on_cover
    )


def key_values_table(test: str, deviations: int, measures: Iterable[Measured]) -> Table:
    """The key values with state and operating point: for a table with several runs."""
    return _table(_row(test, deviations, one, one.label, one.noted_cell) for one in measures if one.is_key)


def _row(test: str, deviations: int, one: Measured, label: str, cell: Cell) -> Row:
    others = (Cell(one.unit), Cell(one.steady), Cell(str(deviations), float(deviations)))
    return Row(Cell(test), (Cell(label), cell, *others))


def _table(rows: Iterable[Row]) -> Table:
    return rows_table(
        KEY_VALUES_ID,
        "Key values",
        "Test:<0.6 | Key value:<1.4 | Result | Unit:<0.5 | Steady State:<1.2 | Deviations:^0.7",
        rows,
    )
