"""A baseline as a run keeps it: what its relative limits need, so that the record alone is judged again."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import msgspec

from openpts.errors import RecordError, failing_as
from openpts.record.decoding import decode_json
from openpts.record.writer import BASELINE_NAME, INPUT_FOLDER
from openpts.report.sources import read_for_report, run_folders_of
from openpts.run_folder_files import read_file
from openpts.vocabulary.document import filled
from openpts_compare.limits.limits_file import LimitSet
from openpts_compare.runs.measured_run import MeasuredRun, RunAttributes, RunFigure

_LARGEST: Final = 1e30
"""No figure is above it, or below its inverse, so that all have ratios."""


class BaselineRun(RunAttributes, frozen=True, kw_only=True):
    """A run of a baseline; ``figures`` are by limit."""

    figures: dict[str, RunFigure]

    @classmethod
    def of(cls, run: MeasuredRun, limits: LimitSet) -> Self:
        """What these limits need of a run. Raises UsageError where one means several of its measures."""
        found = {one.measure: run.find(one.measure) for one in limits.bounds if one.is_relative}
        figures = {measure: figure for measure, figure in found.items() if figure is not None}
        return filled(cls, run, folder=str(run.run.folder.resolve()), figures=figures)

    def find(self, measure: str) -> RunFigure | None:
        """Figure of the measure as a limit writes it; None if the run has none."""
        return self.figures.get(measure)


HeldAgainst = MeasuredRun | BaselineRun
"""A run of the baseline: read from its folder, or as another run keeps it."""


def gated_runs(paths: Sequence[Path]) -> tuple[MeasuredRun, ...]:
    """The runs that paths name, those of suites and batches included.

    Raises RecordError, and UsageError for a run that is named twice.
    """
    return tuple(MeasuredRun.of(read_for_report(folder)) for folder in run_folders_of(paths))


def kept_baseline(limits: LimitSet, baseline: Sequence[MeasuredRun]) -> bytes:
    """The copy of a baseline that a record has."""
    runs = [BaselineRun.of(run, limits) for run in baseline]
    return msgspec.json.format(msgspec.json.encode(runs, order="deterministic"), indent=1)


def stored_baseline(folder: Path) -> tuple[BaselineRun, ...]:
    """The baseline that a run was ordered with; empty without one. Raises RecordError."""
    name = f"{INPUT_FOLDER}/{BASELINE_NAME}"
    runs: tuple[BaselineRun, ...] = ()
    with failing_as(RecordError, f"can't read {folder / name}"), suppress(FileNotFoundError):
        runs = decode_json(read_file(folder, name), tuple[BaselineRun, ...])
    for figure in (figure for run in runs for figure in run.figures.values()):
        if any(one and not 1 / _LARGEST < abs(one) < _LARGEST for one in (figure.value, *figure.by_round)):
            raise RecordError(f"can't read {folder / name}: no run can measure such {figure.name!r}")
    return runs
