"""A comparison of runs as text: the red list, and a table for each test."""

from itertools import takewhile
from typing import IO

from rich.console import Console
from rich.table import Table

from openpts.cli.console import table_console
from openpts_compare.compare.contenders import RunComparison
from openpts_pages.model import Cell, Report, Verdict
from openpts_pages.model import Table as ReportTable

_PIPE_COLUMNS = 150
_STYLES = {"fail": "red", "pass": "green", "info": "bold"}
_RUNS = "compare-sets"
_DIFFERING = "-differing"
_OF_A_TEST = ("compare-{}-sets", "compare-{}-spread")


def print_comparison(stream: IO[str], report: Report, comparison: RunComparison) -> None:
    """What the report's pages hold, as far as lines of text can show it: first what was not made alike."""
    console = table_console(stream, pipe_columns=_PIPE_COLUMNS)
    for line in report.alerts():
        console.print(line, style="bold red")
    behind_table = False
    for block in takewhile(lambda block: getattr(block, "id", "") != _RUNS, report.front[0].blocks):
        if isinstance(block, Verdict):
            if behind_table:
                console.print()
            console.print(block.text, style=_STYLES[block.tone])
        elif isinstance(block, ReportTable) and block.id.endswith(_DIFFERING):
            print_table(console, block)
        behind_table = isinstance(block, ReportTable)
    tables = report.tables()
    for test in comparison.tests:
        for name in _OF_A_TEST:
            if (table := tables.get(name.format(test.test))) is not None:
                print_table(console, table)


def print_table(console: Console, shown: ReportTable) -> None:
    """A table of a report as text."""
    table = Table(title=shown.title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in (shown.head, *shown.columns):
        table.add_column(column.label, justify="right" if column.align == "right" else "left")
    last = ""
    for row in shown.rows:
        head = "" if row.head.text == last else row.head.text
        last = row.head.text
        table.add_row(head, *(_text(cell) for cell in row.cells))
    console.print()
    console.print(table)


def _text(cell: Cell) -> str:
    # the statement of the row has the reason for a missing value
    return f"{cell.text} ({cell.note})" if cell.note and cell.tone != "missing" else cell.text
