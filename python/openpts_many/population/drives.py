"""Reads the runs of a population, and puts the values of each drive together."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.conformance.standing import red_line_of
from openpts.errors import RecordError, UsageError
from openpts.pages.measure import Measured
from openpts.pages.model import Cell
from openpts.plots.worker_processes import worker_processes
from openpts.procedures.registry import in_test_order, procedure_of
from openpts.record.batch import batch_file, entry_of
from openpts.record.health import ReadingPoint
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, read_manifest
from openpts.record.writer import DATABASE_NAME
from openpts.report.sources import read_for_report, refuse_repeated, run_folders_of
from openpts.report.telemetry_series import mean_over_time
from openpts.runs.measured_run import MeasuredRun, RunAttributes
from openpts.units import format_capacity
from openpts.vocabulary.better import Better
from openpts.vocabulary.facts import fact_of

_TAIL: Final = "p99.9"
_RATES: Final = frozenset({"IOPS", "MB/s"})
_PATH_FACTS: Final = {"pcie": "link", "hba": "HBA", "firmware": "firmware"}
_SLOT: Final = "slot"
_NO_GROUPS: Final = frozenset({"host", _SLOT, "condition", "repetition"})
"""Labels that are said otherwise: a campaign's condition makes a population of its own."""
_ALONE: Final = "no other drive of its model and capacity has run this test under the same conditions"


class DriveRun(RunAttributes, frozen=True, kw_only=True):
    """What a population needs of a run.

    ``condition`` is the name that a campaign has for its conditions, empty for any other run. ``groups`` are
    what it shares with other drives, by name.
    """

    drive: str
    kind: tuple[str, ...]
    condition: str
    red_line: str
    deviation_count: int
    manifest: Manifest
    slot: str | None
    groups: dict[str, str]
    values: tuple[Measured, ...]


class Drive(Struct, frozen=True):
    """A drive with all its runs of a test, in the order of their starts."""

    name: str
    runs: tuple[DriveRun, ...]

    @property
    def first(self) -> DriveRun:
        """First run of the drive, whose host, slot and time count as the drive's."""
        return self.runs[0]

    @property
    def host(self) -> str:
        """Host name, or the label ``host`` where the operator gave one."""
        return self.first.groups["host"]

    def values(self, key: str) -> list[float]:
        """Values of a key over the drive's runs that measured it."""
        return [
            one.value for run in self.runs for one in run.values if one.key == key and one.value is not None
        ]

    def value(self, key: str) -> float | None:
        """Median of a key over the drive's runs; None where no run has it."""
        values = self.values(key)
        return median(values) if values else None


class Population(Struct, frozen=True):
    """Drives of one kind in one test under the same conditions; ``number`` is 0 for the only one."""

    test: str
    number: int
    kind: tuple[str, ...]
    drives: tuple[Drive, ...]
    names: tuple[Measured, ...]

    @property
    def title(self) -> str:
        """Title of the test with its condition, and the population's number if there are several."""
        condition = self.drives[0].first.condition
        title = ", ".join(word for word in (procedure_of(self.test).title, condition) if word)
        return f"{title}, population {self.number}" if self.number else title


