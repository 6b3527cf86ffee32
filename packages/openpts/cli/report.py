"""`openpts report`: make the report from run folders, on any machine."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click
from msgspec.structs import replace

from openpts.cli.commands_on_demand import together
from openpts.cli.options import FOLDER, PATH, argument, flag, option
from openpts.cli.several import several
from openpts.cli.standard_streams import print_object
from openpts.errors import OpenptsError, UsageError
from openpts.record.batch import INDEX_NAME, has_drives_apart

if TYPE_CHECKING:
    from openpts.report.write import ReportOptions, WrittenReport

MAKING_REPORT: Final = "making the report ..."
PAPER: Final = option("--paper", "Paper of the PDF.", click.Choice(["a4", "us-letter"]), default="a4")
REDACT: Final = flag("Replace serial numbers by four digits of their checksum.", name="--redact")


@click.command()
@together(
    argument("RUN...", PATH, name="runs", nargs=-1, required=True),
    option("--html/--no-html", "Write an interactive page (HTML), one file.", default=True),
    option("--pdf/--no-pdf", "Write pages for print (PDF).", default=True),
    option("--csv/--no-csv", "Write each table and series as a CSV file.", default=True),
    option("--out", "Write into this folder instead of the run folder.", FOLDER),
    option(
        "--style",
        "Begin with the answer (full), keep the order of SNIA's sample (specification), or include "
        "only the tables and plots of TKperf (short).",
        click.Choice(["full", "specification", "short"]),
        default="full",
    ),
    PAPER,
    REDACT,
    flag("Leave out people, paths, serial numbers and the host.", name="--for-customer"),
    flag("Embed long series in full in the HTML instead of in buckets.", name="--embed-full"),
    flag("Print the runs' figures as one JSON object.", name="--json as_json"),
)
def report(runs: tuple[Path, ...], out: Path | None, as_json: bool, style: str, **options: Any) -> None:
    """Rebuild the report of runs from their folders alone.

    RUN is a run folder, or that of a suite, which includes all of its runs. Several runs of one drive make
    one report; a batch has one for each drive, and a page that lists them. The device is not needed. The same
    folders give the same figures, and the same files byte for byte. In the run folder a report is called
    report.pdf and so on; with --out it is named after drive, date and tests.
    """
    from openpts.report.sources import ReportSource  # noqa: PLC0415 slow to load, and `openpts --help` needs no report
    from openpts.report.write import ReportOptions, write_report  # noqa: PLC0415 likewise
    from openpts_pages.measure import Style  # noqa: PLC0415 likewise

    chosen = ReportOptions(style=Style(style), **options)
    batch = next(filter(has_drives_apart, runs), None)
    if batch is not None and len(runs) > 1:
        raise UsageError(f"{batch} is a batch, with a report for each drive: name it alone")
    if batch is not None:
        folders, written = _reports_on_batch(batch, out, chosen)
    else:
        source = ReportSource.of(runs, out)
        folders, written = source.run_folders, [write_report(source, out=out, options=chosen)]
    if as_json:
        print_figures(folders, written)
    else:
        print_paths(written, sys.stdout)
        if batch is not None and out is None:
            click.echo(f"index: {batch / INDEX_NAME}")
    note_unfinished(folders)


def _reports_on_batch(
    folder: Path, out: Path | None, options: "ReportOptions"
) -> "tuple[tuple[Path, ...], list[WrittenReport]]":
    """Reports on all runs that have a record, each in its folder, and on all together; the page of them.

    A folder that is written to elsewhere has the drive's name without its serial number in a redacted report.
    """
    from openpts.record.batch import DONE, read_batch, write_batch  # noqa: PLC0415 slow to load
    from openpts.record.reader import has_begun, read_manifest  # noqa: PLC0415 likewise
    from openpts.report.redaction import redacted_value  # noqa: PLC0415 likewise
    from openpts.report.sources import ReportSource  # noqa: PLC0415 likewise
    from openpts.report.write import write_report  # noqa: PLC0415 likewise

    batch, folders, written = read_batch(folder), [], []
    entries = list(batch.entries)
    for index, entry in enumerate(entries):
        run = folder / entry.folder
        if run.exists() and has_begun(run):
            folders.append(run)
            name = redacted_value(entry.folder, [read_manifest(run)]) if options.is_redacted else entry.folder
            place = None if out is None else out / name
            written.append(write_report(ReportSource.of((run,), place), out=place, options=options))
            if out is None:
                reports = tuple(path.name for path in written[-1].documents)
                stands = several().part("as_recorded")(folder, entry, batch) if entry.state in DONE else entry
                entries[index] = replace(stands, reports=reports, report_reason=None)
    if out is None:
        batch = replace(batch, entries=tuple(entries))
        write_batch(folder, batch)
        several().part("write_index")(folder, batch)
    return tuple(folders), written


def note_unfinished(run_folders: Iterable[Path]) -> None:
    """Say how runs that did not come to their end continue, beside what programs read."""
    from openpts.procedures.kit.standing import can_be_resumed  # noqa: PLC0415 slow to load
    from openpts.record.reader import read_manifest  # noqa: PLC0415 likewise
    from openpts.runner.driver import how_to_continue  # noqa: PLC0415 likewise

    for folder in run_folders:
        if can_be_resumed(read_manifest(folder)):
            click.echo(f"openpts: {folder} is not complete: {how_to_continue(folder)}", err=True)


def reports_on(folder: Path) -> "list[WrittenReport]":
    """Write the report of a run or a suite beside the record; its short form, too, if that was ordered."""
    from openpts.cli.folder_events import publish  # noqa: PLC0415 slow to load
    from openpts.report.sources import ReportSource  # noqa: PLC0415 likewise
    from openpts.report.write import ReportOptions, write_report  # noqa: PLC0415 likewise
    from openpts.runner.event_lines import ReportsWritten  # noqa: PLC0415 likewise
    from openpts_pages.measure import Style  # noqa: PLC0415 likewise

    source = ReportSource.of((folder,))
    written = [write_report(source)]
    if any(manifest.ordered and manifest.ordered.short_report for manifest in source.manifests()):
        written.append(write_report(source, options=ReportOptions(style=Style.SHORT)))
    paths = (str(path.absolute()) for one in written for path in one.documents)
    publish(ReportsWritten(paths=tuple(paths)))
    return written


def documents_on(folder: Path) -> list[str]:
    """The names of the reports that ``reports_on`` writes there."""
    return [path.name for written in reports_on(folder) for path in written.documents]


def print_paths(written: "Sequence[WrittenReport]", stream: IO[str]) -> None:
    """A line for each document, and one for all tables of a report."""
    print_notes(written)
    for one in written:
        for path in one.documents:
            click.echo(f"report: {path}", file=stream)
        if one.data:
            click.echo(f"data: {len(one.data)} tables in {one.data[0].parent}", file=stream)


def print_notes(written: "Sequence[WrittenReport]") -> None:
    """What reports lack, each note once, and how to get it, on standard error."""
    for note in dict.fromkeys(note for one in written for note in one.notes):
        click.echo(f"openpts: {note}", err=True)


def print_figures(
    run_folders: tuple[Path, ...], written: "Sequence[WrittenReport]", *, failure: OpenptsError | None = None
) -> None:
    """One object for one run, with the error that it ends with; of several runs, a list of theirs."""
    from openpts.report.run_part import SCHEMA_OF_RUNS, summarize  # noqa: PLC0415 slow to load
    from openpts.report.sources import read_for_report  # noqa: PLC0415 slow to load

    known = {folder: figures for one in written for folder, figures in one.figures.items()}
    summaries = [known.get(folder) or summarize(read_for_report(folder)) for folder in run_folders]
    print_notes(written)
    reports = {"reports": [str(path) for one in written for path in one.documents]}
    if len(summaries) == 1:
        print_object({**summaries[0], **reports}, failure)
    else:
        print_object({"schema": SCHEMA_OF_RUNS, "runs": summaries, **reports}, failure)
