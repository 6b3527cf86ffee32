"""A comparison of engines as one JSON object."""

from collections.abc import Sequence
from typing import Any

from openpts.analysis.crosscheck import CONFIDENCE, PairedRatio
from openpts.cli.crosscheck_table import difference_pct
from openpts.runner.crosscheck import Comparison, CrosscheckStarted
from openpts.vocabulary.facts import Facts


def result_object(
    started: CrosscheckStarted, comparisons: Sequence[Comparison], limit_pct: float, seed: int
) -> dict[str, Any]:
    """Engines, and for each stimulus both figures of both with their difference."""
    return {
        "target": started.target.path,
        "seed": seed,
        "limit_pct": limit_pct,
        "confidence": CONFIDENCE,
        "notes": list(started.notes),
        "engines": {"native": _engine(started.first), "fio": _engine(started.second)},
        "stimuli": [
            {
                "name": comparison.case.name,
                "iops": _figure(comparison.iops, limit_pct),
                "mean_latency_ns": _figure(comparison.mean_latency_ns, limit_pct),
            }
            for comparison in comparisons
        ],
    }


def _engine(facts: Facts) -> dict[str, str | None]:
    return {name: fact.value for name, fact in facts.items()}


def _figure(ratio: PairedRatio, limit_pct: float) -> dict[str, Any]:
    return {
        "native": ratio.first_mean,
        "fio": ratio.second_mean,
        "pairs": ratio.pairs,
        "difference_pct": difference_pct(ratio.ratio),
        "low_pct": difference_pct(ratio.low),
        "high_pct": difference_pct(ratio.high),
        "agrees": ratio.agrees_within(limit_pct),
    }
