"""Puts runs together in sets, and compares sets.

A set is the runs of one drive (model, serial number, firmware, user capacity), or of one label, of one test
under the same conditions.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from openpts.analysis.run_comparison import LEAST_DIFFERENCE_PCT, RSE_LIMIT_PCT, SetRule
from openpts.errors import UsageError
from openpts.escaped_text import visible_line
from openpts.procedures.registry import in_test_order, procedure_of
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.report.sources import read_for_report, refuse_repeated, run_folders_of
from openpts.units import format_capacity
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_pages.texts import fact_text


class NamedRun(Struct, frozen=True):
    """A run as an operator named it; ``label`` is empty where none was given."""

    run: Run
    label: str = ""
    cold: bool = False


class ComparedRun(MeasuredRun, frozen=True, kw_only=True):
    """A run of a comparison; ``cold`` runs are shown apart and count in no set."""

    cold: bool = False


class Contender(Struct, frozen=True):
    """A set of runs. ``owner`` is its drive or label; ``number`` is 0 for the only set of its owner."""

    owner: str
    number: int
    runs: tuple[ComparedRun, ...]

    @property
    def name(self) -> str:
        """The owner, and which of its conditions where it has several."""
        return f"{self.owner}, conditions {self.number}" if self.number else self.owner

    @property
    def warm(self) -> tuple[ComparedRun, ...]:
        """Runs that count in figures: all but the cold ones."""
        return tuple(run for run in self.runs if not run.cold)

    @property
    def cold(self) -> tuple[ComparedRun, ...]:
        """The cold runs, which count in no figure."""
        return tuple(run for run in self.runs if run.cold)


class ComparedTest(Struct, frozen=True):
    """One test with its sets, the base's first; ``has_base`` is False where the base has no run of it."""

    test: str
    title: str
    contenders: tuple[Contender, ...]
    has_base: bool

    @property
    def base(self) -> Contender | None:
        """The set that all others are compared with."""
        return self.contenders[0] if self.has_base else None


class RunComparison(Struct, frozen=True):
    """All tests in their order. ``names`` are those of all drives and labels, the base's first.

    Medians that differ by less than ``least_difference_pct`` are of no interest. ``set_rule`` says which sets
    are accepted.
    """

    names: tuple[str, ...]
    tests: tuple[ComparedTest, ...]
    least_difference_pct: float
    set_rule: SetRule

    @property
    def runs(self) -> tuple[ComparedRun, ...]:
        """All runs."""
        return tuple(run for test in self.tests for one in test.contenders for run in one.runs)

    def runs_of(self, name: str) -> tuple[ComparedRun, ...]:
        """All runs of a drive or label, of all tests."""
        return tuple(
            run for test in self.tests for one in test.contenders if one.owner == name for run in one.runs
        )


def compare_runs(
    entries: Sequence[NamedRun],
    base: str = "",
    least_difference_pct: float = LEAST_DIFFERENCE_PCT,
    rse_limit_pct: float = RSE_LIMIT_PCT,
) -> RunComparison:
    """Put runs into sets and these beside each other; the first drive is the base unless one is named.

    Raises UsageError for fewer than two runs, for a base that is not one of the names, if no test was run
    on two of them, and if a test applied different workloads that the operator gave.
    """
    if len(entries) < 2:
        raise UsageError(f"cannot compare {len(entries) or 'no'} run: name two runs or more")
    runs = [ComparedRun.of(entry.run, cold=entry.cold) for entry in entries]
    named = list(zip(_names(entries), runs, strict=True))
    names = list(dict.fromkeys(name for name, _ in named))
    if base:
        if base not in names:
            raise UsageError(f"invalid --base {base!r}: use one of {', '.join(names)}")
        names = [base, *(name for name in names if name != base)]
    order = in_test_order({run.test for run in runs})
    tests = [_compared_test(test, named, names) for test in order]
    if all(len(test.contenders) < 2 for test in tests) and len(names) > 1:
        tests_of_names = "; ".join(f"{name} has {_tests_of(named, name)}" for name in names)
        raise UsageError(f"cannot compare: no test was run on two of the names ({tests_of_names})")
    return RunComparison(tuple(names), tuple(tests), least_difference_pct, SetRule(rse_limit_pct))


