"""Energy drawn between two moments, from a counter of joules or from samples of watts."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
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
        went = counter_change(self.t_ns, self.joules, begin_ns, end_ns)
        return Drawn() if went is None else Drawn(went, end_ns - begin_ns)


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
