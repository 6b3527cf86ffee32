"""What a report is made from: a run folder, a suite of them, or several."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openpts.errors import RecordError, UsageError, failing_as
from openpts.folder_files import check_folder
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import Manifest
from openpts.record.reader import Run, read_manifest, read_run
from openpts.record.suite import SUITE_NAME, read_suite
from openpts.record.writer import DATABASE_NAME


@dataclass(frozen=True, slots=True)
class ReportSource:
    """The run folders of a report; ``folder`` is where it is written if nothing else is said."""

    run_folders: tuple[Path, ...]
    folder: Path

    @classmethod
    def of(cls, paths: Sequence[Path], out: Path | None = None) -> "ReportSource":
        """The source that paths name: run folders, and suites for all runs in them that have a record.

        Raises RecordError where a folder is neither, UsageError where several need a place for their report.
        """
        folders = run_folders_of(paths)
        if len(paths) > 1 and out is None:
            raise UsageError("cannot choose a folder for the report of several runs: name one with --out")
        return cls(folders, out or paths[0])

    def manifests(self) -> tuple[Manifest, ...]:
        """The manifests of the runs, without their steps. Raises RecordError."""
        return tuple(read_manifest(folder) for folder in self.run_folders)


def read_for_report(folder: Path) -> Run:
    """Load a run folder with all that the report of its test needs. Raises RecordError."""
    procedure = procedure_of(read_manifest(folder).conditions.test)
    return read_run(folder, interval_histograms=procedure.interval_histograms)


def run_folders_of(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The run folders that paths name: each, or all in a suite that have a record.

    Raises RecordError for a suite without one, UsageError where a run is named twice.
    """
    folders = tuple(folder for path in paths for folder in _run_folders(path))
    if len(set(folders)) < len(folders):
        raise UsageError("a run is named twice: name each run once")
    return folders


def _run_folders(path: Path) -> list[Path]:
    if not os.path.lexists(path / SUITE_NAME):
        return [path]
    entries = read_suite(path).entries
    folders = [path / entry.folder for entry in entries if _has_record(path, entry.folder)]
    if not folders:
        raise RecordError(f"cannot use the suite in {path}: none of its tests has a record")
    return folders


def _has_record(suite: Path, name: str) -> bool:
    """Whether a folder of the suite is that of a run. Raises RecordError where it lies elsewhere."""
    with failing_as(RecordError, f"can't read the suite in {suite}"), suppress(FileNotFoundError):
        check_folder(suite, name)
        return os.path.lexists(suite / name / DATABASE_NAME)
    return False
