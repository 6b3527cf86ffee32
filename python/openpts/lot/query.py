"""Drives of this host by where they are and what they are: ``model=SAMSUNG*,slot=3-8``."""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final

from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.identity.drive_name import model, serial_number
from openpts.device.identity.slot import slot
from openpts.errors import UsageError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact

_FACTS: Final[dict[str, Callable[[BlockDevice, SystemRoots], Fact]]] = {
    "slot": slot,
    "model": lambda disk, _: model(disk),
    "serial": lambda disk, _: serial_number(disk),
}
_RANGE: Final = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_HOW: Final = "write for example model=SAMSUNG*,slot=3-8"

Query = dict[str, list[str]]
"""The words for each key; a drive matches one of each."""


def parse_query(text: str) -> Query:
    """Read a query: a part without a key is one more word of the key before it. Raises UsageError."""
    query: Query = {}
    key = ""
    for part in text.split(","):
        name, equals, word = part.partition("=")
        key, word = (name.strip(), word.strip()) if equals else (key, part.strip())
        if key not in _FACTS or not word:
            raise UsageError(f"--drives {text!r}: {part!r} selects no drive by {', '.join(_FACTS)}: {_HOW}")
        query.setdefault(key, []).append(word)
    return query


def selected(query: Query, roots: SystemRoots) -> list[BlockDevice]:
    """Whole drives that match, in the order of `openpts devices`."""
    disks = whole_drives(roots)
    facts = [{key: _FACTS[key](disk, roots).value for key in query} for disk in disks]
    return [
        disk
        for disk, own in zip(disks, facts, strict=True)
        if all(_is_one(own[key], words, {other[key] for other in facts}) for key, words in query.items())
    ]


def _is_one(value: str | None, words: list[str], known: set[str | None]) -> bool:
    """Whether a value is one of the words. A word that is a drive's own is that, though it look like a range:
    the kernel calls slots ``0-3`` as well."""
    return value is not None and any(value == word if word in known else fits(value, word) for word in words)


def fits(value: str, word: str) -> bool:
    """Whether a value is the word, matches it as a pattern (upper and lower case alike), or is in a range."""
    if fnmatchcase(value.casefold(), word.casefold()):
        return True
    numbers = _RANGE.fullmatch(word)
    number = value.rpartition("/")[2]
    return numbers is not None and number.isdecimal() and int(numbers[1]) <= int(number) <= int(numbers[2])
