"""`openpts export`: finished runs in the forms that other programs read."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click
import msgspec

from openpts.cli.options import FOLDER, NEW_FILE, PATH, argument, option, with_options
from openpts.cli.report import REDACT, note_unfinished
from openpts.did_you_mean import did_you_mean
from openpts.errors import RecordError, UsageError, failing_as
from openpts.output_files import refuse_run_folder
from openpts.plugins import Kind, Offer, calling, load, offers
from openpts.procedures.kit.standing import red_line_of
from openpts.procedures.registry import procedure_of
from openpts.procedures.shared.outcome_text import reached_text
from openpts.record.batch import Batch, BatchEntry, is_batch, read_batch
from openpts.record.decoding import in_visible_lines
from openpts.record.frames import FRAMES, declared_rows, types_of
from openpts.record.manifest import RunState
from openpts.record.reader import Run, ns_between
from openpts.report.redaction import redacted_run, redacted_value
from openpts.report.sources import read_for_report, run_folders_of, run_of_entry
from openpts.run_folder_files import write_files
from openpts.temporary_folder import temporary_folder
from openpts.units import NS_PER_S, format_count
from openpts_compare.gate.export_files import CaseOutcome, JunitCase, junit_xml, write_export
from openpts_compare.runs.flat_rows import (
    RUN_COLUMNS,
    csv_text,
    flat_row,
    labels_of,
    run_row,
    unsteady_cycles,
)
from openpts_fio.fio_output import fio_files

if TYPE_CHECKING:
    import duckdb


_PROPERTIES: Final = (
    "profile",
    "simulated",
    "target",
    "model",
    "serial",
    "firmware",
    "user_capacity_bytes",
    "software",
)


def junit_of(folders: Iterable[Path], *, redact: bool) -> bytes:
    """What became of runs, and of each test of suites. Raises RecordError for a folder that is neither."""
    cases: list[JunitCase] = []
    facts: dict[str, dict[str, None]] = {}
    started: list[str] = []
    for folder in folders:
        entries = _entries(folder)
        runs = [
            read_for_report(folder) if entry is None else run_of_entry(folder, entry) for entry in entries
        ]
        manifests = [run.manifest for run in runs if run is not None]
        for entry, found in zip(entries, runs, strict=True):
            if found is None:
                assert entry is not None  # noqa: S101 a run that was named is there
                cases.append(
                    _case_of_entry(redacted_value(entry, manifests, BatchEntry) if redact else entry)
                )
                continue
            run = redacted_run(found) if redact else found
            started.append(run.manifest.started_at)
            cases.append(_case_of_run(run))
            for name, value in _facts(run).items():
                facts.setdefault(name, {})[value] = None
    properties = {name: "; ".join(values) for name, values in facts.items()}
    name = f"openpts, simulated {properties['simulated']}" if "simulated" in properties else "openpts"
    return junit_xml(name, cases, properties, min(started, default=None))


def _entries(folder: Path) -> tuple[BatchEntry | None, ...]:
    """The tests of a suite; None for a single run."""
    if not is_batch(folder):
        return (None,)
    return in_visible_lines(read_batch(folder), Batch).entries


def _facts(run: Run) -> dict[str, str]:
    """What a suite's properties say of a run, where it is known."""
    found = {name: value for name, value in run_row(run).items() if name in _PROPERTIES and value is not None}
    return {name: str(value) for name, value in (found | labels_of(run)).items()}


def _case_of_run(run: Run) -> JunitCase:
    """What became of a run; its key results are the output."""
    manifest = run.manifest
    outcome, message = _verdict(run)
    procedure = procedure_of(manifest.conditions.test)
    return JunitCase(
        name=procedure.title,
        classname=f"openpts.{manifest.conditions.test}",
        time_s=ns_between(manifest.started_at, manifest.ended_at) / NS_PER_S if manifest.ended_at else 0.0,
        outcome=outcome,
        message=message,
        output="\n".join([red_line_of(run), *_result_lines(run)]).strip(),
    )


def _case_of_entry(entry: BatchEntry) -> JunitCase:
    """What became of a suite's test that has no record."""
    waiting = entry.state is RunState.WAITING
    outcome = CaseOutcome.SKIPPED if waiting else CaseOutcome.ERROR
    message = entry.reason or (
        "the suite ended before it" if waiting else f"{entry.state}, without a record that can be read"
    )
    return JunitCase(procedure_of(entry.test).title, f"openpts.{entry.test}", 0.0, outcome, message)


