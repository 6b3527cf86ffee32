"""Steady state in words: whether it is reached, and the figures that it was held against."""

from openpts.analysis.steady_state import RANGE_LIMIT, SLOPE_LIMIT, WINDOW_ROUNDS
from openpts.fields.conditions import Conditions
from openpts.procedures.shared.outcome_text import reached_text
from openpts.runner.progress import RunProgress
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import CycleFinished
from openpts.vocabulary.verdict import SteadyState, SteadyStateReport


def steady_state_line(report: SteadyStateReport, label: str, *, limits: bool = True) -> str:
    """One tracking variable's verdict in words, with the limits it was held against where there is room."""
    range_limit, slope_limit = (
        f" (limit {100 * limit:.0f} %)" if limits else "" for limit in (RANGE_LIMIT, SLOPE_LIMIT)
    )
    return (
        f"{label}: {'steady' if report.steady else 'not steady'}, "
        f"range {report.range_pct:.1f} %{range_limit}, slope {report.slope_excursion_pct:.1f} %{slope_limit}"
    )


def steady_state_lines(progress: RunProgress, *, limits: bool = True) -> list[str]:
    """What is known about steady state in this cycle so far, a line per tracking variable."""
    judged = progress.judged
    if judged is not None:
        return [
            steady_state_line(report, name, limits=limits)
            for name, report in zip(judged.names, judged.reports, strict=True)
        ]
    conditions = progress.conditions
    if conditions is None or conditions.most_verdicts == 0:
        return []
    phase = Phase.WDPC if conditions.steady_state is SteadyState.MINUTES_THEN_ROUNDS else None
    return [f"judged from {conditions.round_word(phase)} {WINDOW_ROUNDS} on"]


def cycle_line(cycle: int, finished: CycleFinished, conditions: Conditions | None) -> str:
    """How a cycle ended: steady state where the test looks for it, and what ended the stimulus."""
    outcome = finished.outcome
    judged = outcome.last_round and (conditions is None or conditions.most_verdicts)
    found = []
    if outcome.steady_round is not None or judged:
        found.append(f"steady state {reached_text(outcome, conditions)}")
    if outcome.ended_by:
        found.append(f"({outcome.ended_by})" if found else f"ended by: {outcome.ended_by}")
    name = finished.title or (f"cycle {cycle}" if cycle > 1 else "")
    text = " ".join(found) or "all parts done"
    return f"{name}: {text}" if name else text
