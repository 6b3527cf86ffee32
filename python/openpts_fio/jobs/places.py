"""Where a job's threads go: the part of the target that each has, in bytes."""

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from openpts.fields.fio_values import Size
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import ActiveRange
from openpts_fio.jobs.directions import Direction
from openpts_fio.jobs.job import Job

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
