"""Traces that are easy to write: MSR Cambridge CSV."""

from collections.abc import Iterable
from typing import Final

_ORIGIN: Final = 128_166_372_000_000_000
"""Of Windows file times, which are steps of 100 ns."""


def record(time_us: int, operation: str = "Read", block: int = 0, length_bytes: int = 4096) -> bytes:
    """A line of an I/O that took 100 us."""
    return b"%d,host,0,%s,%d,%d,1000\n" % (
        _ORIGIN + 10 * time_us,
        operation.encode(),
        block * 512,
        length_bytes,
    )


def reads_and_writes(count: int, *, apart_us: int = 10) -> bytes:
    """As many, in turn, at places that jump about."""
    return b"".join(
        record(number * apart_us, "Write" if number % 2 else "Read", number * 7919 % 10_007 * 8)
        for number in range(count)
    )


def damaged(trace: bytes, records: Iterable[int]) -> bytes:
    """The same with records whose place is no number."""
    lines = trace.splitlines(keepends=True)
    for number in records:
        fields = lines[number].split(b",")
        lines[number] = b",".join([*fields[:4], b"here", *fields[5:]])
    return b"".join(lines)
