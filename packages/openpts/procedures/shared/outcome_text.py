"""Steady state of a cycle in words: the same in logs and on index pages."""

from openpts.fields.conditions import Conditions
from openpts.vocabulary.requests import Outcome


def reached_text(outcome: Outcome, conditions: Conditions | None) -> str:
    """``reached in round 5`` or ``not reached in 25 tracking rounds``; also why the short form continued."""
    noun = "tracking round" if conditions is None else conditions.round_word()
    if outcome.steady_round is not None:
        return f"reached in {noun} {outcome.steady_round}"
    plural = "" if outcome.last_round == 1 else "s"
    known = "" if getattr(conditions, "within_pct", None) is None else ", or values not known well enough,"
    return f"not reached{known} in {outcome.last_round} {noun}{plural}"
