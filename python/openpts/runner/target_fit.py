"""Whether a target has room for what a stimulus accesses: segments, access ranges, granules of data."""

from collections.abc import Iterator
from typing import Final

from openpts.errors import TargetError, UsageError
from openpts.units import format_block_size, format_capacity
from openpts.vocabulary.data import ReducibleData
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.placement import Segments, Zones
from openpts.vocabulary.stimulus import Stimulus

MOST_SEGMENTS: Final = 65_536
"""Each thread keeps a table of their starts."""

_PAGE_BYTES: Final = 4096


def check_places(stimulus: Stimulus, target: TargetFacts, buffer_bytes: int) -> None:
    """What an engine with buffers of that size would refuse of places and data, before anything is purged.

    Raises TargetError where the target is too small, UsageError where no target would do.
    """
    start, end = stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
    match stimulus.placement:
        case Segments() as segments:
            _check_segments(stimulus, segments, (start, end), target)
        case Zones(zones):
            smallest_bytes = min(zone.range_pct for zone in zones) / 100 * (end - start) / target.scale
            if smallest_bytes < stimulus.block_size_bytes + _PAGE_BYTES:
                raise TargetError(
                    f"{target.name} is too small for the access ranges of {stimulus}: the smallest holds "
                    f"{format_capacity(int(smallest_bytes))}, and transfers of "
                    f"{format_block_size(stimulus.block_size_bytes)} go there; use a larger target"
                )
    for problem in _data_problems(stimulus, target, buffer_bytes):
        raise UsageError(f"{stimulus}: {problem}")


def _check_segments(
    stimulus: Stimulus, segments: Segments, active: tuple[int, int], target: TargetFacts
) -> None:
    size = format_block_size(segments.segment_bytes)
    largest_bytes = stimulus.block_size_bytes
    sector_bytes = target.sector_bytes
    alignment_bytes = _up(_PAGE_BYTES, sector_bytes) if largest_bytes >= _PAGE_BYTES else sector_bytes
    if segments.count > MOST_SEGMENTS:
        raise UsageError(f"{segments.count:,} LBA segments are too many, the limit is {MOST_SEGMENTS:,}")
    if segments.segment_bytes % alignment_bytes:
        raise UsageError(f"LBA segments of {size} are not a multiple of {format_block_size(alignment_bytes)}")
    if segments.segment_bytes < largest_bytes:
        needed = format_block_size(largest_bytes)
        raise UsageError(
            f"LBA segments of {size} are smaller than a transfer of {needed}: use larger segments"
        )
    start, end = active
    room_bytes = (end - _up(start, alignment_bytes)) // alignment_bytes * alignment_bytes
    if segments.count * segments.segment_bytes > room_bytes:
        raise TargetError(
            f"{target.name} is too small for {segments.count:,} LBA segments of {size}: they need "
            f"{format_capacity(segments.count * segments.segment_bytes)}, the active range holds "
            f"{format_capacity(max(0, room_bytes))}"
        )


def _data_problems(stimulus: Stimulus, target: TargetFacts, buffer_bytes: int) -> Iterator[str]:
    if isinstance(stimulus.data, ReducibleData):
        granule = format_block_size(stimulus.data.granule_bytes)
        if stimulus.data.granule_bytes % target.sector_bytes:
            yield f"granules of {granule} are not a multiple of the sector, {target.sector_bytes:,} bytes"
        if stimulus.data.granule_bytes > buffer_bytes:
            yield f"granules of {granule} are larger than any transfer, {format_block_size(buffer_bytes)}"


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
