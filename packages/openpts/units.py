"""Units at the edge: capacities and rates in base 10, transfer sizes in base 2 (PTS 2.4.1).

Inside openpts everything is an integer of bytes, nanoseconds or I/Os; only this module turns
such a number into text, or text into such a number.
"""

import re
from decimal import Decimal
from typing import Final

from openpts.errors import UsageError

KIB: Final = 1024
MIB: Final = 1024**2
GIB: Final = 1024**3
MB: Final = 1000**2
GB: Final = 1000**3
TB: Final = 1000**4
NS_PER_US: Final = 1000
NS_PER_MS: Final = 1000**2
NS_PER_S: Final = 1000**3
NS_PER_DAY: Final = 24 * 3600 * NS_PER_S
S_PER_YEAR: Final = 365 * 24 * 3600

_BYTES_PER_UNIT: Final = {
    "": 1,
    "B": 1,
    **{f"{prefix}B": 1000**n for n, prefix in enumerate("KMGTP", start=1)},
    **{f"{prefix}iB": 1024**n for n, prefix in enumerate("KMGTP", start=1)},
}
_SIZE: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_UNIT_BY_LOWER_CASE: Final = {unit.lower(): unit for unit in _BYTES_PER_UNIT}


def parse_size_bytes(text: str) -> int:
    """Read a size such as ``512MiB``, ``1.92TB`` or ``4096`` (bytes).

    KB, MB, GB are powers of 1000 and KiB, MiB, GiB powers of 1024; a bare ``K`` or ``M`` is
    refused because it could mean either. Raises UsageError, also for a fraction of a byte.
    """
    match = _SIZE.fullmatch(text)
    unit = _UNIT_BY_LOWER_CASE.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise UsageError(
            f"{text!r} is not a size. Write a number and B, KiB, MiB, GiB, TiB (base 2) "
            "or KB, MB, GB, TB (base 10), for example 512MiB"
        )
    size = Decimal(match[1]) * _BYTES_PER_UNIT[unit]
    if size != size.to_integral_value():
        raise UsageError(f"{text!r} is not a whole number of bytes")
    return int(size)


def format_capacity(capacity_bytes: int) -> str:
    """Base-10 text of a capacity or data amount, such as ``1,920 GB`` (PTS 2.4.1)."""
    for unit, size in (("GB", 1000**3), ("MB", 1000**2), ("KB", 1000)):
        if capacity_bytes >= 10 * size:
            return f"{capacity_bytes / size:,.0f} {unit}"
        if capacity_bytes >= size:
            return f"{capacity_bytes / size:,.2f} {unit}"
    return f"{capacity_bytes:,} B"


def format_block_size(block_size_bytes: int) -> str:
    """Base-2 text of a transfer size: ``0.5 KiB``, ``4 KiB``, ``1024 KiB`` (PTS 2.4.1).

    From 2 MiB on, which no test of the specification transfers at once, in MiB or GiB where that is whole.
    """
    for unit_bytes, unit in ((GIB, "GiB"), (MIB, "MiB")):
        if block_size_bytes > MIB and block_size_bytes % unit_bytes == 0:
            return f"{block_size_bytes // unit_bytes} {unit}"
    return f"{block_size_kib(block_size_bytes)} KiB"


def block_size_kib(block_size_bytes: int) -> str:
    """The number of KiB alone, without needless zeros: ``0.5``, ``4``, ``1024``."""
    return (
        f"{Decimal(block_size_bytes) / KIB:f}".rstrip("0").rstrip(".")
        if block_size_bytes % KIB
        else str(block_size_bytes // KIB)
    )


def format_duration(duration_ns: int) -> str:
    """Text of a duration with its two leading units: ``6 h 12 min``, ``2 min 5 s``, ``0.40 s``."""
    if duration_ns < 60 * NS_PER_S:
        return f"{duration_ns / NS_PER_S:.2f} s"
    seconds = round(duration_ns / NS_PER_S)
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def format_latency_ms(latency_ns: float) -> str:
    """A latency in ms with three significant digits and no exponent: ``0.0142``, ``1.66``, ``392``."""
    latency_ms = latency_ns / NS_PER_MS
    if latency_ms <= 0:
        return "0"
    if latency_ms >= 100:
        return f"{latency_ms:,.0f}"
    rounded = Decimal(f"{latency_ms:.2e}")
    return f"{rounded:f}"


def format_significant(value: float) -> str:
    """A number with three significant digits, no needless zeros and no exponent: ``2``, ``27,500``."""
    text = f"{Decimal(f'{value:.2e}'):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_count(count: int, noun: str) -> str:
    """A number of things that get an s in the plural: ``1 run``, ``1,200 runs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def per_second(amount: float, elapsed_ns: float) -> float:
    """The rate of an amount of I/Os or bytes; 0 without any time, in which nothing was done."""
    return amount * NS_PER_S / elapsed_ns if elapsed_ns else 0.0


def in_ms(time_ns: float | None) -> float | None:
    """A time in ms for machines; None stays None."""
    return None if time_ns is None else time_ns / NS_PER_MS


def format_gap(gap_ns: int) -> str:
    """A time without I/O: below a second in ms with three significant digits, else as a duration."""
    return f"{format_latency_ms(gap_ns)} ms" if gap_ns < NS_PER_S else format_duration(gap_ns)
