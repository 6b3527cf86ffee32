"""Fingerprint of a drive.

Purpose
    Figures that follow from a drive's parts: flash, dies, controller, buffer, cache, spare flash.
Clause
    None: practice beyond the specification.
Steps
    Purge; the range written once in sequence. Reads of 4, 16 and 128 KiB at QD 1, of 4 KiB and 128 KiB at
    more demand; writes of 4 KiB at QD 1.
    RND 64 KiB writes in windows of 0.25 % of the range until the rate has fallen for six, to at most 0.7 x
    of it, and on to 17 or for two minutes. Bursts of the same. Single reads behind what heat slowed down.
Pass rule
    None: `openpts fingerprint` compares runs.
Reported
    Each figure of the fingerprint.
"""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.standard import Standard
from openpts.procedures.shared.sequential_writes import written_in_sequence
from openpts.units import KIB, NS_PER_S, per_second
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    Script,
    SetWriteCache,
    samples_in,
)
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, Step
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf, StopRule
from openpts.vocabulary.workload import simple_workload
from openpts_twin.fingerprint import FingerprintConditions
from openpts_twin.write_buffer import bursts


class Probe(Struct, frozen=True):
    """A load: order and size, what of it is read, and how much is outstanding."""

    pattern: AccessPattern
    size_bytes: int
    read_pct: int
    tc: int = 1
    qd: int = 1


PROBES: Final = {
    "read 4 KiB, QD 1": Probe(AccessPattern.RANDOM, 4 * KIB, 100),
    "read 16 KiB, QD 1": Probe(AccessPattern.RANDOM, 16 * KIB, 100),
    "read 128 KiB, QD 1": Probe(AccessPattern.RANDOM, 128 * KIB, 100),
    "read 4 KiB, QD 32": Probe(AccessPattern.RANDOM, 4 * KIB, 100, 1, 32),
    "read 4 KiB, QD 256": Probe(AccessPattern.RANDOM, 4 * KIB, 100, 4, 64),
    "read 128 KiB, QD 32": Probe(AccessPattern.SEQUENTIAL, 128 * KIB, 100, 1, 32),
    "write 4 KiB, QD 1": Probe(AccessPattern.RANDOM, 4 * KIB, 0),
}
"""Loads by name, in their order."""
_MOST_PROBED: Final = 0.005
"""Of the range: what a load of writes takes at most, as all of it is spare flash used."""
_WRITES: Final = Probe(AccessPattern.RANDOM, 64 * KIB, 0, qd=32)
_COOLING: Final = Probe(AccessPattern.RANDOM, 4 * KIB, 100)
_COOLING_NS, _MOST_RESTS = 20 * NS_PER_S, 60
SETTLING: Final = 2
"""First seconds of a load: the one before it is still programmed, or a buffer ran empty in a rest."""
WINDOW: Final = 0.0025
MOST_WINDOWS: Final = 320
COLLECTING: Final = 6
"""Windows in which the rate has to stay low: where a cache is full it falls as well, but not by as much."""
MOST_COLLECTING, _COLLECTING_NS = 17, 120 * NS_PER_S
"""Then the drive goes on for so many in all, or for so long: rates of few differ by which blocks they met."""
FALL: Final = 0.7
_FEWEST_BEFORE: Final = 3

# The buffer is a part of the drive, and not in use with the cache off.
standard_conditions: Final = Standard(FingerprintConditions, probe_ns=50 * NS_PER_S, write_cache_enabled=True)


def at_scale(conditions: FingerprintConditions, scale: int) -> FingerprintConditions:
    """With amounts that are large beside a buffer, which a scale leaves as it is."""
    return replace(conditions, scale=scale)


def script(conditions: FingerprintConditions, user_capacity_bytes: int) -> Script:
    """The range written, probes in it, random writes until collection begins, and bursts."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    span_pct = conditions.active_range.end_pct - conditions.active_range.start_pct
    range_bytes = span_pct / 100 * user_capacity_bytes
    yield from written_in_sequence(conditions, 128 * KIB, range_bytes, tc=1, qd=32)
    rests = iter(range(1, _MOST_RESTS + 1))
    yield from _cooled(conditions, rests)
    for number, probe in enumerate(PROBES.values(), start=1):
        lasts = Duration(conditions.probe_ns)
        most = ByteAmount(round(_MOST_PROBED * range_bytes))
        stop = lasts if probe.read_pct == 100 else FirstOf((lasts, most))
        step = _step(conditions, probe, stop)
        sample = samples_in((yield Apply(Phase.PROFILE, number, (step,), with_intervals=True)))[-1]
        if is_throttled(sample):
            yield from _cooled(conditions, rests)
    yield from _until_collection(conditions, range_bytes, rests)
    yield from bursts(conditions.active_range, conditions.data, round(range_bytes), conditions.scale)
    yield CycleFinished(Outcome(None, 0))


def _until_collection(conditions: FingerprintConditions, range_bytes: float, rests: Iterator[int]) -> Script:
    """Random writes in windows, and rests after those in which heat slowed the drive down."""
    window = _step(conditions, _WRITES, ByteAmount(round(WINDOW * range_bytes)))
    samples: list[Sample] = []
    began: int | None = None
    part = 1
    for _ in range(MOST_WINDOWS):
        samples += samples_in((yield Apply(Phase.SWEEP, part, (window,), with_intervals=True)))
        cool = [(number, rate) for number, rate in enumerate(cool_rates(samples)) if rate is not None]
        if began is None and has_fallen([rate for _, rate in cool]):
            began, _ = cool[-COLLECTING]
        later = [] if began is None else samples[began:]
        if len(later) >= MOST_COLLECTING or sum(one.elapsed_ns for one in later) >= _COLLECTING_NS:
            return
        if is_throttled(samples[-1]):
            yield from _cooled(conditions, rests)
            part += 1


def cool_rates(samples: Sequence[Sample]) -> list[float | None]:
    """Bytes per second of windows by cool seconds, without the first behind a rest; None if they are few."""
    found: list[float | None] = []
    has_rested = False
    for sample in samples:
        cool = [one for one in sample.intervals[SETTLING * has_rested :] if not one.throttled]
        cool_ns = sum(one.elapsed_ns for one in cool)
        is_shown = 2 * cool_ns > sample.elapsed_ns
        found.append(per_second(sum(one.bytes for one in cool), cool_ns) if is_shown else None)
        has_rested = is_throttled(sample)
    return found


def has_fallen(rates: Sequence[float]) -> bool:
    """Whether collection began right before the last ``COLLECTING`` of equally large windows."""
    before, last = rates[:-COLLECTING], rates[-COLLECTING:]
    return len(before) >= _FEWEST_BEFORE and max(last) < FALL * median(before)


def _cooled(conditions: FingerprintConditions, rests: Iterator[int]) -> Script:
    """Single reads: idle time would let the drive collect."""
    cooling = _step(conditions, _COOLING, Duration(_COOLING_NS))
    for number in rests:
        sample = samples_in((yield Apply(Phase.REST, number, (cooling,), with_intervals=True)))[-1]
        if not any(interval.throttled for interval in sample.intervals[-1:]):
            return


def is_throttled(sample: Sample) -> bool:
    """Whether heat slowed the drive down, as far as it tells."""
    return any(interval.throttled for interval in sample.intervals)


def _step(conditions: FingerprintConditions, probe: Probe, stop: StopRule) -> Step:
    workload = simple_workload("probe", probe.pattern, probe.size_bytes, probe.read_pct)
    return Step.of(conditions.stimulus(workload, tc=probe.tc, qd=probe.qd), stop)