def _names(entries: Sequence[NamedRun]) -> list[str]:
    """The label of each run, or the shortest name that distinguishes its drive from the others."""
    drives = dict.fromkeys(_drive(entry.run.manifest) for entry in entries if not entry.label)
    short = {drive: _shortest(drive, drives) for drive in drives}
    return [visible_line(entry.label) or short[_drive(entry.run.manifest)] for entry in entries]


def _drive(manifest: Manifest) -> tuple[str, ...]:
    """What makes a drive the same one: model, serial number, firmware, user capacity, rounded and exact."""
    dut, capacity_bytes = manifest.dut, manifest.target.user_capacity_bytes
    return (
        fact_text(dut, "model", manifest.target.name),
        fact_text(dut, "serial", "no S/N"),
        fact_text(dut, "firmware", "no firmware"),
        format_capacity(capacity_bytes),
        f"{capacity_bytes:,} B",
    )


def _shortest(drive: tuple[str, ...], drives: Iterable[tuple[str, ...]]) -> str:
    """Shortest name of a drive by facts that no other drive shares."""
    known = list(drives)
    for places in ((0,), (0, 1), (0, 3), (0, 1, 2), (0, 1, 2, 3)):
        own = [drive[place] for place in places]
        if sum([other[place] for place in places] == own for other in known) == 1:
            return " ".join(own)
    return " ".join(drive)


def _tests_of(named: Iterable[tuple[str, ComparedRun]], name: str) -> str:
    return ", ".join(dict.fromkeys(run.test for whose, run in named if whose == name))


def _compared_test(test: str, named: Sequence[tuple[str, ComparedRun]], names: Sequence[str]) -> ComparedTest:
    inputs = dict.fromkeys(run.manifest.conditions.compares_by for _, run in named if run.test == test)
    if len(inputs) > 1:
        raise UsageError(
            f"cannot compare: runs of {test} applied different workloads ({'; '.join(inputs)}); "
            "compare runs of the same one"
        )
    contenders: list[Contender] = []
    for name in names:
        contenders += _sets_of(name, [run for whose, run in named if whose == name and run.test == test])
    has_base = bool(contenders) and contenders[0].owner == names[0]
    return ComparedTest(test, procedure_of(test).title, tuple(contenders), has_base)


def _sets_of(name: str, runs: Sequence[ComparedRun]) -> list[Contender]:
    """One set for each of the conditions under which the runs were made."""
    sets: dict[str, list[ComparedRun]] = {}
    for run in runs:
        sets.setdefault(run.conditions, []).append(run)
    numbers = range(1, len(sets) + 1) if len(sets) > 1 else (0,)
    return [Contender(name, n, tuple(own)) for n, own in zip(numbers, sets.values(), strict=False)]


def read_entries(
    paths: Sequence[Path], labels: Mapping[Path, str] | None = None, cold: Sequence[Path] = ()
) -> list[NamedRun]:
    """Read run folders, and suites for all runs in them.

    A label or ``cold`` of a suite holds for all its runs. Raises UsageError for a folder named twice, and for
    a label or ``cold`` of a folder that is not compared; RecordError for a folder that can't be read.
    """
    folders = [(path, folder) for path in paths for folder in run_folders_of([path])]
    refuse_repeated([folder for _, folder in folders])
    named = {place.resolve() for pair in folders for place in pair}
    for what, chosen in (("--label", labels or {}), ("--cold", cold)):
        for path in chosen:
            if path.resolve() not in named:
                raise UsageError(f"invalid {what} of {path}: not one of the compared runs")
    by_place = {path.resolve(): label for path, label in (labels or {}).items()}
    cold_places = {path.resolve() for path in cold}
    entries = []
    for path, folder in folders:
        places = (folder.resolve(), path.resolve())
        label = next((by_place[place] for place in places if place in by_place), "")
        entries.append(NamedRun(read_for_report(folder), label, cold=not cold_places.isdisjoint(places)))
    return entries
