"""A baseline as a run keeps it: what its relative limits need, so that the record alone is judged again."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.folder_files import read_file
from openpts.record.decoding import decode_json
from openpts.record.manifest import RunState
from openpts.record.writer import BASELINE_NAME, INPUT_FOLDER
from openpts.report.gate.figures import Figure, GatedRun
from openpts.report.gate.limits_file import LimitSet
from openpts.report.sources import read_for_report, run_folders_of
from openpts.vocabulary.document import filled

_LARGEST: Final = 1e30
"""No figure is above it, or below its inverse, so that all have ratios."""


class BaselineRun(Struct, frozen=True):
    """A run of a baseline with what ``GatedRun`` has; ``folder`` is where it was, ``figures`` by limit."""

    test_id: str
    folder: str
    started_at: str
    test: str
    state: RunState
    conditions: str
    deviations: frozenset[tuple[str, str]]
    seeds: tuple[int, int] | None
    source: str | None
    firmware: str
    figures: dict[str, Figure]

    @classmethod
    def of(cls, run: GatedRun, limits: LimitSet) -> Self:
        """What these limits need of a run. Raises UsageError where one means several of its measures."""
        found = {one.measure: run.find(one.measure) for one in limits.bounds if one.is_relative}
        return filled(
            cls,
            run,
            test_id=run.run.manifest.test_id,
            folder=str(run.run.folder.resolve()),
            started_at=run.run.manifest.started_at,
            figures={measure: figure for measure, figure in found.items() if figure is not None},
        )

    def find(self, measure: str) -> Figure | None:
        """A figure by the limit's own words; None if the run has none of it."""
        return self.figures.get(measure)


JudgedRun = GatedRun | BaselineRun
"""What relative limits need of a run, read from its folder or kept by the run that is held against it."""


def read_baseline(paths: Sequence[Path]) -> tuple[GatedRun, ...]:
    """The runs of a baseline, those of suites included.

    Raises RecordError, and UsageError for a run that is named twice.
    """
    return tuple(GatedRun.of(read_for_report(folder)) for folder in run_folders_of(paths))


def kept_baseline(limits: LimitSet, baseline: Sequence[GatedRun]) -> bytes:
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
