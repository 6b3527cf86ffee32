"""Runs as tables of Parquet, a file for each run: DIR/TABLE/ID.parquet. DuckDB writes the files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from openpts.errors import RecordError, UsageError, failing_as
from openpts.output_files import refuse_run_folder
from openpts.procedures.registry import procedure_of
from openpts.record.frames import FRAMES, declared_rows, types_of
from openpts.record.reader import Run
from openpts.run_folder_files import write_files
from openpts.temporary_folder import temporary_folder
from openpts_compare.gate.export_files import write_export
from openpts_compare.runs.flat_rows import RUN_COLUMNS, run_row

if TYPE_CHECKING:
    import duckdb

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
