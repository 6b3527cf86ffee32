"""What trims do to the reads and writes beside them: the rule of the test."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import Figures
from openpts.units import NS_PER_MS

FACTOR_LIMIT: Final = 2.0
"""Trims stall what takes so many times as long beside them, at the judged percentile."""
STALL_NS: Final = 10 * NS_PER_MS
"""A longest response time up to this is no stall, however short it is without trims."""
RATE_LIMIT: Final = 0.95
"""What comes at a fixed rate must complete at so much of what it does without trims."""
JUDGED_PCTS: Final = (99.9, 99.0, 90.0)
"""The percentile judged is the first one that there are enough I/Os for."""
PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


class Effect(Enum):
    """What trims do to an operation beside them."""

    STALLED = "stalled by trims"
    CLEAN = "clean"
    UNDECIDED = "no verdict"


class Concurrent(Struct, frozen=True):
    """An operation without trims, beside them, and without them again."""

    before: Figures
    beside: Figures
    after: Figures

    @property
    def alone(self) -> tuple[Figures, Figures]:
        """The loads without trims: before, and after."""
        return self.before, self.after

    def slowest_alone_ns(self, pct: float, pick: Callable[[Iterable[float]], float] = max) -> float:
        """A percentile in the slower load without trims; with ``min``, in the faster."""
        return pick(load.percentile_ns(pct) or 0 for load in self.alone)

    @property
    def longest_alone_ns(self) -> int:
        """The longest response time without trims."""
        return max(load.max_latency_ns or 0 for load in self.alone)

    @property
    def judged_pct(self) -> float | None:
        """The percentile judged; None where there are too few I/Os for any."""
        loads = (*self.alone, self.beside)
        supported = (pct for pct in JUDGED_PCTS if all(one.percentile_ns(pct) is not None for one in loads))
        return next(supported, None)

    def factor(self, pct: float) -> float | None:
        """Response time beside trims over that of the slower load without; None without one of them."""
        loads = (*self.alone, self.beside)
        if any(load.percentile_ns(pct) is None for load in loads):
            return None
        return _ratio(self.beside.percentile_ns(pct), self.slowest_alone_ns(pct))

    @property
    def rate_share(self) -> float | None:
        """Rate beside trims over the lower rate without."""
        return _ratio(self.beside.iops, min(load.iops for load in self.alone))

    def broken(self, *, against_faster: bool = False) -> tuple[str, ...]:
        """Parts of the rule that are broken: ``percentile``, ``longest`` and ``rate``.

        Loads are held against the slower one without trims, or against the faster one.
        """
        time, rate = (min, max) if against_faster else (max, min)
        pct, longest_ns = self.judged_pct, self.beside.max_latency_ns or 0
        found_ns = 0 if pct is None else self.beside.percentile_ns(pct) or 0
        alone_ns = 0 if pct is None else self.slowest_alone_ns(pct, time)
        longest_alone_ns = time(load.max_latency_ns or 0 for load in self.alone)
        parts = {
            "percentile": alone_ns > 0 and found_ns >= FACTOR_LIMIT * alone_ns,
            "longest": longest_ns > max(STALL_NS, FACTOR_LIMIT * longest_alone_ns),
            "rate": self.beside.iops < RATE_LIMIT * rate(load.iops for load in self.alone),
        }
        return tuple(name for name, is_broken in parts.items() if is_broken)

    @property
    def effect(self) -> Effect:
        """By the rule of the test."""
        if self.broken():
            return Effect.STALLED
        is_doubtful = self.judged_pct is None or self.broken(against_faster=True)
        return Effect.UNDECIDED if is_doubtful else Effect.CLEAN


def _ratio(above: float | None, below: float) -> float | None:
    return above / below if above is not None and below else None
