"""What a drive drew and wrote between two moments: energy, the meter's clock offset, its log's counters."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.units import NS_PER_S

# A sample holds until the next one, but no longer than so many times the usual distance of two.
_HOLDS_TIMES: Final = 3
# Times of a scaled drive are rounded: a step may begin that much before the end of the step before it, which
# is the moment of the counter's value.
_ROUNDING_NS: Final = 1


class Drawn(Struct, frozen=True):
    """Energy in joules, and the part of the time for which it is known."""

    joules: float = 0.0
    covered_ns: int = 0

    def __add__(self, other: "Drawn") -> "Drawn":
        return Drawn(self.joules + other.joules, self.covered_ns + other.covered_ns)

    @property
    def mean_w(self) -> float | None:
        """Mean power over the time that is covered; None if none is."""
        return self.joules * NS_PER_S / self.covered_ns if self.covered_ns else None


class CounterMeter(Struct, frozen=True):
    """A counter of joules since some moment, each value until the next."""

    t_ns: Sequence[int]
    joules: Sequence[float]

    def drawn(self, begin_ns: int, end_ns: int) -> Drawn:
        """All or nothing: nothing before the first value, and where the counter went back."""
        joules = counter_change(self.t_ns, self.joules, begin_ns, end_ns)
        return Drawn() if joules is None else Drawn(joules, end_ns - begin_ns)


class WattMeter:
    """Samples of watts, each of which holds until the next."""

    def __init__(self, t_ns: Sequence[int], watts: Sequence[float]) -> None:
        spans = [after - before for before, after in pairwise(t_ns)]
        usual_ns = round(median(spans)) if spans else NS_PER_S
        self._t_ns, self._watts = t_ns, watts
        self._spans = [min(span, _HOLDS_TIMES * usual_ns) for span in (*spans, usual_ns)]
        self._covered = list(accumulate(self._spans, initial=0))
        held = (w * span / NS_PER_S for w, span in zip(watts, self._spans, strict=True))
        self._joules = list(accumulate(held, initial=0.0))

    def drawn(self, begin_ns: int, end_ns: int) -> Drawn:
        """The integral over the parts in which a sample holds."""
        before, after = self._until(begin_ns), self._until(end_ns)
        return Drawn(after.joules - before.joules, after.covered_ns - before.covered_ns)

    def moments(self, begin_ns: int, end_ns: int) -> Sequence[int]:
        """When samples began, from one moment to another."""
        return self._t_ns[bisect_left(self._t_ns, begin_ns) : bisect_right(self._t_ns, end_ns)]

    def _until(self, t_ns: int) -> Drawn:
        place = bisect_right(self._t_ns, t_ns) - 1
        if place < 0:
            return Drawn()
        into_ns = min(t_ns - self._t_ns[place], self._spans[place])
        joules = self._joules[place] + self._watts[place] * into_ns / NS_PER_S
        return Drawn(joules, self._covered[place] + into_ns)


Meter = CounterMeter | WattMeter
"""What knows the energy that was drawn between two moments, as far as it is known."""


def counter_change(t_ns: Sequence[int], values: Sequence[float], begin_ns: int, end_ns: int) -> float | None:
    """How far a counter went; None before its first value, and where it went back."""
    first, last = bisect_right(t_ns, begin_ns + _ROUNDING_NS) - 1, bisect_right(t_ns, end_ns) - 1
    if first < 0 or values[last] < values[first]:
        return None
    return values[last] - values[first]


MOST_NS: Final = 5 * NS_PER_S
"""The largest offset of clocks that is searched."""
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


# steps that a counter must have gone for a ratio that is off by 2 % at most
_FEWEST_STEPS: Final = 50

COUNTERS: Final = frozenset(
    {
        "host_read_bytes",
        "host_write_bytes",
        "host_read_commands",
        "host_write_commands",
        "nand_write_bytes",
        "nand_read_bytes",
        "erases",
        "erase_count_mean",
        "erase_count_max",
        "bad_superblocks",
        "media_errors",
        "error_log_entries",
        "reallocated_sectors",
        "grown_defects",
        "bad_user_blocks",
        "bad_system_blocks",
        "throttle_events",
        "drive_throttle_events",
        "throttled_s",
        "warning_temperature_s",
        "critical_temperature_s",
        "power_on_hours",
        "power_cycles",
        "unsafe_shutdowns",
        "busy_s",
        "energy_j",
    }
)
"""Values that only grow over a device's life; all others are states."""


def change(before: Mapping[str, float], after: Mapping[str, float], name: str) -> float | None:
    """How far a counter went between two readings; None unless both have it and it did not go back."""
    first, last = before.get(name), after.get(name)
    if first is None or last is None or last < first:
        return None
    return last - first


def fine_change(before: Mapping[str, float], after: Mapping[str, float], name: str) -> float | None:
    """How far a counter went; None also where it rose by too few of its steps for a ratio."""
    grown = change(before, after, name)
    least = _FEWEST_STEPS * after.get(f"{name.removesuffix('bytes')}unit_bytes", 0)
    return grown if grown is None or grown == 0 or grown >= least else None


def write_amplification(before: Mapping[str, float], after: Mapping[str, float]) -> float | None:
    """Bytes written to the media per byte that the host wrote between two readings; None if unknown.

    A counter that grows in gigabytes is too coarse for a short run: it must have gone far enough.
    """
    host = fine_change(before, after, "host_write_bytes")
    media = fine_change(before, after, "nand_write_bytes")
    return media / host if host and media else None
