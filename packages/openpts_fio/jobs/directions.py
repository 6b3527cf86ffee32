"""What a job does in each direction: operations with their weights, order, sizes and places."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import ActiveRange, BlockSize, Pareto, Placement, Uniform, Zipf, Zone, Zones
from openpts_fio.jobs.job_file import Job
from openpts_io.fio_values import (
    DIRECTIONS,
    MIXED,
    ORDERS,
    Size,
    ValueTextError,
    weighted_sizes,
    whole_number,
)

_DEFAULT_BYTES: Final = 4096
_MOST_SIZES: Final = 64
_ALL_PCT: Final = 100
_PAGE_BYTES: Final = 4096
_WRITTEN_AFTER_TRIM: Final = ("trimwrite", "randtrimwrite")


class Direction(Struct, frozen=True):
    """``weight`` is its part of the I/Os of the job. ``covered_bytes``: its zones reach no further."""

    operation: str
    weight: int
    block_sizes: tuple[BlockSize, ...]
    random_pct: int
    alignment_bytes: int | None
    stride_bytes: int | None
    placement: Placement
    covered_bytes: int | None = None

    @property
    def smallest_bytes(self) -> int:
        """The smallest transfer."""
        return min(size.block_size_bytes for size in self.block_sizes)

    @property
    def largest_bytes(self) -> int:
        """The largest transfer."""
        return max(size.block_size_bytes for size in self.block_sizes)

    @property
    def where_and_how_much(self) -> tuple[object, ...]:
        """What one stimulus has in common for its operations."""
        return self.block_sizes, self.random_pct, self.alignment_bytes, self.stride_bytes, self.placement


def directions_of_job(job: Job) -> tuple[Direction, ...]:
    """The directions in which it issues anything. Raises JobError."""
    word, _, modifier = job.text("rw", "read").partition(":")
    if word in _WRITTEN_AFTER_TRIM:
        raise job.error("rw", "each trim with a write to the same place behind it is no operation of openpts")
    if word not in ORDERS:
        raise job.error("rw", f"is none of {', '.join(ORDERS)}")
    names, random = ORDERS[word]
    weights = dict(zip(names, _mix(job) if names == MIXED else (1,), strict=True))
    names = tuple(name for name in names if weights[name])
    randomness = job.numbers("percentage_random")
    if not random and job.has("percentage_random"):
        job.note("percentage_random", f"has no effect with rw={word}, as in fio")
    elif random and not job.flag("norandommap") and not job.has("ba"):
        job.note(
            "rw", "places are drawn independently: not each block once in a pass, as without norandommap"
        )
    sizes = _sizes(job, names)
    alignments = job.numbers("ba")
    stride_bytes = _stride(job, modifier, list(sizes.values()), random=random)
    placements = _placements(job) if random else {}
    found = []
    for name in names:
        random_pct = randomness.get(name, 100) if random else 0
        if random_pct > 100:
            raise job.error("percentage_random", "is above 100")
        placement, covered_bytes = placements.get(name, (Uniform(), None))
        found.append(
            Direction(
                name,
                weights[name],
                sizes[name],
                random_pct,
                _alignment(sizes[name], alignments.get(name, 0)) if random_pct else None,
                stride_bytes,
                placement if random_pct else Uniform(),
                covered_bytes,
            )
        )
    return tuple(found)


def _mix(job: Job) -> tuple[int, int]:
    """Weights of reads and writes; the later of the two options counts."""
    later = job.later("rwmixread", "rwmixwrite")
    pct = 50 if later is None else job.number(later, 50)
    if later is not None and pct > 100:
        raise job.error(later, "is above 100")
    return (100 - pct, pct) if later == "rwmixwrite" else (pct, 100 - pct)


def _sizes(job: Job, directions: Iterable[str]) -> dict[str, tuple[BlockSize, ...]]:
    """The transfer sizes of each direction: bssplit before bsrange before bs, as in fio. Raises JobError."""
    split, ranges = job.lists("bssplit", weighted_sizes), job.lists("bsrange", _multiples)
    one_size = job.numbers("bs")
    found = {}
    for direction in directions:
        shares = split.get(direction) or ranges.get(direction)
        shares = shares or {one_size.get(direction, _DEFAULT_BYTES): 1}
        if len(shares) > _MOST_SIZES:
            raise job.error("bssplit", f"has {len(shares)} sizes, more than {_MOST_SIZES}")
        if not all(shares):
            raise job.error("bs", "has no bytes")
        if len(shares) == 1:
            shares = dict.fromkeys(shares, BlockSize(0).weight)
        found[direction] = tuple(BlockSize(block_bytes, weight) for block_bytes, weight in shares.items())
    return found


def _multiples(text: str, kb_base: int) -> dict[int, int]:
    """``1k-4k``: the multiples of the smallest, equally often; an end that is none has what is left of it.

    Raises ValueTextError.
    """
    first, dash, last = text.replace(":", "-").partition("-")
    if not dash:
        raise ValueTextError("is no range such as 4k-16k")
    least, most = sorted((whole_number(first.strip(), kb_base), whole_number(last.strip(), kb_base)))
    if not least or (most % least and least.bit_count() > 1):
        raise ValueTextError("has an end that is no multiple of its start, and a start that is no power of 2")
    if most // least > _MOST_SIZES:
        raise ValueTextError(f"has {most // least} sizes, more than {_MOST_SIZES}")
    common, left = math.gcd(most, least), most % least
    return dict.fromkeys(range(least, most + 1, least), least // common) | (
        {most: left // common} if left else {}
    )


def _alignment(sizes: Iterable[BlockSize], stated_bytes: int) -> int | None:
    """What random offsets are multiples of: fio's is the smallest size. None where ours is the same."""
    smallest = min(size.block_size_bytes for size in sizes)
    alignment = stated_bytes or smallest
    return None if alignment == _PAGE_BYTES <= smallest else alignment


