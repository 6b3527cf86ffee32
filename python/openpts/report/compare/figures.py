"""A comparison for machines: what ``--json`` prints."""

from typing import Any

from openpts.analysis.run_comparison import RunSet
from openpts.report.compare.conditions import conditions_of
from openpts.report.compare.contenders import ComparedTest, RunComparison
from openpts.report.compare.metrics import Metric, SetValue, metrics_of
from openpts.report.compare.words import statement


def comparison_figures(comparison: RunComparison) -> dict[str, Any]:
    """JSON-ready; key values in their units, RSE and deltas in per cent."""
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
        "tests": [_test(test) for test in comparison.tests],
    }


def _test(test: ComparedTest) -> dict[str, Any]:
    return {
        "test": test.test,
        "compared_with_base": test.has_base and len(test.contenders) > 1,
        "key_values": [_metric(metric) for metric in metrics_of(test)],
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
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
        "statement": statement(one),
    }


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
