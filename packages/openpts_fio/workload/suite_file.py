"""Suites and templates in a clone of FioSynth: JSON files below ``wkldsuites``, jobs below ``jobfiles``."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from openpts.config_files.written_file import read_written
from openpts.did_you_mean import did_you_mean
from openpts.errors import UsageError
from openpts.schema_words import in_words
from openpts.units import MB, NS_PER_US
from openpts_fio.workload.job import (
    TEMPLATES,
    FioJob,
    LimitedFigure,
    LimitedOperation,
    SuiteLimit,
    SuiteWorkload,
    WorkloadSuite,
    kept_lines,
)

SUITES: Final = "wkldsuites"
_MOST_KIB: Final = 4096
_YES: Final = "Y"
_PERCENTILE: Final = re.compile(r"P([0-9]{1,2}(?:\.[0-9]{1,8})?)")
_RATES: Final = {"iops": (LimitedFigure.IOPS, 1), "throughput": (LimitedFigure.THROUGHPUT, MB)}
_OPERATIONS: Final = {str(operation): operation for operation in LimitedOperation}
_SCALES: Final = "scale_by_TB"

_Targets = dict[str, dict[str, dict[str, float | bool]]]


class _Workload(Struct, frozen=True):
    """A workload as a file has it; targets by metric, operation and statistic."""

    template: str
    alias: str
    values: dict[str, int | float | str] = {}
    targets: _Targets = {}


class _SuiteFile(Struct, frozen=True):
    """A suite as a file has it. Further keys are ignored, as FioSynth does."""

    run_cycles: int
    precondition_cycles: int
    devices_in_global: str
    scale_by_capacity: str
    workloads: list[_Workload] = field(name="def")
    pre: list[_Workload] = []
    precondition_first_cycle_only: str = "N"


def read_suite(folder: Path, name: str) -> WorkloadSuite:
    """The suite of that name in a clone, with those of its templates that are there.

    Raises UsageError for a suite that is missing, or of another form.
    """
    path = folder / SUITES / name
    if Path(name).name != name or not path.is_file():
        raise UsageError(_no_suite(folder, name))
    file = _file(path)
    prepared, measured = (tuple(map(_workload, some)) for some in (file.pre, file.workloads))
    return WorkloadSuite(
        name=name,
        preparation=prepared,
        workloads=measured,
        templates=tuple(_templates(folder, (*prepared, *measured))),
        run_cycles=file.run_cycles,
        precondition_cycles=file.precondition_cycles,
        once=file.precondition_first_cycle_only == _YES,
        scales=file.scale_by_capacity == _YES,
        own_section=file.devices_in_global != _YES,
    )


def _no_suite(folder: Path, name: str) -> str:
    suites = folder / SUITES
    if not suites.is_dir():
        return f"{folder} is not a clone of FioSynth: it has no folder {SUITES}; give the clone's own folder"
    known = sorted(path.name for path in suites.iterdir() if path.is_file())
    hint = did_you_mean(name, known, f"it has {', '.join(known)}")
    return f"{suites} has no suite {name!r}: {hint}"


def _file(path: Path) -> _SuiteFile:
    raw = read_written(path, _MOST_KIB, "suite")
    try:
        file = msgspec.json.decode(raw, type=_SuiteFile)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {in_words(error)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if file.run_cycles < 1 or file.precondition_cycles < 0 or not file.workloads:
        raise UsageError(f"{path}: a suite has a workload and a run cycle at least")
    return file


def _templates(folder: Path, workloads: tuple[SuiteWorkload, ...]) -> Iterator[FioJob]:
    for name in dict.fromkeys(workload.template for workload in workloads):
        if Path(name).name != name or not (folder / TEMPLATES / name).is_file():
            continue
        raw = read_written(folder / TEMPLATES / name, _MOST_KIB, "job file")
        yield FioJob(name, kept_lines(raw.decode(errors="replace").splitlines()))


def _workload(written: _Workload) -> SuiteWorkload:
    limits, unread = _limits(written.targets)
    scaled = written.targets.get("throughput", {}).get(_SCALES, {})
    return SuiteWorkload(
        alias=written.alias,
        template=written.template,
        values=tuple(f"{name}={value}" for name, value in written.values.items()),
        limits=limits,
        per_tb=bool(scaled.get("value", False)),
        unread=unread,
    )


def _limits(targets: _Targets) -> tuple[tuple[SuiteLimit, ...], tuple[str, ...]]:
    """All targets as limits, and the names of those that are not known."""
    limits: list[SuiteLimit] = []
    unread: list[str] = []
    for metric, operations in targets.items():
        for operation, statistics in operations.items():
            if operation == _SCALES:
                continue
            for statistic, value in statistics.items():
                found = _limit(metric, operation, statistic, value)
                if found is None:
                    unread.append(f"{metric} {operation} {statistic}")
                else:
                    limits.append(found)
    return tuple(limits), tuple(unread)


def _limit(metric: str, of: str, statistic: str, value: float) -> SuiteLimit | None:
    """A target: rates in IOPS or MB/s, response times in µs; None for one that is not known."""
    if (operation := _OPERATIONS.get(of)) is None:
        return None
    if metric in _RATES and statistic == "MIN":
        figure, unit = _RATES[metric]
        return SuiteLimit(operation, figure, value * unit)
    if metric != "latency":
        return None
    value_ns = value * NS_PER_US
    if match := _PERCENTILE.fullmatch(statistic):
        return SuiteLimit(operation, LimitedFigure.PERCENTILE, value_ns, float(match[1]))
    named = {"MAX": LimitedFigure.MAX_LATENCY, "MEAN": LimitedFigure.MEAN_LATENCY}.get(statistic.upper())
    return None if named is None else SuiteLimit(operation, named, value_ns)