def _stride(job: Job, modifier: str, sizes: list[tuple[BlockSize, ...]], *, random: bool) -> int | None:
    """From one sequential access to the next: fio's ``rw=write:4k`` leaves 4 KiB between two."""
    if not modifier:
        return None
    if modifier.startswith("-") and not random:
        raise job.error("rw", "a sequence that runs backwards, which openpts has not")
    try:
        number = whole_number(modifier)
    except ValueTextError as error:
        raise job.error("rw", f"{modifier!r} behind the colon {error}") from error
    if random and number > 1:
        raise job.error("rw", "several I/Os for each random place")
    if random or not number:
        return None
    if any(len(some) > 1 for some in sizes):
        raise job.error("rw", "a hole behind each of several sizes has no equal distances")
    return sizes[0][0].block_size_bytes + number


def _placements(job: Job) -> dict[str, tuple[Placement, int | None]]:
    """The distribution of random places of each direction, and how far its zones reach."""
    option = job.option("random_distribution")
    if option is None:
        return {}
    kind, _, rest = (option.value or "").partition(":")
    if kind == "random":
        return {}
    if kind == "normal":
        raise job.error(
            "random_distribution",
            "fio scatters its normal distribution over the whole range, openpts has it around a hot spot",
        )
    if kind not in _DISTRIBUTIONS:
        raise job.error("random_distribution", "is none of random, zipf, pareto, zoned, zoned_abs")
    # a comma begins another direction, which names its kind again or not
    texts = rest.replace(f"{kind}:", "")
    lists = [one.strip() for one in texts.split(",")]
    lists += lists[-1:] * (len(DIRECTIONS) - len(lists))
    try:
        return {
            direction: _DISTRIBUTIONS[kind](text)
            for direction, text in zip(DIRECTIONS, lists, strict=False)
            if text
        }
    except ValueTextError as error:
        raise job.error("random_distribution", str(error)) from error


def _number(text: str, what: str, above: float, below: float) -> float:
    try:
        value = float(text.split(":", maxsplit=1)[0])
    except ValueError:
        value = above
    if not above < value < below:
        raise ValueTextError(f"has {what} {text!r}, which is not between {above:g} and {below:g}")
    return value


def _zoned(text: str) -> tuple[Placement, int | None]:
    zones = _pairs(text, without=_ALL_PCT)
    if sum(size for _, size in zones) != _ALL_PCT:
        raise ValueTextError("has zones that don't sum to 100 per cent of the range")
    return Zones(tuple(Zone(weight, size) for weight, size in zones)), None


def _zoned_abs(text: str) -> tuple[Placement, int | None]:
    zones = _pairs(text, without=0)
    whole = sum(size for _, size in zones)
    return Zones(tuple(Zone(weight, 100 * size / whole) for weight, size in zones)), whole


def _pairs(text: str, without: int) -> list[tuple[int, int]]:
    """Share of the accesses and size of each zone; those without a size share what is left of ``without``."""
    zones: list[tuple[int, int | None]] = []
    for part in text.split(":"):
        weight, _, size = (word.strip() for word in part.partition("/"))
        if not re.fullmatch("[0-9]{1,3}", weight):
            raise ValueTextError("is no list of zones such as zoned:60/10:40/90")
        zones.append((int(weight), whole_number(size.removesuffix("%")) if size else None))
    unsized = sum(size is None for _, size in zones)
    left = max(0, without - sum(size or 0 for _, size in zones)) // max(1, unsized)
    sized = [(weight, left if size is None else size) for weight, size in zones]
    if sum(weight for weight, _ in sized) != _ALL_PCT or not all(size for _, size in sized):
        raise ValueTextError("has zones without a size, or accesses that don't sum to 100 per cent")
    return sized


_DISTRIBUTIONS: Final[dict[str, Callable[[str], tuple[Placement, int | None]]]] = {
    "zipf": lambda text: (Zipf(_number(text, "the exponent", 0, 1000)), None),
    "pareto": lambda text: (Pareto(_number(text, "the share", 0, 0.5)), None),
    "zoned": _zoned,
    "zoned_abs": _zoned_abs,
}


