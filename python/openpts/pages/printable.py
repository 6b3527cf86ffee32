"""Text from devices, hosts and people, made safe to show: without control or invisible characters, and of
limited length.
"""

import unicodedata
from typing import Final

from openpts.visible_text import visible_character
from openpts.vocabulary.facts import Fact, Facts

NOT_REPORTED: Final = "not reported"
NOT_STATED: Final = "not stated"
_LONGEST: Final = 240
_HEADER_LONGEST: Final = 64


def printable(text: str) -> str:
    """The text on one line, with every invisible character written out as an escape (``\\x1b``).

    Longer texts than any honest field needs are cut, visibly.
    """
    shown = "".join(_shown(character) for character in text.strip())
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."


def brief(text: str) -> str:
    """At most as much as a cell of the header can hold; the set-up page has the whole text."""
    return text if len(text) <= _HEADER_LONGEST else f"{text[: _HEADER_LONGEST - 3]}..."


def fact_text(facts: Facts, key: str, missing: str = NOT_REPORTED) -> str:
    """A fact's value for the header, or ``missing`` where nothing reports it."""
    fact = facts.get(key)
    return value_text(fact, missing) if fact else missing


def value_text(fact: Fact, missing: str = NOT_REPORTED) -> str:
    """The value of a fact, or ``missing``."""
    return (printable(fact.value) if fact.value else "") or missing


def person_text(name: str | None) -> str:
    """A person's or sponsor's name; never guessed."""
    return (printable(name) if name else "") or NOT_STATED


def _shown(character: str) -> str:
    return " " if unicodedata.category(character) == "Zs" else visible_character(character)


def capitalised(text: str) -> str:
    """The text with a large first letter, and nothing else changed."""
    return text[:1].upper() + text[1:]
