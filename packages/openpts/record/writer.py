"""Writes the folder of a run in progress: a kill or a power cut loses at most the step in flight."""

import hashlib
import os
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, Self

import msgspec

from openpts.errors import LostRecordError, RecordError, UnwritableRecordError, failing_as
from openpts.output_files import RECORD_NAME
from openpts.ownership import CLAIM_NAME
from openpts.path_owners import exchangeable
from openpts.record.health import HealthRecord, ReadingPoint, TelemetryPoint
from openpts.record.manifest import Manifest
from openpts.record.schema import (
    PAGE_BYTES,
    REPEATED,
    SCHEMA_VERSION,
    TABLES,
    json_text,
    rows_beside,
    step_row,
)
from openpts.run_folder_files import check_files, make_empty_file, read_file, remove_file, write_files
from openpts.vocabulary.sample import Sample, StepPlace, StepState
from openpts.vocabulary.verdict import Deviation, StepDeviation

DATABASE_NAME = RECORD_NAME
CAPTURE_FOLDER = "capture"  # holds the files of single I/Os, where a test keeps them
INPUT_FOLDER = "input"
"""Holds what the operator wrote for the run, byte for byte: the plan, the description of the drive."""

LIMITS_NAME = "limits.toml"  # the copy of a run's limits among the files that the operator wrote for it
BASELINE_NAME = "baseline.json"  # beside it, what relative limits need of the baseline's runs
OUTPUT_FOLDER = "output"  # holds what programs of the operator's printed, where a test runs them
EVENTS_NAME = "events.jsonl"  # what happened in the run, for viewers; report and record rest on nothing in it
LOG_NAME = "run.log"  # what a detached run prints
CHECKSUM_SECTION = "sha256"  # the section of the manifest with the checksum of all others
_OF_A_BEGINNING: Final = re.compile(
    rf"{DATABASE_NAME}(-wal|-shm|-journal)?|{CLAIM_NAME}|{CAPTURE_FOLDER}|{INPUT_FOLDER}|\.openpts-.*"
)

# full; fails, which a quota and a write-protected disk cause, too; is read-only
_FOR_NOW: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY})
_PRIMARY_CODE: Final = 0xFF


