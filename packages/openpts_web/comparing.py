"""Runs of the library beside each other, and against limits: by the comparison and the gate of openpts."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import RecordError, UsageError, failing_as
from openpts.record.reader import Run
from openpts.record.writer import DATABASE_NAME
from openpts.report.sources import read_for_report
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.contenders import NamedRun, compare_runs
from openpts_compare.compare.figures import ComparisonDocument, comparison_document
from openpts_compare.gate.documents import GateDocument, gate_report
from openpts_compare.limits.judge import GateResult, judge
from openpts_compare.limits.limits_file import Allowed, parse_limits
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_pages.model import Report
from openpts_web.index import Index

MOST_RUNS: Final = 32
_MOST_LIMITS: Final = 64


class ShownComparison(Struct, frozen=True):
    """A comparison, or verdicts, as a document and as the pages that show it."""

    document: ComparisonDocument | GateDocument
    report: Report


class Runs(Struct, frozen=True):
    """The records of a library's runs."""

    index: Index

    def several(self, run_ids: Sequence[str]) -> list[Run]:
        """Records of different runs. Raises UsageError for one that is named twice, for too many, and for one
        that is gone, RecordError for one that can't be read.
        """
        if len(run_ids) > MOST_RUNS:
            raise UsageError(f"cannot take {len(run_ids)} runs at once: choose {MOST_RUNS} at most")
        folders = [self._folder(run_id) for run_id in run_ids]
        if len(set(folders)) < len(folders):
            raise UsageError("a run is named twice: name each run once")
        return [_read(folder) for folder in folders]

    def _folder(self, run_id: str) -> Path:
        folder = self.index.folder(run_id)
        if folder is None:
            raise UsageError(f"run {run_id} is gone from here: choose again in the library")
        return folder


def _read(folder: Path) -> Run:
    with failing_as(RecordError, f"can't read {folder}"):
        found = (folder / DATABASE_NAME).stat()
    return _record(folder, found.st_ino, found.st_mtime_ns)


@lru_cache(MOST_RUNS)
def _record(folder: Path, _inode: int, _changed_ns: int) -> Run:
    """A record as it was at a moment: who compares asks for the same ones again."""
    return read_for_report(folder)


def compared(runs: Runs, run_ids: Sequence[str], names: Sequence[str], base: str = "") -> ShownComparison:
    """What `openpts compare` shows of these runs; runs of one name form a set, an empty one is the drive's.

    Raises UsageError for runs that can't be compared, RecordError for one that can't be read.
    """
    labels = [*names, *[""] * len(run_ids)]
    entries = [NamedRun(run, label) for run, label in zip(runs.several(run_ids), labels, strict=False)]
    comparison = compare_runs(entries, base)
    return ShownComparison(comparison_document(comparison, ()), build_comparison(comparison))


def gated(
    runs: Runs,
    run_ids: Sequence[str],
    baseline_ids: Sequence[str],
    limits: Sequence[str],
    allow: Sequence[str],
) -> ShownComparison:
    """The verdicts of `openpts gate` on runs. Raises UsageError for a limit that makes no sense."""
    if len(limits) > _MOST_LIMITS:
        raise UsageError(f"cannot judge {len(limits)} limits at once: give {_MOST_LIMITS} at most")
    several = runs.several([*run_ids, *baseline_ids])
    measured = [MeasuredRun.of(run) for run in several]
    candidates, bases = measured[: len(run_ids)], measured[len(run_ids) :]
    if not candidates:
        raise UsageError("no run to judge: choose one or more in the library")
    try:
        words = tuple(map(Allowed, allow))
    except ValueError as error:
        raise UsageError(f"can't allow so: {error}; use {', '.join(Allowed)}") from error
    result: GateResult = judge(parse_limits(b"", "limit", limits, words), candidates, bases)
    return ShownComparison(GateDocument.by(result, candidates, bases), gate_report(result, candidates, bases))
