"""The engine's clock against the system's, which services of time keep, over a run."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

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
    first, _ = stored[0]
    late = sorted((ended_ns, round((at - first).total_seconds() * 1e9) - ended_ns) for at, ended_ns in stored)
    halves = late[: len(late) // 2], late[len(late) // 2 :]
    (from_ns, before), (to_ns, after) = (min(half, key=lambda each: each[1]) for half in halves)
    if to_ns <= from_ns:
        return None
    # as far from the soonest as the middle one lies, the soonest itself may have been late
    spread = max(
        sorted(delay for _, delay in half)[len(half) // 2] - least
        for half, least in zip(halves, (before, after), strict=True)
    )
    span_ns = to_ns - from_ns
    return ClockRate(1e6 * (after - before) / span_ns, 1e6 * (spread + _RESOLUTION_NS) / span_ns)
