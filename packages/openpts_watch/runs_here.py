"""Runs of a folder and those in progress anywhere on this host: their states by lock and events."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import NONSENSE, RecordError
from openpts.ownership import CLAIM_NAME, is_locked, read_owner
from openpts.record.batch import is_batch, read_batch
from openpts.record.manifest import RunState
from openpts.record.reader import read_manifest
from openpts.record.writer import DATABASE_NAME, EVENTS_NAME
from openpts.system_files import SystemRoots
from openpts.vocabulary.document import Document
from openpts_pages.texts import fact_text
from openpts_watch.events_file import EventsFile
from openpts_watch.seen_run import SeenRun

RUNS: Final = Path("openpts-runs")
"""Where runs lie if nothing else is said."""

_DEPTH: Final = ("", "*/", "*/*/")


class ListedRun(Struct, frozen=True, kw_only=True):
    """A run, or an entry of a batch that was refused. ``left_ns`` is on the engine's clock."""

    folder: str
    state: RunState
    run: str | None = None
    test: str | None = None
    drive: str | None = None
    serial: str | None = None
    started_at: str | None = None
    done_share: float | None = None
    left_ns: int | None = None
    reason: str | None = None


class RunList(Document, frozen=True, kw_only=True, tag="openpts.run-list/1"):
    """Runs of a folder, and those in progress anywhere."""

    runs: tuple[ListedRun, ...]


def runs_here(folder: Path, roots: SystemRoots) -> list[ListedRun]:
    """Runs below a folder and runs in progress, in the order in which they began."""
    folders = dict.fromkeys(
        path.parent.resolve()
        for below in _DEPTH
        for name in (EVENTS_NAME, CLAIM_NAME, DATABASE_NAME)
        for path in folder.glob(f"{below}{name}")
    )
    found = [run for one in (*folders, *running_folders(roots)) for run in _listed_anyhow(one)]
    every = {run.folder: run for run in found}.values()
    return sorted(every, key=lambda run: (run.started_at or "", run.folder))


def running_folders(roots: SystemRoots) -> list[Path]:
    """Folders of runs that processes in sight have claimed; root sees those of all."""
    found: dict[Path, None] = {}
    for fd in roots.proc.glob("[0-9]*/fd/*"):
        with suppress(OSError, RecordError):
            path = fd.readlink()
            if path.name == CLAIM_NAME and is_locked(path):
                found[path.parent] = None
    return list(found)


def state_of(folder: Path, seen: SeenRun) -> RunState:
    """Running as long as a process holds the folder; one that ended without a word was interrupted."""
    if is_locked(folder / CLAIM_NAME):
        return RunState.RUNNING
    return RunState.INTERRUPTED if seen.finished is None else RunState(seen.finished.state)


def _listed_anyhow(folder: Path) -> list[ListedRun]:
    """What is in a folder, or why that can't be said: the others are listed whatever is in one."""
    try:
        return list(_listed(folder))
    except NONSENSE as error:
        return [ListedRun(folder=str(folder), state=RunState.UNKNOWN, reason=str(error))]


def _listed(folder: Path) -> Iterator[ListedRun]:
    """The run of a folder; of a batch, what has no folder of its own."""
    if is_batch(folder):
        with suppress(RecordError):
            for entry in read_batch(folder).entries:
                if entry.state is RunState.REFUSED:
                    yield ListedRun(
                        folder=str(folder / entry.folder),
                        state=entry.state,
                        test=entry.test,
                        drive=entry.request.target,
                        serial=entry.request.serial,
                        reason=entry.reason,
                    )
        return
    seen = SeenRun()
    file = EventsFile(folder, ends_only=True)
    with suppress(RecordError):
        while seen.take(file.new_lines()):
            pass
    if seen.run is None:
        yield from _without_events(folder)
        return
    yield ListedRun(
        folder=str(folder),
        state=state_of(folder, seen),
        run=seen.run.run,
        test=seen.run.test,
        drive=seen.run.target.name,
        serial=seen.run.target.serial,
        started_at=seen.began_at,
        done_share=seen.done_share,
        left_ns=seen.left_ns,
        reason=seen.finished.reason if seen.finished else None,
    )


def _without_events(folder: Path) -> Iterator[ListedRun]:
    """An imported run by its record; one that has not begun by its claim."""
    with suppress(RecordError):
        manifest = read_manifest(folder)
        is_left = manifest.state is RunState.RUNNING and not is_locked(folder / CLAIM_NAME)
        yield ListedRun(
            folder=str(folder),
            state=RunState.INTERRUPTED if is_left else manifest.state,
            run=manifest.test_id,
            test=manifest.conditions.test,
            drive=manifest.target.name,
            serial=fact_text(manifest.dut, "serial", "") or None,
            started_at=manifest.started_at,
            reason=manifest.state_reason,
        )
        return
    owner = read_owner(folder / CLAIM_NAME)
    if owner is not None:
        state = RunState.RUNNING if is_locked(folder / CLAIM_NAME) else RunState.UNKNOWN
        yield ListedRun(
            folder=str(folder),
            state=state,
            run=owner.run_id,
            drive=owner.target.partition("?")[0],
            started_at=owner.since,
        )
