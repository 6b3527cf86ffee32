"""The index of a library: each run is read once, and again when its record has changed.

An SQLite file among what is kept between commands; run folders are only read. What is looked
for on demand costs an idle server, and a machine that measures, nothing.
"""

import hashlib
import os
import sqlite3
import threading
import time
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from weakref import finalize

import msgspec

from openpts.errors import RecordError, UsageError
from openpts.kept_files import cache_home
from openpts.record.writer import DATABASE_NAME
from openpts_web.documents import RunPage, RunSummary, is_in_progress, page_of_folder

_DEEPEST: Final = 4
"""Run folders lie in those of suites, these in those of batches, these in the library."""
_LOOK_AGAIN_S: Final = 0.5
_AT_ONCE: Final = 4
"""More changed runs than that are read in the background, while the library shows what it has."""

_SCHEMA: Final = """
CREATE TABLE source (place TEXT PRIMARY KEY, stamp TEXT NOT NULL, in_progress INTEGER NOT NULL) STRICT;
CREATE TABLE run (number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL,
    source TEXT NOT NULL REFERENCES source ON DELETE CASCADE,
    run TEXT, test TEXT, model TEXT, serial TEXT, firmware TEXT, state TEXT, started_at TEXT, verdict TEXT,
    deviations INTEGER, suite TEXT) STRICT;
CREATE TABLE content (number INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE, summary BLOB NOT NULL,
    page BLOB NOT NULL) STRICT;
CREATE INDEX run_source ON run (source);
CREATE INDEX run_started_at ON run (started_at);
CREATE INDEX run_test ON run (test);
CREATE INDEX run_model ON run (model);
CREATE INDEX run_firmware ON run (firmware);
CREATE INDEX run_state ON run (state);
CREATE INDEX run_verdict ON run (verdict);
CREATE TABLE label (number INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, name TEXT NOT NULL,
    value TEXT NOT NULL) STRICT;
CREATE INDEX label_number ON label (number);
CREATE INDEX label_name ON label (name, value);
CREATE TABLE measure (number INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, test TEXT NOT NULL,
    key TEXT NOT NULL, label TEXT NOT NULL, unit TEXT NOT NULL, value REAL NOT NULL,
    state TEXT NOT NULL) STRICT;
CREATE INDEX measure_number ON measure (number);
CREATE TABLE measure_name (test TEXT, key TEXT, label TEXT, unit TEXT, PRIMARY KEY (test, key)) STRICT;
CREATE INDEX measure_key ON measure (test, key);
CREATE VIRTUAL TABLE words USING fts5 (text, prefix = '2 3');
CREATE TRIGGER gone AFTER DELETE ON run BEGIN DELETE FROM words WHERE rowid = old.number; END;
"""
_FORGET: Final = "DELETE FROM source WHERE place = ?"
_COLUMNS: Final = (
    "run", "test", "model", "serial", "firmware", "state", "started_at", "verdict", "deviations", "suite"
)  # fmt: skip


