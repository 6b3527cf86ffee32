"""The database of a run folder: opened for reading, its manifest, where it ends."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from openpts.errors import NoRecordError, RecordError
from openpts.escaped_text import visible_line
from openpts.record.decoding import decode_json, other_version, rows_of
from openpts.record.manifest import Manifest, manifest_of
from openpts.record.schema import SCHEMA_VERSION
from openpts.record.writer import CHECKSUM_SECTION, DATABASE_NAME, checksum_of
from openpts.run_folder_files import check_files, locked_by_a_library
from openpts.vocabulary.facts import Fact, Facts


class Query(NamedTuple):
    """What is read of a table, and of which types it has to be."""

    table: str
    columns: str
    kind: Any


_JUST_BEGUN: Final = "its run has just begun, or ended at once"
_MANIFEST: Final = Query("manifest", "section, json", tuple[str, str])

_STEPS_A_BYTE: Final = 4
_STEPS_AT_ONCE: Final = 10_000

_COMPUTING: Final = """
SELECT one.name FROM sqlite_schema AS one
WHERE one.rootpage = 0 OR EXISTS (SELECT * FROM pragma_table_xinfo(one.name) WHERE hidden)
"""


def _why_no_record(folder: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"{folder} can't be read: {error.strerror}; ask as its owner, or as root"
    if folder.is_file():
        return f"{folder} is a file: name the folder of the run, such as {folder.parent}"
    if not os.path.lexists(folder):
        return f"{folder} can't be read: there is no such folder"
    runs = sorted(folder.glob(f"*/{DATABASE_NAME}"))  # of a batch, a suite
    below = f"; name one of the runs below it, such as {runs[0].parent}" if runs else ""
    return f"{folder} is not a run folder: it has no {DATABASE_NAME}{below}"


@contextmanager
def opened_record(folder: Path) -> Iterator[sqlite3.Connection]:
    """The database of a run folder, if it is of a version that is read here. Raises RecordError."""
    database = folder / DATABASE_NAME
    try:
        os.lstat(database)
    except OSError as error:
        raise NoRecordError(_why_no_record(folder, error)) from error
    try:
        check_files(folder, [f"{DATABASE_NAME}{ending}" for ending in ("", "-wal", "-shm", "-journal")])
        with locked_by_a_library(folder, DATABASE_NAME), closing(_open(database)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if not version and not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
                raise NoRecordError(f"{folder} is empty: {_JUST_BEGUN}")
            if version != SCHEMA_VERSION:
                writer = _writer(database, connection)
                raise other_version(folder, "record", version, SCHEMA_VERSION, writer=writer)
            _refuse_what_computes(database, connection)
            yield connection
    except OSError as error:
        raise RecordError(f"can't read {database}: {error.strerror}") from error
    except MemoryError as error:  # a damaged length: SQLite asks for what no machine has
        raise RecordError(f"can't read {database}: a value is larger than memory") from error
    except UnicodeError as error:  # SQLite's own complaint, which quotes a damaged schema
        raise RecordError(f"can't read {database}: its schema has text that is not UTF-8") from error
    except (sqlite3.Error, msgspec.MsgspecError) as error:
        ended = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
        why = "it is damaged: its tables lead to the same rows again and again" if ended else error
        raise RecordError(f"can't read {database}: {why}") from error


def _writer(database: Path, connection: sqlite3.Connection) -> str:
    """Which openpts a record of another version names as its writer; empty where that can't be read."""
    with suppress(RecordError, sqlite3.Error, msgspec.MsgspecError):
        _refuse_what_computes(database, connection)
        query = "SELECT json FROM manifest WHERE section = 'software'"
        (text,) = connection.execute(query).fetchone() or ("{}",)
        software: Fact | None = decode_json(text, Facts).get("test_software")
        if software is not None and (software.value or "").startswith("openpts"):  # not what was imported
            return software.value or ""
    return ""


def _refuse_what_computes(database: Path, connection: sqlite3.Connection) -> None:
    """Views, triggers, and virtual tables and columns: reading one may take for ever, or all memory."""
    for (name,) in connection.execute(_COMPUTING):
        text = visible_line(str(name))
        raise RecordError(f"can't read {database}: it computes {text}, which openpts only stores")


def _open(database: Path) -> sqlite3.Connection:
    """Opened for reading, which ends for a database whose tables lead to the same pages again and again.

    SQLite asks for its steps between rows, but not within a ``count(*)``. Reading a record takes up to 0.06
    steps for each byte; one of telemetry alone, whose rows are the smallest, 0.7.
    """
    # A closed run is one file that is never written again: opened as immutable, it can be read from read-only
    # ground and reading leaves no side files. A run in progress, or one that was killed, has a log
    # beside it that must be read as well.
    log = database.with_name(f"{database.name}-wal")
    mode = "mode=ro" if log.exists() else "immutable=1"
    connection = sqlite3.connect(f"{database.absolute().as_uri()}?{mode}", uri=True)
    size_bytes = database.stat().st_size
    with suppress(FileNotFoundError):  # of a run in progress
        size_bytes += log.stat().st_size
    left = iter(range(_STEPS_A_BYTE * size_bytes // _STEPS_AT_ONCE))
    connection.set_progress_handler(lambda: next(left, None) is None, _STEPS_AT_ONCE)
    return connection


class _Tag(msgspec.Struct):
    test: str = ""


def stored_manifest(folder: Path, connection: sqlite3.Connection) -> Manifest:
    """The manifest as it is stored. Raises RecordError for one that is damaged or not readable here."""
    stored: dict[str, str] = dict(rows_by_type(connection, _MANIFEST))
    if not stored:
        raise NoRecordError(f"{folder} is empty: {_JUST_BEGUN}")
    if stored.get(CHECKSUM_SECTION) != checksum_of(stored):
        raise RecordError(
            f"the record in {folder} contradicts itself: its manifest is not the one that section "
            f"{CHECKSUM_SECTION} has the checksum of"
        )
    sections = {section: msgspec.Raw(text) for section, text in stored.items()}
    test: str = decode_json(stored.get("conditions", "{}"), _Tag).test  # which says of what type all are
    return decode_json(msgspec.json.encode(sections), manifest_of(test))


def rows_by_type(connection: sqlite3.Connection, query: Query) -> Iterator[Any]:
    """All rows, ordered by their first two columns."""
    cursor = connection.execute(f"SELECT {query.columns} FROM {query.table} ORDER BY 1, 2")  # noqa: S608 our names
    return rows_of(cursor, query.table, query.kind)


class LastStep(NamedTuple):
    """What is known at the end of a record: ``steps`` are all so far; the rest is of the last of them.

    ``stored_at`` is ISO 8601, UTC; ``ended_ns`` on the engine's clock.
    """

    steps: int
    stored_at: str | None
    ended_ns: int
    carried: str


def last_step(folder: Path) -> LastStep:
    """What resuming a run needs of its record's end. Raises RecordError."""
    with opened_record(folder) as connection:
        # not count(*), within which SQLite can't be ended
        (count,) = connection.execute("SELECT count(step_id) FROM step").fetchone()
        found = connection.execute(
            "SELECT stored_at, started_ns + elapsed_ns, carried FROM step ORDER BY step_id DESC LIMIT 1"
        ).fetchone()
        return LastStep(count, *(found or (None, 0, "")))
