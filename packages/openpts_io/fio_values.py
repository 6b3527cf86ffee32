"""Values as fio reads them: sizes, times, per cent, and one for each direction."""

import math
import re
from typing import Final

from msgspec import Struct

from openpts.units import NS_PER_S, NS_PER_US

READ: Final = "read"
WRITE: Final = "write"
TRIM: Final = "trim"
DIRECTIONS: Final = (READ, WRITE, TRIM)
"""In the order of fio's lists."""

KIB_BASE: Final = 1024
# fio's numbers have 64 bits
_NUMBER: Final = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})([A-Za-z]*)")
_TIME: Final = re.compile(r"([0-9]{1,20})([A-Za-z]*)")
_POWERS: Final = {letter: power for power, letter in enumerate("kmgtp", start=1)}
_NS_PER_TIME: Final = {
    "d": 86_400 * NS_PER_S,
    "h": 3600 * NS_PER_S,
    "m": 60 * NS_PER_S,
    "s": NS_PER_S,
    "sec": NS_PER_S,
    "ms": 1000 * NS_PER_US,
    "msec": 1000 * NS_PER_US,
    "us": NS_PER_US,
    "usec": NS_PER_US,
}


class ValueTextError(ValueError):
    """A value that can't be read; the text says what is allowed."""


def whole_number(text: str, kb_base: int = KIB_BASE) -> int:
    """``4096``, ``0x1000`` or ``4k``; with a suffix in ``ib``, of the other base. Raises ValueTextError.

    fio takes ``1.5k`` for 1 and ``4x`` for 4, which is refused.
    """
    match = _NUMBER.fullmatch(text)
    if match is None and _NUMBER.fullmatch(text.removeprefix("-")):
        raise ValueTextError("is negative, which openpts doesn't offer: write a number of 0 or above")
    if match is None:
        raise ValueTextError("is no whole number with an optional suffix k, m, g, t or p")
    suffix = match[2].lower()
    power = _POWERS.get(suffix[:1], 0)
    if suffix[1 if power else 0 :] not in {"", "b", *(("i", "ib") if power else ())}:
        raise ValueTextError(f"has the suffix {match[2]!r}: use k, m, g, t or p")
    other_base = 1000 if kb_base == KIB_BASE else KIB_BASE
    base: int = other_base if suffix.endswith("ib") else kb_base
    number = int(match[1], 16 if match[1][:2].lower() == "0x" else 10)
    return number * math.prod([base] * power)


def time_ns(text: str, unit_ns: int) -> int:
    """``30``, ``10m``, ``500us`` in ns; without a suffix, in units of ``unit_ns``. Raises ValueTextError."""
    match = _TIME.fullmatch(text)
    if match is None or (match[2] and match[2].lower() not in _NS_PER_TIME):
        raise ValueTextError("is no time: write a whole number and d, h, m, s, ms or us")
    return int(match[1]) * (_NS_PER_TIME[match[2].lower()] if match[2] else unit_ns)


class Size(Struct, frozen=True):
    """Bytes, or per cent of what the option refers to."""

    amount: int
    is_pct: bool = False

    def of(self, whole_bytes: int) -> int:
        """In bytes, rounded down."""
        return whole_bytes * self.amount // 100 if self.is_pct else self.amount


def size(text: str, kb_base: int, most_pct: int = 100) -> Size:
    """``10%`` or ``64m``. Raises ValueTextError."""
    if text.endswith("%"):
        if not re.fullmatch("[0-9]{1,3}", text[:-1]) or int(text[:-1]) > most_pct:
            raise ValueTextError(f"is no whole per cent from 0 to {most_pct}")
        return Size(int(text[:-1]), is_pct=True)
    if text.lower().endswith("z"):
        raise ValueTextError("counts zones, which openpts has not")
    return Size(whole_number(text, kb_base))


def directions_of(text: str) -> dict[str, str]:
    """The words of each direction in ``A``, ``A,B`` or ``A,B,C``.

    The last word holds for the directions behind it, unless a comma follows; a direction without a word has
    none here. Raises ValueTextError.
    """
    return _filled(text.split(","))


def numbers_of(text: str, kb_base: int) -> dict[str, int]:
    """The whole number of each direction; a colon separates them where there is no comma.

    fio reads no further than the number of bytes: ``4k/60:8k/40`` is 4k for reads, and 8k for others, and
    what such a list has behind the third is nothing. Raises ValueTextError.
    """
    words = text.split("," if "," in text else ":")
    if "/" in text:
        words = words[: len(DIRECTIONS)]
    return {
        direction: whole_number(re.split("[/:]", word)[0].strip(), kb_base)
        for direction, word in _filled(words).items()
    }


def _filled(words: list[str]) -> dict[str, str]:
    words = [word.strip() for word in words]
    if len(words) > len(DIRECTIONS) + 1 or (len(words) > len(DIRECTIONS) and words[-1]):
        raise ValueTextError("has more values than one each for reads, writes and trims")
    filled = words + words[-1:] * (len(DIRECTIONS) - len(words))
    return {direction: word for direction, word in zip(DIRECTIONS, filled, strict=False) if word}


def weighted_sizes(text: str, kb_base: int) -> dict[int, int]:
    """Sizes and their per cent in ``4k/10:64k/50:32k``; what is left is shared by those without.

    As fio: a range of sizes is its first, a share is its leading digits, 0 is none. What the shares leave
    goes to the last size, and what is above 100 is never drawn. Raises ValueTextError.
    """
    shares: list[tuple[int, int | None]] = []
    for part in text.split(":"):
        written, _, pct = (word.strip() for word in part.partition("/"))
        digits = re.match("[0-9]{1,3}", pct)
        if pct and not digits:
            raise ValueTextError("is no list of sizes with their whole per cent, as 4k/10:64k/90")
        block_bytes = whole_number(written.split("-")[0], kb_base)
        shares.append((block_bytes, (min(int(digits[0]), 100) or None) if digits else None))
    given = sum(share or 0 for _, share in shares)
    without = sum(share is None for _, share in shares)
    if given > 100 and without:
        raise ValueTextError(f"has shares that sum to {given} per cent, and sizes without one")
    weights: dict[int, int] = {}
    left = 100
    for block_bytes, share in shares:
        weight = 100 - given if share is None else min(share, left) * max(without, 1)
        left -= min(share or 0, left)
        weights[block_bytes] = weights.get(block_bytes, 0) + weight
    if not without:
        weights[shares[-1][0]] += left
    return {block_bytes: weight for block_bytes, weight in weights.items() if weight}


MIXED: Final = (READ, WRITE)
_WORDS: Final = {"read": (READ,), "write": (WRITE,), "trim": (TRIM,), "rw": MIXED, "readwrite": MIXED}
ORDERS: Final = {
    **{word: (directions, False) for word, directions in _WORDS.items()},
    **{f"rand{word}": (directions, True) for word, directions in _WORDS.items() if word != "readwrite"},
}
"""What each word of ``rw`` issues, and whether at random."""
