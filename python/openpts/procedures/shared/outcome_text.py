"""Steady state of a cycle in words: the same in logs and on index pages."""

from openpts.fields.conditions import Conditions
from openpts.vocabulary.requests import Outcome
from openpts.vocabulary.verdict import SteadyState


def reached_text(outcome: Outcome, conditions: Conditions | None) -> str:
    """``reached in round 5`` or ``not reached in 25 tracking rounds``."""
    by_minutes = conditions is None or conditions.steady_state in {SteadyState.NONE, SteadyState.MINUTES}
    noun = "tracking round" if by_minutes else "round"
    if outcome.steady_round is not None:
        return f"reached in {noun} {outcome.steady_round}"
    return f"not reached in {outcome.last_round} {noun}{'' if outcome.last_round == 1 else 's'}"
