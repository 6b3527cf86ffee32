"""Holds an archive against its own catalogue, and removes what no entry needs."""

import hashlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import compress
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from openpts.vocabulary.document import Document
from openpts_many.archive.add import run_of
from openpts_many.archive.catalogue import (
    ABOUT,
    CATALOGUE,
    DATA,
    Entry,
    catalogue_files,
    entries,
    merge,
    newest,
)
from openpts_many.archive.store import Store, at_once

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

_IN_PROGRESS: Final = timedelta(days=1)
_COMPACT: Final = "`openpts archive compact` removes the folder once it is a day old"


class Kind(StrEnum):
    """What is the matter with a name in an archive. Only what is damaged or missing harms it."""

    DAMAGED = "damaged"
    MISSING = "missing"
    HALF_ADDED = "half added"
    REPLACED = "replaced"
    STRANGE = "strange"


class ArchiveFault(Struct, frozen=True):
    """A name that is not as it should be; ``text`` says what to do."""

    kind: Kind
    name: str
    text: str

    @property
    def is_harm(self) -> bool:
        """Whether queries fail or lack something for it."""
        return self.kind in {Kind.DAMAGED, Kind.MISSING}


class Checked(Struct, frozen=True):
    """What was looked at."""

    runs: int = 0
    files: int = 0
    size_bytes: int = 0


class ArchiveCheck(Document, frozen=True, kw_only=True, tag="openpts.archive-check/1"):
    """What was looked at, and what is not as it should be."""

    checked: Checked
    findings: tuple[ArchiveFault, ...]


def check(store: Store, *, quick: bool) -> ArchiveCheck:
    """All that is wrong; ``quick``: names and sizes alone. Raises RecordError."""
    stored = store.names()  # before the catalogue: what is entered meanwhile is listed already
    damaged = _damaged_catalogue(store)
    whole = list(entries(store, with_files=True, without={one.name for one in damaged}))
    by_run = newest(iter(whole))
    files = [(run, name, *file) for run, entry in by_run.items() for name, file in entry.files.items()]
    found = list(damaged)
    kinds = at_once(lambda file: _problem(store, stored, *file[1:], quick=quick), files)
    for (run, name, *_), kind in zip(files, kinds, strict=True):
        if kind is not None:
            again = f"restore it from a backup, or add {run} again with `openpts archive add --replace`"
            found.append(ArchiveFault(kind, name, again))
    for folder, written_at in _unused(stored, by_run).items():
        was_replaced = any(entry.folder == folder for entry in whole)
        found.append(_unused_folder(folder, written_at, by_run, was_replaced, bool(damaged)))
    found += [
        ArchiveFault(Kind.STRANGE, name, "it is no part of the archive: move it elsewhere")
        for name in stored
        if not name.startswith((ABOUT, f"{CATALOGUE}/", f"{DATA}/"))
    ]
    checked = Checked(len(by_run), len(files), sum(size_bytes for _, _, size_bytes, _ in files))
    return ArchiveCheck(checked=checked, findings=tuple(found))


def compact(store: Store) -> tuple[int, list[str]]:
    """Merge the catalogue's small files, and remove folders that no entry needs, written a day ago or more:
    younger ones may be of a run that is being added, or read.

    Returns how many files were merged, and the folders. Raises RecordError, also for a damaged catalogue.
    """
    stored = store.names(DATA)
    unused = _unused(stored, newest(entries(store)))
    old = [name for name, at in unused.items() if datetime.now(UTC) - at > _IN_PROGRESS]
    for folder in old:
        store.remove(folder)
    return merge(store), old


def _damaged_catalogue(store: Store) -> list[ArchiveFault]:
    """Catalogue files that have not the content for which they are named."""

    def is_damaged(name: str) -> bool:
        with suppress(FileNotFoundError):  # merged meanwhile
            return hashlib.sha256(store.read(name)).hexdigest() not in name
        return False

    names = catalogue_files(store)
    text = "restore it from a backup, or remove it and add its runs again"
    return [ArchiveFault(Kind.DAMAGED, name, text) for name in compress(names, at_once(is_damaged, names))]


def _problem(
    store: Store, stored: "dict[str, FileInfo]", name: str, size_bytes: int, sha256: str, *, quick: bool
) -> Kind | None:
    if name in stored and stored[name].size != size_bytes:
        return Kind.DAMAGED
    if name in stored and quick:
        return None
    try:
        content = store.read(name)  # also if it was added, or removed, after the listing
    except FileNotFoundError:
        return Kind.MISSING
    return None if hashlib.sha256(content).hexdigest() == sha256 else Kind.DAMAGED


def _unused(stored: "dict[str, FileInfo]", used: dict[str, Entry]) -> dict[str, datetime]:
    """Folders of runs that no entry needs, with the time at which their last file was written."""
    needed = {entry.folder for entry in used.values()}
    unused: dict[str, datetime] = {}
    for name, one in stored.items():
        folder = name.rpartition("/")[0]
        if name.startswith(f"{DATA}/") and folder not in needed:
            unused[folder] = max(one.mtime, unused.get(folder, one.mtime))
    return unused


def _unused_folder(
    folder: str, written_at: datetime, by_run: dict[str, Entry], was_replaced: bool, has_damage: bool
) -> ArchiveFault:
    if was_replaced:
        return ArchiveFault(Kind.REPLACED, folder, f"its run was added again: {_COMPACT}")
    run = run_of(folder)
    if has_damage:
        text = f"its entry is missing, perhaps in what is damaged: add {run} again"
    elif any(run_of(entry.folder) == run for entry in by_run.values()):
        text = f"adding {run} was cut off, and it was added since: {_COMPACT}"
    elif datetime.now(UTC) - written_at < _IN_PROGRESS:
        text = f"{run} is being added, or that was cut off: add it again"
    else:
        text = f"adding {run} was cut off: add it again; {_COMPACT}"
    return ArchiveFault(Kind.HALF_ADDED, folder, text)
