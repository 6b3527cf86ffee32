"""The steps of a replay: what a trace needs to be there, and its I/Os as a stream."""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET

from openpts.fields.conditions import ExtendedConditions
from openpts.trace_schedules import Prepared, filling
from openpts.units import KIB, MIB, NS_PER_MS
from openpts.vocabulary.replay import Conflicts, Replay, ReplayMode
from openpts.vocabulary.stimulus import AccessPattern, BlockSize, OperationWeights, Step, Stimulus, Stream
from openpts.vocabulary.stop import STREAMS_END, ByteAmount, IoCount
from openpts.vocabulary.workload import simple_workload

_FILL_BYTES: Final = 128 * KIB
_FILL_QD: Final = 32
_BUFFERS_BYTES: Final = 512 * MIB
"""What all outstanding I/Os may take, unless the operator says how many there may be."""
_LEAST_DEPTH, _MOST_DEPTH = 64, 1024
_ROOM: Final = 4
"""Times what was in flight in the trace, so that a slower drive is not held back."""
_LEAD_NS: Final = 200 * NS_PER_MS
"""From the step's start to the first moment: time to read ahead."""

Ranges = Iterable[tuple[int, int]]


def replayed(
    name: str,
    found: Prepared,
    conditions: ExtendedConditions,
    sector_bytes: int,
    *,
    depth: int | None = None,
    placement_handle: int | None = None,
    traces: int = 1,
    mode: ReplayMode = ReplayMode.TIMED,
    conflicts: Conflicts = Conflicts.STRICT,
) -> Stream:
    """A schedule as a stream, with the most that may be outstanding: None for what suits so many traces.

    Its writes name ``placement_handle``, None being the drive's default.
    """
    largest_bytes = max(found.largest_bytes, sector_bytes)
    needed = min(_MOST_DEPTH, max(_LEAST_DEPTH, _ROOM * found.preparation.peak_in_flight))
    weights = {kind: max(1, round(100 * ios / found.ios)) for kind, ios in found.by_operation.items()}
    stimulus = Stimulus(
        random_pct=100,
        block_sizes=(BlockSize(largest_bytes),),
        operations=OperationWeights(**weights),
        tc=1,
        qd=depth or max(1, min(needed, _BUFFERS_BYTES // traces // largest_bytes)),
        data=conditions.data,
        placement_handle=placement_handle if placement_handle is not None and "write" in weights else UNSET,
    )
    return _played(stimulus, name, found.replay(mode, conflicts))


def _played(stimulus: Stimulus, name: str, replay: Replay) -> Stream:
    return Stream(stimulus, name, delay_ns=_LEAD_NS, stop=IoCount(replay.ios), replay=replay)


def _sequential_writes(conditions: ExtendedConditions) -> Stimulus:
    writes = simple_workload("seq", AccessPattern.SEQUENTIAL, _FILL_BYTES, 0)
    return conditions.stimulus(writes, tc=1, qd=_FILL_QD)


def in_sequence(conditions: ExtendedConditions, passes: float, user_capacity_bytes: int) -> tuple[Step, ...]:
    """So many times the user capacity written in sequence."""
    amount = ByteAmount(round(passes * user_capacity_bytes))
    return (Step.of(_sequential_writes(conditions), amount),) if passes else ()


def written_once(
    conditions: ExtendedConditions, ranges: Ranges, user_capacity_bytes: int, sector_bytes: int
) -> tuple[Step, ...]:
    """All that is on the target of these ranges of bytes, in blocks of 128 KiB."""
    inside = tuple(
        (start, min(end, user_capacity_bytes)) for start, end in ranges if start < user_capacity_bytes
    )
    if not inside:
        return ()
    fill = filling(inside, sector_bytes, _FILL_BYTES)
    return (Step((_played(_sequential_writes(conditions), "prefill", fill),), STREAMS_END),)
