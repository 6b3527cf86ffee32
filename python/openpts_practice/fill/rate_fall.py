"""Where a rate fell, from the intervals around it: closer than the steps that a course is cut into.

A step of a fill holds many intervals, so that a break between two steps lies in one of them. It is the one
whose removal leaves those before it nearest to the higher rate and those behind it nearest to the lower one
(distances of logarithms, weighed by time, not squared: a single stall is no fall).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Measured, Sample

# What stood still has no logarithm: it counts as so much of the lower rate.
_STILL: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Fall:
    """Bytes written when the rate fell: between ``low_bytes`` and ``high_bytes``, most likely ``at_bytes``.

    The bounds are those of the interval in which it fell. Within it as much is counted before the fall as
    must have been written at the higher rate for it to take the time that it took.
    """

    at_bytes: int
    low_bytes: int
    high_bytes: int


def fall_between(
    samples: Sequence[Sample], start_bytes: int, higher_bytes_per_s: float, lower_bytes_per_s: float
) -> Fall:
    """The fall within these steps, the first of which begins with so many bytes written.

    Steps without intervals count as a whole.
    """
    parts = [part for sample in samples for part in (sample.intervals or (sample,)) if part.write.bytes]
    number = _fell_in(parts, higher_bytes_per_s, lower_bytes_per_s)
    ends = list(accumulate((part.write.bytes for part in parts), initial=start_bytes))
    before = _before_fall(parts[number], higher_bytes_per_s, lower_bytes_per_s)
    return Fall(ends[number] + round(before), ends[number], ends[number + 1])


def _fell_in(parts: Sequence[Measured], higher: float, lower: float) -> int:
    """The number of the interval within which the rate fell."""

    def distances(level: float) -> list[float]:
        return [part.elapsed_ns * abs(math.log(max(_rate(part), _STILL * lower) / level)) for part in parts]

    before = list(accumulate(distances(higher), initial=0.0))
    behind = list(accumulate(reversed(distances(lower)), initial=0.0))[::-1]
    return min(range(len(parts)), key=lambda number: before[number] + behind[number + 1])


def _before_fall(part: Measured, higher: float, lower: float) -> float:
    """Bytes of an interval at the higher rate, if all others were written at the lower one."""
    saved_s = part.write.bytes / lower - part.elapsed_ns / NS_PER_S
    return min(float(part.write.bytes), max(0.0, saved_s / (1 / lower - 1 / higher)))


def _rate(part: Measured) -> float:
    return part.write.bytes * NS_PER_S / part.elapsed_ns
