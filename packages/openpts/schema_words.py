"""What msgspec says of types and of values that they can't have, in our words."""

import inspect
import re
from typing import Any, Final

import msgspec

_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_KINDS_NAMED: Final = re.compile(rf"`((?:{'|'.join(_KINDS)}| |\|)+)`")
_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$(.*)`$")


def without_indentation(schema: Any) -> Any:
    """A JSON Schema whose descriptions, which are docstrings, are the same from every Python.

    Python 3.13 removes their indentation, those before it and msgspec do not.
    """
    match schema:
        case dict():
            return {
                name: inspect.cleandoc(value)
                if name == "description" and isinstance(value, str)
                else without_indentation(value)
                for name, value in schema.items()
            }
        case list():
            return [without_indentation(value) for value in schema]
        case _:
            return schema


def in_words(error: msgspec.MsgspecError) -> str:
    """The complaint with its place in the value: ``expected a number, got a text, at [0].qd``."""
    words, place = words_and_place(error)
    return f"{words}, at {place}" if place else words


def words_and_place(error: msgspec.MsgspecError) -> tuple[str, str]:
    """The complaint, and its place inside of the value, ``[0].qd``; empty if it is of the whole value."""
    message = str(error)
    found = _PLACE.search(message)
    text = _KINDS_NAMED.sub(lambda match: _kinds(match[1]), message[: found.start()] if found else message)
    if text[1:2].islower():  # "JSON is malformed" begins with an abbreviation
        text = text[:1].lower() + text[1:]
    return text, found[1].removeprefix(".") if found else ""


def _kinds(names: str) -> str:
    return " or ".join(_KINDS[name.strip()] for name in names.split("|"))
