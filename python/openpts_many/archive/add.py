"""Adds finished runs to an archive, one after the other; several processes may do so at once."""

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import OpenptsError, RecordError, failing_as
from openpts.record.reader import Run, read_run
from openpts.record.writer import DATABASE_NAME
from openpts.report.redaction import redacted_run
from openpts.run_folder_files import file_name_word, open_file
from openpts_many.archive.catalogue import DATA, MOST_SMALL, Entry, begin, commit, entries, merge, newest
from openpts_many.archive.store import Store
from openpts_many.archive.tables import catalogue_row, origin_of, parquet_tables

_ATTEMPT: Final = "~"  # behind it, a word of this attempt's own: no two processes write the same objects


class Added(Struct, frozen=True):
    """What became of a run folder: ``run`` is its ID, ``size_bytes`` what was written, 0 where it was there
    already. ``error`` says why it could not be added.
    """

    folder: Path
    run: str = ""
    size_bytes: int = 0
    error: OpenptsError | None = None


def add_runs(store: Store, folders: Sequence[Path], *, redact: bool, replace: bool) -> Iterator[Added]:
    """Add runs that are not there yet, each as a whole or not at all; ``replace``: also those that are.

    One run at a time is in memory. Raises UsageError where the place is not for an archive, RecordError if
    it can't be read or written.
    """
    begin(store)
    known = newest(entries(store))
    for count, folder in enumerate(folders, start=1):
        try:
            added = _add(store, folder, known, redact=redact, replace=replace)
        except OpenptsError as error:
            added = Added(folder, error=error)
        yield added
        if count % MOST_SMALL == 0:
            merge(store, at_least=MOST_SMALL)
    merge(store, at_least=MOST_SMALL)


def _add(store: Store, folder: Path, known: dict[str, Entry], *, redact: bool, replace: bool) -> Added:
    content_sha256 = _content_sha256(folder, redact=redact)
    run = read_run(folder, interval_histograms=True)
    if redact:
        run = redacted_run(run)
    name = run.manifest.test_id
    if (there := known.get(name)) is not None:
        if there.origin != origin_of(run):
            raise RecordError(
                f"can't add {folder}: the archive has another run with the ID {name}; IDs must be unique, "
                "see `openpts run --run-id`"
            )
        if there.content_sha256 == content_sha256 and not replace:
            return Added(folder, name)
    files = parquet_tables(run)
    place = f"{_partition(run)}/{file_name_word(name)}{_ATTEMPT}{secrets.token_hex(4)}"
    store.write({f"{place}/{table}.parquet": content for table, content in files.items()})
    commit(store, catalogue_row(run, content_sha256, place, files) | {"redacted": redact})
    return Added(folder, name, sum(len(content) for content in files.values()))


def run_of(folder: str) -> str:
    """The ID of the run whose tables are in a folder, as far as file names have it."""
    return folder.rpartition("/")[2].rpartition(_ATTEMPT)[0]


def _partition(run: Run) -> str:
    row = run.manifest
    model = row.dut["model"].value if "model" in row.dut else None
    words = (("model", model or "unknown"), ("test", row.conditions.test), ("year", row.started_at[:4]))
    return "/".join([DATA, *(f"{name}={file_name_word(word) or 'unknown'}" for name, word in words)])


def _content_sha256(folder: Path, *, redact: bool) -> str:
    """Of the record's file, and of its log, which a run that was killed leaves."""
    digest = hashlib.sha256(b"redacted" if redact else b"")
    for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal"):
        unreadable = failing_as(RecordError, f"can't read {folder / name}")
        with unreadable, suppress(FileNotFoundError), open_file(folder, name) as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()
