"""The word that was probably meant."""

import difflib
from collections.abc import Iterable

_LEAST_RATIO = 0.6


def nearest_word(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like ``word``, upper or lower case; None where none is near."""
    by_lower_case = {one.lower(): one for one in known}
    near = difflib.get_close_matches(word.lower(), list(by_lower_case), n=1, cutoff=_LEAST_RATIO)
    return by_lower_case[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """The question for the end of an error; ``otherwise`` where no known word is near."""
    near = nearest_word(word, known)
    return f"did you mean {near}?" if near else otherwise
