"""Comparison from Python; ``openpts`` itself exports it."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from openpts.analysis.run_comparison import LEAST_DIFFERENCE_PCT
from openpts_compare.compare.contenders import RunComparison, compare_runs
from openpts_compare.compare.sources import read_entries


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
