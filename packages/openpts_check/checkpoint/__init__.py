"""Checkpoints of training: how fast is the slowest until it is durable, and how fast is it read back?"""

import math
from typing import Final

from msgspec.structs import replace

from openpts.units import GB, MIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.stimulus import AccessPattern, ByteAmount, IoCount, OperationWeights, Stimulus, Stream
from openpts_check.purpose import Asked, CheckPurpose, Load, PublishedBound, PurposeFigure, Seen, Shown
from openpts_check.seen import life_left

# MLPerf Storage, checkpointing: 105 GB of a model of 8 billion parameters, an eighth by each accelerator,
# written in order with fsync, and read when no cache has it
_SHARD_BYTES: Final = 105 * GB // 8
# Llama 3 (arXiv 2407.21783): 419 interruptions in 54 days
_BETWEEN_FAILURES_S: Final = 54 * 86_400 / 419
# Young (1974): a checkpoint of C seconds every sqrt(2 C M) costs sqrt(2 C / M) of the time
_MOST_LOST: Final = 0.05
_MOST_S: Final = _MOST_LOST**2 * _BETWEEN_FAILURES_S / 2
_EVERY_S: Final = math.sqrt(2 * _MOST_S * _BETWEEN_FAILURES_S)
_LEAST_GB_PER_S: Final = round(_SHARD_BYTES / GB / _MOST_S, 2)
_YOUNG: Final = "5 % of the time lost by Young's formula, at Llama 3's 419 interruptions in 54 days"

_WRITE, _BARRIER, _RESTORE = "written", "made durable", "read back"


def _loads(asked: Asked) -> tuple[Load, ...]:
    """All of the file in order, a flush, and all of it again, as often as there are repeats."""
    writes = Stimulus.of(AccessPattern.SEQUENTIAL, MIB, 0, 1, 16, asked.part)
    flush = replace(writes, operations=OperationWeights(flush=1), qd=1)
    reads = replace(writes, operations=OperationWeights(read=1))
    size = ByteAmount(asked.part_bytes)
    return (
        Load(_WRITE, (Stream(writes, _WRITE),), size),
        Load(_BARRIER, (Stream(flush, _BARRIER),), IoCount(1)),
        Load(_RESTORE, (Stream(reads, _RESTORE),), size),
    )


def _checkpoints(seen: Seen) -> list[tuple[float, float]]:
    """GB of each, and seconds from its first write to the answer of its flush."""
    pairs = zip(seen.of(_WRITE), seen.of(_BARRIER), strict=False)
    return [(one.bytes / GB, (one.elapsed_ns + flush.elapsed_ns) / NS_PER_S) for one, flush in pairs]


def _slowest(seen: Seen) -> float | None:
    return min((written / seconds for written, seconds in _checkpoints(seen)), default=None)


def _slowest_restore(seen: Seen) -> float | None:
    return min((one.bytes / GB / (one.elapsed_ns / NS_PER_S) for one in seen.of(_RESTORE)), default=None)


def _longest_barrier_ms(seen: Seen) -> float | None:
    return max((one.elapsed_ns / NS_PER_MS for one in seen.of(_BARRIER)), default=None)


PURPOSE: Final = CheckPurpose(
    name="checkpoint",
    title="Checkpoints of training",
    question="Does this disk take checkpoints of a training fast enough, and give them back, for years?",
    size_bytes=_SHARD_BYTES - _SHARD_BYTES % MIB,
    least_bytes=1 * GB,
    load_s=0.1,
    loads=_loads,
    fills=False,
    figures=(
        PurposeFigure(
            key="slowest_checkpoint",
            label="Slowest checkpoint, its barrier included",
            unit="GB/s",
            of=_slowest,
            bound=PublishedBound(_LEAST_GB_PER_S, _YOUNG, is_least=True),
            remedy="write checkpoints less often, or to a drive that holds its rate when its cache is full: "
            "`openpts run fill` finds it",
            needs_repeats=False,
        ),
        PurposeFigure(
            key="slowest_restore",
            label="Slowest restore, from the disk",
            unit="GB/s",
            of=_slowest_restore,
            bound=PublishedBound(
                _LEAST_GB_PER_S, "openpts, no longer than a checkpoint takes", is_least=True
            ),
            remedy="look whether the drive's link is at full speed (`openpts devices`), and what else reads",
            of_reads=True,
            needs_repeats=False,
        ),
        life_left(
            _SHARD_BYTES / _EVERY_S,
            "write checkpoints less often, or keep most of them in memory and only some on the drive",
        ),
    ),
    shown=(
        Shown(
            "a checkpoint until it is durable",
            "s",
            (
                ("fastest", lambda seen: min((s for _, s in _checkpoints(seen)), default=None)),
                ("slowest", lambda seen: max((s for _, s in _checkpoints(seen)), default=None)),
            ),
        ),
        Shown("its barrier", "ms", (("slowest", _longest_barrier_ms),)),
    ),
    mistakes=(
        "Each repeat writes the same file again. --repeats 10, as MLPerf has it, writes 131 GB: more than "
        "most caches of consumer drives take.",
        "A checkpoint that returned is not durable: without fsync it is in memory, and lost with its power.",
        "A checkpoint that was just written may be read from memory. These reads go past the page cache.",
    ),
)
