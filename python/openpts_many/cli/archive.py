"""`openpts archive`: finished runs in one place, and questions to thousands of them."""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from openpts.cli.options import PATH, argument, flag, option, with_options
from openpts.cli.printed_document import print_document
from openpts.cli.report import REDACT
from openpts.errors import RecordError, UsageError
from openpts.report.sources import run_folders_of
from openpts.runs.reference import percentile_of, words_of
from openpts_many.archive.add import Added, add_runs
from openpts_many.archive.catalogue import existing
from openpts_many.archive.check import check as checked_archive
from openpts_many.archive.check import compact as compact_archive
from openpts_many.archive.engine import Engine
from openpts_many.archive.query import ArchiveAnswer, QueryResult, asked
from openpts_many.archive.store import Store

_COPIED: Final = {"run", "measure", "key"}
_PLACE: Final = argument("ARCHIVE", name="place")
_json_option: Final = flag("Print one JSON object.", name="--json as_json")


@click.group()
def archive() -> None:
    """Keep finished runs in one place, and ask thousands of them.

    ARCHIVE is a folder, or s3://BUCKET/PREFIX; the standard variables of AWS name credentials and region, and
    AWS_ENDPOINT_URL a server of your own. docs/archive.md describes the tables.
    """


@archive.command(short_help="Add runs to an archive.")
@with_options
def add(
    *,
    runs: tuple[Path, ...] = argument("RUN...", PATH, nargs=-1, required=True),
    place: str = option("--to ARCHIVE", "A folder, or s3://BUCKET/PREFIX.", required=True),
    redact: bool = REDACT,
    replace: bool = flag("Write runs again that are there already."),
) -> None:
    """Add runs to an archive, which is made if there is none.

    RUN is a run folder, or that of a suite or a batch with all of its runs. A run that is there already is
    left alone; one that was resumed since is added again. Each is there as a whole or not at all, also if
    this is killed. Several processes may add at once.
    """
    failed = 0
    for added in add_runs(Store.of(place), run_folders_of(runs), redact=redact, replace=replace):
        failed += added.error is not None
        click.echo(_added_line(added), err=added.error is not None)
    if failed:
        raise RecordError(f"{failed} of the runs {'was' if failed == 1 else 'were'} not added")


def _added_line(added: Added) -> str:
    if added.error is not None:
        return f"not added: {added.error}"
    if not added.size_bytes:
        return f"already there: {added.run}"
    return f"added: {added.run} ({added.size_bytes / 1e6:,.2f} MB)"


@archive.command(short_help="Check all files of an archive.")
@with_options
def check(
    *,
    place: str = _PLACE,
    quick: bool = flag("Compare names and sizes alone, and read no tables."),
    as_json: bool = _json_option,
) -> int:
    """Hold all files of ARCHIVE against its catalogue, and say what to do.

    Exit code 8 if a file is damaged or missing. What a killed `add` left behind harms nothing.
    """
    found = checked_archive(_existing(place), quick=quick)
    checked, harmed = found.checked, sum(one.is_harm for one in found.findings)
    if as_json:
        print_document(found)
    else:
        for one in found.findings:
            click.echo(f"{one.kind}: {one.name}: {one.text}")
        how = "names and sizes" if quick else "contents"
        click.echo(
            f"{checked.runs:,} runs, {checked.files:,} files, {checked.size_bytes / 1e6:,.1f} MB ({how}): "
            f"{harmed or 'none'} damaged or missing"
        )
    return RecordError.exit_code if harmed else 0


@archive.command(short_help="Merge small files, and remove what is left over.")
@with_options
def compact(*, place: str = _PLACE) -> None:
    """Merge the small files of ARCHIVE's catalogue, and remove what no run needs.

    `add` merges them too, once there are many. Folders that a killed or repeated `add` has left are removed
    if they are older than a day.
    """
    merged, removed = compact_archive(_existing(place))
    for folder in removed:
        click.echo(f"removed: {folder}")
    click.echo(f"{merged} files of the catalogue merged, {len(removed)} folders removed")


@archive.command(short_help="Ask an archive.")
@with_options
def query(
    *,
    place: str = _PLACE,
    where: str | None = option(
        "CONDITION",
        "Runs to take, in SQL: \"model = 'X' and labels['lot'] = '7' and started_at >= '2026-06'\".",
    ),
    measures: tuple[str, ...] = option("--measure KEY", "A measure such as iops.rnd-4k-rw0.", multiple=True),
    percentiles: tuple[str, ...] = option(
        "--percentile P",
        "A percentile such as p99.9 of all I/Os together, of all stimuli or those that --measure names.",
        multiple=True,
    ),
    by: str = option(
        "FIELD,...", "Fields to group runs by; label.NAME for a label.", default="", show_default=False
    ),
    sql: str | None = option("SELECT", "A question of your own, in DuckDB's SQL."),
    as_csv: bool = flag("Print CSV.", name="--csv"),
    as_json: bool = _json_option,
) -> None:
    """Ask ARCHIVE: which runs it has, a measure over them, percentiles of all of their I/Os.

    Without --by, measures are those of each run, and percentiles of all selected runs together. Response
    times are merged as distributions, never averaged: a percentile is at most 0.8 % too high.
    """
    if sql and (measures or percentiles or by):
        raise UsageError("--sql is a question of its own: leave out --measure, --percentile and --by")
    stated = [_percentile(one) for one in percentiles]
    store = _existing(place)

    def answer() -> QueryResult:
        engine = Engine(store, where)
        if sql:
            columns, rows = engine.answer(sql)
            return QueryResult(tuple(columns), tuple(rows))
        return asked(engine, measures, stated, [name.strip() for name in by.split(",") if name.strip()])

    _print(_settled(answer), as_csv=as_csv, as_json=as_json)


def _settled(answer: Callable[[], QueryResult]) -> QueryResult:
    """Once more if a file was merged into another one between two looks."""
    try:
        return answer()
    except RecordError:
        return answer()


def _percentile(text: str) -> float:
    words = words_of(text)
    found = percentile_of(words[0]) if len(words) == 1 else None
    if found is None:
        raise UsageError(f"--percentile: {text!r} is no percentile: write p99.9, or `3 nines`")
    return found


def _existing(place: str) -> Store:
    return existing(Store.of(place))


def _print(answer: QueryResult, *, as_csv: bool, as_json: bool) -> None:
    if as_json:
        print_document(ArchiveAnswer.by(answer))
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        _print_table(answer)


def _print_table(answer: QueryResult) -> None:
    of_numbers = [
        any(isinstance(row[place], int | float) and not isinstance(row[place], bool) for row in answer.rows)
        for place in range(len(answer.columns))
    ]
    headings = (
        f"{'>' * number}{'=' * (name in _COPIED)}{name}"
        for name, number in zip(answer.columns, of_numbers, strict=True)
    )
    from openpts.cli.console import table_console, table_of  # noqa: PLC0415 help needs none

    table = table_of(*headings)
    for row in answer.rows:
        table.add_row(*(_cell(value) for value in row))
    table_console().print(table)
    if answer.error_bound_pct is not None:
        click.echo(
            f"percentiles are at most {answer.error_bound_pct:.2g} % too high, and never too low", err=True
        )
    if not answer.rows:
        click.echo("no rows: no run has what was asked", err=True)


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:,.6g}"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
