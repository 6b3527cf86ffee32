"""Holds an archive against its own catalogue, and removes what no entry needs."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from openpts.archive.add import run_of
from openpts.archive.catalogue import (
    ABOUT,
    CATALOGUE,
    DATA,
    Entry,
    catalogue_files,
    entries,
    merge,
    newest,
    read_table,
)
from openpts.archive.store import Store
from openpts.errors import RecordError
from openpts.vocabulary.document import Document

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

_IN_PROGRESS: Final = timedelta(days=1)


class Kind(StrEnum):
    """What is the matter with a name in an archive. Only what is damaged or missing harms it."""

    DAMAGED = "damaged"
    MISSING = "missing"
    HALF_ADDED = "half added"
    REPLACED = "replaced"
    STRANGE = "strange"


@dataclass(frozen=True, slots=True)
class Finding:
    """A name that is not as it should be; ``text`` says what to do."""

    kind: Kind
    name: str
    text: str

    @property
    def is_harm(self) -> bool:
        """Whether queries fail or lack something for it."""
        return self.kind in {Kind.DAMAGED, Kind.MISSING}


@dataclass(slots=True)
class Checked:
    """What was looked at so far."""

    runs: int = 0
    files: int = 0
    size_bytes: int = 0


class ArchiveCheck(Document, frozen=True, kw_only=True, tag="openpts.archive-check/1"):
    """What was looked at, and what is not as it should be."""

    checked: Checked
    findings: tuple[Finding, ...]


def check(store: Store, checked: Checked, *, quick: bool) -> Iterator[Finding]:
    """All that is wrong, while ``checked`` counts; ``quick``: names and sizes alone. Raises RecordError."""
    stored = store.names()  # before the catalogue: what is entered meanwhile is listed already
    found = _whole_entries(store)
    yield from found.findings
    by_run = newest(iter(found.entries))
    for entry in by_run.values():
        checked.runs += 1
        for name, (size_bytes, sha256) in entry.files.items():
            checked.files += 1
            checked.size_bytes += size_bytes
            if problem := _problem(store, stored, name, size_bytes, "" if quick else sha256):
                yield Finding(*problem, _again(entry.run))
    for folder, written_at in _unused(stored, by_run).items():
        yield _unused_folder(folder, written_at, found, by_run)
    for name in stored:
        if not name.startswith((ABOUT, f"{CATALOGUE}/", f"{DATA}/")):
            yield Finding(Kind.STRANGE, name, "it is no part of the archive: move it elsewhere")


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


@dataclass(slots=True)
class _Entries:
    entries: list[Entry]
    findings: list[Finding]


def _whole_entries(store: Store) -> _Entries:
    """All entries of catalogue files that are whole, and what is wrong with the others."""
    findings = []
    for name in catalogue_files(store):
        try:
            read_table(store, name)
            fault = hashlib.sha256(store.read(name)).hexdigest() not in name
        except FileNotFoundError:  # merged meanwhile
            continue
        except RecordError:
            fault = True
        if fault:
            findings.append(
                Finding(Kind.DAMAGED, name, "restore it from a backup, or remove it and add its runs again")
            )
    damaged = {one.name for one in findings}
    return _Entries(list(entries(store, with_files=True, without=damaged)), findings)


def _problem(
    store: Store, stored: "dict[str, FileInfo]", name: str, size_bytes: int, sha256: str
) -> tuple[Kind, str] | None:
    if name not in stored:
        try:
            content = store.read(name)  # added after the listing
        except FileNotFoundError:
            return Kind.MISSING, name
    elif stored[name].size != size_bytes:
        return Kind.DAMAGED, name
    elif not sha256:
        return None
    else:
        content = store.read(name)
    return None if hashlib.sha256(content).hexdigest() == sha256 else (Kind.DAMAGED, name)


def _unused(stored: "dict[str, FileInfo]", used: dict[str, Entry]) -> dict[str, datetime]:
    """Folders of runs that no entry needs, with the time at which their last file was written."""
    needed = {entry.folder for entry in used.values()}
    unused: dict[str, datetime] = {}
    for name, one in stored.items():
        folder = name.rpartition("/")[0]
        if name.startswith(f"{DATA}/") and folder not in needed:
            unused[folder] = max(one.mtime, unused.get(folder, one.mtime))
    return unused


def _unused_folder(folder: str, written_at: datetime, found: _Entries, by_run: dict[str, Entry]) -> Finding:
    if any(entry.folder == folder for entry in found.entries):
        return Finding(Kind.REPLACED, folder, f"its run was added again: {_compact()}")
    run = run_of(folder)
    if found.findings:
        text = f"its entry is missing, perhaps in what is damaged: add {run} again"
    elif any(run_of(entry.folder) == run for entry in by_run.values()):
        text = f"adding {run} was cut off, and it was added since: {_compact()}"
    elif datetime.now(UTC) - written_at < _IN_PROGRESS:
        text = f"{run} is being added, or that was cut off: add it again"
    else:
        text = f"adding {run} was cut off: add it again; {_compact()}"
    return Finding(Kind.HALF_ADDED, folder, text)


def _again(run: str) -> str:
    return f"restore it from a backup, or add {run} again with `openpts archive add --replace`"


def _compact() -> str:
    return "`openpts archive compact` removes the folder once it is a day old"