_ALL: Final = Size(100, is_pct=True)
_MOST_THREADS: Final = 4096


class ThreadsRange(Struct, frozen=True):
    """The bytes [start, end) of ``tc`` threads; ``amount_bytes``: what one of them moves in one pass."""

    start: int
    end: int
    tc: int
    amount_bytes: int

    def active_range(self, target: TargetFacts) -> ActiveRange:
        """The same in per cent, in as few digits as name these sectors."""
        most_lba = target.user_capacity_bytes // target.sector_bytes - 1
        return ActiveRange(
            _pct_of(self.start // target.sector_bytes, most_lba),
            _pct_of(self.end // target.sector_bytes - 1, most_lba),
        )


def _pct_of(lba: int, most_lba: int) -> float:
    if lba in {0, most_lba}:
        return 100.0 if lba and lba == most_lba else 0.0
    exact = 100 * (lba + 0.5) / most_lba
    rounded = (round(exact, digits) for digits in range(17))
    return next((pct for pct in rounded if math.floor(pct * most_lba / 100) == lba), exact)


def parts_of_job(job: Job, directions: Sequence[Direction], target: TargetFacts) -> tuple[ThreadsRange, ...]:
    """One part for all threads where they share it, or where each has its tile of it; else one for each.

    A sequence of several threads has tiles in openpts: those of fio that begin at the same place become parts
    of one thread each. Raises JobError.
    """
    threads = job.number("numjobs", 1)
    if not 1 <= threads <= _MOST_THREADS:
        raise job.error("numjobs", f"is not in 1 to {_MOST_THREADS:,}, as fio has it")
    apart = job.size("offset_increment", Size(0)).amount
    every = [_part(job, directions, target, thread) for thread in range(threads)]
    if threads == 1:
        return tuple(every)
    if all(one.random_pct for one in directions) and not apart:
        return (ThreadsRange(every[0].start, every[0].end, threads, every[0].amount_bytes),)
    return _one_of_tiles(every, directions) or tuple(every)


def _one_of_tiles(every: Sequence[ThreadsRange], directions: Sequence[Direction]) -> tuple[ThreadsRange, ...]:
    """The union of equal tiles side by side, each of whole units of a sequence; none where they are not."""
    size = every[0].end - every[0].start
    unit = max(one.stride_bytes or one.largest_bytes for one in directions)
    starts = [every[0].start + thread * size for thread in range(len(every))]
    is_tiled = all((one.start, one.end) == (at, at + size) for one, at in zip(every, starts, strict=True))
    if not is_tiled or size % unit or any(one.random_pct for one in directions):
        return ()
    return (ThreadsRange(starts[0], every[-1].end, len(every), every[0].amount_bytes),)


def _part(job: Job, directions: Sequence[Direction], target: TargetFacts, thread: int) -> ThreadsRange:
    begin, capacity = _place_of_job(job, target)
    sector = target.sector_bytes
    smallest = min(one.smallest_bytes for one in directions)
    start = _start(job, smallest, capacity, thread)
    if start % sector:
        raise job.error("offset", f"starts at {start:,} B, which is no multiple of the sector, {sector} B")
    asked = job.size("size", _ALL)
    if asked.is_pct and asked.amount > 100:
        if any(one.random_pct for one in directions):
            raise job.error("size", "is above 100 per cent, in which fio finds no place for a random block")
        job.note("size", "is the target once, as in fio")
    if not asked.amount:
        asked = _ALL
    length = min(asked.of(capacity), capacity - start)
    if asked.is_pct and asked.amount != 100:
        length -= length % smallest
    covered = [one.covered_bytes for one in directions if one.covered_bytes is not None]
    length = min([length, *covered])
    amount = job.size("io_size", _ALL)
    end = start + length
    end -= end % sector
    largest = max(one.largest_bytes for one in directions)
    if end - start < largest:
        name = "size" if start < capacity else "offset"
        raise job.error(
            name, f"leaves {max(0, end - start):,} B of {capacity:,} B, no room for a block of {largest:,} B"
        )
    return ThreadsRange(begin + start, begin + end, 1, amount.of(length) if amount.amount else length)


def _place_of_job(job: Job, target: TargetFacts) -> tuple[int, int]:
    """First byte and length of what the job is for: the target, or the partition of it that it names."""
    name = job.text("filename", "")
    for partition in target.partitions:
        if partition.path == name:
            return partition.start_bytes, partition.length_bytes
    return 0, target.user_capacity_bytes


def _start(job: Job, smallest: int, capacity: int, thread: int) -> int:
    """Where a thread begins; a start in per cent is aligned upwards."""
    offset, apart = job.size("offset", Size(0)), job.size("offset_increment", Size(0))
    start = offset.of(capacity) + thread * apart.of(capacity)
    if (offset.is_pct and offset.amount) or (apart.is_pct and apart.amount):
        align = job.number("offset_align", 0) or smallest
        start = -(-start // align) * align
    return start
