"""Where the I/Os go, in fio's options: the part of the target for each thread, alignment, distribution."""

from itertools import pairwise
from typing import Final

from msgspec import Struct

from openpts.engine.program import active_bytes
from openpts.errors import UsageError
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.placement import Normal, Pareto, Segments, Uniform, UniqueLbas, Zipf, Zone, Zones
from openpts.vocabulary.stimulus import AccessPattern, Stimulus
from openpts_fio.engine.operations import FioOptions, refusal, whole_pcts

_PAGE_BYTES: Final = 4096
# fio sums no more terms of the zeta function, so that its zipf is another one on more places
_MOST_ZIPF_PLACES: Final = 10_000_000


class ThreadRange(Struct, frozen=True):
    """The bytes that one thread accesses."""

    offset_bytes: int
    size_bytes: int


def parts(stimulus: Stimulus, target: TargetFacts) -> tuple[ThreadRange, ...]:
    """One part for each thread: the whole range at random, tiles of it in sequence.

    A part holds whole blocks. What is left at the end of a sequence is less than one. Raises UsageError
    where the range does not hold a block for each thread.
    """
    if stimulus.tc < 1 or stimulus.qd < 1:
        raise UsageError(f"TC {stimulus.tc} x QD {stimulus.qd} is less than one outstanding I/O")
    start, end = active_bytes(stimulus, target)
    if stimulus.access_pattern is AccessPattern.RANDOM:
        first = _next_multiple(start, alignment_bytes(stimulus, target))
        found = tuple(ThreadRange(first, end - first) for _ in range(stimulus.tc))
    else:
        found = _tiles(stimulus, start, end)
    if min(part.size_bytes for part in found) < stimulus.block_size_bytes:
        raise UsageError(
            f"a range of {end - start} B has no block of {stimulus.block_size_bytes} B for each thread"
        )
    return found


def left_out_bytes(stimulus: Stimulus, target: TargetFacts) -> int:
    """The end of the range that a sequence does not touch, because fio has no shorter last block."""
    if stimulus.access_pattern is AccessPattern.RANDOM:
        return 0
    start, end = active_bytes(stimulus, target)
    return (end - start) % _smallest_bytes(stimulus)


def alignment_bytes(stimulus: Stimulus, target: TargetFacts) -> int:
    """What random offsets are multiples of. Raises UsageError where it is not the same for all sizes."""
    if stimulus.alignment_bytes is not None:
        return stimulus.alignment_bytes
    aligned_to_pages = {size.block_size_bytes >= _PAGE_BYTES for size in stimulus.block_sizes}
    if len(aligned_to_pages) > 1:
        raise refusal("alignment of its own for each block size", "name one for all of them")
    return _PAGE_BYTES if aligned_to_pages == {True} else target.sector_bytes


def placement_options(stimulus: Stimulus, target: TargetFacts) -> FioOptions:
    """Alignment and distribution of random accesses; nothing for a sequence."""
    if stimulus.access_pattern is not AccessPattern.RANDOM:
        return {}
    alignment = alignment_bytes(stimulus, target)
    if alignment <= 0 or alignment % target.sector_bytes:
        raise UsageError(
            f"alignment {alignment} B is not a multiple of the sector size {target.sector_bytes} B"
        )
    return {"blockalign": str(alignment)} | _distribution(stimulus, target)


def _distribution(stimulus: Stimulus, target: TargetFacts) -> FioOptions:
    match stimulus.placement:
        case Uniform():
            return {}
        case Zones(zones):
            return {"random_distribution": f"zoned:{_zones(zones)}"}
        case Zipf(theta):
            if theta == 1:
                raise refusal("zipf of exponent 1")
            if _scattered_places(stimulus, target, "zipf") > _MOST_ZIPF_PLACES:
                raise refusal(f"zipf over more than {_MOST_ZIPF_PLACES:,} places")
            return {"random_distribution": f"zipf:{theta:.17g}"}
        case Pareto(h):
            _scattered_places(stimulus, target, "pareto")
            return {"random_distribution": f"pareto:{h:.17g}"}
        case Normal():
            raise refusal("normal hot spot", "it scatters its normal distribution over the whole range")
        case Segments():
            raise refusal("LBA segments")
        case UniqueLbas():
            raise refusal("limit of the unique LBAs")


def _zones(zones: tuple[Zone, ...]) -> str:
    accesses = whole_pcts("accesses to zones", [zone.weight for zone in zones])
    if any(zone.range_pct != int(zone.range_pct) for zone in zones):
        raise refusal("zones of a fraction of a per cent")
    if sum(zone.range_pct for zone in zones) != 100:
        raise UsageError("the zones' shares of the range do not sum to 100 %")
    return ":".join(f"{pct}/{zone.range_pct:.0f}" for pct, zone in zip(accesses, zones, strict=True))


def _scattered_places(stimulus: Stimulus, target: TargetFacts, name: str) -> int:
    """Places among which fio scatters the hot ones; it does so as we mean it in one case only."""
    if stimulus.tc > 1:
        raise refusal(f"{name} with the same hot places for several threads")
    if {size.block_size_bytes for size in stimulus.block_sizes} != {alignment_bytes(stimulus, target)}:
        raise refusal(f"{name} of blocks that are not aligned to their size", "it counts places in blocks")
    (part,) = parts(stimulus, target)
    places = part.size_bytes // stimulus.block_size_bytes
    if places & (places - 1):
        raise refusal(
            f"{name} over {places:,} places", "unless they are a power of two its hash lets some coincide"
        )
    return places


def _tiles(stimulus: Stimulus, start: int, end: int) -> tuple[ThreadRange, ...]:
    """The same tiles as the native engine's: as many whole strides or largest blocks for each thread."""
    unit = stimulus.stride_bytes or stimulus.block_size_bytes
    smallest = _smallest_bytes(stimulus)
    if any(size.block_size_bytes % smallest for size in stimulus.block_sizes):
        raise refusal("sequence of sizes that are no multiples of the smallest")
    units = -(-(end - start) // unit)
    edges = [min(start + units * thread // stimulus.tc * unit, end) for thread in range(stimulus.tc + 1)]
    # fio reads a block beyond the end of a part that does not hold whole ones.
    return tuple(ThreadRange(first, (last - first) // smallest * smallest) for first, last in pairwise(edges))


def _smallest_bytes(stimulus: Stimulus) -> int:
    return min(size.block_size_bytes for size in stimulus.block_sizes)


def _next_multiple(value: int, of: int) -> int:
    return -(-value // of) * of if of > 0 else value
