"""Trims.

Purpose
    How fast a drive trims, what trims cost the reads and writes beside them, and what trimmed LBAs read as.
Source
    Practice beyond the PTS: trims in production come in streams beside reads and writes (FioSynth), and
    drives differ in what they do meanwhile; NVMe (DLFEAT), ACS (DRAT, RZAT), SBC (LBPRZ).
Steps
    Purge; 1 x the range in SEQ 128 KiB writes; marks written, trimmed and read twice; for each size and
    number of trims outstanding, SEQ 128 KiB writes and SEQ trims of just that, each LBA once; the rates of
    RND 4 KiB writes and of RND 4 KiB reads; both at shares of these rates, without trims, with, and without
    again, each after what is to be trimmed was written.
Pass rule
    Trims stall reads, or writes, if beside them the 99.9th percentile is twice as long as in the slower of
    both minutes without, or the longest takes more than 10 ms and twice as long, or the rate falls behind by
    5 %. The drive is clean if that does not hold against the faster minute either; else there is no verdict.
    What is read from trimmed LBAs must be what the drive promises.
Reported
    Trims/s, MB/s and response times over size and queue depth; response times of reads and writes alone
    and beside trims; zeros, ones, old or changing data after a trim.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.ledger import Standard
from openpts.units import GIB, KIB, MIB, NS_PER_S
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    ReadTrimmed,
    Script,
    SetWriteCache,
    samples_in,
)
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    Duration,
    FirstOf,
    FixedRate,
    OperationWeights,
    Step,
    Stimulus,
    Stream,
)
from openpts_practice.trim import AFTER, BEFORE, BESIDE, TrimConditions

_LEAST_SIZE_BYTES: Final = 4 * KIB
_WRITES_OUTSTANDING: Final = 32
_LARGEST_SECTOR_BYTES: Final = 4 * KIB


class TrimPoint(Struct, frozen=True):
    """So many trims of a size, so many of them outstanding; ``number`` is that of its part of the sweep."""

    number: int
    size_bytes: int
    qd: int
    trims: int


# From a page to what file systems and databases give back at once.
standard_conditions: Final = Standard(
    TrimConditions,
    sizes_bytes=(4 * KIB, 64 * KIB, 1 * MIB, 16 * MIB, 256 * MIB, 2 * GIB),
    qds=(1, 4, 16),
    trims=16_384,
    range_bytes=32 * GIB,
    beside_size_bytes=32 * MIB,
    beside_per_s=10,
    beside_qd=4,
    read_load_pct=30,
    write_load_pct=10,
    random_block_size_bytes=4 * KIB,
    sequential_block_size_bytes=128 * KIB,
    tc=1,
    qd=32,
    precondition_passes=1,
)


def supported_on(conditions: TrimConditions, sector_bytes: int) -> TrimConditions:
    """Without trims of less than a sector."""
    sizes = tuple(size for size in conditions.sizes_bytes if size % sector_bytes == 0)
    return replace(conditions, sizes_bytes=sizes or (sector_bytes,))


def at_scale(conditions: TrimConditions, scale: int) -> TrimConditions:
    """Trims keep their size at a scale, so each stands for more of the drive."""
    return replace(conditions, scale=scale)


def script(conditions: TrimConditions, user_capacity_bytes: int) -> Script:
    """The points on the first half of the range; the loads on the second half, with trims on the first."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    whole, whole_bytes = conditions.active_range, _half_bytes(conditions, user_capacity_bytes) * 2
    amount_bytes = round(conditions.precondition_passes * whole_bytes)
    if amount_bytes:
        yield Apply(Phase.CONDITIONING, 1, (_written(conditions, whole, amount_bytes),))
    yield ReadTrimmed(whole, conditions.seed)
    for point in points(conditions, user_capacity_bytes):
        yield Apply(Phase.SWEEP, point.number, _steps(conditions, point, user_capacity_bytes))
    yield from _loads(conditions, user_capacity_bytes)
    yield CycleFinished(Outcome(None, 0))


