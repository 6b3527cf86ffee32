"""Texts of facts for a page, and how much of a text a cell holds. Those of a record are fit to be shown: its
reader sees to that.
"""

from typing import Final

from openpts.vocabulary.facts import Fact, Facts

NOT_REPORTED: Final = "not reported"
NOT_STATED: Final = "not stated"
CELL_LONGEST: Final = 240
_HEADER_LONGEST: Final = 64


def brief(text: str, longest: int = _HEADER_LONGEST) -> str:
    """At most as much as a cell of the header can hold; the set-up page has more of the text."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def fact_text(facts: Facts, key: str, missing: str = NOT_REPORTED) -> str:
    """A fact's value, or ``missing`` where nothing reports it."""
    return value_text(facts.get(key), missing)


def value_text(fact: Fact | None, missing: str = NOT_REPORTED) -> str:
    """Value of the fact ``key``, or ``missing``."""
    return brief(fact.value, CELL_LONGEST) if fact and fact.value else missing


def capitalised(text: str) -> str:
    """The text with a large first letter, and nothing else changed."""
    return text[:1].upper() + text[1:]
