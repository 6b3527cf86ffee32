"""Repeated runs as a set, and two sets beside each other: median, spread, delta, and what may be said of it.

The rules are those of the Solidigm guide, sections 4.1 to 4.3.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from openpts.analysis.comparison import gain_pct, relative_standard_error_pct
from openpts.vocabulary.better import Better

ADVISED_RUNS: Final = 3
MOST_RUNS: Final = 7
RSE_LIMIT_PCT: Final = 5.0


class Quality(StrEnum):
    """How far a set of runs carries a statement.

    MORE_RUNS: they lie too far apart, and more runs may mend it. DISCARDED: they still do with seven or more.
    """

    ONE_RUN = "one run"
    ACCEPTED = "accepted"
    MORE_RUNS = "more runs needed"
    DISCARDED = "discarded"


class Outcome(StrEnum):
    """What two sets show. ONE_RUN: one of them has no spread, so that nothing can be said of chance."""

    DIFFERENT = "different"
    NO_DIFFERENCE = "no difference shown"
    ONE_RUN = "one run"
    DISCARDED = "discarded"


# SOL-STAT-01 to 06, 09
@dataclass(frozen=True, slots=True)
class RunSet:
    """One figure of all warm runs of a drive, at least one, in the order of the runs.

    A cold run is none of them.
    """

    values: tuple[float, ...]
    better: Better

    @property
    def count(self) -> int:
        """Warm runs."""
        return len(self.values)

    @property
    def median(self) -> float:
        """The middle value, which was measured: of an even number the less favourable of the two."""
        in_order = sorted(self.values, reverse=self.better is Better.LOWER)
        return in_order[(self.count - 1) // 2]

    @property
    def low(self) -> float:
        """The least of the values."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The largest of the values."""
        return max(self.values)

    @property
    def rse_pct(self) -> float | None:
        """Relative standard error of the mean; None for one run."""
        return relative_standard_error_pct(self.values)

    @property
    def quality(self) -> Quality:
        """Whether the runs lie close enough together."""
        if self.count == 1:
            return Quality.ONE_RUN
        rse_pct = self.rse_pct
        if rse_pct is not None and rse_pct <= RSE_LIMIT_PCT:
            return Quality.ACCEPTED
        return Quality.DISCARDED if self.count >= MOST_RUNS else Quality.MORE_RUNS


@dataclass(frozen=True, slots=True)
class SetComparison:
    """A candidate's set beside the base's.

    ``delta_pct`` compares the medians so that plus is better; None where neither way is better, where a set
    is discarded, or where a median is not above 0.
    """

    delta_pct: float | None
    outcome: Outcome


def compare_sets(base: RunSet, candidate: RunSet) -> SetComparison:
    """Hold a candidate against the base: different only where their ranges have nothing in common."""
    qualities = {base.quality, candidate.quality}
    if Quality.DISCARDED in qualities:
        return SetComparison(None, Outcome.DISCARDED)
    delta_pct = advantage_pct(base.median, candidate.median, base.better)
    if Quality.ONE_RUN in qualities:
        return SetComparison(delta_pct, Outcome.ONE_RUN)
    overlap = base.low <= candidate.high and candidate.low <= base.high
    return SetComparison(delta_pct, Outcome.NO_DIFFERENCE if overlap else Outcome.DIFFERENT)


# SOL-STAT-07, 08
def advantage_pct(base: float, candidate: float, better: Better) -> float | None:
    """How much better the candidate is in per cent of speed; None if that can't be said.

    Of what is better higher that is candidate / base - 1, of times base / candidate - 1.
    """
    if better is Better.UNJUDGED or base <= 0 or candidate <= 0:
        return None
    return gain_pct(candidate, base) if better is Better.LOWER else gain_pct(base, candidate)
