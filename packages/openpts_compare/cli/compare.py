"""`openpts compare`: runs of one or several drives beside each other."""

import sys
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from pathlib import Path
from typing import IO

import click
import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from openpts.analysis.run_comparison import LEAST_DIFFERENCE_PCT, RSE_LIMIT_PCT
from openpts.cli.console import table_console
from openpts.cli.options import PATH, argument, flag, group, option, with_options
from openpts.cli.standard_streams import print_object
from openpts.errors import UsageError
from openpts.report.redaction import redacted, redacted_value
from openpts_compare.cli.report_files import FileArgs, folder_of_files
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.contenders import RunComparison, compare_runs, read_entries
from openpts_compare.compare.figures import comparison_document
from openpts_pages.model import Cell, Report, Verdict
from openpts_pages.model import Table as ReportTable

_PIPE_COLUMNS = 150
_NOT_WRAPPED = 3
_STYLES = {"fail": "red", "pass": "green", "info": "bold"}
_ARROW = "↓)"
_SPREAD_COLUMNS = 120
"""What the table of spreads needs; below, the sentences above have the drives that lie out."""
_LEAST_LABEL = 24


def print_comparison(stream: IO[str], report: Report, comparison: RunComparison) -> None:
    """What the report's pages hold, as far as lines of text can show it: first what was not made alike."""
    console = table_console(stream, pipe_columns=_PIPE_COLUMNS)
    for line in report.alerts():
        console.print(line, style="bold red")
    for block in takewhile(lambda block: getattr(block, "id", "") != "compare-sets", report.front[0].blocks):
        if isinstance(block, Verdict):
            console.print(block.text, style=_STYLES[block.tone])
        elif isinstance(block, ReportTable) and block.id.endswith("-differing"):
            print_table(console, block)
    tables = report.tables()
    for test in comparison.tests:
        if (glance := tables.get(f"compare-{test.test}-glance")) is not None:
            print_table(console, _in_lines(glance, console.width))
        spread = tables.get(f"compare-{test.test}-spread")
        if spread is not None and console.width >= _SPREAD_COLUMNS:
            print_table(console, spread)


def _in_lines(shown: ReportTable, columns: int) -> ReportTable:
    """A line for each key value, as far as labels stay distinct in what the values leave of the columns."""
    words = ((", less is better)", f" {_ARROW}"), ("(less is better)", f"({_ARROW}"))
    labels = [
        reduce(lambda text, pair: text.replace(pair[0], pair[1]), words, row.head.text) for row in shown.rows
    ]
    widths = [
        max(len(column.label), *(len(_text(row.cells[place])) for row in shown.rows))
        for place, column in enumerate(shown.columns)
    ]
    room = columns - sum(width + 2 for width in widths) - 2
    short = [_shortened(label, max(room, _LEAST_LABEL)) for label in labels]
    if len(set(short)) == len(set(labels)):
        labels = short
    rows = [
        replace(row, head=replace(row.head, text=label))
        for row, label in zip(shown.rows, labels, strict=True)
    ]
    note = f"↓ less is better. {shown.note}" if any(_ARROW in label for label in labels) else shown.note
    return replace(shown, rows=tuple(rows), note=note)


def _shortened(label: str, columns: int) -> str:
    """Without the middle, but with its unit: ``RND 4 KiB QD32 T4 Write, run…(%)``."""
    unit = label[label.rfind("(") :] if label.endswith(")") else ""
    keep = columns - 1 - len(unit)
    return label if len(label) <= columns or keep < 1 else f"{label[:keep]}…{unit}"


def print_table(console: Console, shown: ReportTable) -> None:
    """A table of a report as text."""
    table = Table(title=shown.title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    few = len(shown.columns) <= _NOT_WRAPPED
    for column in (shown.head, *shown.columns):
        right = column.align == "right"
        table.add_column(
            column.label, justify="right" if right else "left", no_wrap=right and few, overflow="fold"
        )
    last = ""
    for row in shown.rows:
        head = "" if row.head.text == last else row.head.text
        last = row.head.text
        table.add_row(head, *(_text(cell) for cell in row.cells))
    console.print()
    console.print(table)
    if shown.note:
        console.print(shown.note)


def _text(cell: Cell) -> str:
    # the statement of the row has the reason for a missing value
    return f"{cell.text} ({cell.note})" if cell.note and cell.tone != "missing" else cell.text


_OUT = Path("openpts-comparison")


@dataclass(frozen=True, slots=True)
class _Files(FileArgs):
    out: Path | None = folder_of_files(_OUT)


@click.command("compare")
@with_options
def compare(
    *,
    runs: tuple[Path, ...] = argument("RUN...", PATH, nargs=-1, required=True),
    base: str = option(
        "NAME", "Compare all others with this one. [default: the first]", default="", show_default=False
    ),
    labels: tuple[str, ...] = option(
        "--label RUN=NAME",
        "Name a run or suite; those of one name form one set. May be repeated.",
        multiple=True,
    ),
    cold: tuple[Path, ...] = option(
        "RUN", "Show this first run apart, and count it in no set. May be repeated.", PATH, multiple=True
    ),
    least_difference_pct: float = option(
        "--least-difference PCT",
        "Report no difference of medians below this.",
        click.FloatRange(min=0, max=100),
        default=LEAST_DIFFERENCE_PCT,
    ),
    rse_limit_pct: float = option(
        "--rse-limit PCT",
        "Accept a set whose relative standard error is at most this.",
        click.FloatRange(min=0, max=100),
        default=RSE_LIMIT_PCT,
    ),
    files: FileArgs = group(_Files),
    as_json: bool = flag("Print the comparison as one JSON object.", name="--json"),
) -> None:
    """Compare runs: medians, spread, and the significance of the differences.

    RUN is a run folder, or that of a suite or a batch with all of its runs. Runs of one drive (model, serial
    number, firmware, capacity) under the same conditions form a set, which is compared by its median. Use
    three warm runs or more, an odd number. The more figures are compared, the more runs a difference needs to
    count. A red list names the conditions in which runs differ. Of three drives or more, a table has the
    spread of each value and the drive that lies out (Grubbs' test).
    """
    entries = read_entries(runs, _labels(labels), cold)
    comparison = compare_runs(entries, base, least_difference_pct, rse_limit_pct)
    report = build_comparison(comparison, paper=files.paper)
    records = [run.run.manifest for run in comparison.runs]
    if files.redact:
        report = redacted(report, records)
    written = files.written(report, _OUT)
    if as_json:
        found = msgspec.to_builtins(comparison_document(comparison, written))
        print_object(redacted_value(found, records) if files.redact else found)
        return
    print_comparison(sys.stdout, report, comparison)
    for path in written:
        click.echo(f"report: {path}")


def _labels(texts: tuple[str, ...]) -> dict[Path, str]:
    """Raises UsageError for what is no RUN=NAME."""
    labels = {}
    for text in texts:
        path, equals, name = text.rpartition("=")
        if not (equals and path and name.strip()):
            raise UsageError(f"--label {text!r}: write RUN=NAME, such as runs/first=old-firmware")
        labels[Path(path)] = name.strip()
    return labels
