"""Each table of a report as comma-separated text: whole figures, nothing that a spreadsheet would run."""

import csv
import io
from typing import Final

from openpts.escaped_text import spreadsheet_text
from openpts_pages.model import Cell, Report, Table

FOLDER: Final = "data"


def csv_name(table: Table) -> str:
    """The table's file, relative to the report."""
    return f"{FOLDER}/{table.id}.csv"


def csv_files(report: Report) -> dict[str, str]:
    """The text of each table's file by its name.

    Lines that begin with ``#`` come first: the report's red line, if it has one, and the table's title and
    note. Then comes a line of column heads, then one line per row. A number is written as it was computed, a
    missing one as the report has it.
    """
    return {csv_name(table): _csv(table, report) for table in report.tables().values()}


def _csv(table: Table, report: Report) -> str:
    text = io.StringIO()
    for line in (*report.alerts(), report.run_name, f"{table.title} [{table.id}]", table.group, table.note):
        if line:
            text.write(f"# {line}\n")
    writer = csv.writer(text, lineterminator="\n")
    # what is below a value in its cell gets a column of its own
    noted = [any(row.cells[n].note for row in table.rows) for n in range(len(table.columns))]
    heads = [table.head.label]
    for column, has_notes in zip(table.columns, noted, strict=True):
        heads += [column.label, f"{column.label}: note"] if has_notes else [column.label]
    writer.writerow(map(spreadsheet_text, heads))
    for row in table.rows:
        values = [_field(row.head)]
        for cell, has_notes in zip(row.cells, noted, strict=True):
            values += [_field(cell), spreadsheet_text(cell.note)] if has_notes else [_field(cell)]
        writer.writerow(values)
    return text.getvalue()


def _field(cell: Cell) -> str:
    return spreadsheet_text(cell.text) if cell.value is None else repr(cell.value)