class Populations(Struct, frozen=True):
    """All populations of a report; ``left_out`` are folders with the reason why they have no part in it."""

    populations: tuple[Population, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def runs(self) -> tuple[DriveRun, ...]:
        """Runs of all drives in all populations."""
        return tuple(run for one in self.populations for drive in one.drives for run in drive.runs)

    @property
    def manifests(self) -> list[Manifest]:
        """Manifests of all runs, of left-out runs too where they can be read."""
        found = [run.manifest for run in self.runs]
        for folder, _ in self.left_out:
            with suppress(RecordError):
                found.append(read_manifest(Path(folder)))
        return found

    @property
    def drives(self) -> tuple[str, ...]:
        """All drives, each once."""
        return tuple(dict.fromkeys(run.drive for run in self.runs))


def read_populations(paths: Sequence[Path]) -> Populations:
    """Read runs, suites and folders of them. Raises UsageError if there are fewer than two drives."""
    folders = [folder for path in paths for folder in _found_in(path)]
    refuse_repeated(folders)
    with worker_processes() as workers:
        read = list(workers.map(_read, folders))
    left_out = [(str(folder), one) for folder, one in zip(folders, read, strict=True) if isinstance(one, str)]
    runs = [one for one in read if not isinstance(one, str)]
    found = Populations(tuple(_populations(runs)), ())
    if not found.populations:
        drives = len({run.drive for run in runs})
        reasons = "; ".join(dict.fromkeys(reason for _, reason in left_out))
        raise UsageError(
            f"cannot make a population of {drives} drive{'s'[: drives != 1]}: two or "
            f"more of one model are needed in one test{f' ({reasons})' if reasons else ''}"
        )
    counted = {run.folder for run in found.runs}
    left_out += [(run.folder, _ALONE) for run in runs if run.folder not in counted]
    return replace(found, left_out=tuple(left_out))


def _found_in(path: Path) -> Iterator[Path]:
    """A run, the runs of a suite, or all below a folder. Raises RecordError for a folder without a run."""
    if os.path.lexists(path / DATABASE_NAME) or batch_file(path) is not None:
        yield from run_folders_of([path])
        return
    found = False
    for folder, below, files in os.walk(path):
        below.sort()
        if DATABASE_NAME in files:
            found = True
            below.clear()
            yield Path(folder)
    if not found:
        raise RecordError(f"{path} is not a run folder, and has none below it: it has no {DATABASE_NAME}")


def _read(folder: Path) -> DriveRun | str:
    """The run, or why it has no result."""
    try:
        manifest = read_manifest(folder)
        if manifest.state is not RunState.COMPLETE:
            reason = manifest.state_reason
            return f"{manifest.state}{f': {reason}' if reason else ''}"
        of_batch = entry_of(folder)
        return drive_run(read_for_report(folder), None if of_batch is None else of_batch.slot)
    except RecordError as error:
        return str(error)


def drive_run(run: Run, slot: str | None = None) -> DriveRun:
    """The part of a run that counts in a population. Raises RecordError."""
    manifest = run.manifest
    dut, labels = manifest.dut, manifest.people.labels
    model = fact_of(dut, "model") or manifest.target.name
    groups = {"host": labels.get("host") or manifest.host_name}
    groups |= {name: fact_of(dut, key) or "" for key, name in _PATH_FACTS.items()}
    groups |= {name: text for name, text in labels.items() if name not in _NO_GROUPS}
    gated = MeasuredRun.of(run)
    return DriveRun(
        **{name: getattr(gated, name) for name in RunAttributes.__struct_fields__},
        drive=fact_of(dut, "serial") or manifest.target.path,
        kind=(model, format_capacity(manifest.target.user_capacity_bytes)),
        condition=labels.get("condition", ""),
        red_line=red_line_of(run),
        deviation_count=len(run.ledger),
        manifest=manifest,
        slot=labels.get(_SLOT) or slot,
        groups=groups,
        values=(*_key_values(gated), *_temperature(run)),
    )


def _key_values(run: MeasuredRun) -> Iterator[Measured]:
    """The key values, and the tail of the response times of each rate among them."""
    for one in run.content.measures:
        if one.is_key and one.comparable is not None:
            yield one
            yield from _tail(run, one)


def _tail(run: MeasuredRun, one: Measured) -> Iterator[Measured]:
    subject = one.key.rpartition(".")[0]
    if one.unit not in _RATES or f"{run.test}.{subject}" not in run.subjects:
        return
    figure = run.find(f"{run.test}.{subject}.{_TAIL}")
    if figure is not None and figure.value is not None:
        label = f"{one.label.removesuffix(one.unit).strip()}, {_TAIL}"
        yield Measured(f"{subject}.{_TAIL}", label, figure.unit, Cell("", figure.value), Better.LOWER)


def _temperature(run: Run) -> Iterator[Measured]:
    """Mean and highest of what was sampled, or the highest that the drive's log had in the run and after it.

    Sensors have whole degrees; the mean over a run tells less than one of them.
    """
    series = run.telemetry_series.get("temperature_c")
    if series is not None:
        mean = mean_over_time(series)
        yield Measured("temperature.mean", "Mean temperature", "°C", Cell("", mean), Better.LOWER)
    logged = [
        one.reading.values["temperature_c"]
        for one in run.health
        if one.occasion in {ReadingPoint.DURING, ReadingPoint.AFTER} and "temperature_c" in one.reading.values
    ]
    if values := series.values if series is not None else logged:
        highest = Cell("", max(values))
        yield Measured("temperature.highest", "Highest temperature", "°C", highest, Better.LOWER)


def _populations(runs: Sequence[DriveRun]) -> Iterator[Population]:
    """By test in the order of tests, the one with the most runs first; a drive alone makes none."""
    for test in in_test_order({run.test for run in runs}):
        sets: dict[tuple[str, ...], list[DriveRun]] = {}
        for run in runs:
            if run.test == test:
                sets.setdefault((*run.kind, run.conditions, run.condition), []).append(run)
        several = [of_set for of_set in sets.values() if len({run.drive for run in of_set}) > 1]
        by_size = sorted(several, key=len, reverse=True)
        for number, of_set in enumerate(by_size, start=1):
            yield _population(test, number if len(by_size) > 1 else 0, of_set)


def _population(test: str, number: int, runs: Iterable[DriveRun]) -> Population:
    of_drive: dict[str, list[DriveRun]] = {}
    names: dict[str, Measured] = {}
    for run in sorted(runs, key=lambda run: (run.started_at, run.folder)):
        of_drive.setdefault(run.drive, []).append(run)
        for one in run.values:
            names.setdefault(one.key, one)
    drives = tuple(Drive(name, tuple(own)) for name, own in sorted(of_drive.items()))
    return Population(test, number, drives[0].first.kind, drives, tuple(names.values()))
