"""Steady state of a cycle in words: the same in logs and on index pages."""

from openpts.fields.conditions import Conditions
from openpts.procedures.shared.demand.conditions import DemandConditions
from openpts.procedures.shared.rounds.conditions import RoundConditions
from openpts.vocabulary.requests import Outcome


def reached_text(outcome: Outcome, conditions: Conditions | None) -> str:
    """``reached in round 5`` or ``not reached in 25 tracking rounds``."""
    in_rounds = isinstance(conditions, RoundConditions | DemandConditions)
    noun = "round" if in_rounds else "tracking round"
    if outcome.steady_round is not None:
        return f"reached in {noun} {outcome.steady_round}"
    return f"not reached in {outcome.last_round} {noun}{'' if outcome.last_round == 1 else 's'}"
