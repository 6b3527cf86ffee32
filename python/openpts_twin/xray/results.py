"""What an x-ray measured: courses, latencies and rates from the samples of a run, and what they come to."""

from functools import cached_property
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.record.reader import Run
from openpts.units import KIB
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample, StepState
from openpts_twin.rates import Fall, Window, at_higher_rate, first_fall, windows_of
from openpts_twin.write_buffer import NUMBERS, Filled, filled_by
from openpts_twin.xray import (
    AGAIN,
    ALIGNED,
    ALIGNED_PURGED,
    APART,
    CACHE_REST,
    HOT,
    HOT_WINDOW,
    PAIRS,
    REGION,
    RESTS_S,
    SINGLE,
    TO_HALF,
    UNTIL_COLLECTION,
    XrayConditions,
)
from openpts_twin.xray.collection import Found, began, victims_of
from openpts_twin.xray.geometry import ROWS_PAGES, Geometry, pair_ns, replay
from openpts_twin.xray.unit import Rates, Unit, unit_by

_PAGE_BYTES: Final = 4 * KIB
CACHE, READS, RANDOM, ALIGNMENT, REFILL, PART = (f"Plot X-XRAY-{number}" for number in range(1, 7))
RESTS: Final = "Table X-XRAY-2"
_END: Final = 3


class Probe(Struct, frozen=True):
    """Random writes of a size at an alignment."""

    size_bytes: int
    alignment_bytes: int
    written: Window


class XrayRun(Struct, frozen=True, dict=True):
    """What was measured; what was not is empty or None.

    ``pairs_ns`` are of reads of two pages that were written apart, where pairs of reads never wait.
    """

    run: Run
    asked: XrayConditions
    fill: list[Window]
    cache: Fall | None
    after_rest: list[Window]
    rest_ns: int
    singles_ns: tuple[float, ...]
    pairs_ns: list[tuple[int, float]]
    buffer: Filled | None
    random: list[Window]
    bursts: list[Window]
    aligned: list[list[Probe]]
    aligned_purged: list[list[Probe]]
    again: list[Window]
    hot: list[Window]

    @property
    def bytes(self) -> int:
        """User capacity."""
        return self.run.manifest.target.user_capacity_bytes

    @cached_property
    def began(self) -> int | None:
        """The window of random writes in which collection began."""
        rates, cached = [one.bytes_per_s for one in self.random], self.cache is not None
        return next((n for end in range(len(rates) + 1) if (n := began(rates[:end], cached=cached))), None)

    @cached_property
    def flash(self) -> float | None:
        """User capacities that the flash holds, as far as it is not kept free."""
        began = self.began
        if began is None:
            return None
        rates = [one.bytes_per_s for one in self.random]
        window = self.random[began]
        before, after = median(rates[:began]), median(rates[began + 1 :])
        written = window.start_bytes + at_higher_rate(window, before, after)
        return 1 + written / self.bytes

    @cached_property
    def slowdown(self) -> float:
        """How many times slower than the end of the fill random writes are in the end; 1 where none were."""
        if not self.fill or not self.random:
            return 1.0
        return self.flash_bytes_per_s / median(one.bytes_per_s for one in self.random[-_END:])

    @cached_property
    def geometry(self) -> Geometry:
        """Layout by pairs of reads."""
        return replay(self.pairs_ns)

    @property
    def flash_bytes_per_s(self) -> float:
        """Rate at the end of the fill."""
        return median(one.bytes_per_s for one in self.fill[-_END:])

    @property
    def buffered_bytes(self) -> float:
        """What the write buffer holds beside a cache; a scale makes it look as much larger."""
        return 0.0 if self.buffer is None else self.buffer.bytes * self.asked.scale

    @cached_property
    def unit(self) -> Unit:
        """Unit of the map by alignments on the purged drive, where nothing is collected, or while it is."""
        passes = ([rates_of(one) for one in each] for each in (self.aligned_purged, self.aligned))
        return unit_by(*passes, cached=self.cache is not None)

    @cached_property
    def victims(self) -> Found:
        """Class of collection; free blocks run out where they did under random writes."""
        flash = self.flash
        if flash is None:
            return Found(None, why="free blocks never ran out")
        number = int((flash - 1) / HOT_WINDOW)
        rates = [one.bytes_per_s for one in self.hot]
        if self.cache is not None and rates and median(rates) > self.cache.before_bytes_per_s / 2:
            return Found(None, why="the cache takes all of it in")
        # the first window ends what the fill before it has begun
        before, after = rates[1 : max(1, number - 1)], rates[number + 1 :]
        return victims_of(before, after, [one.bytes_per_s for one in self.again])


