"""Puts runs together in sets, and compares sets: each key value with its median, spread and delta.

A set is the runs of one drive (model, serial number, firmware, user capacity), or of one label, of one test
under the same conditions.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.ratio import central_probability
from openpts.analysis.run_comparison import (
    FALSE_ALARM_LIMIT,
    LEAST_DIFFERENCE_PCT,
    RSE_LIMIT_PCT,
    RunSet,
    SetComparison,
    SetRule,
    compare_lines,
    holm,
)
from openpts.errors import UsageError
from openpts.escaped_text import visible_line
from openpts.procedures.registry import in_test_order, procedure_of
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.report.sources import read_for_report, refuse_repeated, run_folders_of
from openpts.units import format_capacity
from openpts.vocabulary.verdict import Better
from openpts_compare.runs.measured_run import MeasuredRun, drift_of, repeated_run
from openpts_pages.measure import Measured
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
    several = len(names) > 1
    if all(len(test.contenders) < 2 and (several or len(test.contenders[0].runs) < 2) for test in tests):
        tests_of_names = "; ".join(
            f"{name} has {', '.join(dict.fromkeys(run.test for whose, run in named if whose == name))}"
            for name in names
        )
        on = "run on two of the names" if several else "run twice"
        raise UsageError(f"cannot compare: no test was {on} ({tests_of_names})")
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


class SetValue(Struct, frozen=True):
    """A key value of one contender. ``warm`` and ``cold`` are those measured, in the order of the runs.

    ``missing`` are those that were not, or that only stand in for the figure. ``runs`` is None where no warm
    run has it; ``comparison`` is None for the base, and without one. ``base`` is the set it is held against.
    ``e_n`` is that of the medians; None where one of both states no uncertainty.
    """

    contender: Contender
    warm: tuple[Measured, ...]
    cold: tuple[Measured, ...]
    missing: tuple[Measured, ...]
    runs: RunSet | None
    comparison: SetComparison | None
    base: RunSet | None = None
    e_n: float | None = None

    @property
    def state(self) -> str:
        """The notes of the warm runs whose values are not of steady state; empty if all are."""
        states = [value.state for value in self.warm if value.state]
        text = ", or ".join(dict.fromkeys(states))
        return f"{len(states)} of {len(self.warm)} runs: {text}" if 0 < len(states) < len(self.warm) else text

    @property
    def ratio(self) -> float | None:
        """The median over the base's; None where neither way is better, and without a comparison."""
        if self.base is None or self.runs is None or self.comparison is None:
            return None
        return None if self.comparison.delta_pct is None else self.runs.median / self.base.median

    @property
    def text(self) -> str:
        """The median as its run's report has it."""
        return "" if self.median is None else self.median.text

    @property
    def median(self) -> Measured | None:
        """The run's value that is the median."""
        if self.runs is None:
            return None
        return next(value for value in self.warm if value.value == self.runs.median)


class ComparedMetric(Struct, frozen=True):
    """One key value of a test with the sets of all contenders; ``base`` is None where it was not measured.

    ``spread`` is that of the drives; None where fewer than three have it.
    """

    key: str
    name: str
    unit: str
    better: Better
    base: RunSet | None
    sets: tuple[SetValue, ...]
    spread: "Spread | None" = None

    @property
    def title(self) -> str:
        """Name, unit, and that less is better where it is."""
        unit = "" if self.name.endswith(self.unit) else self.unit
        words = ", ".join(filter(None, (unit, "less is better" if self.better is Better.LOWER else "")))
        return f"{self.name} ({words})" if words else self.name


ComparedMetrics = tuple[tuple[ComparedTest, tuple[ComparedMetric, ...]], ...]
"""All tests in their order, each with its key values."""


