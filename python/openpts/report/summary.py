"""The figures of a run for machines: what ``--json`` prints, derived from the record alone."""

from statistics import median
from typing import Any

import msgspec

from openpts.analysis.matrix import MatrixCell
from openpts.analysis.round_test import RoundTestResults, analyse_round_test
from openpts.analysis.rounds import TestPoint
from openpts.record.reader import Run
from openpts.report.simulated_drive import simulation_mark
from openpts.units import NS_PER_MS
from openpts.vocabulary.verdict import SteadyStateReport


def summarise(run: Run) -> dict[str, Any]:
    """A JSON-ready summary; latencies in ms, gaps in ns, shares in per cent."""
    manifest = run.manifest
    numbered = [(step.round_number, step.sample) for step in run.steps if step.round_number is not None]
    results = analyse_round_test(
        manifest.conditions, numbered, manifest.outcome.steady_round if manifest.outcome else None
    )
    summary: dict[str, Any] = {
        "simulated": simulation_mark(manifest.target) or None,
        "run": str(run.folder),
        "test_id": manifest.test_id,
        "test": manifest.conditions.test,
        "profile": manifest.conditions.profile,
        "state": manifest.state,
        "state_reason": manifest.state_reason,
        "target": msgspec.to_builtins(manifest.target),
        "seed": manifest.conditions.seed,
        "complete_rounds": len(results.rounds),
        "steady_state": _steady_state(results),
        "iops": [_cell(point, cell) for point, cell in results.cells.items()],
        "gaps_ns": _gaps(run),
        "deviations": msgspec.to_builtins(run.ledger),
    }
    return summary


def _steady_state(results: RoundTestResults) -> dict[str, Any]:
    return {
        "reached": results.steady,
        "round": results.window.rounds[-1] if results.steady else None,
        "window": list(results.window.rounds),
        "variables": [
            {**_point(point), **_verdict(verdict)}
            for point, verdict in zip(results.conditions.tracking, results.verdicts, strict=True)
        ],
    }


def _verdict(verdict: SteadyStateReport | None) -> dict[str, Any]:
    if verdict is None:
        return {"steady": False, "judged": False}
    return {
        "steady": verdict.steady,
        "judged": True,
        "average": verdict.average,
        "range_pct": verdict.range_pct,
        "slope_excursion_pct": verdict.slope_excursion_pct,
        "slope": verdict.slope,
        "intercept": verdict.intercept,
        "r": verdict.r,
        "inside_10pct_band": verdict.inside_band,
    }


def _cell(point: TestPoint, cell: MatrixCell) -> dict[str, Any]:
    return {
        **_point(point),
        "iops": cell.iops,
        "art_ms": _ms(cell.art_ns),
        "p99_999_ms": _ms(cell.tail.mean_of_rounds_ns),
        "mrt_ms": _ms(cell.mrt_ns),
        "range_pct": cell.range_pct,
    }


def _point(point: TestPoint) -> dict[str, Any]:
    return {
        "access_pattern": point.access_pattern,
        "block_size_bytes": point.block_size_bytes,
        "read_pct": point.read_pct,
    }


def _gaps(run: Run) -> dict[str, float] | None:
    gaps = [step.sample.gap_ns for step in run.steps if step.sample.gap_ns is not None]
    return {"median": median(gaps), "max": max(gaps)} if gaps else None


def _ms(latency_ns: float | None) -> float | None:
    return None if latency_ns is None else latency_ns / NS_PER_MS
