"""The figures of a fingerprint, and how far two of them are apart.

All are logarithms, so that a difference is a ratio. None is of a state that a purge and one pass do not make:
age, fill and temperature move them little, by ``TYPICAL`` as a standard deviation on simulated drives.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from statistics import fmean, harmonic_mean, median
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.errors import UsageError
from openpts.procedures.kit.host_limits import busy_host
from openpts.record.reader import Run
from openpts.units import NS_PER_S
from openpts.vocabulary.document import Document
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample, StepState
from openpts_twin.fingerprint import FingerprintConditions
from openpts_twin.fingerprint.script import (
    COLLECTING,
    FALL,
    MOST_WINDOWS,
    PROBES,
    SETTLING,
    WINDOW,
    cool_rates,
    has_fallen,
    is_throttled,
)
from openpts_twin.rates import Window, at_higher_rate, first_fall, windows_of
from openpts_twin.write_buffer import size_of

Fingerprint = Mapping[str, float]
"""Logarithms by name."""

FLASH: Final = "flash over capacity"
_SWEEP, _COLLECTING = "random writes before collection", "random writes while the drive collects"
_PASS, _CACHE, _CACHE_END = "pass in sequence", "cache over the rest of the pass", "end of the cache"
_BUFFER: Final = "write buffer"
TYPICAL: Final = {
    "time of read 4 KiB, QD 1": 0.002,
    "time of read 16 KiB, QD 1": 0.001,
    "time of write": 0.01,
    "rate of read 128 KiB": 0.01,
    _PASS: 0.002,
    _CACHE: 0.003,
    _CACHE_END: 0.002,
    FLASH: 0.0025,
    _SWEEP: 0.01,
    _COLLECTING: 0.02,
    _BUFFER: 0.06,
}
"""Typical standard deviations, by how names begin."""
_OTHERS: Final = 0.005
_WEIGHT: Final = 4
"""Repeats that ``TYPICAL`` counts for beside those that were measured."""
FARTHEST_ALIKE: Final = 4.0
"""A figure that differs by more of its standard deviations is of another part."""
_FEWEST_SHOWN, _MOST_SHOWN = 10, 16
"""Windows that show the rate before collection."""
_LAST: Final = 40
"""Windows by which each drive has long been collecting."""
_FEWEST_SECONDS: Final = 3
_FEWEST_INTERVALS: Final = 10
_END_INTERVALS: Final = 100
"""Added to the end of a cache, which is known within about half of what a second takes behind it."""


class Difference(Struct, frozen=True):
    """A figure that both fingerprints have: their ratio, and by how many standard deviations it is off 1."""

    name: str
    ratio: float
    distance: float


class Comparison(Document, frozen=True, kw_only=True, tag="openpts.fingerprint/1"):
    """Fingerprints against others; ``differences`` come largest first, and the first one decides."""

    same: bool
    farthest_alike: float
    differences: tuple[Difference, ...]


def fingerprint_of(run: Run) -> Fingerprint:
    """The figures of a run.

    Raises UsageError for one of another test, one that ended before its end, and one on a busy host.
    """
    test = run.manifest.conditions.test
    if test != "fingerprint":
        raise UsageError(
            f"{run.folder} is a run of {test}, which has no fingerprint: use `openpts run fingerprint`"
        )
    if why := busy_host(run):
        raise UsageError(f"{run.folder} has no fingerprint: {why}. Measure again on an idle host")
    by_phase = {phase: [step.sample for step in run.phase(phase)] for phase in Phase}
    loads, windows = by_phase[Phase.PROFILE], by_phase[Phase.SWEEP]
    if len(loads) < len(PROBES) or not windows or windows[-1].state is not StepState.COMPLETE:
        raise UsageError(f"{run.folder} was cut off: `openpts resume {run.folder}` goes on with it")
    return figures_of(by_phase, run.conditions(FingerprintConditions).scale)


def figures_of(by_phase: Mapping[Phase, Sequence[Sample]], scale: int) -> Fingerprint:
    """The figures of the samples of a whole test; ``scale`` is that of a simulated drive."""
    found: dict[str, float] = {}
    for name, sample in zip(PROBES, by_phase[Phase.PROFILE], strict=True):
        found |= _of_probe(name, sample)
    buffer_bytes = size_of(by_phase[Phase.BURST], scale)
    if buffer_bytes is not None:
        found[_BUFFER] = math.log(buffer_bytes)
    return {**found, **_of_fill(by_phase[Phase.CONDITIONING]), **_of_random_writes(by_phase[Phase.SWEEP])}


def _of_random_writes(samples: Sequence[Sample]) -> Mapping[str, float]:
    """What they found free before collection began, and the rates before it and behind it."""
    course = cool_rates(samples)
    windows = [one for one, rate in zip(windows_of(samples), course, strict=False) if rate is not None]
    rates = [rate for rate in course if rate is not None]
    last = [rate for rate in course[-_LAST:] if rate is not None]
    fallen = next((number for number in range(len(rates) + 1) if has_fallen(rates[:number])), None)
    if fallen is not None:
        began = fallen - COLLECTING
        before, after = median(rates[:began]), _middle(rates[began + 1 :])
        free = windows[began].start_bytes + at_higher_rate(windows[began], before, after)
        found = {FLASH: math.log1p(free * WINDOW / windows[began].bytes), _COLLECTING: math.log(after)}
    elif len(course) == MOST_WINDOWS and len(last) >= COLLECTING:
        # the interface hides when it begins: beside a drive that falls, this one collects no slower than so
        began = len(rates)
        slowest, in_the_end = FALL * median(rates), f"{_COLLECTING}, in the end"
        found = {_COLLECTING: math.log(slowest), in_the_end: math.log(_middle(last))}
    else:
        return {}
    # the first one goes into an empty buffer, and later ones are behind the end of a cache
    first = rates[1 : 1 + min(began - 1, _MOST_SHOWN)]
    if len(first) >= _FEWEST_SHOWN:
        found[_SWEEP] = math.log(harmonic_mean(first))
    return found


def _of_probe(name: str, sample: Sample) -> Mapping[str, float]:
    """What one I/O takes, or the rate where many are outstanding, by seconds that heat left alone.

    Of writes by the fastest tenth, which found room in the buffer: how long the others wait for it varies.
    """
    cool = [one for one in sample.intervals[SETTLING:] if one.ios and not one.throttled]
    if len(cool) < _FEWEST_SECONDS or (sample.write.ios and is_throttled(sample)):
        return {}
    if sample.step.toio > 1:
        return {f"rate of {name}": math.log(_middle([one.iops for one in cool]))}
    if sample.write.ios:
        time_ns: float | None = LatencyDistribution.merged([sample.write.histogram]).percentile_ns(10)
    else:
        time_ns = _middle([one.mean_latency_ns or 0.0 for one in cool])
    return {f"time of {name}": math.log(time_ns)} if time_ns else {}


def _middle(values: Sequence[float]) -> float:
    """Mean of the middle half: around it is the end of the load before, and what is done now and then."""
    outer = (len(values) + 1) // 4
    return fmean(sorted(values)[outer : len(values) - outer])


def _of_fill(samples: Sequence[Sample]) -> Mapping[str, float]:
    """The rate at the end of the pass, that before it fell for good over it, and where it fell.

    Rates are means, as a second may have so few I/Os that a median is one of few steps.
    """
    intervals = [one for sample in samples for one in sample.intervals]
    last = [one.bandwidth_bytes_per_s for one in intervals[len(intervals) // 2 :] if not one.throttled]
    found = {_PASS: math.log(fmean(last))} if last else {}
    if len(intervals) < _FEWEST_INTERVALS or any(one.throttled for one in intervals):
        return found
    *starts, done = accumulate((one.write.bytes for one in intervals), initial=0)
    length_ns = samples[0].interval_ns
    fall = first_fall(
        [Window(at, one.write.bytes, length_ns) for at, one in zip(starts, intervals, strict=True)]
    )
    if fall is None:
        return found | {_CACHE: 0.0, _CACHE_END: 0.0}
    before, after = fmean(one.bandwidth_bytes_per_s for one in intervals[: fall.window]), fmean(last)
    known_bytes = _END_INTERVALS * after * length_ns / NS_PER_S
    return found | {
        _CACHE: math.log(before / after),
        _CACHE_END: math.log((fall.at_bytes + known_bytes) / done),
    }


def compared(own: Sequence[Fingerprint], others: Sequence[Fingerprint]) -> Comparison:
    """The means of both sides, each difference by the spread of repeats, shrunk towards the typical one.

    Raises UsageError where no figure is of both.
    """
    differences = []
    for name in own[0]:
        sides = [[one[name] for one in side if name in one] for side in (own, others)]
        if not all(sides):
            continue
        squares = sum((value - fmean(side)) ** 2 for side in sides for value in side)
        degrees = sum(len(side) - 1 for side in sides)
        typical = next((found for begin, found in TYPICAL.items() if name.startswith(begin)), _OTHERS)
        variance = (_WEIGHT * typical**2 + squares) / (_WEIGHT + degrees)
        change = fmean(sides[0]) - fmean(sides[1])
        standard = math.sqrt(variance * sum(1 / len(side) for side in sides))
        differences.append(Difference(name, math.exp(change), abs(change) / standard))
    if not differences:
        raise UsageError("the two sides have no figure in common: heat slowed one of them down all the time")
    differences.sort(key=lambda one: -one.distance)
    same = differences[0].distance <= FARTHEST_ALIKE
    return Comparison(same=same, farthest_alike=FARTHEST_ALIKE, differences=tuple(differences))
