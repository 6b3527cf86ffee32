"""All that is wrong in a content of keys, types and limits, each with its place in the text."""

import math
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, Final, NamedTuple, Union

import msgspec
from msgspec import Struct

from openpts.did_you_mean import did_you_mean, nearest_word
from openpts.errors import UsageError
from openpts.schema_words import words_and_place

Path = tuple[str | int, ...]
"""The keys and positions that lead to a value: ``("wsat", "workloads", 0)``."""


class SourcePosition(NamedTuple):
    """Line and column, both from 1."""

    line: int
    column: int


class PlacedText(Struct, frozen=True):
    """What a text says, as plain dicts, lists, numbers and strings, and where it says it."""

    content: dict[str, Any]
    places: Mapping[Path, SourcePosition]

    def place_of(self, path: Path) -> SourcePosition:
        """Where the value is written, or its table."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, SourcePosition(1, 1))


class PlacedError(UsageError):
    """A text that can't be read, and where."""

    def __init__(self, place: SourcePosition, message: str) -> None:
        super().__init__(message)
        self.place = place


_BITS: Final = 64
_MOST_HOMES: Final = 3
_INDEX: Final = re.compile(r"\[([0-9]+)\]")


Complaint = tuple[Path, str]
"""The keys that lead to a value, and what is wrong with it."""


def wrong_values(content: object, table: type[Struct], path: Path = ()) -> Iterator[Complaint]:
    """Everything in the content that the table can't hold."""
    name = str(path[-1]) if path else "the file"
    if not isinstance(content, dict):
        kind = _KINDS.get(type(content)) or f"a {type(content).__name__}"
        yield path, f"{name} is a table, not {kind}"
        return
    hints, required = _hints_of(table)
    for key, value in content.items():
        if key not in hints:
            yield (*path, key), _unknown(str(key), hints, path)
        else:
            yield from _of_value(value, hints[key], (*path, key))
    for key in required:
        if key not in content:
            yield path, f"{key} is missing"


@cache
def _hints_of(table: type[Struct]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The types of a table's keys, and the keys that it needs."""
    types, fields = typing.get_type_hints(table, include_extras=True), msgspec.structs.fields(table)
    hints = {field.encode_name: types[field.name] for field in fields}
    return hints, tuple(field.encode_name for field in fields if field.required)


def _of_value(value: object, hint: Any, path: Path) -> Iterator[Complaint]:
    table = _table_in(hint)
    if table is not None and (isinstance(value, dict) or (len(_alternatives(hint)) == 1)):
        yield from wrong_values(value, table, path)
        return
    wrong = [found for key, one, of in _entries(value, hint) for found in _of_value(one, of, (*path, key))]
    if wrong:
        yield from wrong
        return
    if reason := _unusable(value):
        yield path, f"{path[-1]}: {reason}"
        return
    if choices := _words_in(hint):
        if value not in choices:
            near = nearest_word(value, choices) if isinstance(value, str) else None
            meant = f"; did you mean {near}?" if near else ""
            yield path, f"{_name(path)}: {value!r} is not one of {', '.join(choices)}{meant}"
        return
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        yield _translated(error, value, path)


def _entries(value: object, hint: Any) -> Iterator[tuple[str | int, object, Any]]:
    """Entries that are held against a type by themselves: named tables, tables, and words of a choice."""
    for one in _alternatives(hint):
        origin, of = typing.get_origin(one), typing.get_args(one)
        if origin is dict and isinstance(value, dict) and _table_in(of[1]):
            yield from ((key, entry, of[1]) for key, entry in value.items())
        if origin in {list, tuple} and isinstance(value, list):
            if _words_in(of[0]) or any(isinstance(entry, dict) for entry in value):
                yield from ((at, entry, of[0]) for at, entry in enumerate(value))
            return


def _translated(error: msgspec.ValidationError, value: object, path: Path) -> Complaint:
    """What msgspec says, in words, at the place inside of the value that it means."""
    text, place = words_and_place(error)
    indexes = tuple(int(index) for index in _INDEX.findall(place))
    for index in indexes:
        value = value[index] if isinstance(value, Sequence) else value
    if "got" not in text and isinstance(value, int | float | str):
        text = f"{text}, not {value!r}"
    return (*path, *indexes), f"{_name(path)}: {text}"


def _name(path: Path) -> str:
    """The key of a value, or of the list that it is in."""
    return next((part for part in reversed(path) if isinstance(part, str)), "value")


def _unknown(key: str, hints: Mapping[str, Any], path: Path) -> str:
    where = f" in {_name(path)}" if path else ""
    word = key.replace("-", "_").lower()
    tables = {name: table for name, hint in hints.items() if (table := _table_in(hint))}
    homes = [name for name, table in tables.items() if word in table.__struct_encode_fields__]
    if homes:
        hint = f"{word} belongs in {' or '.join(homes) if len(homes) <= _MOST_HOMES else homes[0]}"
    else:
        hint = did_you_mean(word, hints, f"known are {', '.join(hints)}")
    return f"unknown key {key}{where}: {hint}"


_KINDS: Final = {
    type(None): "nothing",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a table",
}


def _unusable(value: object) -> str:
    """What is wrong with a number, or with one in a list or table; empty if nothing is."""
    match value:
        case float() if not math.isfinite(value):
            return "is not a finite number"
        case int() if value.bit_length() > _BITS:  # Python refuses to print numbers of thousands of digits
            return f"is out of range, a whole number has {_BITS} bits at most"
        case list():
            return next(filter(None, map(_unusable, value)), "")
        case dict():
            return next(filter(None, map(_unusable, value.values())), "")
        case _:
            return ""


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The types of a union, without annotations and without "not given"."""
    if typing.get_origin(hint) is typing.Annotated:
        return _alternatives(typing.get_args(hint)[0])
    if typing.get_origin(hint) in {Union, UnionType}:
        return tuple(one for arg in typing.get_args(hint) for one in _alternatives(arg))
    return () if hint is msgspec.UnsetType else (hint,)


def _words_in(hint: Any) -> tuple[str, ...]:
    """The words of a choice; none for what is no choice."""
    for one in _alternatives(hint):
        if typing.get_origin(one) is typing.Literal:
            return typing.get_args(one)
        if isinstance(one, type) and issubclass(one, StrEnum):
            return tuple(one)
    return ()


def _table_in(hint: Any) -> type[Struct] | None:
    return next(
        (one for one in _alternatives(hint) if isinstance(one, type) and issubclass(one, Struct)), None
    )
