"""X-Ray.

Purpose
    What is inside a drive, from what its host can see: cache, spare flash, layout, map, collection.
Source
    Practice beyond the PTS. Collection: Desnoyers 2012, Van Houdt 2013. Pairs of reads: Chen, Lee and Zhang,
    "Essential roles of exploiting internal parallelism of flash memory based solid state drives", HPCA 2011.
Steps
    Purge; a small region in SEQ 128 KiB writes, one at a time; single reads in it, and pairs of RND 4 KiB
    reads at growing distances; SEQ 128 KiB writes up to half of the drive in windows, which show a cache; if
    there is one, idle time and the same again; the rest of the drive; RND 64 KiB writes in windows until
    the rate falls for good; RND 4 to 64 KiB writes aligned to their size and to half of it; with a cache,
    bursts of RND 64 KiB writes that fill the write buffer; RND 64 KiB writes after short rests; all LBAs in
    SEQ 128 KiB writes once more; RND 64 KiB writes to a small part. Without a cache another purge and, where
    pairs of reads never wait, reads of two pages that were written apart; writes aligned as before.
Pass rule
    None: what the evidence does not decide is left open.
Reported
    Each property with value, confidence and evidence; courses, latencies and rates that they are read from.
"""

import math
from collections.abc import Callable
from statistics import median
from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.standard import Standard
from openpts.units import KIB, MIB, NS_PER_S, NS_PER_US
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    Script,
    ScriptPart,
    SetWriteCache,
    samples_in,
)
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Batches, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf, IoCount
from openpts_twin.rates import Fall, first_fall, windows_of
from openpts_twin.write_buffer import bursts
from openpts_twin.xray import (
    AGAIN,
    ALIGNED,
    ALIGNED_PURGED,
    APART,
    CACHE_REST,
    HOT,
    HOT_WINDOW,
    PAIRS,
    PURGED,
    RANDOM_WINDOW,
    REGION,
    RESTS_S,
    SINGLE,
    TO_END,
    TO_HALF,
    UNTIL_COLLECTION,
    WARM,
    XrayConditions,
)
from openpts_twin.xray.collection import began
from openpts_twin.xray.geometry import MOST_PAGES, ROWS_PAGES, Geometry, pair_ns, search
from openpts_twin.xray.unit import PROBES

_PAGE_BYTES: Final = 4 * KIB
_SEQUENTIAL_BYTES: Final = 128 * KIB
_QD: Final = 32
_REGION_BYTES: Final = 2 * MOST_PAGES * _PAGE_BYTES
_PURGED_BYTES: Final = 4 * _REGION_BYTES
_BURST_BYTES: Final = 2 * MIB
"""What an empty write buffer takes in at the rate of the interface, at least a part of it."""
_PRIMED_BYTES: Final = 32 * MIB
"""What fills a write buffer, so that the windows after it show what is behind it."""
_SINGLES: Final = 1000
_MOST_PAIRS: Final = 128
_LEAST_WINDOW_BYTES: Final = 16 * MIB
_WINDOW_GROWTH: Final = 0.04
"""Of what is written before: a fall is placed to a small part of that."""
_REST_WINDOWS: Final = 20
_MOST_RANDOM_WINDOWS: Final = 400
_BURST_SHARE: Final = 0.004
_BLOCK_BYTES: Final = 64 * KIB
_UNTIL_IDLE_NS: Final = 20_000 * NS_PER_US
_PASSES, _PASSES_PURGED = 8, 4
_PURGED_LONGER: Final = 2
_PROBE_SHARE: Final = 0.002
"""Of the time that a fill takes."""
_AGAIN_WINDOWS: Final = 20
_HOT_AFTER: Final = 12
_HOT_SHARE: Final = 0.02
_WARMING_NS: Final = 20 * NS_PER_S
_COOLING_NS: Final = 60 * NS_PER_S
_MOST_WARMING: Final = 15
_LEAST_WARMING_K: Final = 1
_MOST_TIMES_AS_LONG: Final = 20
_COLLAPSED: Final = 0.2


# A cache of a tenth of the drive is folded at some 200 MB/s: ten minutes for a terabyte.
standard_conditions: Final = Standard(
    XrayConditions, longest_idle_ns=1800 * NS_PER_S, write_cache_enabled=True
)


def supported_on(conditions: XrayConditions, sector_bytes: int) -> XrayConditions:
    """Without alignments of less than a sector."""
    return replace(conditions, sector_bytes=sector_bytes)