class Index:
    """All runs below some folders, as of a moment ago.

    Methods may be called from any thread. Raises UsageError for a place that is no folder, and RecordError
    where the index can't be kept.
    """

    def __init__(self, places: Sequence[str], file: Path | None = None) -> None:
        folders = [Path(place) for place in places]
        for folder in folders:
            if not folder.is_dir():
                raise UsageError(f"can't serve {folder}: there is no such folder; name one with runs")
        self._folders = [folder.resolve() for folder in folders]
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._idle = deque[sqlite3.Connection]()
        finalize(self, _close, self._idle)
        self._read_s = -_LOOK_AGAIN_S
        self._waiting: dict[str, str] = {}
        self._reader: threading.Thread | None = None
        self._file = file or _file_of([*map(str, self._folders)])
        with self._kept():
            self._make()
            with closing(self._connection()) as connection:
                rows = connection.execute("SELECT place, stamp, in_progress FROM source").fetchall()
        self._known = {place: (stamp, bool(live)) for place, stamp, live in rows}

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Raise RecordError where the index can't be kept, as on a full disk."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise RecordError(
                f"can't keep the index of the library in {self._file.parent}: {error}; make room there, "
                "or set XDG_CACHE_HOME to another folder"
            ) from error

    def _make(self) -> None:
        """An index of another version is not read: runs are, again. Raises RecordError."""
        number = zlib.crc32(f"{version('openpts')} {_SCHEMA}".encode()) >> 1
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing(self._connection()) as connection:
            if connection.execute("PRAGMA user_version").fetchone() == (number,):
                return
        for ending in ("", "-wal", "-shm"):
            Path(f"{self._file}{ending}").unlink(missing_ok=True)
        with closing(self._connection()) as connection:
            connection.executescript(f"PRAGMA journal_mode = WAL; {_SCHEMA} PRAGMA user_version = {number}")

    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, timeout=30, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = OFF")  # it can be made again
        return connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a question. As many connections stay open as threads have asked at the same time."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connection()
        try:
            found: list[tuple[Any, ...]] = connection.execute(sql, values).fetchall()
        finally:
            self._idle.append(connection)
        return found

    @property
    def unread(self) -> int:
        """How many runs have yet to be read."""
        return len(self._waiting)

    def page(self, run_id: str) -> RunPage | None:
        """A run by its id; None if there is none."""
        found = self.rows("SELECT page FROM run JOIN content USING (number) WHERE id = ?", [run_id])
        return msgspec.json.decode(zlib.decompress(found[0][0]), type=RunPage) if found else None

    def folder(self, run_id: str) -> Path | None:
        """The folder of a run; None without one.

        It lies below a folder that is served: only what was found there is in the index.
        """
        found = self.rows("SELECT source FROM run WHERE id = ?", [run_id])
        return Path(found[0][0]) if found else None

    def refresh(self) -> None:
        """Look for what has changed, unless that was done a moment ago; a few such runs are read at once."""
        with self._lock:
            if time.monotonic() - self._read_s < _LOOK_AGAIN_S:
                return
            found = dict(self._found())
            for place in self._known.keys() - found.keys():
                self._forget(place)
            for place, stamp in found.items():
                before, was_in_progress = self._known.get(place, ("", False))
                ended = was_in_progress and not is_in_progress(Path(place))
                if ended or (before != stamp and not was_in_progress):
                    self._waiting[place] = stamp
            is_busy = self._reader is not None and self._reader.is_alive()
            if len(self._waiting) > _AT_ONCE and not is_busy:
                self._reader = threading.Thread(target=self._read_beside, name="index", daemon=True)
                self._reader.start()
            elif not is_busy:
                self._read_waiting()
            self._read_s = time.monotonic()

    def wait(self) -> None:
        """Return when everything that was found is read."""
        self.refresh()
        if self._reader is not None:
            self._reader.join()

    def _found(self) -> Iterator[tuple[str, str]]:
        for folder in self._folders:
            yield from _records(str(folder), _DEEPEST)

    def _read_beside(self) -> None:
        with suppress(RecordError):  # who asks next hears of it: what is left is tried again
            self._read_waiting()

    def _read_waiting(self) -> None:
        while self._waiting:
            place, stamp = next(iter(self._waiting.items()))
            page = page_of_folder(Path(place))
            with self._writing:
                self._store(place, stamp, page)
            self._waiting.pop(place, None)

    def _store(self, place: str, stamp: str, page: RunPage) -> None:
        in_progress = page.summary.in_progress
        with self._changing() as connection:
            connection.execute(_FORGET, [place])
            connection.execute("INSERT INTO source VALUES (?, ?, ?)", [place, stamp, in_progress])
            _insert(connection, place, page)
        self._known[place] = (stamp, in_progress)

    def _forget(self, place: str) -> None:
        with self._writing, self._changing() as connection:
            connection.execute(_FORGET, [place])
        del self._known[place]
        self._waiting.pop(place, None)

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._kept(), closing(self._connection()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")


def _close(connections: deque[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()


def _file_of(places: Sequence[str]) -> Path:
    """Where the index of these places is kept; one of this process alone where nothing is."""
    name = hashlib.sha256("\0".join(sorted(places)).encode(errors="surrogateescape")).hexdigest()[:16]
    home = cache_home()
    if home is None:
        raise UsageError("the index of a library has to be kept: unset OPENPTS_CACHE, or set XDG_CACHE_HOME")
    return home / "web" / f"{name}.db"


def _records(folder: str, deepest: int) -> Iterator[tuple[str, str]]:
    """Run folders below a folder, and what tells their records from what they were.

    No link is followed, and no name that can't be shown.
    """
    if stamp := _stamp(f"{folder}/{DATABASE_NAME}"):
        yield folder, f"{stamp} {_stamp(f'{folder}/{DATABASE_NAME}-wal')}"
        return
    if not deepest:
        return
    try:
        with os.scandir(folder) as entries:
            below = [
                one.path for one in entries if one.is_dir(follow_symlinks=False) and one.name.isprintable()
            ]
    except OSError:
        return
    for path in below:
        yield from _records(path, deepest - 1)


def _stamp(path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return f"{found.st_ino} {found.st_mtime_ns} {found.st_size}"


def _insert(connection: sqlite3.Connection, place: str, page: RunPage) -> None:
    one: RunSummary = page.summary
    values = [one.id, place, *(getattr(one, name) for name in _COLUMNS)]
    marks = ", ".join("?" * len(values))
    number = connection.execute(f"INSERT INTO run VALUES (NULL, {marks})", values).lastrowid  # noqa: S608
    contents = (msgspec.json.encode(one), zlib.compress(msgspec.json.encode(page), 1))
    connection.execute("INSERT INTO content VALUES (?, ?, ?)", [number, *contents])
    connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", [number, page.words])
    labels = [(number, name, value) for name, value in one.labels.items()]
    connection.executemany("INSERT INTO label VALUES (?, ?, ?)", labels)
    known = [each for each in page.figures if each.value is not None and not each.stands_in]
    names = [(one.test, each.key, each.label, each.unit) for each in known]
    connection.executemany("INSERT OR IGNORE INTO measure_name VALUES (?, ?, ?, ?)", names)
    values_of = [
        (number, one.test, each.key, each.label, each.unit, each.value, each.state) for each in known
    ]
    connection.executemany("INSERT INTO measure VALUES (?, ?, ?, ?, ?, ?, ?)", values_of)
