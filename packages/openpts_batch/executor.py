"""What carries out a batch, however its runs are started: keeps batch.json, and makes reports."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import RecordError, failing_as
from openpts.ownership import CLAIM_NAME, RunOwner, folder_claimed, until_unlocked
from openpts.procedures.registry import procedure_of
from openpts.record.batch import DONE, Batch, BatchEntry, write_batch
from openpts.record.manifest import RunState
from openpts.record.reader import has_begun, read_manifest
from openpts.record.writer import DATABASE_NAME, remove_unbegun
from openpts.runner.events import Event
from openpts.system_files import SystemRoots

_SEVERAL: Final = 2

Reporter = Callable[[Path], Sequence[str]]
"""Makes the reports of a run folder, and returns their names in it."""


class EntryChanged(Struct, frozen=True):
    """An entry of the batch is another one now; ``index`` is its place in it."""

    index: int
    entry: BatchEntry


class EntryOutput(Struct, frozen=True):
    """What happens in a run: an event of one in this process, or its line of one in another process."""

    index: int
    event: Event


class ReportBegun(Struct, frozen=True):
    """The report of an entry is made, or without ``index`` that of all of them."""

    index: int | None = None


BatchEvent = EntryChanged | EntryOutput | ReportBegun
BatchListener = Callable[[BatchEvent], None]


@dataclass(kw_only=True)
class Executor(ABC):
    """Carries out what is waiting in ``batch``, and keeps batch.json in ``folder`` after every change.

    ``report`` makes reports, None: none are made.
    """

    folder: Path
    batch: Batch
    report: Reporter | None = None
    listener: BatchListener = lambda _: None
    roots: SystemRoots = field(default_factory=SystemRoots)

    def run(self) -> Batch:
        """Carry out all that waits to its end.

        Raises RecordError if batch.json can't be written, or another process carries out this batch.
        """
        with batch_claimed(self.folder, self.batch, self.roots):
            self.publish()
            try:
                self._carry_out()
            finally:
                self.batch = replace(self.batch, ended_at=now("seconds"))
                self.publish()
                self._report_on_all()
        return self.batch

    @abstractmethod
    def _carry_out(self) -> None:
        """Run what waits."""

    def publish(self) -> None:
        """Write the batch as it stands. Raises RecordError."""
        write_batch(self.folder, self.batch)

    def _set(self, index: int, **changes: object) -> None:
        """Change an entry, on the disk as well; if that is full, the next change writes all."""
        self._change(index, **changes)
        with suppress(RecordError):
            self.publish()

    def _change(self, index: int, **changes: object) -> None:
        entries = list(self.batch.entries)
        entries[index] = replace(entries[index], **changes)
        self.batch = replace(self.batch, entries=tuple(entries))
        self.listener(EntryChanged(index, entries[index]))

    def _report(self, index: int) -> None:
        """The reports of a run that has a record; runs count more than a report that can't be made."""
        run_folder = self.folder / self.batch.entries[index].folder
        if self.report is None or not (run_folder / DATABASE_NAME).exists():
            return
        self.listener(ReportBegun(index))
        try:
            self._set(index, reports=tuple(self.report(run_folder)), report_reason=None)
        except Exception as error:  # noqa: BLE001 as said above
            self._set(index, report_reason=f"{type(error).__name__}: {error}")

    def _report_on_all(self) -> None:
        """One report of all tests of a suite that have a record; of a single one there is one already."""
        folders = [self.folder / entry.folder for entry in self.batch.entries]
        recorded = sum((folder / DATABASE_NAME).exists() for folder in folders)
        if self.report is None or self.batch.suite is None or recorded < _SEVERAL:
            return
        self.listener(ReportBegun())
        try:
            self.batch = replace(self.batch, reports=tuple(self.report(self.folder)))
        except Exception as error:  # noqa: BLE001 the tests are done, and each has its own report
            self.batch = replace(self.batch, report_reason=f"{type(error).__name__}: {error}")
        self.publish()


def batch_claimed(folder: Path, batch: Batch, roots: SystemRoots) -> AbstractContextManager[None]:
    """No other process carries out the batch as long as the block lasts. Raises RecordError."""
    with failing_as(RecordError, f"can't create the batch's folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    what = f"batch of {len(batch.entries)} drives" if batch.kind == "batch" else batch.kind
    owner = RunOwner.this_process(batch.batch_id, what, (), roots)
    return folder_claimed(folder, owner, again=(folder / CLAIM_NAME).exists())


def as_recorded(folder: Path, entry: BatchEntry, batch: Batch) -> BatchEntry:
    """What became of a run by its record, which decides; what is neither complete nor failed is left to do.

    The batch may have been killed before it noted the end, and a run that failed may have been resumed alone
    since. Nothing else continues with one that failed: what it failed of may be still there. A suite judges
    its runs when they are complete: one may have failed so, and of another only the verdict is left.
    Raises RecordError.
    """
    from openpts.runner.driver import driver_of  # noqa: PLC0415 help of what executes needs none

    run_folder, is_judged_here = folder / entry.folder, batch.suite is not None
    if entry.state is RunState.COMPLETE or (entry.state is RunState.FAILED and is_judged_here):
        return entry
    if entry.state is RunState.FAILED:
        with suppress(RecordError):  # damaged, and done
            if read_manifest(run_folder).state is RunState.COMPLETE:
                return replace(entry, state=RunState.COMPLETE, exit_code=None, reason=None)
        return entry
    state, reason = RunState.WAITING, None
    if run_folder.exists() and not has_begun(run_folder):
        remove_unbegun(run_folder)
    elif run_folder.exists():
        manifest = read_manifest(run_folder)
        state, reason = manifest.state, manifest.state_reason
        if state is RunState.COMPLETE and is_judged_here:
            state = RunState.WAITING
        elif state not in DONE and (why := driver_of(procedure_of(entry.test)).unresumable(manifest)):
            state, reason = RunState.FAILED, f"was cut off: {why}"
        elif state not in DONE:
            state, reason = RunState.INTERRUPTED, None
    return replace(entry, state=state, exit_code=None, reason=reason)


def what_is_left(folder: Path, batch: Batch) -> Batch:
    """As the records have it: what is not done waits."""
    entries = []
    for entry in batch.entries:
        until_unlocked(
            folder / entry.folder / CLAIM_NAME
        )  # what the kernel ends with its batch takes seconds
        found = as_recorded(folder, entry, batch)
        entries.append(found if found.state in DONE else replace(found, state=RunState.WAITING))
    return replace(batch, entries=tuple(entries), ended_at=None)


def now(timespec: str = "milliseconds") -> str:
    """ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec=timespec)
