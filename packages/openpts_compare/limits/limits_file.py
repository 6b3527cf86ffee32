"""The limits of a gate: a TOML file, with the place of everything in it that makes no sense."""

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Self

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from openpts.analysis.ratio import ErrorRule
from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import WrittenFileError, at, placed_text, read_written, shaped
from openpts.errors import RecordError, UsageError, failing_as
from openpts.escaped_text import visible_line
from openpts.record.decoding import decode_json
from openpts.record.writer import BASELINE_NAME, INPUT_FOLDER
from openpts.report.sources import read_for_report, run_folders_of
from openpts.run_folder_files import read_file
from openpts.units import KIB
from openpts.vocabulary.document import filled
from openpts_compare.limits.bound import Bound, bound_of, side_of
from openpts_compare.runs.measured_run import MeasuredRun, RunAttributes, RunFigure

_MOST_KIB: Final = 256
MOST_BYTES: Final = _MOST_KIB * KIB


class RequiredCondition(StrEnum):
    """A condition that runs have to meet beside their limits."""

    CONFORMANT = "conformant"
    STEADY = "steady"
    NO_MEDIA_ERRORS = "no media errors"
    NO_THROTTLING = "no throttling"
    SAME_FIRMWARE = "same firmware"


class Allowed(StrEnum):
    """What leaves a figure without a verdict unless it is allowed."""

    DEVIATIONS = "deviations"
    NOT_STEADY = "not steady"
    CONDITIONS = "different conditions"


class _Table(Struct, forbid_unknown_fields=True):
    """A limit with more to say than a line has."""

    measure: str
    at_least: str | float | UnsetType = UNSET
    at_most: str | float | UnsetType = UNSET
    note: str = ""


_Percent = Annotated[float, Meta(ge=0.001, lt=50)]


class _Statistics(Struct, forbid_unknown_fields=True):
    """How often a relative limit may be judged wrong, and how many runs it may ask for."""

    false_alarm_pct: _Percent = 0.5
    miss_pct: _Percent = 5.0
    most_runs: Annotated[int, Meta(ge=2, le=100)] = 7


class LimitsFile(Struct, forbid_unknown_fields=True):
    """All that a limits file may have."""

    limits: list[str | _Table] = field(default_factory=list)
    require: list[RequiredCondition] = field(default_factory=list)
    allow: list[Allowed] = field(default_factory=list)
    statistics: _Statistics = field(default_factory=_Statistics)


class LimitSet(Struct, frozen=True):
    """What a gate holds runs against; ``raw`` is the file as it was written."""

    bounds: tuple[Bound, ...] = ()
    required: tuple[RequiredCondition, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    rule: ErrorRule = ErrorRule()
    raw: bytes = b""


def read_limits(path: Path, more: Sequence[str] = (), allow: Sequence[Allowed] = ()) -> LimitSet:
    """Read a file, and what is given beside it. Raises UsageError with the place of what is wrong."""
    return parse_limits(read_written(path, _MOST_KIB, "limits file"), str(path), more, allow)


def parse_limits(raw: bytes, path: str, more: Sequence[str] = (), allow: Sequence[Allowed] = ()) -> LimitSet:
    """As ``read_limits``, from bytes; ``path`` is what complaints call them."""
    if len(raw) > MOST_BYTES:
        raise UsageError(f"{path} is larger than {_MOST_KIB} KiB, too large for a limits file")
    text = placed_text(raw, path, read_toml)
    file = shaped(text, LimitsFile, path)
    bounds: list[Bound] = []
    complaints: list[str] = []
    for number, entry in enumerate(file.limits):
        try:
            bounds += _bounds_of(entry)
        except UsageError as error:
            complaints.append(f"{at(path, text.place_of(('limits', number)))}: {error}")
    if complaints:
        raise WrittenFileError(tuple(complaints))
    bounds += [bound_of(line) for line in more]
    if not (bounds or file.require):
        raise UsageError(f'{path} has no limits: write limits = ["iops.rnd-4k-rw0 >= 180 k"] for example')
    statistics = file.statistics
    rule = ErrorRule(
        false_alarm=statistics.false_alarm_pct / 100,
        miss=statistics.miss_pct / 100,
        most_runs=statistics.most_runs,
        rows=max(1, sum(bound.is_relative for bound in bounds)),
    )
    allowed = tuple(dict.fromkeys((*file.allow, *allow)))
    return LimitSet(tuple(bounds), tuple(dict.fromkeys(file.require)), allowed, rule, raw)


def _bounds_of(entry: str | _Table) -> list[Bound]:
    if isinstance(entry, str):
        return [bound_of(visible_line(entry))]
    sides = [(value, at_least) for value, at_least in ((entry.at_least, True), (entry.at_most, False))]
    found = [
        side_of(
            visible_line(entry.measure),
            visible_line(str(value)),
            at_least=at_least,
            note=visible_line(entry.note),
        )
        for value, at_least in sides
        if value is not UNSET
    ]
    if not found:
        raise UsageError(f"{entry.measure} has no bound: give at_least, at_most or both")
    low, high = found[0], found[-1]
    if (low.unit, low.is_relative) == (high.unit, high.is_relative) and low.number > high.number:
        raise UsageError(
            f"{entry.measure}: at_least {entry.at_least} is above at_most {entry.at_most}: no value is both"
        )
    return found


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
