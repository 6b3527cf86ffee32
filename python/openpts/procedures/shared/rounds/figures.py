"""The results of a test of rounds from its record, and their figures for machines."""

from typing import Any

from openpts.procedures.kit.header import of_cycle
from openpts.procedures.kit.steps import ART, IOPS, MRT, values_json
from openpts.procedures.shared.rounds.conditions import RoundConditions
from openpts.procedures.shared.rounds.matrix import MINIMUM, TAIL, MatrixCell
from openpts.procedures.shared.rounds.results import RoundTestResults, analyze_round_test
from openpts.record.reader import Run
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.verdict import RoundPoint, SteadyStateReport


def analyze_cycle(run: Run, cycle: int, block_sizes_bytes: tuple[int, ...] | None = None) -> RoundTestResults:
    """Results of one cycle of a test of rounds; ``block_sizes_bytes`` are its sizes, if not all."""
    conditions = run.conditions(RoundConditions)
    finished = of_cycle(run.manifest.cycles, cycle)
    return analyze_round_test(
        conditions,
        ((step.place.number, step.sample) for step in run.phase(Phase.ROUND, cycle=cycle)),
        finished.outcome.steady_round if finished else None,
        block_sizes_bytes,
    )


def round_figures(results: RoundTestResults) -> dict[str, Any]:
    """Rounds, steady state and cells, JSON-ready; latencies in ms."""
    return {
        "complete_rounds": len(results.rounds),
        "steady_state": _steady_state(results),
        "iops": [_cell(point, cell) for point, cell in results.cells.items()],
    }


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


def _cell(point: RoundPoint, cell: MatrixCell) -> dict[str, Any]:
    return {
        **_point(point),
        **values_json(cell, (IOPS, ART, MINIMUM, TAIL, MRT)),
        "range_pct": cell.range_pct,
    }


def _point(point: RoundPoint) -> dict[str, Any]:
    return {
        "access_pattern": point.access_pattern,
        "block_size_bytes": point.block_size_bytes,
        "read_pct": point.read_pct,
    }
