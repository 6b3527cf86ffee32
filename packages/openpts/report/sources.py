"""What a report is made from, and when it was made, without a clock."""

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from openpts.errors import RecordError, UsageError, failing_as
from openpts.procedures.registry import procedure_of
from openpts.record.batch import BatchEntry, is_batch, read_batch
from openpts.record.manifest import Manifest
from openpts.record.possible import refuse_impossible
from openpts.record.reader import Run, read_manifest, read_run
from openpts.record.writer import DATABASE_NAME
from openpts.run_folder_files import check_folder


class ReportSource(Struct, frozen=True):
    """The run folders of a report; ``folder`` is where it is written by default."""

    run_folders: tuple[Path, ...]
    folder: Path

    @classmethod
    def of(cls, paths: Sequence[Path], out: Path | None = None) -> "ReportSource":
        """The source that paths name: run folders, or suites and batches for all runs that have a record.

        Raises RecordError where a folder is none of them, UsageError where several lack a place for a report.
        """
        folders = run_folders_of(paths)
        if len(paths) > 1 and out is None:
            raise UsageError("cannot choose a folder for the report of several runs: name one with --out")
        return cls(folders, out or paths[0])

    def manifests(self) -> tuple[Manifest, ...]:
        """The manifests of the runs, without their steps. Raises RecordError."""
        return tuple(read_manifest(folder) for folder in self.run_folders)


def read_for_report(folder: Path) -> Run:
    """Load a run folder with all that the report of its test needs. Raises RecordError, also where no run can
    have left what it holds.
    """
    procedure = procedure_of(read_manifest(folder).conditions.test)
    run = read_run(folder, interval_histograms=procedure.interval_histograms)
    refuse_impossible(run)
    return run


def run_of_entry(folder: Path, entry: BatchEntry) -> Run | None:
    """None for a test that never had a record, or whose record is still being written."""
    if entry.state.has_ended:
        with suppress(RecordError):
            return read_for_report(folder / entry.folder)
    return None


def run_folders_of(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The run folders that paths name: each, or all in a suite or a batch that have a record.

    Raises RecordError for a suite or a batch without one, UsageError where a run is named twice.
    """
    folders = tuple(folder for path in paths for folder in _run_folders(path))
    refuse_repeated(folders)
    return folders


def refuse_repeated(folders: Collection[Path]) -> None:
    """Raise UsageError where a run is named twice, in whatever words: it would count as two."""
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("a run is named twice: name each run once")


def _run_folders(path: Path) -> list[Path]:
    if not is_batch(path):
        return [path]
    batch = read_batch(path)
    folders = []
    for entry in batch.entries:
        with failing_as(RecordError, f"can't read the {batch.kind} in {path}"), suppress(FileNotFoundError):
            check_folder(path, entry.folder)  # which may be a link to elsewhere
            if os.path.lexists(path / entry.folder / DATABASE_NAME):
                folders.append(path / entry.folder)
    if not folders:
        raise RecordError(f"cannot use the {batch.kind} in {path}: none of its runs has a record")
    return folders


def default_date(run: Run) -> str:
    """The end of the run, or its start where it never ended: the same record gives the same bytes."""
    return date_of([run.manifest])


def date_of(manifests: Iterable[Manifest]) -> str:
    """The same of several runs: that of the last."""
    return max(manifest.ended_at or manifest.started_at for manifest in manifests)