def _verdict(run: Run) -> tuple[CaseOutcome, str]:
    manifest = run.manifest
    if manifest.state is not RunState.COMPLETE:
        state = "not finished" if manifest.state is RunState.RUNNING else manifest.state.value
        return CaseOutcome.ERROR, f"{state}: {manifest.state_reason or 'no reason is recorded'}"
    if unsteady := unsteady_cycles(run):
        texts = [
            f"{one.title}: {text}" if one.title else text
            for one in unsteady.values()
            for text in [reached_text(one.outcome, manifest.conditions)]
        ]
        return CaseOutcome.SKIPPED, f"no verdict, steady state {'; '.join(texts)}"
    return CaseOutcome.PASSED, ""


def _result_lines(run: Run) -> Iterator[str]:
    for one in procedure_of(run.manifest.conditions.test).report(run).measures:
        if one.is_key and one.value is not None:
            cell = one.noted_cell
            yield f"{one.label}: {cell.text} {one.unit}".rstrip() + (f" ({cell.note})" if cell.note else "")


_RUN: Final = "run"
_RUNS: Final = "runs"
_TEXT: Final = "VARCHAR"
_LABELS: Final = {"name": _TEXT, "value": _TEXT}
_MEASURES: Final = {
    "key": _TEXT,
    "label": _TEXT,
    "unit": _TEXT,
    "value": "DOUBLE",
    "better": _TEXT,
    "note": _TEXT,
    "state": _TEXT,
    "stands_in": "BOOLEAN",
    "is_key": "BOOLEAN",
}


def columns_of_tables() -> dict[str, dict[str, str]]:
    """The columns of each table, with their SQL types."""
    frames = {name: types_of(columns) for name, (columns, _) in FRAMES.items()}
    of_run = {"labels": _LABELS, "measures": _MEASURES, **frames}
    return {_RUNS: RUN_COLUMNS, **{name: {_RUN: _TEXT, **columns} for name, columns in of_run.items()}}


def tables_of(run: Run) -> Iterator[tuple[str, Iterable[Mapping[str, Any]]]]:
    """The rows of each table by its name; ``runs`` comes last."""
    yield "labels", [{"name": name, "value": value} for name, value in run.manifest.people.labels.items()]
    found = procedure_of(run.manifest.conditions.test).report(run).measures
    yield "measures", [{name: getattr(one, name) for name in _MEASURES} for one in found]
    for name, (columns, things) in FRAMES.items():
        yield name, declared_rows(columns, things(run))
    yield _RUNS, [run_row(run)]


def write_tables(folder: Path, runs: Iterable[Run]) -> int:
    """Write each run's part of all tables, in place of what the folder has of it; returns how many runs.

    A run is in ``runs`` once all of its parts are there. Raises UsageError without DuckDB, and for a folder
    that belongs to a run; RecordError if a file can't be written.
    """
    refuse_run_folder(folder)
    connection = _connection()
    count = 0
    with temporary_folder("tables") as scratch:
        for run in runs:
            name = run.manifest.test_id
            for table, rows in tables_of(run):
                named = [{_RUN: name, **row} for row in rows]
                content = _parquet(connection, columns_of_tables()[table], named, scratch)
                write_export(folder / table, {f"{quote(name, safe='')}.parquet": content})
            count += 1
    return count


def _connection() -> "duckdb.DuckDBPyConnection":
    try:
        import duckdb  # noqa: PLC0415 only this output needs it
    except ImportError:
        raise UsageError("--parquet needs DuckDB: pip install 'openpts[parquet]'") from None
    return duckdb.connect()


def _parquet(
    connection: "duckdb.DuckDBPyConnection",
    columns: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    scratch: Path,
) -> bytes:
    """The rows as a file, by way of JSON, which DuckDB reads by the columns' types."""
    made = scratch / "rows.parquet"
    with failing_as(RecordError, f"can't write into {scratch}"):
        write_files(scratch, {"rows.json": msgspec.json.Encoder().encode_lines(rows)}, lasting=False)
    table = connection.read_json(
        str(scratch / "rows.json"), columns=dict(columns), format="newline_delimited"
    )
    table.write_parquet(str(made), compression="zstd")
    return made.read_bytes()


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
        "DIR", "Put all tables of the record into DIR, as Parquet, with those of other runs.", FOLDER
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
