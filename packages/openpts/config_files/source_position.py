"""A text of tables and values together with the places at which they are written."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from openpts.errors import UsageError

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
