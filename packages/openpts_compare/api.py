"""Comparison and gate from Python; ``openpts`` itself exports them."""

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from pathlib import Path

from openpts.analysis.run_comparison import LEAST_DIFFERENCE_PCT
from openpts.report.sources import run_folders_of
from openpts_compare.compare.contenders import RunComparison, compare_runs, read_entries
from openpts_compare.limits.judge import GateResult, judge
from openpts_compare.limits.limits_file import Allowed, gated_runs, parse_limits


def compare(
    folders: Sequence[str | PathLike[str]],
    *,
    labels: Mapping[str, str] | None = None,
    cold: Sequence[str | PathLike[str]] = (),
    base: str = "",
    least_difference_pct: float = LEAST_DIFFERENCE_PCT,
) -> RunComparison:
    """Compare runs as ``openpts compare`` does: run folders, and suites for all runs in them.

    ``labels`` name folders; runs of one label make a set. Runs in ``cold`` count in no set. The first drive
    or label is the base unless ``base`` names another. Raises UsageError where the folders cannot be
    compared, RecordError for one that cannot be read.
    """
    named = {Path(folder): label for folder, label in (labels or {}).items()}
    entries = read_entries([Path(folder) for folder in folders], named, [Path(folder) for folder in cold])
    return compare_runs(entries, base, least_difference_pct)


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
