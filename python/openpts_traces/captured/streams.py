"""The streams of a capture in shares, and all of them as one workload."""

import math
from collections.abc import Sequence
from typing import Final

from openpts.vocabulary.stimulus import Access, BlockSize
from openpts.vocabulary.workload import Workload, random_share
from openpts_traces.characteristics.capture import CaptureStream

_MOST_PARTS: Final = 1000


def shares(counts: Sequence[int]) -> tuple[int, ...]:
    """Small whole numbers in the ratio of the counts, or as near to it as 1,000 in all allow; none is 0.

    The streams of a step wait for each other once in so many I/Os: the fewer, the more even is their mix.
    """
    is_exact = sum(counts) // math.gcd(*counts) <= _MOST_PARTS
    found = counts if is_exact else apportioned(_MOST_PARTS, counts)
    divisor = math.gcd(*found)
    return tuple(count // divisor for count in found)


def apportioned(total: int, counts: Sequence[int]) -> tuple[int, ...]:
    """A total in parts as large as the counts' shares of it, by largest remainders, each at least 1."""
    whole = sum(counts)
    parts = [max(1, count * total // whole) for count in counts]
    remainders = sorted(range(len(counts)), key=lambda n: (-(counts[n] * total % whole), n))
    for number in remainders:
        if sum(parts) < total and counts[number] * total >= whole:
            parts[number] += 1
    while sum(parts) > max(total, len(parts)):
        parts[parts.index(max(parts))] -= 1
    if (left := total - sum(parts)) > 0:
        parts[counts.index(max(counts))] += left
    return tuple(parts)


def transfer_bytes(stream: CaptureStream, sector_bytes: int) -> int:
    """The size of a stream's I/Os, in whole sectors."""
    return max(1, math.ceil(stream.size_bytes / sector_bytes)) * sector_bytes


def composite_workload(applied: Sequence[CaptureStream], sector_bytes: int) -> Workload:
    """All streams as one workload, whatever the demand: threads draw each I/O from all of them."""
    counts = [stream.ios for stream in applied]
    streams = tuple(
        BlockSize(
            transfer_bytes(stream, sector_bytes),
            share,
            Access(stream.name, stream.kind.value, random=stream.pattern != "seq"),
        )
        for stream, share in zip(applied, shares(counts), strict=True)
    )
    moved = [stream for stream in applied if stream.kind in {"read", "write"}]
    reads = sum(stream.ios for stream in moved if stream.kind == "read")
    read_pct = round(100 * reads / (sum(stream.ios for stream in moved) or 1))
    return Workload("composite", "Composite", random_share(streams), streams, read_pct)
