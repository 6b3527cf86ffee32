"""Words of the operator as values; what makes no sense is refused with the name of option or parameter."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar

from openpts.errors import UsageError
from openpts.units import parse_size_bytes
from openpts.vocabulary.stimulus import (
    DataPattern,
    PatternData,
    RandomData,
    RandomOnce,
    ReducibleData,
    VerifiedData,
    ZeroData,
)

T = TypeVar("T")
_SHORT_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgG])")
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|\.[0-9]+")


def refuse(option: str, text: str, reason: str) -> NoReturn:
    """End with the option, the word and what is wrong with it."""
    raise UsageError(f"{option} {text!r}: {reason}")


def transfer_size_bytes(option: str, text: str) -> int:
    """A transfer size, alignment or distance: base 2, so that ``4k`` is 4 KiB, as these sizes always are."""
    short = _SHORT_SIZE.fullmatch(text.strip())
    size_bytes = amount_bytes(option, f"{short[1]}{short[2]}iB" if short else text)
    if size_bytes >= 2**32:
        refuse(option, text, "is too large: an I/O is below 4 GiB")
    return size_bytes


def amount_bytes(option: str, text: str) -> int:
    """An amount of data, with its base named: ``16GiB`` or ``16GB``."""
    try:
        size_bytes = parse_size_bytes(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from error
    if not 0 < size_bytes < 2**63:
        refuse(option, text, "is not an amount of bytes")
    return size_bytes


def number(option: str, text: str) -> float:
    """A finite decimal number that is not negative."""
    if not _NUMBER.fullmatch(text.strip()) or not math.isfinite(value := float(text)):
        refuse(option, text, "is not a number")
    return value


def whole_number(option: str, text: str, *, most: int = 2**32 - 1) -> int:
    """A number of things, such as a weight."""
    if not re.fullmatch(r"[0-9]{1,20}", text.strip()):
        refuse(option, text, "is not a whole number")
    value = int(text)
    if value > most:
        refuse(option, text, f"is more than {most:,}")
    return value


def pair(option: str, text: str, separator: str, form: str) -> tuple[str, str]:
    """The two words around a separator; ``form`` says how they should look."""
    first, found, second = text.partition(separator)
    if not found or not first.strip() or not second.strip():
        refuse(option, text, f"write it as {form}")
    return first.strip(), second.strip()


def named_values(option: str, text: str, known: Mapping[str, Callable[[str, str], T]]) -> dict[str, T]:
    """Values of ``name=value,name=value``, each read by what ``known`` has for its name."""
    values: dict[str, T] = {}
    for word in text.split(","):
        name, value = pair(option, word, "=", f"NAME=VALUE with {', '.join(known)}")
        if name not in known:
            refuse(option, text, f"{name!r} is not one of {', '.join(known)}")
        if name in values:
            refuse(option, text, f"{name!r} is given twice")
        values[name] = known[name](f"{option} {name}", value)
    return values


def the_one_given(options: Mapping[str, object]) -> str | None:
    """The one option that was given, None for none. Raises UsageError where there are several."""
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other: give one of them")
    return given[0] if given else None


_MOST_GENERATION: Final = 2**64 - 1


_SIMPLE: Final[Mapping[str, DataPattern]] = {
    "random": RandomData(),
    "random-once": RandomOnce(),
    "zero": ZeroData(),
}


def data_pattern(option: str, text: str) -> DataPattern:
    """The data pattern of the word. Raises UsageError."""
    if text in _SIMPLE:
        return _SIMPLE[text]
    readers = {"pattern": _pattern, "entropy": _reducible, "verified": _verified}
    kind, _, value = text.partition(":")
    if kind not in readers:
        known = "random, random-once, zero, pattern:HEX, entropy:PCT[,dup:PCT][,granule:SIZE], verified:N"
        refuse(option, text, f"is not one of {known}")
    return readers[kind](option, text, value)


def _verified(option: str, _text: str, generation: str) -> DataPattern:
    return VerifiedData(whole_number(option, generation, most=_MOST_GENERATION))


def _pattern(option: str, text: str, digits: str) -> DataPattern:
    try:
        pattern = bytes.fromhex(digits.removeprefix("0x"))
    except ValueError:
        refuse(option, text, "two hexadecimal digits for each byte, such as pattern:deadbeef")
    if not pattern:
        refuse(option, text, "a pattern needs at least one byte, such as pattern:deadbeef")
    return PatternData(pattern)


def _reducible(option: str, text: str, _value: str) -> DataPattern:
    values: dict[str, str] = {}
    for word in text.split(","):
        name, colon, value = word.partition(":")
        if name not in {"entropy", "dup", "granule"} or not colon or name in values:
            refuse(option, text, "write it as entropy:PCT[,dup:PCT][,granule:SIZE]")
        values[name] = value
    return ReducibleData(
        entropy_pct=_share(option, values["entropy"]),
        duplicate_pct=_share(option, values.get("dup", "0")),
        granule_bytes=transfer_size_bytes(option, values.get("granule", "4k")),
    )


def _share(option: str, text: str) -> float:
    share_pct = number(option, text)
    if share_pct > 100:
        refuse(option, text, "is more than 100 per cent")
    return share_pct
