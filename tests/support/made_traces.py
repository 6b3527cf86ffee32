"""Traces that are easy to write: VMware vscsi, version 2."""

import struct
from collections.abc import Iterable

READ, WRITE, FLUSH, TRIM, INQUIRY = 0x28, 0x2A, 0x35, 0x42, 0x12
RECORD_BYTES = 40


def vscsi(time_us: int, command: int = READ, block: int = 0, length_bytes: int = 4096) -> bytes:
    """A record of an I/O that took 100 us."""
    return struct.pack("<HHIIIQQQ", command, 0x200, 1, length_bytes, 1, block, time_us, 100)


def reads_and_writes(count: int, *, apart_us: int = 10) -> bytes:
    """As many, in turn, at places that jump about."""
    return b"".join(
        vscsi(5_000_000 + number * apart_us, WRITE if number % 2 else READ, number * 7919 % 10_007 * 8)
        for number in range(count)
    )


def damaged(trace: bytes, records: Iterable[int]) -> bytes:
    """The same with records that lack the mark of their version."""
    changed = bytearray(trace)
    for record in records:
        changed[record * RECORD_BYTES + 3] = 9
    return bytes(changed)
