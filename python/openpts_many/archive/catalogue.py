"""The catalogue: Parquet files of entries, one for each run. An entry makes a run a part of the archive.

A run's tables are written first, then a catalogue file with its entry. Files are never changed: merging
writes a new one and then removes those that it was made of. A process that is killed between the two leaves
entries twice, which readers pass over. Nothing waits for anything else, so that storage needs no locks.
"""

import hashlib
import io
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from openpts.errors import RecordError, UsageError, failing_as
from openpts.record.frames import Row, arrow_table
from openpts_many.archive.store import Store, at_once
from openpts_many.archive.tables import CATALOGUE_COLUMNS, VERSION, parquet_bytes

if TYPE_CHECKING:
    import pyarrow

ABOUT: Final = "archive.json"
CATALOGUE: Final = "catalogue"
DATA: Final = "data"
_FORMAT: Final = "openpts.archive"
_LARGE_BYTES: Final = 8_000_000
_MOST_ROWS: Final = 10_000
MOST_SMALL: Final = 64
"""So many small catalogue files are merged when the next run is added."""


class About(msgspec.Struct, frozen=True):
    """What ``archive.json`` says: an archive is read by each openpts that knows its first number."""

    format: str
    version: str


class Entry(Struct, frozen=True):
    """What is needed of a run's entry to add to an archive, or to check it."""

    run: str
    added_at: str
    content_sha256: str
    origin: str
    folder: str
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """Bytes and SHA-256 by name, where they were asked for."""


_ENTRY_COLUMNS: Final = ("run", "added_at", "content_sha256", "origin", "folder")
_FILE_COLUMNS: Final = ("file_table", "file_bytes", "file_sha256")


def begin(store: Store) -> None:
    """Make an archive where there is none. Raises UsageError if something else is there."""
    if about(store) is not None:
        return
    strange = next(iter(store.names()), None)
    if strange and about(store) is None:  # still: another process may have made it meanwhile
        raise UsageError(
            f"{store.place} is not an archive, and not empty: it has {strange}; name a new folder or prefix"
        )
    store.write({ABOUT: msgspec.json.encode(About(_FORMAT, VERSION)) + b"\n"})


def about(store: Store) -> About | None:
    """What the archive says of itself; None where there is none.

    Raises RecordError for one that this openpts can't read.
    """
    try:
        content = store.read(ABOUT)
    except FileNotFoundError:
        return None
    with failing_as(RecordError, f"can't read {ABOUT} of the archive {store.place}"):
        found = msgspec.json.decode(content, type=About)
    if found.format != _FORMAT or found.version.split(".")[0] != VERSION.split(".")[0]:
        raise RecordError(
            f"{store.place} is {found.format} of version {found.version}, and this openpts reads {_FORMAT} "
            f"of version {VERSION}: use the openpts that made it"
        )
    return found


def existing(store: Store) -> Store:
    """The same, if there is an archive. Raises UsageError or RecordError."""
    if about(store) is None:
        raise UsageError(
            f"no archive in {store.place}: `openpts archive add RUN --to {store.place}` makes one"
        )
    return store


def catalogue_files(store: Store) -> list[str]:
    """The names of all catalogue files."""
    return [name for name in store.names(CATALOGUE) if name.endswith(".parquet")]


def commit(store: Store, row: Row) -> None:
    """Enter a run whose files are written: from now on it is in the archive."""
    _write(store, [arrow_table(CATALOGUE_COLUMNS, [row])])


def entries(store: Store, *, with_files: bool = False, without: Collection[str] = ()) -> Iterator[Entry]:
    """All entries, also those of runs that were added again, but not of catalogue files ``without``.

    Raises RecordError for a damaged file.
    """
    columns = [*_ENTRY_COLUMNS, *(_FILE_COLUMNS if with_files else ())]

    def table(name: str) -> "pyarrow.Table | None":
        with suppress(FileNotFoundError):
            return read_table(store, name, columns)
        return None

    done = set(without)
    merged = True
    while merged:  # into files that were not listed yet
        waiting = [name for name in catalogue_files(store) if name not in done]
        done.update(waiting)
        found = at_once(table, waiting)
        there = [one for one in found if one is not None]
        merged = len(there) < len(found)
        for one in there:
            yield from map(_entry, one.to_pylist())


def _entry(row: Row) -> Entry:
    files = zip(*(row.pop(name, ()) for name in _FILE_COLUMNS), strict=True)
    return Entry(
        **row, files={f"{row['folder']}/{table}.parquet": (size, digest) for table, size, digest in files}
    )


def newest(found: Iterator[Entry]) -> dict[str, Entry]:
    """The entry that counts of each run: the one that was added last."""
    by_run: dict[str, Entry] = {}
    for one in found:
        if one.run not in by_run or _age(one) > _age(by_run[one.run]):
            by_run[one.run] = one
    return by_run


def merge(store: Store, *, at_least: int = 2) -> int:
    """Merge small catalogue files if there are so many; returns how many were merged.

    Raises RecordError for a damaged one.
    """
    stored = store.names(CATALOGUE)
    small = [name for name, one in stored.items() if one.size < _LARGE_BYTES]
    if len(small) < at_least:
        return 0
    held: dict[str, pyarrow.Table] = {}
    total = 0
    for name in small:
        with suppress(FileNotFoundError):  # merged meanwhile
            held[name] = read_table(store, name)
        if sum(one.num_rows for one in held.values()) >= _MOST_ROWS:
            total += _replace(store, held)
            held = {}
    return total + _replace(store, held)


def _replace(store: Store, tables: "dict[str, pyarrow.Table]") -> int:
    """Write what several files have as one, then remove them."""
    if len(tables) < 2:
        return 0
    written = _write(store, list(tables.values()))
    for name in tables:
        if name != written:
            store.remove(name)
    return len(tables)


def _write(store: Store, tables: "list[pyarrow.Table]") -> str:
    content = parquet_bytes(tables)
    name = f"{CATALOGUE}/{hashlib.sha256(content).hexdigest()}.parquet"
    store.write({name: content})
    return name


def read_table(store: Store, name: str, columns: list[str] | None = None) -> "pyarrow.Table":
    """A Parquet file of the archive, if its content is whole. Raises RecordError, FileNotFoundError."""
    import pyarrow as arrow  # noqa: PLC0415 a package that only archives and notebooks need
    from pyarrow import parquet  # noqa: PLC0415 as above

    content, broken = store.read(name), (arrow.ArrowException, OSError)
    what = f"can't read {name} of the archive {store.place}"
    with failing_as(RecordError, what, "see `openpts archive check`", of=broken):
        return parquet.read_table(io.BytesIO(content), columns=columns, page_checksum_verification=True)


def _age(entry: Entry) -> tuple[str, str]:
    return entry.added_at, entry.folder
