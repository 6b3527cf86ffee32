"""What notebooks and programs of others use; ``openpts`` itself exports it."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from openpts.analysis.run_comparison import LEAST_DIFFERENCE_PCT
from openpts.pages.measure import Measured
from openpts.procedures.registry import procedure_of
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.sources import read_for_report
from openpts_line.compare.contenders import RunComparison, compare_runs
from openpts_line.compare.sources import read_entries

__all__ = ["build_report", "compare", "measures", "read_run"]


def read_run(folder: str | PathLike[str]) -> Run:
    """Load a run folder, with all that its report needs.

    Raises RecordError if the folder has no record, or one that is damaged, contradicts itself, or has a
    version that this openpts cannot read.
    """
    return read_for_report(Path(folder))


def measures(run: Run) -> tuple[Measured, ...]:
    """The results of a run that people compare, each with key, unit, value, note and state.

    Raises RecordError for a run of a test that this openpts does not know.
    """
    return tuple(procedure_of(run.manifest.conditions.test).report(run).measures)


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
