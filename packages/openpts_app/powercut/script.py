"""Power cuts.

Purpose
    Whether a drive keeps through power cuts what its commands promise: acknowledged, flushed, whole.
Source
    Practice beyond the PTS: Zheng et al., "Understanding the Robustness of SSDs under Power Fault" (FAST
    '13); the rules of NVMe (AWUPF, NAWUPF, Flush, FUA, volatile write cache) and of SCSI (SYNCHRONIZE CACHE,
    FUA, WCE).
Steps
    Stamped data over the range; random writes with flushes and FUA; the power is cut; the range is read
    back. Again and again with the volatile write cache on, then with it off, where the drive has both.
Pass rule
    Nothing is lost that had to survive. Cache on: writes before an acknowledged flush, and those with FUA.
    Cache off, or none: all acknowledged writes. Interrupted writes are there or not, as a whole up to the
    drive's atomic unit.
Reported
    Losses by kind, the rate of faults that so many cuts exclude, and each loss with its LBA.
"""

from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.ledger import Standard
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.power import Cut, CutLoad, CutPower
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Script, answer_in
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, ByteAmount, Duration, Step, Stimulus
from openpts_app.powercut import PowerCutConditions

_LONG_BYTES: Final = 1 * MIB


# Enough cuts to exclude what happens in one of 17, and writes that the cache can't hold.
standard_conditions: Final = Standard(
    PowerCutConditions,
    write_cache_enabled=True,
    cycles=50,
    load_ns=10 * NS_PER_S,
    range_bytes=1024 * MIB,
    write_sizes_bytes=(4 * KIB, 16 * KIB, 64 * KIB),
    tc=4,
    qd=8,
    writes_per_flush=32,
    fua_pct=10,
    back_ns=120 * NS_PER_S,
)


def supported_on(conditions: PowerCutConditions, sector_bytes: int) -> PowerCutConditions:
    """Without writes of less than a sector."""
    sizes = tuple(size for size in conditions.write_sizes_bytes if size % sector_bytes == 0)
    return replace(conditions, write_sizes_bytes=sizes or (sector_bytes,))


def script(conditions: PowerCutConditions, user_capacity_bytes: int) -> Script:
    """Cut after cut; a state of the cache that the drive does not have ends with its first cut."""
    range_bytes = min(conditions.range_bytes, user_capacity_bytes)
    range_bytes -= range_bytes % max(conditions.write_sizes_bytes)
    load = CutLoad(
        range_bytes=range_bytes,
        write_sizes_bytes=conditions.write_sizes_bytes,
        writers=conditions.tc * conditions.qd,
        writes_per_flush=conditions.writes_per_flush,
        fua_pct=conditions.fua_pct,
        seed=conditions.seed,
    )
    number = 0
    for enabled in (True, False):
        for _ in range(conditions.cycles):
            number += 1
            steps = _steps(conditions, load, first=number == 1)
            apply = Apply(Phase.LOAD, number, steps)
            command, back_ns = conditions.cut_command, conditions.back_ns
            request = CutPower(apply, load, enabled, conditions.load_ns, command, back_ns)
            cut = answer_in(Cut, (yield request))
            if cut.volatile is not enabled:
                break
    yield CycleFinished(Outcome(None, 0))


def _steps(conditions: PowerCutConditions, load: CutLoad, *, first: bool) -> tuple[Step, ...]:
    """What a cut amounts to: the first one writes all of the range before."""
    part = conditions.active_range
    size_bytes = max(conditions.write_sizes_bytes)
    fill, back = (Stimulus.of(AccessPattern.SEQUENTIAL, _LONG_BYTES, pct, 1, 1, part) for pct in (0, 100))
    writes = Stimulus.of(AccessPattern.RANDOM, size_bytes, 0, conditions.tc, conditions.qd, part)
    all_of_it = ByteAmount(load.range_bytes)
    filled = (Step.of(fill, all_of_it),) if first else ()
    return (*filled, Step.of(writes, Duration(conditions.load_ns)), Step.of(back, all_of_it))
