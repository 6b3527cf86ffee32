"""What is written, from the operator's word for it."""

from collections.abc import Mapping
from typing import Final

from openpts.fields.parsing import number, refuse, transfer_size_bytes, whole_number
from openpts.vocabulary.data import (
    DataPattern,
    PatternData,
    RandomData,
    RandomOnce,
    ReducibleData,
    VerifiedData,
    ZeroData,
)

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