class RunWriter:
    """The one writer of a run folder; each step is one transaction, synced before it counts."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, inputs: Mapping[str, bytes]) -> None:
        self.folder = folder
        self._inputs = inputs
        self._connection = connection
        # a file system that can't share memory has no log beside the database
        names = (DATABASE_NAME, f"{DATABASE_NAME}-wal")
        self._files = {name: (folder / name).lstat() for name in names if os.path.lexists(folder / name)}

    @staticmethod
    def check_free(folder: Path, *, expected: str | None = None) -> None:
        """Raises RecordError if the folder holds more than ``expected``, or is not this user's alone.

        Likewise if its name is not UTF-8.
        """
        try:
            str(folder).encode()
        except UnicodeEncodeError as error:
            raise RecordError(
                f"can't create the run folder {folder}: its name is not UTF-8; choose another with --out"
            ) from error
        with failing_as(RecordError, f"can't create the run folder {folder}"):
            if others := exchangeable(folder):
                raise RecordError(
                    f"can't create the run folder {folder}: {others}, so that any file could take the place "
                    "of its record. Choose a folder of your own with --out"
                )
            if folder.exists() and any(path.name != expected for path in folder.iterdir()):
                raise RecordError(f"{folder} is not empty: choose another folder with --out")
            for above in folder.resolve().parents:
                if os.path.lexists(above / DATABASE_NAME):
                    raise RecordError(f"{folder} is within the run {above}: choose another folder with --out")

    @classmethod
    def create(
        cls,
        folder: Path,
        manifest: Manifest,
        *,
        expected: str | None = None,
        inputs: Mapping[str, bytes] | None = None,
    ) -> Self:
        """Make the folder, its database and its copies of ``inputs``, by their names.

        Raises RecordError if the folder holds more than ``expected``.
        """
        with failing_as(RecordError, f"can't create the run folder {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
            cls.check_free(folder, expected=expected)
            _make_files(folder, inputs or {})
            connection = sqlite3.connect(folder / DATABASE_NAME, isolation_level=None)
            with _as_record_error(folder):
                connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.executescript(f"BEGIN; PRAGMA user_version = {SCHEMA_VERSION}; {TABLES}; COMMIT")
            writer = cls(folder, connection, inputs or {})
        writer.update_manifest(
            **{field.name: getattr(manifest, field.name) for field in msgspec.structs.fields(manifest)}
        )
        return writer

    @classmethod
    def reopen(cls, folder: Path) -> Self:
        """Continue the record of a run that was cut off. Raises RecordError if it can't be written."""
        with failing_as(RecordError, f"can't write {folder / DATABASE_NAME}"):
            check_files(folder, [f"{DATABASE_NAME}{ending}" for ending in ("", "-wal", "-shm")])
            with _as_record_error(folder):
                connection = sqlite3.connect(
                    f"{(folder / DATABASE_NAME).absolute().as_uri()}?mode=rw", uri=True, isolation_level=None
                )
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
        return cls(folder, connection, inputs_of(folder))

    def copied_to(self, folder: Path) -> Self:
        """A writer of a copy in a new folder, also of files without a name by now. Raises RecordError."""
        with failing_as(RecordError, f"can't create the run folder {folder}"):
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir()
            _make_files(folder, self._inputs)
        with _as_record_error(folder):
            connection = sqlite3.connect(folder / DATABASE_NAME, isolation_level=None)
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._connection.backup(connection)
        return type(self)(folder, connection, self._inputs)

    def update_manifest(self, /, **sections: object) -> None:
        """Replace sections of the manifest, all at once."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO manifest VALUES (?, ?)",
                [(section, json_text(value)) for section, value in sections.items()],
            )
            stored = dict(connection.execute("SELECT section, json FROM manifest"))
            connection.execute(
                "INSERT OR REPLACE INTO manifest VALUES (?, ?)", (CHECKSUM_SECTION, checksum_of(stored))
            )

    def add_deviations(self, deviations: tuple[Deviation, ...]) -> None:
        """Append to the ledger, in this order."""
        with self._transaction() as connection:
            _insert_deviations(connection, ((one, None, None) for one in deviations))

    def add_health(self, health: HealthRecord) -> None:
        """Store one reading of the device's log."""
        with self._transaction() as connection:
            reading = health.reading
            cursor = connection.execute(
                "INSERT INTO health_reading (occasion, cycle, part, number, read_at, t_ns, source)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*msgspec.structs.astuple(health)[:-1], reading.source),
            )
            connection.executemany(
                "INSERT INTO health VALUES (?, ?, ?)",
                [(cursor.lastrowid, name, value) for name, value in reading.values.items()],
            )

    def add_telemetry(self, points: Sequence[TelemetryPoint]) -> None:
        """Store a batch of samples; of two with the same name and time the later counts."""
        with self._transaction() as connection:
            _insert_points(connection, ((point.name, point.t_ns, point.value) for point in points))

    def add_step(self, place: StepPlace, sample: Sample, deviations: tuple[StepDeviation, ...] = ()) -> None:
        """Store one step with its intervals, histograms and errors, and what of it is to be in the ledger.

        A caller that was interrupted in it calls it again: the step is stored once.
        """
        with self._transaction() as connection:
            if _is_last(connection, place):
                return
            row = step_row(place, sample)
            cursor = connection.execute(
                f"INSERT INTO step ({', '.join(row)}) VALUES ({_marks(len(row))})",  # noqa: S608 names are ours
                tuple(row.values()),
            )
            for table, rows in rows_beside(sample).items():
                if rows:
                    connection.executemany(
                        f"INSERT INTO {table} VALUES ({_marks(1 + len(rows[0]))})",  # noqa: S608 names are ours
                        ((cursor.lastrowid, *row) for row in rows),
                    )
            start_ns = sample.started_ns
            _insert_points(connection, ((c.name, start_ns + c.after_ns, c.value) for c in sample.counted))
            entries = ((one.entry, cursor.lastrowid, one.extent) for one in deviations)
            _insert_deviations(connection, entries)

    def set_aside(self, place: StepPlace) -> None:
        """Let the complete steps of a phase and number from this place on count for nothing: they are
        repeated.
        """
        with self._transaction() as connection:
            connection.execute(
                "UPDATE step SET state = ?"
                " WHERE cycle = ? AND part = ? AND number = ? AND position >= ? AND state = ?",
                (REPEATED, place.cycle, place.phase, place.number, place.position, StepState.COMPLETE),
            )

    def set_aside_after(self, steps: int, health: Collection[int]) -> None:
        """Let all steps behind so many count for nothing, and all readings during the test but ``health``.

        These are positions among all readings.
        """
        with self._transaction() as connection:
            connection.execute(
                "UPDATE step SET state = :repeated WHERE step_id IN (SELECT step_id FROM step"
                " WHERE state != :repeated ORDER BY step_id LIMIT -1 OFFSET :steps)",
                {"repeated": REPEATED, "steps": steps},
            )
            found = connection.execute("SELECT position, occasion FROM health_reading ORDER BY position")
            aside = [
                (ReadingPoint.SET_ASIDE, position)
                for place, (position, occasion) in enumerate(found)
                if occasion == ReadingPoint.DURING and place not in health
            ]
            connection.executemany("UPDATE health_reading SET occasion = ? WHERE position = ?", aside)

    def close(self) -> None:
        """Fold the write-ahead log into the database, so that run.db alone is the whole record.

        On a disk that is full or read-only the log stays beside it, and is read with it.
        """
        with _as_record_error(self.folder), closing(self._connection):
            with suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.check_files()  # before the log is removed, which SQLite leaves where run.db was replaced

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with _as_record_error(self.folder):
            if self._connection.in_transaction:
                # an interrupt came between the lines below: nothing of it counts
                self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
            self.check_files()

    def check_files(self) -> None:
        """What was committed can be found: SQLite continues with a file that has lost its name.

        It holds both open, so that no other file can have their numbers. Raises LostRecordError.
        """
        for name, made in self._files.items():
            try:
                found = (self.folder / name).lstat()
            except OSError as error:
                raise LostRecordError(
                    _lost(self.folder / name, f"can't be found: {error.strerror}")
                ) from error
            if not os.path.samestat(found, made):
                raise LostRecordError(_lost(self.folder / name, "is not the file that this run created"))