def metrics_of(comparison: RunComparison) -> ComparedMetrics:
    """All key values of all tests, in the order of the run that has them first, each held against its base.

    All lines are judged together, since each is one more chance of a false alarm.
    """
    tests = [
        (test, [_metric(test, value, comparison.set_rule) for value in _named_once(test)])
        for test in comparison.tests
    ]
    lines = [line for test, metrics in tests for metric in metrics for line in _lines(test, metric)]
    judged = compare_lines([(base, runs) for _, base, runs in lines], comparison.least_difference_pct)
    outcomes = {id(one): outcome for (one, _, _), outcome in zip(lines, judged, strict=True)}
    every = [metric for _, metrics in tests for metric in metrics]
    spreads = _spreads(every, comparison.least_difference_pct)
    judged_metrics = {
        id(metric): replace(
            metric,
            sets=tuple(replace(one, comparison=outcomes.get(id(one))) for one in metric.sets),
            spread=spreads.get(id(metric)),
        )
        for metric in every
    }
    return tuple((test, tuple(judged_metrics[id(metric)] for metric in metrics)) for test, metrics in tests)


def lines_judged(tests: ComparedMetrics) -> int:
    """How many lines had a chance to show a difference, and count in the correction."""
    sets = (one for _, metrics in tests for metric in metrics for one in metric.sets)
    return sum(one.comparison is not None and one.comparison.chance is not None for one in sets)


def _named_once(test: ComparedTest) -> list[Measured]:
    first: dict[str, Measured] = {}
    for contender in test.contenders:
        for run in contender.runs:
            for value in run.key_values:
                first.setdefault(value.key, value)
    return list(first.values())


def _metric(test: ComparedTest, like: Measured, rule: SetRule) -> ComparedMetric:
    base = _run_set(test.base, like, rule) if test.base is not None else None
    sets = tuple(_set_value(contender, like, rule, base) for contender in test.contenders)
    if base is not None:
        first, *others = sets
        sets = (first, *(replace(one, e_n=_e_n(one.median, first.median)) for one in others))
    return ComparedMetric(like.key, like.label, like.unit, like.better, base, sets)


def _e_n(own: Measured | None, base: Measured | None) -> float | None:
    """The difference over the expanded uncertainty of the difference (ISO 13528:2022, 9.7).

    If both uncertainties are right and nothing differs, it is between -1 and 1 in 95 % of all cases.
    """
    if own is None or base is None or own.comparable is None or base.comparable is None:
        return None
    reaches = own.expanded_uncertainty, base.expanded_uncertainty
    if None in reaches or not (of_both := math.hypot(*(reach or 0.0 for reach in reaches))):
        return None
    return (own.comparable - base.comparable) / of_both


def _set_value(contender: Contender, like: Measured, rule: SetRule, base: RunSet | None) -> SetValue:
    warm, cold, every = (
        [value for run in runs if (value := run.key_value(like.key)) is not None]
        for runs in (contender.warm, contender.cold, contender.runs)
    )
    return SetValue(
        contender,
        warm=tuple(value for value in warm if value.comparable is not None),
        cold=tuple(value for value in cold if value.comparable is not None),
        missing=tuple(value for value in every if value.comparable is None),
        runs=_run_set(contender, like, rule),
        comparison=None,
        base=base,
    )


def _lines(test: ComparedTest, metric: ComparedMetric) -> Iterator[tuple[SetValue, RunSet, RunSet]]:
    """Candidates that can be compared with the base: each with the base's runs and its own."""
    for one in metric.sets:
        if one.contender is not test.base and metric.base is not None and one.runs is not None:
            sides = [_counted(side, metric.key) for side in (test.contenders[0], one.contender)]
            drifts = (
                drift_of(runs.values, side) for runs, side in zip((metric.base, one.runs), sides, strict=True)
            )
            doubt = repeated_run(*sides) or next(filter(None, drifts), "")
            yield one, metric.base, replace(one.runs, doubt=doubt)


def _run_set(contender: Contender, like: Measured, rule: SetRule) -> RunSet | None:
    runs = _counted(contender, like.key)
    values = tuple(value for run in runs if (value := run.value(like.key)) is not None)
    return RunSet(values, like.better, rule, tuple(run.made for run in runs)) if runs else None


