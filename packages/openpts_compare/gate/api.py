"""The gate from Python; ``openpts`` itself exports it."""

from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path

from openpts.report.sources import run_folders_of
from openpts_compare.limits.baseline import gated_runs
from openpts_compare.limits.judge import GateResult, judge
from openpts_compare.limits.limits_file import Allowed, parse_limits

Folders = Sequence[str | PathLike[str]]


def gate(
    folders: Folders, limits: Sequence[str], *, baseline: Folders = (), allow: Collection[str] = ()
) -> GateResult:
    """Hold runs against limits as ``openpts gate`` does: run folders, and suites for all runs in them.

    ``limits`` are those of ``--limit``: ``iops.rnd-4k-rw0 >= 180 k``. ``allow`` are the words of ``--allow``,
    such as ``deviations``. The verdict of the result is that of all limits, each of which is in ``judged``.

    Raises UsageError for a limit that makes no sense, RecordError for a folder that can't be read.
    """
    runs, bases = [Path(one) for one in folders], [Path(one) for one in baseline]
    run_folders_of([*runs, *bases])  # refuses a run that is named twice
    words = tuple(map(Allowed, allow))
    return judge(parse_limits(b"", "limits", limits, words), gated_runs(runs), gated_runs(bases))
