"""A comparison for machines: what ``--json`` prints."""

from collections.abc import Sequence
from typing import Any

from openpts.analysis.comparison import FALSE_ALARM_LIMIT
from openpts.analysis.run_comparison import RunSet
from openpts.report.compare.conditions import conditions_of
from openpts.report.compare.contenders import ComparedTest, RunComparison
from openpts.report.compare.metrics import Metric, SetValue, lines_judged, metrics_of
from openpts.report.compare.words import statement


def comparison_figures(comparison: RunComparison) -> dict[str, Any]:
    """JSON-ready; key values in their units, RSE and deltas in per cent."""
    tests = metrics_of(comparison)
    differing = [(one, field) for one in conditions_of(comparison) for field in one.differing]
    return {
        "base": comparison.names[0],
        "names": list(comparison.names),
        "simulated": any(run.manifest.target.simulation for run in comparison.runs),
        "made_alike": not differing,
        "differences": [
            {
                "test": conditions.test or None,
                "condition": field.label,
                "values": [
                    {"name": name, "values": list(texts)}
                    for name, texts in zip(conditions.names, field.values, strict=True)
                ],
            }
            for conditions, field in differing
        ],
        "least_difference_pct": comparison.least_difference_pct,
        "rse_limit_pct": comparison.set_rule.rse_limit_pct,
        "false_alarm_limit_pct": 100 * FALSE_ALARM_LIMIT,
        "correction": "Holm",
        "lines_judged": lines_judged(tests),
        "tests": [_test(test, metrics) for test, metrics in tests],
    }


def _test(test: ComparedTest, metrics: Sequence[Metric]) -> dict[str, Any]:
    return {
        "test": test.test,
        "compared_with_base": test.has_base and len(test.contenders) > 1,
        "key_values": [_metric(metric) for metric in metrics],
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "key": metric.key,
        "name": metric.name,
        "unit": metric.unit,
        "better": metric.better,
        "sets": [_set(one) for one in metric.sets],
    }


def _set(one: SetValue) -> dict[str, Any]:
    return {
        "name": one.contender.name,
        "warm": [value.value for value in one.warm],
        "cold": [value.value for value in one.cold],
        "states": [value.state or None for value in one.warm],
        **_spread(one.runs),
        "delta_pct": one.comparison.delta_pct if one.comparison else None,
        "outcome": one.comparison.outcome if one.comparison else None,
        "chance_pct": _percent(one.comparison.chance if one.comparison else None),
        "corrected_chance_pct": _percent(one.comparison.corrected_chance if one.comparison else None),
        "statement": statement(one),
    }


def _percent(probability: float | None) -> float | None:
    return None if probability is None else 100 * probability


def _spread(runs: RunSet | None) -> dict[str, Any]:
    if runs is None:
        return dict.fromkeys(("median", "min", "max", "rse_pct", "quality"))
    return {
        "median": runs.median,
        "min": runs.low,
        "max": runs.high,
        "rse_pct": runs.rse_pct,
        "quality": runs.quality,
    }
