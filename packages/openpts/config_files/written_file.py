"""A file written by an operator: bounded in size, its errors with line and column."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from openpts.config_files.schema_errors import (
    Complaint,
    PlacedError,
    PlacedText,
    SourcePosition,
    wrong_values,
)
from openpts.errors import UsageError, failing_as
from openpts.units import KIB

_Shape = TypeVar("_Shape", bound=Struct)


class WrittenFileError(UsageError):
    """A file that makes no sense."""

    def __init__(self, complaints: tuple[str, ...]) -> None:
        super().__init__("; ".join(complaints))
        self._complaints = complaints

    @property
    def complaints(self) -> tuple[str, ...]:
        """A line for each thing, with its place."""
        return self._complaints


def read_written(path: Path, most_kib: int, what: str) -> bytes:
    """All of a file. Raises UsageError if it can't be read, or is larger than any ``what`` would be."""
    with failing_as(UsageError, f"{path} can't be read"), path.open("rb") as file:
        raw = file.read(most_kib * KIB + 1)
    if len(raw) > most_kib * KIB:
        raise UsageError(f"{path} is larger than {most_kib} KiB, too large for a {what}")
    return raw


def placed_text(raw: bytes, path: str, read: Callable[[str], PlacedText]) -> PlacedText:
    """What ``read`` makes of it; ``path`` is what complaints call it. Raises WrittenFileError."""
    try:
        return read(raw.decode("utf-8-sig"))  # some editors of Windows begin with a mark
    except UnicodeDecodeError as error:
        place = SourcePosition(raw[: error.start].count(b"\n") + 1, 1)
        raise WrittenFileError((f"{at(path, place)}: is not UTF-8",)) from error
    except PlacedError as error:
        raise WrittenFileError((f"{at(path, error.place)}: {error}",)) from error


def shaped(
    text: PlacedText,
    shape: type[_Shape],
    path: str,
    wrong: Callable[[_Shape], Iterable[Complaint]] = lambda _: (),
) -> _Shape:
    """The content as a ``shape``; ``wrong`` is what no type shows.

    Raises WrittenFileError with the place of everything that is wrong.
    """
    refuse_all(wrong_values(text.content, shape), text, path)
    found = msgspec.convert(text.content, shape)
    refuse_all(wrong(found), text, path)
    return found


def refuse_all(wrong: Iterable[Complaint], text: PlacedText, path: str) -> None:
    """Raise WrittenFileError with the places of complaints, if there are any."""
    if placed := sorted((text.place_of(keys), message) for keys, message in wrong):
        raise WrittenFileError(tuple(f"{at(path, place)}: {message}" for place, message in placed))


def at(path: str, place: SourcePosition) -> str:
    """A place as compilers name it."""
    return f"{path}:{place.line}:{place.column}"
