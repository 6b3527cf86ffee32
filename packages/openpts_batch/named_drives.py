"""How the drives of a batch are named: by targets, in a file, or by a query: ``model=SAMSUNG*,slot=3-8``."""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import placed_text, read_written, shaped
from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.identity.drive_name import model, serial_number
from openpts.device.identity.slot import slot
from openpts.did_you_mean import did_you_mean
from openpts.errors import UsageError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.people import LABEL_NAME

_MOST_KIB: Final = 1024
_FACTS: Final[dict[str, Callable[[BlockDevice, SystemRoots], Fact]]] = {
    "slot": slot,
    "model": lambda disk, _: model(disk),
    "serial": lambda disk, _: serial_number(disk),
}
_RANGE: Final = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_HOW: Final = "write for example model=SAMSUNG*,slot=3-8"

Query = dict[str, list[str]]
"""The words for each key; a drive matches one of each."""


class WrittenDrive(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A drive by its target, its slot or its serial number alone; the serial number, or the path, confirms
    that it may be erased.

    ``model`` is what it has to be, with ``*`` and ``?`` for any text and any character.
    """

    target: str | None = None
    slot: str | None = None
    serial: str | None = None
    model: str | None = None
    confirm_device_path: str | None = None
    labels: dict[Annotated[str, Meta(pattern=LABEL_NAME)], str] = {}


class WrittenDrives(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a file of drives may have."""

    drives: list[WrittenDrive]


def named_drives(targets: Sequence[str], drives: str | None, roots: SystemRoots) -> list[WrittenDrive]:
    """The drives of a command line: targets, and those of a file or a query. Raises UsageError."""
    named = [WrittenDrive(target=target) for target in targets]
    if drives is None:
        return named
    path = Path(drives)
    if path.is_file():
        return [*named, *read_drives(path)]
    if "=" not in drives:
        raise UsageError(
            f"--drives {drives}: there is no such file; a query is written as model=SAMSUNG*,slot=3-8"
        )
    found = selected(parse_query(drives), roots)
    if not found:
        raise UsageError(f"--drives {drives} selects no drive: `openpts devices` lists all")
    return [*named, *(WrittenDrive(target=str(disk.node)) for disk in found)]


def read_drives(path: Path) -> list[WrittenDrive]:
    """The drives in their order. Raises UsageError with the place of whatever is wrong."""
    text = placed_text(read_written(path, _MOST_KIB, "list of drives"), str(path), read_toml)
    drives = shaped(text, WrittenDrives, str(path)).drives
    if not drives:
        raise UsageError(f"{path} lists no drive")
    for number, drive in enumerate(drives, start=1):
        if drive.target is None and drive.slot is None and drive.serial is None:
            raise UsageError(
                f"{path}: drive {number} has no target, slot or serial: `openpts devices` lists all three"
            )
    return drives


def parse_query(text: str) -> Query:
    """Read a query: a part without a key is one more word of the key before it. Raises UsageError."""
    query: Query = {}
    key = ""
    for part in text.split(","):
        name, equals, word = part.partition("=")
        key, word = (name.strip(), word.strip()) if equals else (key, part.strip())
        if reason := _what_is_wrong(key, word):
            raise UsageError(f"--drives {text!r}: {reason}")
        query.setdefault(key, []).append(word)
    return query


def _what_is_wrong(key: str, word: str) -> str:
    """Empty if nothing is."""
    if not key:
        return f"{word} stands behind no key: {_HOW}"
    if key not in _FACTS:
        return f"{key} is none of {', '.join(_FACTS)}: {did_you_mean(key, _FACTS, _HOW)}"
    return "" if word else f"{key}= names nothing: {_HOW}"


def selected(query: Query, roots: SystemRoots) -> list[BlockDevice]:
    """Whole drives that match, in the order of `openpts devices`.

    Raises UsageError for a word that selects none, whatever the others do.
    """
    disks = whole_drives(roots)
    facts = [{key: _FACTS[key](disk, roots).value for key in query} for disk in disks]
    known = {key: {own[key] for own in facts} for key in query}
    for key, words in query.items():
        for word in words:
            if not any(_is_one(value, [word], known[key]) for value in known[key]):
                raise UsageError(f"--drives: {key}={word} selects no drive: `openpts devices` lists all")
    return [
        disk
        for disk, own in zip(disks, facts, strict=True)
        if all(_is_one(own[key], words, known[key]) for key, words in query.items())
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
