"""The figures of a fingerprint, and how far two of them are apart.

All are logarithms, so that a difference is a ratio. None is of a state that a purge and one pass do not make:
age, fill and temperature move them little, by ``TYPICAL`` as a standard deviation on simulated drives.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Final

from msgspec import Struct

from openpts.analysis.one_pass import collection_began
from openpts.errors import UsageError
from openpts.record.reader import Run
from openpts.vocabulary.document import Document
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample, StepState
from openpts_twin.fingerprint.script import PROBES, WINDOW

Fingerprint = Mapping[str, float]
"""Logarithms by name."""

_SWEEP, _CACHE_END = "random writes before collection", "end of the cache"
FLASH: Final = "flash over capacity"
TYPICAL: Final = 0.003
_MORE: Final = {"rate of": 0.006, FLASH: 0.006, _SWEEP: 0.02, _CACHE_END: 0.05}
"""Those of rates, and of what is read off the steps of a curve, by how their names begin."""
_WEIGHT: Final = 4
"""Repeats that ``TYPICAL`` counts for beside those that were measured."""
FARTHEST_ALIKE: Final = 4.0
"""A figure that differs by more of its standard deviations is of another part."""
_EDGE: Final = 0.7
_FEWEST_WINDOWS: Final = 10


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
    """The figures of a run. Raises UsageError for one of another test, or one that ended before its end."""
    test = run.manifest.conditions.test
    if test != "fingerprint":
        raise UsageError(
            f"{run.folder} is a run of {test}, which has no fingerprint: use `openpts run fingerprint`"
        )
    by_phase = {phase: [step.sample for step in run.phase(phase)] for phase in Phase}
    probes, windows = by_phase[Phase.PROFILE], by_phase[Phase.SWEEP]
    if len(probes) < len(PROBES) or not windows or windows[-1].state is not StepState.COMPLETE:
        raise UsageError(f"{run.folder} was cut off: `openpts resume {run.folder}` goes on with it")
    found: dict[str, float] = {}
    for name, sample in zip(PROBES, probes, strict=True):
        found |= _of_probe(name, sample)
    filled = by_phase[Phase.CONDITIONING]
    if not _throttled(filled):
        found |= _of_fill(filled)
    if not _throttled(windows):
        rates = [one.iops for one in windows]
        began = collection_began(rates)
        # beyond the capacity the flash holds what random writes found free
        found[FLASH] = math.log1p((len(rates) if began is None else began + 0.5) * WINDOW)
        if (began or len(rates)) >= _FEWEST_WINDOWS:
            found[_SWEEP] = math.log(median(rates[: began or len(rates)]))
    return found


def _throttled(samples: Sequence[Sample]) -> bool:
    """Whether heat slowed the drive down, as far as it tells: its figures are not those of its parts then."""
    return any(interval.throttled for one in samples for interval in one.intervals)


def _of_probe(name: str, sample: Sample) -> Mapping[str, float]:
    """What one I/O takes, or the rate where many are outstanding.

    Of a mean, as a median jumps where half of the I/Os take longer, such as those over two dies.
    """
    if sample.step.toio > 1:
        return {f"rate of {name}": math.log(sample.iops)}
    return {f"time of {name}": math.log(sample.mean_latency_ns or 1)}


def _of_fill(samples: Sequence[Sample]) -> Mapping[str, float]:
    """The rate at the end of the pass, over that at its start, and where it first stays below the start's."""
    rates = [one.bandwidth_bytes_per_s for sample in samples for one in sample.intervals]
    if len(rates) < 10:
        return {"pass in sequence": math.log(fmean(one.bandwidth_bytes_per_s for one in samples))}
    first, last = median(rates[: len(rates) // 20 or 1]), median(rates[len(rates) // 2 :])
    written, total = 0.0, sum(rates)
    for rate, following in zip(rates, [*rates[1:], 0.0], strict=True):
        if max(rate, following) < _EDGE * first:
            break
        written += rate / total
    return {
        "pass in sequence": math.log(last),
        "cache over the rest of the pass": math.log(first / last),
        _CACHE_END: math.log(max(written, 1e-3)),
    }


def compared(own: Sequence[Fingerprint], others: Sequence[Fingerprint]) -> Comparison:
    """The means of both sides, each difference by the spread of repeats, shrunk towards the typical one."""
    differences = []
    for name in own[0]:
        sides = [[one[name] for one in side if name in one] for side in (own, others)]
        if not all(sides):
            continue
        squares = sum((value - fmean(side)) ** 2 for side in sides for value in side)
        degrees = sum(len(side) - 1 for side in sides)
        typical = next((found for begin, found in _MORE.items() if name.startswith(begin)), TYPICAL)
        variance = (_WEIGHT * typical**2 + squares) / (_WEIGHT + degrees)
        change = fmean(sides[0]) - fmean(sides[1])
        standard = math.sqrt(variance * sum(1 / len(side) for side in sides))
        differences.append(Difference(name, math.exp(change), abs(change) / standard))
    differences.sort(key=lambda one: -one.distance)
    same = differences[0].distance <= FARTHEST_ALIKE
    return Comparison(same=same, farthest_alike=FARTHEST_ALIKE, differences=tuple(differences))
