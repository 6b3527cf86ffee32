"""Text of others that shows all that is in it: nothing acts on a terminal, hides or turns what is around it.

Names of files, answers of firmware, words in a record: escape sequences, controls, bidirectional marks and
whatever else leaves no trace are written out, as ``\\x1b``.
"""

import unicodedata
from collections.abc import Callable
from typing import Any, Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_LONGEST: Final = 4096  # no honest text of a machine is longer: the kernel's command line has 2,048 at most

# Controls, formats (such as bidirectional overrides), surrogates, private use, unassigned, line breaks.
_INVISIBLE: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible_character(character: str) -> str:
    """The character, or its escape if it leaves no trace of its own."""
    if unicodedata.category(character) in _INVISIBLE:
        return character.encode("unicode_escape").decode("ascii")
    return character


def visible_line(text: str) -> str:
    """The text on one line: line ends and tabs are written out as well, blanks at its ends are left out.

    What is longer than any honest text is cut, visibly.
    """
    line = text.strip()
    if not line.isprintable():
        line = "".join(" " if unicodedata.category(c) == "Zs" else visible_character(c) for c in line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def with_texts(value: Any, change: Callable[[str], str], *, keys: bool = False) -> Any:
    """A value of dictionaries, lists and tuples with all of its texts changed; those of keys on request."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            with_texts(key, change) if keys else key: with_texts(item, change, keys=keys)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [with_texts(item, change, keys=keys) for item in value]
    return value


class _ByNumber(dict[int, str]):
    """As ``str.translate`` asks for it; what was asked for once is known."""

    def __missing__(self, number: int) -> str:
        self[number] = visible_character(chr(number))
        return self[number]


_VISIBLE: Final = _ByNumber({ord("\n"): "\n", ord("\t"): "\t"})


def visible(text: str) -> str:
    """The text with all that leaves no trace written out, but for line ends and tabs."""
    return text.translate(_VISIBLE)


def spreadsheet_text(text: str) -> str:
    """A text that a spreadsheet would take for a formula gets an apostrophe; a dash alone is none."""
    return f"'{text}" if text.startswith(_FORMULA) and text != "-" else text
