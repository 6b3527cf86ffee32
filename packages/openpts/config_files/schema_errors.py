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


class Wrong(Struct, frozen=True):
    """A value that a table can't have, and why."""

    path: Path
    message: str


def wrong_values(content: object, table: type[Struct], path: Path = ()) -> list[Wrong]:
    """Everything in the content that the table can't hold."""
    return list(_of_table(content, table, path))


def _of_table(content: object, table: type[Struct], path: Path) -> Iterator[Wrong]:
    name = str(path[-1]) if path else "the file"
    if not isinstance(content, dict):
        yield Wrong(path, f"{name} is a table, not {_kind(content)}")
        return
    hints, required = _hints_of(table)
    for key, value in content.items():
        if key not in hints:
            yield Wrong((*path, key), _unknown(str(key), hints, path))
        else:
            yield from _of_value(value, hints[key], (*path, key))
    for key in required:
        if key not in content:
            yield Wrong(path, f"{key} is missing")


@cache
def _hints_of(table: type[Struct]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The types of a table's keys, and the keys that it needs."""
    types, fields = typing.get_type_hints(table, include_extras=True), msgspec.structs.fields(table)
    hints = {field.encode_name: types[field.name] for field in fields}
    return hints, tuple(field.encode_name for field in fields if field.required)


def _of_value(value: object, hint: Any, path: Path) -> Iterator[Wrong]:
    table = _table_in(hint)
    if table is not None and (isinstance(value, dict) or (len(_alternatives(hint)) == 1)):
        yield from _of_table(value, table, path)
        return
    values = [typing.get_args(one)[1] for one in _alternatives(hint) if typing.get_origin(one) is dict]
    named = values[0] if values and _table_in(values[0]) else None
    if named is not None and isinstance(value, dict):
        wrong = [found for key, one in value.items() for found in _of_value(one, named, (*path, key))]
        if wrong:
            yield from wrong
            return
    lists = [one for one in _alternatives(hint) if typing.get_origin(one) in {list, tuple}]
    entry = typing.get_args(lists[0])[0] if lists else None
    if entry is not None and isinstance(value, list) and _by_entry(value, entry):
        wrong = [found for at, one in enumerate(value) for found in _of_value(one, entry, (*path, at))]
        if wrong:
            yield from wrong
            return
    if reason := _unusable(value):
        yield Wrong(path, f"{path[-1]}: {reason}")
        return
    if choices := _words_in(hint):
        if value not in choices:
            near = nearest_word(value, choices) if isinstance(value, str) else None
            meant = f"; did you mean {near}?" if near else ""
            yield Wrong(path, f"{_name(path)}: {value!r} is not one of {', '.join(choices)}{meant}")
        return
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        yield _translated(error, value, path)


def _by_entry(values: list[Any], entry: Any) -> bool:
    """Whether each entry of a list is looked at by itself: tables, and words of a choice."""
    return bool(_words_in(entry)) or any(isinstance(one, dict) for one in values)


def _translated(error: msgspec.ValidationError, value: object, path: Path) -> Wrong:
    """What msgspec says, in words, at the place inside of the value that it means."""
    text, place = words_and_place(error)
    indexes = tuple(int(index) for index in _INDEX.findall(place))
    for index in indexes:
        value = value[index] if isinstance(value, Sequence) else value
    if "got" not in text and isinstance(value, int | float | str):
        text = f"{text}, not {value!r}"
    return Wrong((*path, *indexes), f"{_name(path)}: {text}")


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


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return f"a {type(value).__name__}"


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
