"""Which LBAs share a unit of the flash: pairs of reads at growing distances wait for each other, or do not.

Two reads that are issued together take longer if they come to the same unit. Of data written in sequence, the
distances at which pairs do so are those of the layout: chunks of pages go round the units of a group, a group
is filled by rows, and groups go round the drive. All distances are in pages of 4 KiB.

Where the controller takes longer for a command than the flash for a read, the second of a pair comes when the
first is done. Then two pages are read by one command, the second of which was written behind the first by
whole rows over all units, ``ROWS_PAGES``, and the distance.
"""

import math
from collections.abc import Generator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.vocabulary.sample import Sample

_CHUNKS: Final = (*range(17), 24, 32, 48, 64, 96, 128)
"""Distances within which the chunk is looked for."""
ROWS_PAGES: Final = 768
"""Whole rows where units, and pages that each programs, are powers of two or three times such."""
_MOST_CHUNKS: Final = 264
"""Chunks in a row on different units, at most."""
_MOST_ROWS: Final = 520
MOST_PAGES: Final = 8192
"""The longest distance, of which the region that is read has twice as much."""
_LEAST_CONTRAST: Final = 1.02
"""Pairs that wait take so much longer than those that do not, or can't be told from noise."""
_CLEAR_CONTRAST: Final = 1.1
_LEAST_SPAN: Final = 40
"""Standard deviations of a reading: limits of shares are as near as 0.07 to what they divide."""
_MOST_TIMES_AS_LONG: Final = 3
_NEVER, _OFTEN, _ALWAYS = 0.1, 0.4, 0.93
"""Shares of pairs that wait: up to the first none do, from the last on all."""

_OF_A_ROW: Final = 0.5
"""Of what the share falls by from row to row."""

Pairs: TypeAlias = Generator[int, float, "Geometry"]
"""Asks for a distance in pages, receives the mean latency of pairs at it, in ns."""


def pair_ns(sample: Sample) -> float:
    """Mean latency of pairs of reads, without those that waited for something else; 0 if none were read.

    The second of a pair waits for the first at most.
    """
    mean_ns = sample.mean_latency_ns
    if mean_ns is None or not sample.read.histogram:
        return mean_ns or 0.0
    reads = LatencyDistribution.merged([sample.read.histogram])
    most_ns = _MOST_TIMES_AS_LONG * (reads.percentile_ns(50) or 0)
    late = [((low + high) / 2, count) for low, high, count in reads.buckets() if low > most_ns]
    late_ios = sum(count for _, count in late)
    return (mean_ns * reads.count - sum(ns * count for ns, count in late)) / (reads.count - late_ios)


class Geometry(Struct, frozen=True):
    """What was found, None where it does not show.

    ``chunk_pages`` lie in a row on one unit, ``units`` work at the same time, of which ``group_units`` are
    programmed together. ``program_pages`` are those that a unit programs at once: of a drive with a cache in
    single-bit cells, those of the cache.
    """

    chunk_pages: int | None = None
    group_units: int | None = None
    units: int | None = None
    program_pages: int | None = None
    contrast: float = 1.0
    why: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether pairs that wait take so much longer that noise can't make it."""
        return self.contrast >= _CLEAR_CONTRAST


class _Waits:
    """Shares of pairs that wait, by the shortest and the longest of all mean latencies."""

    def __init__(self, shortest_ns: float, longest_ns: float) -> None:
        self._shortest_ns = shortest_ns
        self._span_ns = longest_ns - shortest_ns

    def share(self, latency_ns: float) -> float:
        return (latency_ns - self._shortest_ns) / self._span_ns


def search(shortest: int = 1) -> Pairs:
    """Look for chunk, group and units, by as few distances as it takes; 0 is one at which all pairs wait."""
    near, latencies_ns, squares_ns2 = _CHUNKS[shortest:], {}, 0.0
    for distance in near:
        latencies_ns[distance] = yield distance
    for distance, first_ns in latencies_ns.items():
        again_ns = yield distance
        latencies_ns[distance] = (first_ns + again_ns) / 2
        squares_ns2 += (first_ns - again_ns) ** 2 / 2
    shortest_ns, longest_ns = min(latencies_ns.values()), max(latencies_ns.values())
    if not shortest_ns:
        return Geometry(why="the latencies of pairs were not measured")
    contrast = longest_ns / shortest_ns
    if contrast < _LEAST_CONTRAST:
        return Geometry(contrast=contrast, why="no pair of reads takes longer than any other")
    if longest_ns - shortest_ns < _LEAST_SPAN * math.sqrt(squares_ns2 / len(near)):
        return Geometry(contrast=contrast, why="pairs differ as much from one time to the next")
    waits = _Waits(shortest_ns, longest_ns)
    if waits.share(latencies_ns.get(0, longest_ns)) < _ALWAYS:
        return Geometry(contrast=contrast, why=f"units do not come again after {ROWS_PAGES} pages")
    chunk = next((one for one in near if waits.share(latencies_ns[one]) <= _NEVER), None)
    if chunk is None or any(waits.share(latencies_ns[one]) < _NEVER for one in near if one < chunk):
        return Geometry(contrast=contrast, why="pairs wait at each distance up to 512 KiB")

    # chunks on: the first distance at which pairs wait again
    for chunks in range(2, min(_MOST_CHUNKS, MOST_PAGES // chunk)):
        if waits.share((yield chunks * chunk)) >= _OFTEN:
            break
    else:
        return Geometry(chunk, contrast=contrast, why="no unit came again")
    return (yield from _groups(waits, Geometry(chunk, chunks, contrast=contrast)))


def _groups(waits: _Waits, found: Geometry) -> Pairs:
    """How many groups there are: rows of one wait for each other, and after the last comes the first again.

    Without a second group every row waits for every other. The share may fall row by row until none wait, and
    rise so until all do.
    """
    assert found.chunk_pages is not None and found.group_units is not None  # noqa: S101, PT018 found before
    chunk, group, contrast = found.chunk_pages, found.group_units, found.contrast
    rows_of_group, before = None, 1.0
    for rows in range(1, min(_MOST_ROWS, MOST_PAGES // (group * chunk))):
        share = waits.share((yield rows * group * chunk))
        if rows_of_group is None and before <= _NEVER and before - share < _OF_A_ROW / rows:
            rows_of_group = rows - 1
        elif rows_of_group is not None and before >= _ALWAYS and share - before < _OF_A_ROW / rows_of_group:
            groups, rest = divmod(rows - 1, rows_of_group)
            if rest:
                return Geometry(chunk, contrast=contrast, why="groups do not come again in whole rows")
            return Geometry(chunk, group, group * groups, rows_of_group * chunk, contrast)
        if rows_of_group is None and rows >= _MOST_ROWS_OF_GROUP:
            break
        before = share
    if rows_of_group is None:
        return Geometry(chunk, group, group, None, contrast)
    return Geometry(chunk, group, contrast=contrast, why="no group came again")


_MOST_ROWS_OF_GROUP: Final = 32
"""A group with more rows has a program unit larger than any flash's: then there is one group only."""


def replay(measured: Sequence[tuple[int, float]]) -> Geometry:
    """What a search found that was given these latencies for the distances that it asked for, in their order.

    One that was cut off before its end found nothing.
    """
    asks = search(0 if any(not distance for distance, _ in measured) else 1)
    next(asks)
    for _, latency_ns in measured:
        try:
            asks.send(latency_ns)
        except StopIteration as end:
            found: Geometry = end.value
            return found
    return Geometry(why="not all distances were measured")