def _make_files(folder: Path, inputs: Mapping[str, bytes]) -> None:
    make_empty_file(folder, DATABASE_NAME)
    write_files(folder, {f"{INPUT_FOLDER}/{name}": raw for name, raw in inputs.items()})


def _lost(path: Path, what: str) -> str:
    return f"can't continue the record: {path} {what}; don't touch a run's folder during the run"


@contextmanager
def _as_record_error(folder: Path) -> Iterator[None]:
    try:
        yield
    # the last two: an integer of more than 63 bits, a name that is no UTF-8
    except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
        code = getattr(error, "sqlite_errorcode", None)
        kind = UnwritableRecordError if code and code & _PRIMARY_CODE in _FOR_NOW else RecordError
        raise kind(f"can't write the record in {folder}: {error}") from error


def is_beginning(folder: Path) -> bool:
    """Whether a folder has nothing but what a run, or a suite, puts there before its record begins."""
    return folder.is_dir() and all(_OF_A_BEGINNING.fullmatch(path.name) for path in folder.iterdir())


def remove_unbegun(folder: Path) -> None:
    """Remove what a run has left in its folder that was killed before its record began.

    A folder that has anything else stays as it is. Raises RecordError.
    """
    if not is_beginning(folder):
        return
    names = [path.relative_to(folder) for path in folder.rglob("*")]
    with failing_as(RecordError, f"can't remove the beginning of a run in {folder}"):
        for name in sorted(names, reverse=True):  # a folder comes behind what is in it
            if (folder / name).is_dir():
                (folder / name).rmdir()
            else:
                remove_file(folder, str(name))


def inputs_of(folder: Path) -> dict[str, bytes]:
    """A run's copies of the files that the operator wrote for it, by their names. Raises RecordError."""
    kept = folder / INPUT_FOLDER
    with failing_as(RecordError, f"can't read {kept}"):
        return {
            path.name: read_file(folder, f"{INPUT_FOLDER}/{path.name}") for path in sorted(kept.glob("*"))
        }


def capture_folder(attempt: int) -> str:
    """Where an attempt at a run, counted from 1, has the files of single I/Os."""
    return CAPTURE_FOLDER if attempt <= 1 else f"{CAPTURE_FOLDER}-{attempt}"


def checksum_of(sections: Mapping[str, str]) -> str:
    """SHA-256 of the texts of a manifest's sections, by name, as JSON; its own section is none of them."""
    texts = sorted((name, text) for name, text in sections.items() if name != CHECKSUM_SECTION)
    return json_text(hashlib.sha256(msgspec.json.encode(texts)).hexdigest())


def _is_last(connection: sqlite3.Connection, place: StepPlace) -> bool:
    """Whether the step that was stored last has this place."""
    query = "SELECT cycle, part, number, position FROM step WHERE state != ? ORDER BY step_id DESC LIMIT 1"
    found = connection.execute(query, (REPEATED,)).fetchone()
    return found is not None and tuple(found) == (place.cycle, place.phase, place.number, place.position)


def _insert_points(connection: sqlite3.Connection, points: Iterable[tuple[str, int, float]]) -> None:
    connection.executemany("INSERT OR REPLACE INTO telemetry VALUES (?, ?, ?)", points)


def _insert_deviations(
    connection: sqlite3.Connection, entries: Iterable[tuple[Deviation, int | None, float | None]]
) -> None:
    connection.executemany(
        "INSERT INTO deviation (rule_id, clause, required, used, effect, step_id, extent)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (one.rule_id, one.clause, one.required, one.used, one.effect, step_id, extent)
            for one, step_id, extent in entries
        ),
    )


def _marks(count: int) -> str:
    return ", ".join("?" * count)
