"""The engine's clock against the system's, which services of time keep, over a run."""

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.units import NS_PER_S

_RESOLUTION_NS: Final = 1_000_000
_FEWEST_STEPS: Final = 8


class ClockRate(Struct, frozen=True):
    """By how many parts in a million the system's clock went faster; the rate lies within ``bound_ppm``."""

    ppm: float
    bound_ppm: float


def clock_rate(stored: Sequence[tuple[datetime, int]]) -> ClockRate | None:
    """The rate, by when steps were stored and when they had ended on the engine's clock; None of few steps.

    Storing takes its time after a step, never a time before it: the step that was stored soonest in each
    half of the run counts.
    """
    if len(stored) < _FEWEST_STEPS:
        return None
    began, _ = stored[0]
    late = sorted(
        (ended_ns, round((at - began).total_seconds() * NS_PER_S) - ended_ns) for at, ended_ns in stored
    )
    (first_ns, first), (last_ns, last) = late[0], late[-1]
    if last_ns <= first_ns:
        return None
    rough = (last - first) / (last_ns - first_ns)
    delays = [(ended_ns, delay - rough * ended_ns) for ended_ns, delay in late]
    halves = delays[: len(late) // 2], delays[len(late) // 2 :]
    (from_ns, before), (to_ns, after) = (min(half, key=itemgetter(1)) for half in halves)
    if to_ns <= from_ns:  # steps that were cut off ended at the same time
        return None
    # as far as the middle one lies from the soonest, the soonest itself may have been late
    spread = median(delay for _, delay in delays) - min(before, after) + _RESOLUTION_NS
    rate = rough + (after - before) / (to_ns - from_ns)
    return ClockRate(1e6 * rate, 1e6 * spread / (to_ns - from_ns))
