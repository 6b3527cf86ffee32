"""Deviations of a score: passes that make no figure."""

from openpts.analysis.run_comparison import Quality
from openpts.procedures.extended.score.results import analyse
from openpts.procedures.kit.spread import rse_text
from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.phase import Phase


# SOL-STAT-05, 06
def findings(run: Run) -> tuple[Deviation, ...]:
    """Scores whose warm passes are too far apart."""
    found = []
    steps = ((step.place.number, step.sample) for step in run.phase(Phase.LOAD))
    for one in analyse(run.manifest.conditions, steps).scored:
        scores = one.scores
        if scores is None or scores.quality not in {Quality.DISCARDED, Quality.MORE_RUNS}:
            continue
        found.append(
            Deviation(
                rule_id="SOL-STAT-06" if one.is_discarded else "SOL-STAT-05",
                clause="Solidigm guide 4.2",
                required=f"warm passes with an RSE of {scores.rule.rse_limit_pct:g} % or less",
                used=f"{one.case}: {rse_text(scores)} of {scores.count} warm passes",
                effect="the score is discarded" if one.is_discarded else "more passes are needed for a score",
            )
        )
    return tuple(found)
