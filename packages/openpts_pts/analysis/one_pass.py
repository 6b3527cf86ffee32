"""One pass over a drive for the state of long random writing: what to write where, and whether it holds.

In the steady state of uniform random writes a block of age ``t`` (in user capacities written to the flash)
still has a share ``exp(-t / WA)`` of valid pages, down to ``1 - 1 / WA`` in the oldest, which is collected
next (Desnoyers 2014). Writing new LBAs in sequence, and among them random ones of those written already, at
a share of ``1 - exp(-u / WA)`` after ``u`` user capacities, leaves exactly that: each page is as likely to
have been overwritten since as in the steady state. It takes as much as the flash holds; how much that is
shows in the rate of random writes, which falls where free blocks run out and collection begins.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.analysis.steady_state import judge

_FALL: Final = 0.75
"""Collection has begun where the rate stays below so much of what it was."""
_STAYS: Final = 3
WINDOWS: Final = 10
"""Windows after a pass, of a hundredth of the range each, in which the rate has to be at rest."""
JUDGED: Final = 2 * WINDOWS
"""Windows that have to be at rest where the first ones were not."""
_MOST_DRIFT: Final = 0.03
_MOST_WARMING_K: Final = 1
_WARMS_FOR_S: Final = 300
"""Heat comes to rest in minutes, and a drive that is written to quickly is through its windows in seconds."""
_COOL_C: Final = 70
"""What drives bear without slowing down."""
_BISECTIONS: Final = 100
_MOST_AMPLIFICATION: Final = 1e4


class PassPart(Struct, frozen=True):
    """A part of the pass, in shares of the range: LBAs up to ``end``, then overwrites of those before it."""

    start: float
    end: float
    overwritten: float


def collection_began(rates: Sequence[float], fall: float = _FALL) -> int | None:
    """The window in which collection was first at work, if the last of equally large ones show it; else None.

    Asked after each window of random writes. The rate has to stay below ``fall`` times what it was over some:
    a flush or a hiccup of a cache ends by itself.
    """
    place = len(rates) - _STAYS
    if place < _STAYS:
        return None
    usual = median(rates[:place])
    return place if all(rate < fall * usual for rate in rates[place:]) else None


def is_fresh(rates: Sequence[float], fresh: Sequence[float]) -> bool:
    """Whether the first windows after a pass are about as fast as those before collection was at work."""
    return median(rates[:_STAYS]) > _FALL * median(fresh)


def amplification(flash: float) -> float:
    """Write amplification of uniform random writes, oldest block first, on ``flash`` user capacities."""
    low, high = 1.0, _MOST_AMPLIFICATION
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if -middle * math.expm1(-flash / middle) < 1 else (low, middle)
    return high


def pieces(flash: float, count: int) -> tuple[PassPart, ...]:
    """The pass over a drive whose flash holds ``flash`` user capacities, more than 1, in equal parts."""
    factor = amplification(flash)
    ends = [-factor * math.expm1(-flash * number / count / factor) for number in range(count)] + [1.0]
    return tuple(
        PassPart(start, end, max(0.0, flash / count - (end - start))) for start, end in pairwise(ends)
    )


def at_rest(rates: Sequence[float]) -> bool:
    """Whether the windows after a pass go neither up nor down: the pass has left a steady state.

    Where the first of them do, ``JUDGED`` have to be at rest: the rate may only turn about there.
    """
    last = _judged(rates)
    if len(rates) != WINDOWS and len(last) < JUDGED:
        return False
    return judge(range(len(last)), last).range_ok and drift(rates) <= _MOST_DRIFT


def drift(rates: Sequence[float]) -> float:
    """How much the windows on which it is judged rise or fall along their line, as a share of their mean."""
    last = _judged(rates)
    report = judge(range(len(last)), last)
    return report.slope_excursion / report.average


def unrest(rates: Sequence[float]) -> str:
    """What keeps windows after a pass from being at rest, in words."""
    last = _judged(rates)
    if drift(rates) > _MOST_DRIFT:
        return f"it still moves by {100 * drift(rates):.0f} % over {len(last)} windows"
    return f"{len(last)} windows range over {judge(range(len(last)), last).range_pct:.0f} % of their mean"


def warms_up(temperatures_c: Sequence[float], length_s: float) -> bool:
    """Whether a drive got so much warmer in the last windows that heat may slow it down later.

    The rate is that of long writing only at the temperature of long writing.
    """
    if not temperatures_c:
        return False
    warming_k = temperatures_c[-1] - temperatures_c[0]
    yet_to_come_k = warming_k * max(1, _WARMS_FOR_S / length_s)
    return warming_k > _MOST_WARMING_K and temperatures_c[-1] + yet_to_come_k > _COOL_C


def _judged(rates: Sequence[float]) -> Sequence[float]:
    return rates[-JUDGED:] if len(rates) > WINDOWS else rates
