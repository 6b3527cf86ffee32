"""Traces and captures that ship, by what is typed for them: a name of another form is answered with it."""

from collections.abc import Mapping

from openpts.did_you_mean import nearest_word
from openpts_traces.characteristics.look_alikes import LIKE, names
from openpts_traces.recipes import PREFIX, recipes


def _typed() -> Mapping[str, str]:
    """What to type for each, by its name without a prefix."""
    traces = {name.removeprefix(LIKE): f"{PREFIX}{name}" for name in recipes()}
    return traces | {name: f"{LIKE}{name}" for name in names()}


def _bare(word: str) -> str:
    return word.removeprefix(PREFIX).removeprefix(LIKE)


def shipped_as(word: str) -> str | None:
    """What to type for the trace or capture that a word names in any form; None if none ships."""
    return _typed().get(_bare(word))


def way_to_apply(word: str, *, takes_traces: bool) -> str:
    """What to do with a trace or capture that ships; empty for another word.

    ``takes_traces``: whether the test that it was typed for has an option for traces.
    """
    typed = shipped_as(word)
    if typed is None:
        return ""
    if takes_traces and typed.startswith(PREFIX):
        return f"give --traces {typed}"
    return f"{applied_by(typed)} applies it"


def applied_by(typed: str) -> str:
    """The command that applies a trace, or a capture, to a drive."""
    if typed.startswith(LIKE):
        return f"`openpts run rws {typed} TARGET`"
    return f"`openpts run replay {typed} TARGET`"


def shipped_hint(word: str, *, takes_captures: bool = False) -> str:
    """What was probably meant, for the end of an error.

    Empty where nothing that ships is near, or the word is right. ``takes_captures``: whether a capture in
    steps would be.
    """
    known = _typed()
    near = nearest_word(_bare(word), known)
    if near is None:
        return ""
    typed = known[near]
    if typed.startswith(LIKE) and not takes_captures:
        return f"{typed} is a capture in steps, for `openpts run rws` and `openpts run rwsdirth`"
    return "" if typed == word else f"did you mean {typed}?"
