"""A comparison for machines: what ``--json`` prints."""

from collections.abc import Sequence
from typing import Self

from msgspec import Struct

from openpts.analysis.run_comparison import FALSE_ALARM_LIMIT, ComparisonOutcome, Quality
from openpts.vocabulary.document import Document, filled
from openpts.vocabulary.verdict import Better
from openpts_compare.compare.build import statement
from openpts_compare.compare.conditions import conditions_of
from openpts_compare.compare.contenders import (
    ComparedMetric,
    RunComparison,
    SetValue,
    Spread,
    lines_judged,
    metrics_of,
)


class NamedValues(Struct, frozen=True):
    """What the runs of a set have for a condition, in words."""

    name: str
    values: tuple[str, ...]


class DifferingCondition(Struct, frozen=True):
    """A condition in which sets differ; ``test`` is None for one that all tests have."""

    test: str | None
    condition: str
    values: tuple[NamedValues, ...]


class ComparedSet(Struct, frozen=True, kw_only=True):
    """A key value of a set: of each warm and each cold run, and over all warm ones.

    What no warm run has is None. So are the last seven of the base and of what is not compared; a chance
    also where nothing can be said of it. ``states`` say of each warm value why it is one of its kind.
    ``expanded_uncertainty`` is that of the median; None where its run states none, and so is ``e_n`` then.
    """

    name: str
    warm: tuple[float | None, ...]
    cold: tuple[float | None, ...]
    states: tuple[str | None, ...]
    median: float | None
    min: float | None
    max: float | None
    expanded_uncertainty: float | None
    rse_pct: float | None
    quality: Quality | None
    ratio: float | None
    delta_pct: float | None = None
    e_n: float | None
    outcome: ComparisonOutcome | None = None
    chance_pct: float | None
    corrected_chance_pct: float | None
    statement: str

    @classmethod
    def of(cls, one: SetValue) -> Self:
        """A set's values and statement, as its column in the pages has them."""
        runs, compared = one.runs, one.comparison
        return filled(
            cls,
            compared,
            name=one.contender.name,
            warm=tuple(value.value for value in one.warm),
            cold=tuple(value.value for value in one.cold),
            states=tuple(value.state or None for value in one.warm),
            median=runs.median if runs else None,
            min=runs.low if runs else None,
            max=runs.high if runs else None,
            rse_pct=runs.rse_pct if runs else None,
            quality=runs.quality if runs else None,
            expanded_uncertainty=one.median.expanded_uncertainty if one.median else None,
            ratio=one.ratio,
            e_n=one.e_n,
            chance_pct=_percent(compared.chance if compared else None),
            corrected_chance_pct=_percent(compared.corrected_chance if compared else None),
            statement=statement(one),
        )


class SpreadFigures(Struct, frozen=True, kw_only=True):
    """The medians of three drives or more: their spread, and the one farthest from the mean.

    All of that one is None where all are equal. ``off_pct`` is from the mean of the others, ``g`` is Grubbs'.
    """

    drives: int
    mean: float
    standard_deviation: float
    min: float | None
    max: float | None
    farthest: str | None
    off_pct: float | None
    g: float | None
    chance_pct: float | None
    corrected_chance_pct: float | None
    lies_out: bool

    @classmethod
    def of(cls, one: Spread) -> Self:
        """A spread, as its row in the pages has it."""
        low, high = one.ends
        return filled(
            cls,
            one,
            drives=len(one.names),
            min=low.value,
            max=high.value,
            g=one.grubbs.statistic if one.grubbs else None,
            chance_pct=_percent(one.grubbs.chance if one.grubbs else None),
            corrected_chance_pct=_percent(one.corrected_chance),
        )


class KeyValue(Struct, frozen=True):
    """A key value in its unit, of all sets; ``spread`` is None where fewer than three drives have it."""

    key: str
    name: str
    unit: str
    better: Better
    sets: tuple[ComparedSet, ...]
    spread: SpreadFigures | None

    @classmethod
    def of(cls, metric: ComparedMetric) -> Self:
        """A key value with all sets, as its row in the pages has it."""
        spread = None if metric.spread is None else SpreadFigures.of(metric.spread)
        return filled(cls, metric, sets=tuple(map(ComparedSet.of, metric.sets)), spread=spread)


class TestComparison(Struct, frozen=True):
    """All key values of a test; ``compared_with_base``: the base has it, and another set as well."""

    test: str
    compared_with_base: bool
    key_values: tuple[KeyValue, ...]


class ComparisonDocument(Document, frozen=True, kw_only=True, tag="openpts.compare/1"):
    """A comparison; RSE and deltas are in per cent. ``correction`` is that of chances for many lines."""

    base: str
    names: tuple[str, ...]
    simulated: bool
    made_alike: bool
    differences: tuple[DifferingCondition, ...]
    least_difference_pct: float
    rse_limit_pct: float
    false_alarm_limit_pct: float
    correction: str
    lines_judged: int
    tests: tuple[TestComparison, ...]
    reports: tuple[str, ...]


def comparison_document(comparison: RunComparison, reports: Sequence[str]) -> ComparisonDocument:
    """All that is compared, and the documents that were made of it."""
    tests = metrics_of(comparison)
    differences = tuple(
        DifferingCondition(
            conditions.test or None, field.label, tuple(map(NamedValues, conditions.names, field.values))
        )
        for conditions in conditions_of(comparison)
        for field in conditions.differing
    )
    return ComparisonDocument.of(
        comparison,
        base=comparison.names[0],
        simulated=any(run.manifest.target.simulation for run in comparison.runs),
        made_alike=not differences,
        differences=differences,
        rse_limit_pct=comparison.set_rule.rse_limit_pct,
        false_alarm_limit_pct=100 * FALSE_ALARM_LIMIT,
        correction="Holm",
        lines_judged=lines_judged(tests),
        tests=tuple(
            TestComparison(
                test.test, test.has_base and len(test.contenders) > 1, tuple(map(KeyValue.of, metrics))
            )
            for test, metrics in tests
        ),
        reports=reports,
    )


def _percent(probability: float | None) -> float | None:
    return None if probability is None else 100 * probability
