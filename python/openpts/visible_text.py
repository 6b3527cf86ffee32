"""Text of others that shows all that is in it: nothing acts on a terminal, hides or turns what is around it.

Names of files, answers of firmware, words in a record: escape sequences, controls, bidirectional marks and
whatever else leaves no trace are written out, as ``\\x1b``.
"""

import unicodedata
from typing import Final

# Controls, formats (such as bidirectional overrides), surrogates, private use, unassigned, line breaks.
_INVISIBLE: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible_character(character: str) -> str:
    """The character, or its escape if it leaves no trace of its own."""
    if unicodedata.category(character) in _INVISIBLE:
        return character.encode("unicode_escape").decode("ascii")
    return character


class _ByNumber(dict[int, str]):
    """As ``str.translate`` asks for it; what was asked for once is known."""

    def __missing__(self, number: int) -> str:
        self[number] = visible_character(chr(number))
        return self[number]


_VISIBLE: Final = _ByNumber({ord("\n"): "\n", ord("\t"): "\t"})


def visible(text: str) -> str:
    """The text with all that leaves no trace written out, but for line ends and tabs."""
    return text.translate(_VISIBLE)