def _counted(contender: Contender, key: str) -> list[ComparedRun]:
    return [run for run in contender.warm if run.value(key) is not None]


def typical_run(contender: Contender, metrics: tuple[ComparedMetric, ...]) -> ComparedRun:
    """The run whose first key value is the median: it represents its set in overlays."""
    for metric in metrics:
        for one in metric.sets:
            if one.contender is contender and one.runs is not None:
                median = one.runs.median
                return next(run for run in contender.warm if run.value(metric.key) == median)
    return (contender.warm or contender.runs)[0]


_FEWEST: Final = 3
"""Drives below which none can be distinguished from the others."""


class Grubbs(Struct, frozen=True):
    """The place of the value that is farthest from the mean, its G, and how often chance shows such a G."""

    place: int
    statistic: float
    chance: float


class Spread(Struct, frozen=True):
    """The medians of a key value over ``names``, all different drives or labels.

    ``grubbs`` is None where all values are equal. ``corrected_chance`` is that among all key values of the
    comparison; ``lies_out``: it is small, and the drive is off by the least difference of interest.
    """

    names: tuple[str, ...]
    medians: tuple[Measured, ...]
    mean: float
    standard_deviation: float
    grubbs: Grubbs | None
    corrected_chance: float | None = None
    lies_out: bool = False

    @property
    def farthest(self) -> str | None:
        """The drive that is farthest from the mean."""
        return None if self.grubbs is None else self.names[self.grubbs.place]

    @property
    def ends(self) -> tuple[Measured, Measured]:
        """Smallest and largest median."""
        in_order = sorted(self.medians, key=lambda one: one.value or 0.0)
        return in_order[0], in_order[-1]

    @property
    def off_pct(self) -> float | None:
        """How far the farthest drive is from the mean of the others, in per cent of it."""
        if self.grubbs is None:
            return None
        own = self.medians[self.grubbs.place].value or 0.0
        others = (len(self.medians) * self.mean - own) / (len(self.medians) - 1)
        return 100 * (own / others - 1) if others else None


def grubbs_test(values: Sequence[float]) -> Grubbs | None:
    """Of three values or more; None where all are equal."""
    count, mean, spread = len(values), fmean(values), stdev(values)
    if not spread:
        return None
    place = max(range(count), key=lambda place: abs(values[place] - mean))
    statistic = abs(values[place] - mean) / spread
    left = (count - 1) ** 2 - count * statistic**2  # 0 where all others are equal
    chance = 0.0
    if left > 0:
        t = statistic * math.sqrt(count * (count - 2) / left)
        chance = min(1.0, count * (1 - central_probability(t, count - 2)))
    return Grubbs(place, statistic, chance)


def _spreads(metrics: Sequence[ComparedMetric], least_difference_pct: float) -> dict[int, Spread]:
    """The spread of each key value that three drives or more have, by the ``id`` of its metric."""
    found = {id(metric): spread for metric in metrics if (spread := _spread(metric)) is not None}
    tests = {key: spread.grubbs for key, spread in found.items() if spread.grubbs is not None}
    for key, chance in zip(tests, holm([one.chance for one in tests.values()]), strict=True):
        off_pct = found[key].off_pct
        is_off = off_pct is None or abs(off_pct) >= least_difference_pct
        out = chance <= FALSE_ALARM_LIMIT and is_off
        found[key] = replace(found[key], corrected_chance=chance, lies_out=out)
    return found


def _spread(metric: ComparedMetric) -> Spread | None:
    """None of fewer drives, and where one has sets under several conditions."""
    having = [(one.contender, median) for one in metric.sets if (median := one.median) is not None]
    values = [median.value for _, median in having if median.value is not None]
    if len(values) < _FEWEST or any(contender.number for contender, _ in having):
        return None
    return Spread(
        tuple(contender.name for contender, _ in having),
        tuple(median for _, median in having),
        fmean(values),
        stdev(values),
        grubbs_test(values),
    )
