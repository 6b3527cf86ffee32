"""Deviations of a score: passes that make no figure."""

from openpts.procedures.kit.spread import spread_deviations
from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.phase import Phase
from openpts_traces.score import ScoreConditions
from openpts_traces.score.results import analyze


def findings(run: Run) -> tuple[Deviation, ...]:
    """Scores whose warm passes are too far apart."""
    steps = ((step.place.number, step.sample) for step in run.phase(Phase.LOAD))
    scored = analyze(run.conditions(ScoreConditions), steps).scored
    found = ((str(one.case), one.scores) for one in scored)
    return tuple(spread_deviations(((name, one) for name, one in found if one is not None), "pass"))
