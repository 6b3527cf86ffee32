"""The workloads that ship as recipes: lines of text that stand for a trace."""

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Final

from msgspec import Struct

from openpts import _native
from openpts.did_you_mean import nearest_word

PREFIX: Final = "recipe:"
"""Before the name of a recipe, in place of a file."""
_LIKE: Final = "like:"
"""Before the name of a recipe that is built to published figures."""


class Recipe(Struct, frozen=True):
    """A recipe: what a user does in a few words, how the recipe was made, the SHA-256 of its text."""

    name: str
    label: str
    model: str
    sha256: str


@cache
def recipes() -> Mapping[str, Recipe]:
    """All that ship, by name, in the order of lists; none in a native module without traces."""
    found = {}
    shipped = _native.trace_recipes() if hasattr(_native, "trace_recipes") else []
    for name, text in shipped:
        made = tomllib.loads(text)
        model = " ".join(made["model"].split())
        found[name] = Recipe(name, made["label"], model, hashlib.sha256(text.encode()).hexdigest())
    return found


def shipped_hint(word: str) -> str:
    """Which recipe was meant, for the end of an error; empty where none is near, or the word is right."""
    typed = {name.removeprefix(_LIKE): f"{PREFIX}{name}" for name in recipes()}
    near = nearest_word(word.removeprefix(PREFIX).removeprefix(_LIKE), typed)
    return "" if near is None or typed[near] == word else f"did you mean {typed[near]}?"
