"""Deviations of a set: passes that make no figure."""

from openpts.procedures.kit.content import spread_deviations
from openpts.record.reader import Run
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Deviation
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.passes import analyze


def findings(run: Run) -> tuple[Deviation, ...]:
    """Scores whose warm passes are too far apart."""
    steps = ((step.place.number, step.sample) for step in run.phase(Phase.LOAD))
    scored = analyze(run.conditions(ReplayConditions), steps).scored
    found = ((str(one.case), one.scores) for one in scored)
    return tuple(spread_deviations(((name, one) for name, one in found if one is not None), "pass"))