def at_scale(conditions: XrayConditions, scale: int) -> XrayConditions:
    """With amounts that are large beside what a scale leaves as it is."""
    return replace(conditions, scale=scale)


def script(conditions: XrayConditions, user_capacity_bytes: int) -> Script:
    """One look after the other, each at the state that the one before has left."""
    drive = _Drive(conditions, user_capacity_bytes)
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    layout = yield from _pairs(drive)
    fall = yield from _until_half(drive)
    done = 0 if fall is None else (yield from _cache_after_rest(drive, fall))
    # no LBA twice: what is overwritten would take the spare flash that random writes are to find
    rest = drive.sequential(0.5, 1, (drive.bytes / 2 - done) / _REST_WINDOWS)
    samples = samples_in((yield Apply(Phase.FILL, TO_END, (rest,) * _REST_WINDOWS)))
    flash = yield from _until_collection(drive, cached=fall is not None)
    written = sum(sample.write.bytes for sample in samples)
    fill_ns = sum(sample.elapsed_ns for sample in samples) * drive.bytes / max(1, written)
    probe_ns = round(fill_ns * _PROBE_SHARE)
    if flash is not None:
        yield from _alignments(drive, ALIGNED, _PASSES, probe_ns)
        if fall is None:
            yield from _after_rests(drive)
        else:
            # a cache is told without what the buffer takes in beside it
            yield from bursts(ActiveRange(), conditions.data, user_capacity_bytes, conditions.scale)
        yield from _warm(drive)
        yield from _hot(drive, flash)
        if fall is None:
            yield Purge()
            if layout.units is None:
                yield from _searched(APART, drive.apart, 0)
            yield from _alignments_purged(drive, _PURGED_LONGER * probe_ns)
    yield CycleFinished(Outcome(None, 0))


def _pairs(drive: "_Drive") -> ScriptPart[Geometry]:
    """Pairs of reads, at the distances that the search asks for, in what was written one after the other."""
    yield Apply(Phase.FILL, REGION, (drive.written_region(_REGION_BYTES),))
    patterns = (AccessPattern.SEQUENTIAL, AccessPattern.RANDOM)
    yield Apply(Phase.SWEEP, SINGLE, tuple(drive.singles(pattern) for pattern in patterns))
    return (yield from _searched(PAIRS, drive.pairs, 1))


def _searched(
    number: int, steps_at: Callable[[int], tuple[Step, ...]], shortest: int
) -> ScriptPart[Geometry]:
    """The layout by reads at distances that a search asks for; they are the last of the steps at each."""
    asks = search(shortest)
    distance = next(asks)
    while True:
        *_, reads = samples_in((yield Apply(Phase.SWEEP, number, steps_at(distance))))
        try:
            distance = asks.send(pair_ns(reads))
        except StopIteration as end:
            found: Geometry = end.value
            return found


