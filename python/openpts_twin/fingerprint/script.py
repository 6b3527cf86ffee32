"""Fingerprint of a drive.

Purpose
    Figures that follow from a drive's parts: flash, dies, controller, buffer, cache, spare flash.
Clause
    None: practice beyond the specification.
Steps
    Purge; the range written once in sequence. Reads of 4, 16 and 128 KiB at QD 1, of 4 KiB and 128 KiB at
    high demand; writes of 4 KiB at QD 1.
    Random writes in windows of 0.5 % of the range until the rate has fallen for three, at most 0.8 x of it.
Pass rule
    None: `openpts fingerprint` compares runs.
Reported
    Each figure of the fingerprint.
"""

from typing import Final

from msgspec import Struct

from openpts.analysis.one_pass import collection_began
from openpts.procedures.kit.standard import Standard
from openpts.procedures.shared.sequential_writes import written_in_sequence
from openpts.units import KIB, NS_PER_S
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
from openpts.vocabulary.stimulus import AccessPattern, Step
from openpts.vocabulary.stop import ByteAmount, Duration
from openpts.vocabulary.workload import simple_workload
from openpts_twin.fingerprint import FingerprintConditions


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
    "read 4 KiB, QD 256": Probe(AccessPattern.RANDOM, 4 * KIB, 100, 4, 64),
    "read 128 KiB, QD 32": Probe(AccessPattern.SEQUENTIAL, 128 * KIB, 100, 1, 32),
    "write 4 KiB, QD 1": Probe(AccessPattern.RANDOM, 4 * KIB, 0),
}
"""Loads by name, in their order."""
_WRITES: Final = Probe(AccessPattern.RANDOM, 4 * KIB, 0, tc=4, qd=32)
WINDOW: Final = 0.005
_MOST_WINDOWS: Final = 160

standard_conditions: Final = Standard(FingerprintConditions, probe_ns=60 * NS_PER_S)


def script(conditions: FingerprintConditions, user_capacity_bytes: int) -> Script:
    """The range written, probes in it, and random writes until collection begins."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    span_pct = conditions.active_range.end_pct - conditions.active_range.start_pct
    range_bytes = span_pct / 100 * user_capacity_bytes
    yield from written_in_sequence(conditions, 128 * KIB, range_bytes, tc=1, qd=32)
    for number, probe in enumerate(PROBES.values(), start=1):
        yield Apply(Phase.PROFILE, number, (_step(conditions, probe, Duration(conditions.probe_ns)),))
    rates: list[float] = []
    while collection_began(rates) is None and len(rates) < _MOST_WINDOWS:
        window = _step(conditions, _WRITES, ByteAmount(round(WINDOW * range_bytes)))
        rates.append(samples_in((yield Apply(Phase.SWEEP, 1, (window,))))[-1].iops)
    yield CycleFinished(Outcome(None, 0))


def _step(conditions: FingerprintConditions, probe: Probe, stop: Duration | ByteAmount) -> Step:
    workload = simple_workload("probe", probe.pattern, probe.size_bytes, probe.read_pct)
    return Step.of(conditions.stimulus(workload, tc=probe.tc, qd=probe.qd), stop)
