"""Drives of this host by where they are and what they are: ``model=SAMSUNG*,slot=3-8``."""

import re
from fnmatch import fnmatchcase
from typing import Final

from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.identity.drive_name import model, serial_number
from openpts.device.identity.slot import slot
from openpts.errors import UsageError
from openpts.system_files import SystemRoots

_KEYS: Final = ("slot", "model", "serial")
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
        if key not in _KEYS or not word:
            raise UsageError(f"--drives {text!r}: {part!r} selects no drive by {', '.join(_KEYS)}: {_HOW}")
        query.setdefault(key, []).append(word)
    return query


def selected(query: Query, roots: SystemRoots) -> list[BlockDevice]:
    """Whole drives that match, in the order of `openpts devices`."""
    return [disk for disk in whole_drives(roots) if _matches(disk, query, roots)]


def _matches(disk: BlockDevice, query: Query, roots: SystemRoots) -> bool:
    facts = {"slot": slot(disk, roots), "model": model(disk), "serial": serial_number(disk)}
    return all(
        value is not None and any(fits(value, word) for word in words)
        for key, words in query.items()
        for value in [facts[key].value]
    )


def fits(value: str, word: str) -> bool:
    """Whether a value is the word, matches it as a pattern (upper and lower case alike), or is in a range."""
    if fnmatchcase(value.casefold(), word.casefold()):
        return True
    numbers = _RANGE.fullmatch(word)
    number = value.rpartition("/")[2]
    return numbers is not None and number.isdecimal() and int(numbers[1]) <= int(number) <= int(numbers[2])
