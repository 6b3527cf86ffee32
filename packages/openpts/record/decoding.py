"""From bytes to typed values: what every reader of ours asks of a file before anything else sees it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Cursor
from threading import Lock
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from openpts.errors import RecordError
from openpts.escaped_text import visible_line, with_texts
from openpts.schema_words import in_words

Decoded = TypeVar("Decoded")

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]  # what SQLite holds of a number that is never negative
Moment = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""ns on the engine's clock, which begins when the engine opens: what was sampled before is negative."""

Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
"""Neither infinite nor NaN, which no bound takes."""

_ROWS_AT_ONCE: Final = 4096
_FIRST_USE: Final = Lock()
_KNOWN: Final = set[Any]()


def other_version(
    place: Path,
    form: str,
    found: object,
    reads: object,
    *,
    writer: str = "",
    remedy: str = "run the test again",
) -> RecordError:
    """The refusal of a file of another version; ``writer`` is the openpts that it names, empty for none."""
    version, by = visible_line(str(found)[:20]), visible_line(writer[:60])
    return RecordError(
        f"{place} has {form} version {version}, written by {by or 'an openpts that it does not name'}; this "
        f"openpts reads version {reads} only: use the openpts that wrote it, or {remedy}"
    )


def decode_json(text: str | bytes, kind: type[Decoded] | Any) -> Decoded:
    """A value of that type. Raises msgspec.MsgspecError also for text that is no UTF-8 or nests too deep."""
    _know(kind)
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(in_words(error)) from error
    except (UnicodeError, RecursionError) as error:
        raise msgspec.DecodeError(_reason(error)) from error


def rows_of(cursor: Cursor, table: str, kind: type[Decoded] | Any) -> Iterator[Decoded]:
    """Rows as values of that type, checked some thousand at once, since a run of days has many.

    Raises msgspec.ValidationError that names the table.
    """
    many = list[kind]  # type: ignore[valid-type]
    _know(many)
    # The most expensive line of reading: SQLite reads and Python's values are made, a microsecond a row.
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        try:
            yield from msgspec.convert(rows, type=many)
        except msgspec.ValidationError as error:
            raise msgspec.ValidationError(f"table {table}: {in_words(error)}") from error


def in_visible_lines(value: Decoded, kind: type[Decoded] | Any) -> Decoded:
    """The value, of that type, with each of its texts on one line on which nothing is invisible."""
    _know(kind)
    return msgspec.convert(with_texts(msgspec.to_builtins(value), visible_line, keys=True), type=kind)


def _know(kind: Any) -> None:
    """Let msgspec inspect a type in one thread first: another one that used the type meanwhile would take
    what is half made, and end the process (msgspec 0.22).
    """
    if kind not in _KNOWN:
        with _FIRST_USE:
            msgspec.json.Decoder(kind)
        _KNOWN.add(kind)


def _reason(error: Exception) -> str:
    return "it nests too deep" if isinstance(error, RecursionError) else f"it is no UTF-8: {error}"
