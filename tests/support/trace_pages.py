"""The kernel's ring buffer as ``trace_pipe_raw`` hands it out, page by page, in times and records.

The layout is the kernel's own description of itself: ``events/header_page``, ``events/header_event`` and
the ``format`` file of each event. Times are those of the trace clock, to the nanosecond; the text files of
tracefs round them to microseconds.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Types of entries in the buffer; smaller ones are data, and tell their length in words.
PADDING = 29
TIME_EXTEND = 30
TIME_STAMP = 31

# The upper two bits of a page's length tell of lost events, the rest is the length.
LENGTH_MASK = (1 << 30) - 1

FIELD = re.compile(
    r"field:(?P<type>[^;]*?)\s*(?P<name>\w+)(?:\[\d*\])?;\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);"
)


@dataclass(frozen=True)
class Field:
    """Where something is; ``offset`` counts bytes from the beginning of the record or page."""

    offset: int
    size: int


def read_fields(path: Path) -> dict[str, Field]:
    """The fields of an event's ``format`` file, or of ``events/header_page``."""
    return {
        match["name"]: Field(int(match["offset"]), int(match["size"]))
        for match in FIELD.finditer(path.read_text())
    }


def read_event_number(path: Path) -> int:
    """The number by which records say that they are of this event."""
    found = re.search(r"^ID: (\d+)$", path.read_text(), re.MULTILINE)
    assert found, f"{path} names no ID"
    return int(found[1])


@dataclass(frozen=True)
class Records:
    """All records of some pages: the bytes, where each record begins in them, and when it was written."""

    raw: NDArray[np.uint8]
    positions: NDArray[np.int64]
    times_ns: NDArray[np.int64]

    def select(self, mask: NDArray[np.bool_]) -> "Records":
        """Only those of them."""
        return Records(self.raw, self.positions[mask], self.times_ns[mask])

    def column(self, field: Field, dtype: str) -> NDArray[Any]:
        """One field of each record."""
        cells = self.raw[self.positions[:, None] + np.arange(field.offset, field.offset + field.size)]
        return np.ascontiguousarray(cells).view(dtype).reshape(-1)


def split_pages(pages: list[bytes], header: dict[str, Field]) -> Records:
    """Find the records in pages of one processor."""
    positions: list[int] = []
    times_ns: list[int] = []
    raw = b"".join(pages)
    words = memoryview(raw).cast("I")
    start = 0
    for page in pages:
        length = int.from_bytes(_cut(page, header["commit"]), "little") & LENGTH_MASK
        page_time_ns = int.from_bytes(_cut(page, header["timestamp"]), "little")
        data = start + header["data"].offset
        _walk(words, data, data + length, page_time_ns, positions, times_ns)
        start += len(page)
    return Records(np.frombuffer(raw, np.uint8), np.array(positions, np.int64), np.array(times_ns, np.int64))


def _cut(page: bytes, field: Field) -> bytes:
    return page[field.offset : field.offset + field.size]


def _walk(
    words: memoryview, at: int, end: int, time_ns: int, positions: list[int], times_ns: list[int]
) -> None:
    """Go from entry to entry: five bits of type, 27 bits of time since the entry before, then the data."""
    while at < end:
        entry = words[at >> 2]
        kind, delta_ns = entry & 31, entry >> 5
        at += 4
        if 0 < kind < PADDING:
            time_ns += delta_ns
            positions.append(at)
            times_ns.append(time_ns)
            at += kind << 2
        elif kind == 0:  # too long for the type: the first word is the length, itself included
            time_ns += delta_ns
            positions.append(at + 4)
            times_ns.append(time_ns)
            at += (words[at >> 2] + 3) & ~3
        elif kind == TIME_EXTEND:
            time_ns += (words[at >> 2] << 27) + delta_ns
            at += 4
        elif kind == TIME_STAMP:  # the upper five bits are those of the time so far
            time_ns = (time_ns >> 59 << 59) | (words[at >> 2] << 27) + delta_ns
            at += 4
        elif delta_ns:  # a record that was taken back
            time_ns += delta_ns
            at += (words[at >> 2] + 3) & ~3
        else:  # the rest of the page is empty
            return
