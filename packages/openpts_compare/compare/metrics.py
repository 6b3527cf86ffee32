"""Key values of a test over the sets of runs: each with its median, spread and delta."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.ratio import central_probability
from openpts.analysis.run_comparison import (
    FALSE_ALARM_LIMIT,
    RunSet,
    SetComparison,
    SetRule,
    compare_lines,
    holm,
)
from openpts.vocabulary.verdict import Better
from openpts_compare.compare.contenders import ComparedRun, ComparedTest, Contender, RunComparison
from openpts_compare.runs.measured_run import drift_of, repeated_run
from openpts_pages.measure import Measured


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
        """Name and unit."""
        return self.name if self.name.endswith(self.unit) else f"{self.name} ({self.unit})"


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
    """The warm runs that have the key value."""
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
