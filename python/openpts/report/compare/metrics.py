"""Key values of a test over the sets of runs: each with its median, spread and delta."""

from dataclasses import dataclass

from openpts.analysis.run_comparison import RunSet, SetComparison, compare_sets
from openpts.report.compare.contenders import ComparedRun, ComparedTest, Contender
from openpts.report.key_values import KeyValue
from openpts.vocabulary.better import Better


@dataclass(frozen=True, slots=True)
class SetValue:
    """A key value of one contender. ``warm`` and ``cold`` are those measured, in the order of the runs.

    ``missing`` are those that were not, or that only stand in for the figure. ``runs`` is None where no warm
    run has it; ``comparison`` is None for the base, and without one.
    """

    contender: Contender
    warm: tuple[KeyValue, ...]
    cold: tuple[KeyValue, ...]
    missing: tuple[KeyValue, ...]
    runs: RunSet | None
    comparison: SetComparison | None

    @property
    def state(self) -> str:
        """What the warm runs' values say of a steady state that was not reached; empty if all are of it."""
        states = [value.state for value in self.warm if value.state]
        text = ", or ".join(dict.fromkeys(states))
        return f"{len(states)} of {len(self.warm)} runs: {text}" if 0 < len(states) < len(self.warm) else text

    @property
    def median(self) -> KeyValue | None:
        """The run's value that is the median."""
        if self.runs is None:
            return None
        return next(value for value in self.warm if value.value == self.runs.median)


@dataclass(frozen=True, slots=True)
class Metric:
    """One key value of a test with the sets of all contenders; ``base`` is None where it was not measured."""

    name: str
    unit: str
    better: Better
    base: RunSet | None
    sets: tuple[SetValue, ...]

    @property
    def title(self) -> str:
        """Name and unit."""
        return self.name if self.name.endswith(self.unit) else f"{self.name} ({self.unit})"


def metrics_of(test: ComparedTest) -> tuple[Metric, ...]:
    """All key values of a test, in the order of the run that has them first."""
    first: dict[str, KeyValue] = {}
    for contender in test.contenders:
        for run in contender.runs:
            for value in run.values:
                first.setdefault(value.name, value)
    return tuple(_metric(test, value) for value in first.values())


def _metric(test: ComparedTest, like: KeyValue) -> Metric:
    base = _run_set(test.base, like) if test.base is not None else None
    sets = []
    for contender in test.contenders:
        values = [value for run in contender.runs if (value := run.value(like.name)) is not None]
        runs = _run_set(contender, like)
        is_base = contender is test.base
        comparison = None if is_base or base is None or runs is None else compare_sets(base, runs)
        sets.append(
            SetValue(
                contender,
                tuple(_measured(contender.warm, like)),
                tuple(_measured(contender.cold, like)),
                tuple(value for value in values if not _is_compared(value)),
                runs,
                comparison,
            )
        )
    return Metric(like.name, like.unit, like.better, base, tuple(sets))


def _run_set(contender: Contender, like: KeyValue) -> RunSet | None:
    values = tuple(v.value for v in _measured(contender.warm, like) if v.value is not None)
    return RunSet(values, like.better) if values else None


def _measured(runs: tuple[ComparedRun, ...], like: KeyValue) -> list[KeyValue]:
    found = (run.value(like.name) for run in runs)
    return [value for value in found if value is not None and _is_compared(value)]


def _is_compared(value: KeyValue) -> bool:
    """A maximum that stands in for a percentile is none."""
    return value.value is not None and not value.stands_in


def typical_run(contender: Contender, metrics: tuple[Metric, ...]) -> ComparedRun:
    """The run whose first key value is the median: the one that stands for its set in overlays."""
    for metric in metrics:
        for one in metric.sets:
            if one.contender is contender and one.runs is not None:
                median = one.runs.median
                return next(run for run in contender.warm if _is(run, metric.name, median))
    return (contender.warm or contender.runs)[0]


def _is(run: ComparedRun, name: str, value: float) -> bool:
    found = run.value(name)
    return found is not None and found.value == value
