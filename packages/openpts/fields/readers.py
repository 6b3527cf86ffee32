"""Words of a plan as values of conditions, and back."""

import re
from fractions import Fraction
from typing import Final, TypeVar

from openpts.errors import UsageError
from openpts.fields.data_patterns import data_pattern
from openpts.fields.parsing import amount_bytes, number, refuse, transfer_size_bytes
from openpts.units import GIB, KIB, MIB, NS_PER_MS, NS_PER_S, block_size_kib
from openpts.vocabulary.data import (
    DataPattern,
    PatternData,
    RandomData,
    RandomOnce,
    ReducibleData,
    VerifiedData,
    ZeroData,
)
from openpts.vocabulary.placement import Segments
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange
from openpts.vocabulary.verdict import RoundPoint

T = TypeVar("T")
_SMALLEST_SECTOR_BYTES: Final = 512
_POINT: Final = re.compile(r"(RND|SEQ)\s+([0-9.]+\s*[A-Za-z]+)\s+RW\s?([0-9]{1,3})", re.IGNORECASE)
_SEGMENTS: Final = re.compile(r"\s*([0-9]{1,9})\s*[x*]\s*([0-9.]+\s*[A-Za-z]+)\s*")
_RATIO: Final = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,12})?)\s*/\s*([0-9]{1,9}(?:\.[0-9]{1,12})?)\s*")


def seconds_ns(_name: str, seconds: float) -> int:
    """A duration in nanoseconds; a millisecond at least."""
    return max(NS_PER_MS, round(seconds * NS_PER_S))


def seconds_or_none_ns(_name: str, seconds: float) -> int:
    """A duration in nanoseconds; 0 is none at all."""
    return round(seconds * NS_PER_S)


def seconds_text(duration_ns: int) -> str:
    """A duration in seconds: ``0.4``."""
    return f"{duration_ns / NS_PER_S:.9g}"


def milliseconds_ns(_name: str, milliseconds: float) -> int:
    """A duration in nanoseconds; at least one of them."""
    return max(1, round(milliseconds * NS_PER_MS))


def milliseconds_text(duration_ns: int) -> str:
    """A duration in milliseconds: ``5``."""
    return f"{duration_ns / NS_PER_MS:.9g}"


def block_size_bytes(name: str, text: str) -> int:
    """A transfer size: whole sectors of 512 bytes."""
    size_bytes = transfer_size_bytes(name, text)
    if size_bytes % _SMALLEST_SECTOR_BYTES:
        refuse(name, text, "a transfer has whole sectors, of 512 bytes at least")
    return size_bytes


def size_text(size_bytes: int) -> str:
    """A size in base 2: ``128KiB``."""
    for unit, unit_bytes in (("GiB", GIB), ("MiB", MIB)):
        if size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes}{unit}"
    return f"{block_size_kib(size_bytes)}KiB" if size_bytes % (KIB // 2) == 0 else f"{size_bytes}B"


def without_repeats(name: str, values: tuple[T, ...]) -> tuple[T, ...]:
    """The values. Raises UsageError where one is given twice."""
    if repeated := [value for value in values if values.count(value) > 1]:
        raise UsageError(f"{name}: {repeated[0]} is given twice")
    return values


def active_range(name: str, value: float | str) -> ActiveRange:
    """``75`` and ``0:75`` are the same: per cent of the LBAs. Raises UsageError for an empty one."""
    text = value if isinstance(value, str) else f"{value:g}"
    start, colon, end = text.rpartition(":")
    first_pct, last_pct = (number(name, word) for word in (start if colon else "0", end))
    if not 0 <= first_pct < last_pct <= 100:
        refuse(name, text, "START must be below END, both in per cent of the LBAs: 75 or 25:75")
    return ActiveRange(first_pct, last_pct)


def active_range_text(active: ActiveRange) -> str:
    """``75`` or ``25:75``."""
    return f"{active.start_pct:g}:{active.end_pct:g}" if active.start_pct else f"{active.end_pct:g}"


def segments(name: str, text: str) -> Segments:
    """``16x64MiB``: so many LBA segments of that size (PTS 6 (5))."""
    match = _SEGMENTS.fullmatch(text)
    if match is None or not int(match[1]):
        refuse(name, text, "write it as NUMBERxSIZE, such as 16x64MiB")
    return Segments(int(match[1]), amount_bytes(name, match[2]))


def segments_text(part: Segments) -> str:
    """``16x64MiB``."""
    return f"{part.count}x{size_text(part.segment_bytes)}"


def data_of(name: str, text: str) -> DataPattern:
    """What a test writes. Raises UsageError; data that is to be verified is for `openpts io` alone."""
    data = data_pattern(name, text)
    if isinstance(data, VerifiedData):
        refuse(name, text, "a test reads what it never wrote, so nothing can be verified")
    return data


def data_word(data: DataPattern) -> str:
    """The word for a data pattern."""
    match data:
        case RandomData():
            return "random"
        case RandomOnce():
            return "random-once"
        case ZeroData():
            return "zero"
        case PatternData(pattern):
            return f"pattern:{pattern.hex()}"
        case ReducibleData(entropy_pct, duplicate_pct, granule_bytes):
            return f"entropy:{entropy_pct:g},dup:{duplicate_pct:g},granule:{size_text(granule_bytes)}"
        case VerifiedData(generation):
            return f"verified:{generation}"


def point_of(name: str, text: str) -> RoundPoint:
    """``RND 4KiB RW0``: order, size, per cent of reads."""
    match = _POINT.fullmatch(text.strip())
    if match is None or int(match[3]) > 100:
        refuse(name, text, "write it as RND 4KiB RW0: RND or SEQ, a size, RW and the per cent of reads")
    pattern = AccessPattern.RANDOM if match[1].upper() == "RND" else AccessPattern.SEQUENTIAL
    return RoundPoint(pattern, block_size_bytes(name, match[2]), int(match[3]))


def time_scale(name: str, value: float | str) -> float:
    """``1/60`` or ``0.05``: more than 0 and at most 1."""
    text = value if isinstance(value, str) else f"{value:g}"
    ratio = _RATIO.fullmatch(text)
    if ratio is None:
        scale = number(name, text)
    else:
        divisor = Fraction(ratio[2])
        scale = float(Fraction(ratio[1]) / divisor) if divisor else 0.0
    if not 0 < scale <= 1:
        refuse(name, text, "must be above 0 and at most 1, such as 1/60")
    return scale
