"""Read latency by block size.

Purpose
    What a read costs more for being larger.
Source
    Practice beyond the PTS.
Steps
    Purge; SEQ 128 KiB writes of the whole range; RND reads for a minute at each block size.
Pass rule
    None.
Reported
    Mean response time at each block size.
"""

from acme_openpts.conditions import BlockSizeConditions
from openpts.procedures.kit.ledger import Standard
from openpts.units import KIB
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, ByteAmount, Duration, Step, Stimulus

standard_conditions = Standard(
    BlockSizeConditions, block_sizes_bytes=(4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB), qd=1
)


def script(conditions: BlockSizeConditions, user_capacity_bytes: int) -> Script:
    """Data everywhere, then the reads without a pause."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    whole = conditions.active_range
    writes = Stimulus.of(AccessPattern.SEQUENTIAL, 128 * KIB, 0, 1, 32, whole)
    yield Apply(Phase.CONDITIONING, 1, (Step.of(writes, ByteAmount(user_capacity_bytes)),))
    reads = (
        Stimulus.of(AccessPattern.RANDOM, size, 100, 1, conditions.qd, whole)
        for size in conditions.block_sizes_bytes
    )
    yield Apply(Phase.SWEEP, 1, tuple(Step.of(read, Duration(conditions.minute_ns)) for read in reads))
    yield CycleFinished(Outcome(None, 0))