def xray_run(run: Run) -> XrayRun:
    """The measurements, from the samples in the record."""
    fill = [*_samples(run, Phase.FILL, REGION), *_samples(run, Phase.FILL, TO_HALF)]
    windows = windows_of(fill)[3:]
    rests = _samples(run, Phase.REST, CACHE_REST)
    random = _samples(run, Phase.CONDITIONING, UNTIL_COLLECTION)
    filling = [one for number in NUMBERS for one in _samples(run, Phase.BURST, number)]
    asked = run.conditions(XrayConditions)
    apart = _apart(_samples(run, Phase.SWEEP, APART), asked.scale)
    bursts = [
        window
        for number in range(CACHE_REST + 1, CACHE_REST + 1 + len(RESTS_S))
        for window in windows_of(_samples(run, Phase.BURST, number))
    ]
    return XrayRun(
        run=run,
        asked=asked,
        fill=windows,
        cache=first_fall(windows),
        after_rest=windows_of(_samples(run, Phase.BURST, CACHE_REST)),
        rest_ns=sum(sample.elapsed_ns for sample in rests),
        singles_ns=tuple(one.mean_latency_ns or 0.0 for one in _samples(run, Phase.SWEEP, SINGLE)),
        pairs_ns=_pairs(_samples(run, Phase.SWEEP, PAIRS)) if replay(apart).units is None else apart,
        buffer=filled_by(filling, asked.scale),
        random=windows_of(random),
        bursts=bursts,
        aligned=_passes(_samples(run, Phase.SWEEP, ALIGNED)),
        aligned_purged=_passes(_samples(run, Phase.SWEEP, ALIGNED_PURGED)),
        again=windows_of(_samples(run, Phase.FILL, AGAIN)),
        hot=windows_of(_samples(run, Phase.LOAD, HOT)),
    )


def _samples(run: Run, phase: Phase, number: int) -> list[Sample]:
    steps = run.phase(phase, number=number)
    return [step.sample for step in steps if step.sample.state is StepState.COMPLETE]


def _pairs(samples: list[Sample]) -> list[tuple[int, float]]:
    """Mean latencies by distance in pages."""
    return [
        (stimulus.stride_bytes // _PAGE_BYTES, pair_ns(sample))
        for sample in samples
        if (stimulus := sample.step.stimulus) is not None and stimulus.stride_bytes
    ]


def _apart(samples: list[Sample], scale: int) -> list[tuple[int, float]]:
    """The same of reads of two pages, beyond whole rows that lie between them as they were written.

    At each distance two steps write, one waits, and one reads.
    """
    return [
        (written.write.bytes // (_PAGE_BYTES * scale) - ROWS_PAGES, pair_ns(read))
        for written, read in zip(samples[::4], samples[3::4], strict=False)
    ]


def _passes(samples: list[Sample]) -> list[list[Probe]]:
    """Whole passes over the probes; a new one begins where a probe comes again."""
    passes: list[list[Probe]] = []
    for sample in samples:
        stimulus, windows = sample.step.stimulus, windows_of([sample])
        if stimulus is None or stimulus.alignment_bytes is None or not windows:
            continue
        probe = Probe(stimulus.block_size_bytes, stimulus.alignment_bytes, windows[0])
        if not passes or rates_of([probe]).keys() & rates_of(passes[-1]).keys():
            passes.append([])
        passes[-1].append(probe)
    return passes


def rates_of(probes: list[Probe]) -> Rates:
    """Rates of a pass."""
    return {(one.size_bytes, one.alignment_bytes): one.written.bytes_per_s for one in probes}