def points(conditions: TrimConditions, user_capacity_bytes: int) -> Iterator[TrimPoint]:
    """All points that the range has room for; each trims an LBA once, and its threads alike."""
    room_bytes = _half_bytes(conditions, user_capacity_bytes) // conditions.scale
    room_bytes = min(room_bytes, conditions.range_bytes)
    grid = [(size_bytes, qd) for size_bytes in conditions.sizes_bytes for qd in conditions.qds]
    for number, (size_bytes, qd) in enumerate(grid, start=1):
        trims = min(max(conditions.trims, qd), room_bytes // size_bytes)
        if trims >= qd:
            yield TrimPoint(number, size_bytes, qd, trims - trims % qd)


def _half_bytes(conditions: TrimConditions, user_capacity_bytes: int) -> int:
    part = conditions.active_range
    return round((part.end_pct - part.start_pct) / 100 * user_capacity_bytes) // 2


def _steps(conditions: TrimConditions, point: TrimPoint, user_capacity_bytes: int) -> tuple[Step, ...]:
    """What is to be trimmed is written first: many drives have nothing to do for LBAs without data."""
    amount_bytes = point.trims * point.size_bytes * conditions.scale
    part = _first(conditions, amount_bytes, user_capacity_bytes)
    trims = _trims(point.size_bytes, point.qd, part)
    ends = FirstOf((ByteAmount(amount_bytes), Duration(conditions.minute_ns)))
    return _written(conditions, part, amount_bytes), Step.of(trims, ends)


def _first(conditions: TrimConditions, amount_bytes: int, user_capacity_bytes: int) -> ActiveRange:
    """So much of the range: no sector less, and none more if it begins with the first LBA, whatever a sector
    has; else up to two more.
    """
    start_pct, end_pct = conditions.active_range.start_pct, conditions.active_range.end_pct
    spare_bytes = _LARGEST_SECTOR_BYTES if start_pct else 0
    share_pct = 100 * (amount_bytes + spare_bytes) / user_capacity_bytes
    return ActiveRange(start_pct, min(start_pct + share_pct, end_pct))


def _written(conditions: TrimConditions, part: ActiveRange, amount_bytes: int) -> Step:
    """An amount written in sequence, with as many outstanding as a small one has room for."""
    simulated_bytes = amount_bytes // conditions.scale
    size_bytes = min(conditions.sequential_block_size_bytes, simulated_bytes)
    qd = min(_WRITES_OUTSTANDING, simulated_bytes // size_bytes)
    writes = Stimulus.of(AccessPattern.SEQUENTIAL, size_bytes, 0, 1, qd, part)
    return Step.of(replace(writes, data=conditions.data), ByteAmount(amount_bytes))


def _trims(size_bytes: int, qd: int, part: ActiveRange) -> Stimulus:
    """Kernels before 6.12 wait for a trim in the call that issues it: each has a thread of its own."""
    trims = Stimulus.of(AccessPattern.SEQUENTIAL, size_bytes, 0, qd, 1, part)
    return replace(trims, operations=OperationWeights(trim=1))


def _loads(conditions: TrimConditions, user_capacity_bytes: int) -> Script:
    """Reads and writes at rates that the drive can keep, so that whatever holds them up shows."""
    trims = _beside(conditions, user_capacity_bytes)
    if trims is None:
        return
    beside, amount_bytes = trims
    minute = Duration(conditions.minute_ns)
    # the writes first: what they leave to be collected is not to show in the load that comes next
    stimuli = [_random(conditions, read_pct) for read_pct in (0, 100)]
    peaks = samples_in(
        (yield Apply(Phase.PROFILE, 1, tuple(Step.of(stimulus, minute) for stimulus in stimuli)))
    )
    if not all(peak.ios for peak in peaks):
        return
    shares_pct = (conditions.write_load_pct, conditions.read_load_pct)
    writes, reads = (
        replace(stimulus, pacing=FixedRate(max(1.0, share_pct / 100 * peak.iops)))
        for stimulus, peak, share_pct in zip(stimuli, peaks, shares_pct, strict=True)
    )
    load = (Stream(reads, "reads"), Stream(writes, "writes"))
    written = _written(conditions, beside.active_range, amount_bytes)
    for number in (BEFORE, BESIDE, AFTER):
        streams = (*load, Stream(beside, "trims")) if number == BESIDE else load
        yield Apply(Phase.LOAD, number, (written, Step(streams, minute)))


def _random(conditions: TrimConditions, read_pct: int) -> Stimulus:
    part = conditions.active_range
    stimulus = Stimulus.of(
        AccessPattern.RANDOM,
        conditions.random_block_size_bytes,
        read_pct,
        conditions.tc,
        conditions.qd,
        ActiveRange((part.start_pct + part.end_pct) / 2, part.end_pct),
    )
    return replace(stimulus, data=conditions.data)


def _beside(conditions: TrimConditions, user_capacity_bytes: int) -> tuple[Stimulus, int] | None:
    """Trims that come to no LBA twice, and how many bytes they trim.

    Where half of the range is too small for them, they are smaller, and then fewer. None where it has no room
    for any.
    """
    half_bytes = _half_bytes(conditions, user_capacity_bytes)
    size_bytes, qd = conditions.beside_size_bytes, conditions.beside_qd
    while size_bytes * qd * conditions.scale > half_bytes:
        size_bytes //= 2
        if size_bytes < _LEAST_SIZE_BYTES:
            return None
    minute_s = conditions.minute_ns / NS_PER_S
    per_s = min(conditions.beside_per_s, half_bytes // size_bytes / minute_s)
    amount_bytes = max(round(per_s * minute_s), qd * conditions.scale) * size_bytes
    trims = _trims(size_bytes, qd, _first(conditions, amount_bytes, user_capacity_bytes))
    return replace(trims, pacing=FixedRate(per_s)), amount_bytes
