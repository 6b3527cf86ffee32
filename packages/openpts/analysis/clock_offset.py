"""How far the clock of a meter is from the host's, by the load itself: power rises where bursts begin.

Bursts whose distances are unlike one another, at best primes of one length, fit in one place only.
"""

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from openpts.analysis.energy import Drawn, WattMeter
from openpts.units import NS_PER_S

MOST_NS: Final = 5 * NS_PER_S
"""Clocks are looked for so far apart."""
LEAST_CORRELATION: Final = 0.7
_LEAST_BURSTS: Final = 3
_MOST_BURSTS: Final = 200
_PER_BURST: Final = 8
_CLEARLY: Final = 0.9
_FINEST_NS: Final = 1_000

Burst = tuple[int, int]
"""Begin and end of a load, on the host's clock."""


class ClockOffset(Struct, frozen=True):
    """What the meter's clock is ahead of the host's, and the correlation of power with the load then."""

    offset_ns: int
    correlation: float


def clock_offset(t_ns: Sequence[int], watts: Sequence[float], bursts: Sequence[Burst]) -> ClockOffset | None:
    """The offset at which power follows the bursts best; None where none fits clearly best."""
    bursts = bursts[:_MOST_BURSTS]
    if len(bursts) < _LEAST_BURSTS or len(watts) < len(bursts):
        return None
    fit = _Fit(WattMeter(t_ns, watts), bursts, _deviation(watts))
    step = max(_FINEST_NS, min(end - begin for begin, end in bursts) // _PER_BURST)
    tried = {offset: fit.correlation(offset) for offset in range(-MOST_NS, MOST_NS + 1, step)}
    best = max(tried, key=tried.__getitem__)
    others = [one for offset, one in tried.items() if abs(offset - best) > _PER_BURST * step]
    if tried[best] < LEAST_CORRELATION or max(others, default=0.0) > _CLEARLY * tried[best]:
        return None
    while step > _FINEST_NS:
        step = max(_FINEST_NS, step // _PER_BURST)
        near = range(best - _PER_BURST * step, best + _PER_BURST * step + 1, step)
        tried = {offset: fit.correlation(offset) for offset in near}
        highest = max(tried.values())
        # a meter slower than the step sees no difference between several: the middle one is the nearest
        alike = [offset for offset, one in tried.items() if one >= highest - 1e-9]
        best = alike[len(alike) // 2]
    return ClockOffset(best, max(tried.values()))


class _Fit(Struct, frozen=True):
    """The correlation of power with being in a burst, from the first burst's begin to the last one's end."""

    meter: WattMeter
    bursts: Sequence[Burst]
    deviation_w: float

    def correlation(self, offset_ns: int) -> float:
        busy = Drawn()
        for begin, end in self.bursts:
            busy += self.meter.drawn(begin + offset_ns, end + offset_ns)
        whole = self.meter.drawn(self.bursts[0][0] + offset_ns, self.bursts[-1][1] + offset_ns)
        idle = Drawn(whole.joules - busy.joules, whole.covered_ns - busy.covered_ns)
        if busy.mean_w is None or idle.mean_w is None or not self.deviation_w:
            return 0.0
        share = busy.covered_ns / whole.covered_ns
        return (busy.mean_w - idle.mean_w) * math.sqrt(share * (1 - share)) / self.deviation_w


def _deviation(watts: Sequence[float]) -> float:
    mean = math.fsum(watts) / len(watts)
    return math.sqrt(math.fsum((one - mean) ** 2 for one in watts) / len(watts))
