"""Runs of the library beside each other, and against limits: by the comparison and the gate of openpts."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from openpts.errors import UsageError
from openpts.limits.judge import GateResult, judge
from openpts.limits.limits_file import Allowed, parse_limits
from openpts.pages.model import Report
from openpts.record.reader import Run
from openpts.record.writer import DATABASE_NAME
from openpts.report.sources import read_for_report
from openpts.runs.measured_run import MeasuredRun
from openpts_line.compare.build import build_comparison
from openpts_line.compare.contenders import Entry, compare_runs
from openpts_line.compare.figures import ComparisonDocument, comparison_document
from openpts_line.gate.documents import GateDocument
from openpts_line.gate.page import gate_report
from openpts_web.index import Index

MOST_RUNS: Final = 32
_KEPT_BYTES: Final = 256 * 1024 * 1024
_MOST_LIMITS: Final = 64


class Shown(Struct, frozen=True):
    """A comparison, or verdicts, as a document and as the pages that show it."""

    document: ComparisonDocument | GateDocument
    report: Report


class Runs:
    """Records that were read lately, up to a size: who compares asks for the same ones again."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int, int], tuple[Run, int]] = OrderedDict()

    def read(self, run_id: str) -> Run:
        """The record of a run. Raises UsageError without one, RecordError where it can't be read."""
        folder = self._index.folder(run_id)
        if folder is None:
            raise UsageError(
                f"run {run_id} has no record here: it is gone, or in an archive, which keeps figures alone; "
                "serve its folder to compare it"
            )
        found = (folder / DATABASE_NAME).stat()
        key = (str(folder), found.st_ino, found.st_mtime_ns)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        run = read_for_report(folder)
        with self._lock:
            self._kept[key] = (run, found.st_size)
            while sum(size for _, size in self._kept.values()) > _KEPT_BYTES:
                self._kept.popitem(last=False)
        return run

    def several(self, run_ids: Sequence[str]) -> list[Run]:
        """Records of different runs. Raises UsageError for one that is named twice, and for too many."""
        if len(set(run_ids)) < len(run_ids):
            raise UsageError("a run is named twice: name each run once")
        if len(run_ids) > MOST_RUNS:
            raise UsageError(f"cannot take {len(run_ids)} runs at once: choose {MOST_RUNS} at most")
        return [self.read(run_id) for run_id in run_ids]


def compared(runs: Runs, run_ids: Sequence[str], names: Sequence[str], base: str = "") -> Shown:
    """What `openpts compare` shows of these runs; runs of one name form a set, an empty one is the drive's.

    Raises UsageError for runs that can't be compared, RecordError for one that can't be read.
    """
    labels = [*names, *[""] * len(run_ids)]
    entries = [Entry(run, label) for run, label in zip(runs.several(run_ids), labels, strict=False)]
    comparison = compare_runs(entries, base)
    return Shown(comparison_document(comparison, ()), build_comparison(comparison))


def gated(
    runs: Runs,
    run_ids: Sequence[str],
    baseline_ids: Sequence[str],
    limits: Sequence[str],
    allow: Sequence[str],
) -> Shown:
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
    return Shown(GateDocument.by(result, candidates, bases), gate_report(result, candidates, bases))
