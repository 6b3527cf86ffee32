"""`openpts export`: finished runs in the forms that other programs read."""

from collections.abc import Collection, Iterator
from pathlib import Path

import click

from openpts.cli.options import FOLDER, NEW_FILE, PATH, argument, option, with_options
from openpts.cli.report import REDACT, note_unfinished
from openpts.did_you_mean import did_you_mean
from openpts.errors import UsageError
from openpts.plugins import Kind, Offer, calling, load, offers
from openpts.record.reader import Run
from openpts.report.redaction import redacted_run
from openpts.report.sources import read_for_report, run_folders_of
from openpts.units import format_count
from openpts_compare.gate.export_files import write_export
from openpts_compare.runs.flat_rows import csv_text, flat_row
from openpts_export.exchange.parquet_tables import write_tables
from openpts_export.exchange.run_verdicts import junit_of
from openpts_fio.fio_output import fio_files

_STDOUT = "-"


@click.command()
@with_options
def export(
    *,
    runs: tuple[Path, ...] = argument("RUN...", PATH, nargs=-1, required=True),
    fio_json: Path | None = option(
        "DIR", "Write each step as fio does (json+ and logs), into a new folder in DIR for each run.", FOLDER
    ),
    csv_row: Path | None = option(
        "FILE|-",
        "Write one row for each run, with a column for each measure, as CSV; `-`: to standard output.",
        NEW_FILE,
    ),
    header: bool = option("--header/--no-header", "Begin the CSV with its columns.", default=True),
    parquet: Path | None = option(
        "DIR", "Put all tables of the record into DIR, as Parquet, beside those of other runs.", FOLDER
    ),
    junit: Path | None = option("FILE", "Write what became of each test, as XML in JUnit's form.", NEW_FILE),
    exporters: tuple[str, ...] = option(
        "--exporter NAME=DIR",
        "Write what the exporter of a plug-in makes of a run, into a new folder in DIR for each run; may be "
        "repeated.",
        multiple=True,
    ),
    redact: bool = REDACT,
) -> None:
    """Write runs in the forms of other programs: fio, spreadsheets, data frames, test servers.

    RUN is a run folder, or that of a suite or a batch with all of its runs. The device is not needed. What is
    simulated, unfinished or shortened says so in each form. docs/interfaces.md describes the forms.
    """
    if not (fio_json or csv_row or parquet or junit or exporters):
        raise UsageError("nothing to export: name --fio-json, --csv-row, --parquet, --junit or --exporter")
    of_plugins = [_exporter(word) for word in exporters]
    if junit:
        write_export(junit.parent, {junit.name: junit_of(runs, redact=redact)})
        _say(f"junit: {junit}")
    if not (fio_json or csv_row or parquet or of_plugins):
        return
    folders = run_folders_of(runs)
    if csv_row:
        text = csv_text([flat_row(run) for run in _read(folders, redact=redact)], header=header)
        if csv_row == Path(_STDOUT):
            click.echo(text, nl=False)
        else:
            write_export(csv_row.parent, {csv_row.name: text.encode()})
            _say(f"csv: {csv_row}")
    if parquet:
        count = write_tables(parquet, _read(folders, redact=redact))
        _say(f"parquet: {format_count(count, 'run')} in {parquet}")
    for run in _read(folders, redact=redact) if fio_json else ():
        assert fio_json is not None  # noqa: S101 there are runs only then
        _write_fio(fio_json / run.manifest.test_id, run)
    for exporter, place in of_plugins:
        for run in _read(folders, redact=redact):
            _write_by(exporter, place / run.manifest.test_id, run)
    note_unfinished(folders)


def _read(folders: tuple[Path, ...], *, redact: bool) -> Iterator[Run]:
    for folder in folders:
        run = read_for_report(folder)
        yield redacted_run(run) if redact else run


def _write_fio(folder: Path, run: Run) -> None:
    """One step at a time: bins of thousands of steps are large."""
    _refuse_full(folder)
    count = 0
    for files in fio_files(run):
        write_export(folder, files)
        count += 1
    _say(f"fio: {count} steps in {folder}")


def _exporter(word: str) -> tuple[Offer, Path]:
    """The exporter of a plug-in, and where it is to write. Raises UsageError, PluginError."""
    name, _, place = word.partition("=")
    known = offers(Kind.EXPORTER)
    if not place or name not in known:
        raise UsageError(
            f"invalid --exporter {word!r}: write NAME=DIR; {did_you_mean(name, known, _installed(known))}"
        )
    load(known[name])  # before anything is written
    return known[name], Path(place)


def _installed(known: Collection[str]) -> str:
    return f"installed: {', '.join(known)}" if known else "no plug-in with an exporter is installed"


def _write_by(exporter: Offer, folder: Path, run: Run) -> None:
    """The files that a plug-in makes of a run. Raises PluginError if it fails, or names a file elsewhere."""
    _refuse_full(folder)
    made = load(exporter)
    with calling(exporter):
        files = {str(name): bytes(content) for name, content in made(run).items()}
    for name in files:
        if Path(name).name != name:
            raise exporter.error("refused:", f"{name!r} is not the plain name of a file")
    write_export(folder, files)
    _say(f"{exporter.name}: {len(files)} files in {folder}")


def _refuse_full(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"cannot export into {folder}: it is not empty; remove it or name another folder")


def _say(line: str) -> None:
    """Beside what programs read."""
    click.echo(line, err=True)
