"""What notebooks and programs of others use; ``openpts`` itself exports it."""

from os import PathLike
from pathlib import Path

from openpts.pages.measure import Measured
from openpts.procedures.registry import procedure_of
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.sources import read_for_report

__all__ = ["build_report", "measures", "read_run"]


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