def _until_half(drive: "_Drive") -> ScriptPart[Fall | None]:
    """Fill up to half, in windows that grow with what is written; where the rate fell, if it did."""
    amounts = (_BURST_BYTES * drive.scale, _PRIMED_BYTES * drive.scale)
    first = tuple(drive.sequential(drive.first_share, 0.5, amount) for amount in amounts)
    yield Apply(Phase.FILL, TO_HALF, first)
    done = before = _REGION_BYTES * drive.scale + sum(amounts)
    steps = []
    while done < drive.bytes / 2:
        amount = max(_LEAST_WINDOW_BYTES * drive.scale, round(_WINDOW_GROWTH * done))
        amount = min(amount, max(drive.bytes // 2 - done, _SEQUENTIAL_BYTES * drive.scale))
        steps.append(drive.sequential(drive.first_share, 0.5, amount))
        done += amount
    samples = samples_in((yield Apply(Phase.FILL, TO_HALF, tuple(steps))))
    return first_fall(windows_of(samples, before))


def _cache_after_rest(drive: "_Drive", fall: Fall) -> ScriptPart[int]:
    """The cache once more, on the second half, after twice the time that it takes to fold all of it.

    Gives the bytes that were written.
    """
    idle_s = 10 + 2 * fall.at_bytes / fall.after_bytes_per_s
    idle_ns = min(round(idle_s * NS_PER_S), drive.longest_idle_ns)
    yield Apply(Phase.REST, CACHE_REST, (Step.of(None, Duration(idle_ns)),))
    steps, done, amount = [], 0, _LEAST_WINDOW_BYTES * drive.scale
    while done < min(1.2 * fall.at_bytes, 0.45 * drive.bytes):
        steps.append(drive.sequential(0.5, 1, amount))
        done += amount
        amount = max(amount, round(_WINDOW_GROWTH * done))
    yield Apply(Phase.BURST, CACHE_REST, tuple(steps))
    return done


def _until_collection(drive: "_Drive", *, cached: bool) -> ScriptPart[float | None]:
    """Random writes until free blocks run out; what the flash holds then, in user capacities."""
    rates: list[float] = []
    while (window := began(rates, cached=cached)) is None:
        if len(rates) == _MOST_RANDOM_WINDOWS:
            return None
        written = Apply(Phase.CONDITIONING, UNTIL_COLLECTION, (drive.random(RANDOM_WINDOW),))
        rates.append(samples_in((yield written))[-1].bandwidth_bytes_per_s)
    return 1 + window * RANDOM_WINDOW


def _after_rests(drive: "_Drive") -> Script:
    """Random writes after rests of different lengths: what was collected meanwhile shows in their rate."""
    for number, rest_s in enumerate(RESTS_S, start=CACHE_REST + 1):
        yield Apply(Phase.REST, number, (Step.of(None, Duration(round(rest_s * NS_PER_S))),))
        yield Apply(Phase.BURST, number, (drive.random(_BURST_SHARE),))


def _warm(drive: "_Drive") -> Script:
    """Random writes while the drive collects, which keeps most of it busy, for as long as it becomes warmer.

    Heat rises by fractions of a degree in a second, so that the limit is met slowly.
    """
    writes = replace(drive.random(1), stop=Duration(_WARMING_NS))
    for _ in range(_MOST_WARMING):
        [sample] = samples_in((yield Apply(Phase.LOAD, WARM, (writes,))))
        if any(one.throttled for one in sample.intervals):
            cooling = replace(drive.singles(AccessPattern.RANDOM), stop=Duration(_COOLING_NS))
            yield Apply(Phase.LOAD, WARM, (cooling,))
            return
        warm_c = [one.temperature_c for one in sample.intervals if one.temperature_c is not None]
        if not warm_c or warm_c[-1] - warm_c[0] < _LEAST_WARMING_K:
            return


def _alignments(drive: "_Drive", number: int, passes: int, probe_ns: int, share: float = 1) -> Script:
    """Random writes of each size at two alignments, again and again, for so long each, where the flash limits
    their rate: while the drive collects, or on one whose interface is faster than its flash.
    """
    for _ in range(passes):
        steps = (
            replace(drive.random(1, share, size, alignment), stop=Duration(max(1, probe_ns)))
            for size, alignment in PROBES
            if alignment >= drive.sector_bytes
        )
        yield Apply(Phase.SWEEP, number, tuple(steps))


def _alignments_purged(drive: "_Drive", probe_ns: int) -> Script:
    """The same in a part of a drive that is else empty, so that nothing is collected.

    A cache would take all of it in.
    """
    yield Apply(Phase.FILL, PURGED, (drive.written_region(_PURGED_BYTES),))
    share = _PURGED_BYTES * drive.scale / drive.bytes
    yield from _alignments(drive, ALIGNED_PURGED, _PASSES_PURGED, probe_ns, share)


def _hot(drive: "_Drive", flash: float) -> Script:
    """All LBAs in sequence again, then writes to a small part, until well after free blocks ran out.

    Once the rate has broken down, more would show no more.
    """
    again = drive.sequential(0, 1, drive.bytes / _AGAIN_WINDOWS)
    yield Apply(Phase.FILL, AGAIN, (again,) * _AGAIN_WINDOWS)
    times: list[float] = []
    for number in range(math.ceil((flash - 1) / HOT_WINDOW) + _HOT_AFTER):
        step = drive.random(HOT_WINDOW, _HOT_SHARE)
        if times and isinstance(step.stop, ByteAmount):
            most_ns = round(_MOST_TIMES_AS_LONG * median(times) * step.stop.amount_bytes)
            step = replace(step, stop=FirstOf((step.stop, Duration(most_ns))))
        [sample] = samples_in((yield Apply(Phase.LOAD, HOT, (step,))))
        times.append(sample.elapsed_ns / max(1, sample.write.bytes))
        if number > (flash - 1) / HOT_WINDOW and _COLLAPSED * times[-1] > median(times):
            return


class _Drive:
    """The drive's size, and steps on it."""

    def __init__(self, conditions: XrayConditions, user_capacity_bytes: int) -> None:
        self._conditions = conditions
        self.bytes = user_capacity_bytes
        self.scale = conditions.scale
        self.longest_idle_ns = conditions.longest_idle_ns
        self.sector_bytes = conditions.sector_bytes

    @property
    def first_share(self) -> float:
        """Where the region ends."""
        return _REGION_BYTES * self.scale / self.bytes

    def _part(self, simulated_bytes: int, start_bytes: int = 0) -> ActiveRange:
        """The first so many bytes but for those before the start, to the sector."""
        first, end = (one * self.scale // self.sector_bytes for one in (start_bytes, simulated_bytes))
        lba_pct = 100 / (self.bytes // self.sector_bytes - 1)
        return ActiveRange((first + 0.5) * lba_pct if first else 0, (end - 0.5) * lba_pct)

    def step(self, stimulus: Stimulus, amount: float) -> Step:
        """So many bytes of a stimulus, in whole I/Os."""
        size = stimulus.block_size_bytes * self.scale
        return Step.of(
            replace(stimulus, data=self._conditions.data), ByteAmount(max(1, round(amount / size)) * size)
        )

    def sequential(self, start: float, end: float, amount: float) -> Step:
        """Writes on from where the last ones between these shares of the drive stopped."""
        part = ActiveRange(100 * start, 100 * end)
        return self.step(Stimulus.of(AccessPattern.SEQUENTIAL, _SEQUENTIAL_BYTES, 0, 1, _QD, part), amount)

    def random(
        self,
        amount: float,
        end: float = 1,
        size_bytes: int = _BLOCK_BYTES,
        alignment_bytes: int = _BLOCK_BYTES,
    ) -> Step:
        """A share of the drive, written at random below another."""
        stimulus = Stimulus.of(AccessPattern.RANDOM, size_bytes, 0, 1, _QD, ActiveRange(0, 100 * end))
        return self.step(replace(stimulus, alignment_bytes=alignment_bytes), amount * self.bytes)

    def written_region(self, region_bytes: int) -> Step:
        """What pairs of reads read, written one block after the other."""
        part = self._part(region_bytes)
        return self.step(
            Stimulus.of(AccessPattern.SEQUENTIAL, _SEQUENTIAL_BYTES, 0, 1, 1, part), region_bytes * self.scale
        )

    def singles(self, pattern: AccessPattern) -> Step:
        """Reads of the region, one after the other."""
        reads = Stimulus.of(pattern, _PAGE_BYTES, 100, 1, 1, self._part(_REGION_BYTES))
        return Step.of(reads, IoCount(_SINGLES * self.scale))

    def pairs(self, distance_pages: int) -> tuple[Step, ...]:
        """Pairs of reads at a distance, as often as not to end within a pass: each pass begins alike."""
        stride = distance_pages * _PAGE_BYTES
        pairs = max(1, min(_MOST_PAIRS, _REGION_BYTES // (2 * stride)))
        reads = Stimulus.of(AccessPattern.SEQUENTIAL, _PAGE_BYTES, 100, 1, 2, self._part(2 * stride * pairs))
        paired = replace(reads, stride_bytes=stride, pacing=Batches(2, 10 * NS_PER_US))
        return (Step.of(paired, IoCount(2 * pairs * -(-_MOST_PAIRS // pairs) * self.scale)),)

    def apart(self, distance_pages: int) -> tuple[Step, ...]:
        """Pages of even numbers, those of odd ones behind them, and reads of two pages, once flash is idle.

        What was written last may be in the buffer still: the first half is read.
        """
        pairs = ROWS_PAGES + distance_pages
        end_bytes = 2 * pairs * _PAGE_BYTES
        write = replace(
            Stimulus.of(AccessPattern.SEQUENTIAL, _PAGE_BYTES, 0, 1, 1, ActiveRange()),
            data=self._conditions.data,
            stride_bytes=2 * _PAGE_BYTES,
        )
        writes = (
            Step.of(
                replace(write, active_range=self._part(end_bytes, start_bytes)), IoCount(pairs * self.scale)
            )
            for start_bytes in (0, _PAGE_BYTES)
        )
        half = self._part(pairs // 2 * 2 * _PAGE_BYTES)
        reads = Stimulus.of(AccessPattern.SEQUENTIAL, 2 * _PAGE_BYTES, 100, 1, 1, half)
        idle = Step.of(None, Duration(_UNTIL_IDLE_NS * self.scale))
        return (*writes, idle, Step.of(reads, IoCount(pairs // 2 * self.scale)))
