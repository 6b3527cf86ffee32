"""Which streams of a capture a test applies, and what dropping the others changes."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from msgspec import Struct

MOST_STREAMS: Final = 9
LEAST_COVER: Final = Fraction(80, 100)
LEFT_OUT_BELOW: Final = Fraction(3, 100)


class CountedStream(Struct, frozen=True):
    """A stream of a capture with its I/Os; ``kind`` is read, write, trim, flush, zeroes or other."""

    name: str
    kind: str
    pattern: str
    size_bytes: int
    ios: int
    bytes: int


class AppliedStream(Struct, frozen=True):
    """A stream that a test applies: its share of the capture's I/Os, and among those that are applied."""

    stream: CountedStream
    share: Fraction
    applied_share: Fraction


class AppliedWorkload(Struct, frozen=True):
    """The streams that a test applies.

    ``cover`` is their share of all I/Os. ``read_mix`` and ``applied_read_mix`` are the shares of reads among
    reads and writes, by I/Os and by bytes, before and after; None without reads and writes.
    """

    streams: tuple[AppliedStream, ...]
    cover: Fraction
    read_mix: tuple[Fraction, Fraction] | None
    applied_read_mix: tuple[Fraction, Fraction] | None


def applied_workload(streams: Sequence[CountedStream]) -> AppliedWorkload:
    """Select by RWS-CUM-02: in falling share, ties by bytes, then name; shares are exact and sum to 1."""
    ordered = sorted(streams, key=lambda stream: (-stream.ios, -stream.bytes, stream.name))
    total = sum(stream.ios for stream in ordered)
    chosen: list[CountedStream] = []
    covered = 0
    for stream in ordered[:MOST_STREAMS]:
        is_covered = covered >= LEAST_COVER * total
        if is_covered and stream.ios < LEFT_OUT_BELOW * total:
            break
        chosen.append(stream)
        covered += stream.ios
    applied = tuple(
        AppliedStream(stream, Fraction(stream.ios, total), Fraction(stream.ios, covered)) for stream in chosen
    )
    cover = Fraction(covered, total) if total else Fraction(0)
    return AppliedWorkload(applied, cover, _read_mix(ordered), _read_mix(chosen))


def _read_mix(streams: Sequence[CountedStream]) -> tuple[Fraction, Fraction] | None:
    moved = [stream for stream in streams if stream.kind in {"read", "write"}]
    ios, size = sum(stream.ios for stream in moved), sum(stream.bytes for stream in moved)
    if not ios or not size:
        return None
    reads = [stream for stream in moved if stream.kind == "read"]
    return Fraction(sum(s.ios for s in reads), ios), Fraction(sum(s.bytes for s in reads), size)
