"""Repeats as a set, and two sets beside each other: median, spread, delta, and whether they differ.

The repeats are runs of a test, or passes of a benchmark's row within a run.

Median, spread and delta follow the Solidigm guide, sections 4.1 to 4.3. The gate's interval decides when two
sets are called different: chance seldom puts them so far apart, and the difference is large enough to matter.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from openpts.analysis.comparison import FALSE_ALARM_LIMIT, gain_pct, holm, relative_standard_error_pct
from openpts.analysis.ratio import MOST_RUNS, Ratio, chance_of, ratio_of
from openpts.analysis.sessions import Made, are_apart
from openpts.vocabulary.better import Better

ADVISED_RUNS: Final = 3
RSE_LIMIT_PCT: Final = 5.0
STEP_RUNS: Final = 2
"""So many more are made at a time, so that their number stays odd."""
LEAST_DIFFERENCE_PCT: Final = 2.0
"""Medians that differ by less are of no interest, unless the operator sets another value."""


class Quality(StrEnum):
    """Whether a set of runs supports a statement.

    MORE_RUNS: they lie too far apart, and more runs may mend it. DISCARDED: they still do with the most runs
    that a set may need.
    """

    ONE_RUN = "one run"
    ACCEPTED = "accepted"
    MORE_RUNS = "more runs needed"
    DISCARDED = "discarded"


class ComparisonOutcome(StrEnum):
    """What two sets show.

    DIFFERENT: they lie farther apart than chance puts them, all lines considered, and the medians differ by
    the least difference of interest. MAY_BE_CHANCE: far apart as a single line, but not for so many.
    NOT_OF_INTEREST: they differ by less. ONE_RUN: one against one, of which nothing can be said of chance.
    NO_REPEATS: nor of runs that drift, or are one and the same.
    """

    DIFFERENT = "different"
    MAY_BE_CHANCE = "may be chance"
    NOT_OF_INTEREST = "below the least difference"
    NO_DIFFERENCE = "no difference shown"
    ONE_RUN = "one run"
    DISCARDED = "discarded"
    NO_REPEATS = "no repeats"


def measured_median(values: Sequence[float], better: Better) -> float:
    """The middle value, which was measured: of an even number the less favorable of the two."""
    in_order = sorted(values, reverse=better is Better.LOWER)
    return in_order[(len(in_order) - 1) // 2]


# SOL-STAT-05, 06
class SetRule(Struct, frozen=True):
    """When a set is accepted: its RSE is at most so many per cent. With ``most`` runs it is discarded."""

    rse_limit_pct: float = RSE_LIMIT_PCT
    most: int = MOST_RUNS


# SOL-STAT-01 to 06, 09
class RunSet(Struct, frozen=True):
    """One figure of all warm runs of a drive, or of all passes of a row: at least one, in their order.

    A cold run is none of them. ``made`` says of runs when and where, ``doubt`` why they, or those that they
    are held against, are no repeats.
    """

    values: tuple[float, ...]
    better: Better
    rule: SetRule = SetRule()
    made: tuple[Made | None, ...] = ()
    doubt: str = ""

    @property
    def count(self) -> int:
        """Warm runs or passes."""
        return len(self.values)

    @property
    def median(self) -> float:
        """The middle value, which was measured: of an even number the less favorable of the two."""
        return measured_median(self.values, self.better)

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
        if rse_pct is not None and rse_pct <= self.rule.rse_limit_pct:
            return Quality.ACCEPTED
        return Quality.DISCARDED if self.count >= self.rule.most else Quality.MORE_RUNS

    @property
    def to_add(self) -> int:
        """Runs to be added before the set is judged again; 0 for one that has its median, or is discarded."""
        is_odd = self.count % 2 == 1
        if self.quality is Quality.ACCEPTED and is_odd and self.count >= ADVISED_RUNS:
            return 0
        step = STEP_RUNS if is_odd else 1
        return step if self.count + step <= self.rule.most else 0


class SetComparison(Struct, frozen=True):
    """A candidate's set beside the base's.

    ``delta_pct`` compares the medians so that plus is better; None where neither way is better, where a set
    is discarded, or where a median is not above 0. ``chance`` is the probability that sets lie so far apart,
    or farther, where nothing differs; ``corrected_chance`` is corrected for all lines. Both are None where
    nothing can be said of chance; ``reason`` says why runs are no repeats.
    """

    delta_pct: float | None
    outcome: ComparisonOutcome
    chance: float | None = None
    corrected_chance: float | None = None
    reason: str = ""


def compare_lines(
    lines: Sequence[tuple[RunSet, RunSet]], least_difference_pct: float = LEAST_DIFFERENCE_PCT
) -> tuple[SetComparison, ...]:
    """Compare the candidate of each line with its base, all lines of a comparison at once. Each line is one
    more chance of a false alarm, so that each outcome depends on their number.
    """
    chances = [_chance(base, candidate) for base, candidate in lines]
    corrected = iter(holm([chance for chance in chances if chance is not None]))
    return tuple(
        _without_chance(*line)
        if chance is None
        else _with_chance(*line, chance, next(corrected), least_difference_pct)
        for line, chance in zip(lines, chances, strict=True)
    )


def ratio_between(base: RunSet, candidate: RunSet) -> Ratio | None:
    """The ratio of two sets, by which a limit is decided; None where `ratio_of` has none."""
    return ratio_of(base.values, candidate.values, apart=are_apart(base.made, candidate.made))


def _chance(base: RunSet, candidate: RunSet) -> float | None:
    if candidate.doubt or Quality.DISCARDED in {base.quality, candidate.quality}:
        return None
    return chance_of(base.values, candidate.values, apart=are_apart(base.made, candidate.made))


def _without_chance(base: RunSet, candidate: RunSet) -> SetComparison:
    if Quality.DISCARDED in {base.quality, candidate.quality}:
        return SetComparison(None, ComparisonOutcome.DISCARDED)
    outcome = ComparisonOutcome.NO_REPEATS if candidate.doubt else ComparisonOutcome.ONE_RUN
    delta_pct = advantage_pct(base.median, candidate.median, base.better)
    return SetComparison(delta_pct, outcome, reason=candidate.doubt)


def _with_chance(
    base: RunSet, candidate: RunSet, chance: float, corrected: float, least_difference_pct: float
) -> SetComparison:
    delta_pct = advantage_pct(base.median, candidate.median, base.better)
    # if neither way is better, the plain difference decides whether it is of interest
    difference_pct = gain_pct(base.median, candidate.median) if delta_pct is None else delta_pct
    if chance > FALSE_ALARM_LIMIT:
        outcome = ComparisonOutcome.NO_DIFFERENCE
    elif difference_pct is not None and abs(difference_pct) < least_difference_pct:
        outcome = ComparisonOutcome.NOT_OF_INTEREST
    elif corrected > FALSE_ALARM_LIMIT:
        outcome = ComparisonOutcome.MAY_BE_CHANCE
    else:
        outcome = ComparisonOutcome.DIFFERENT
    return SetComparison(delta_pct, outcome, chance, corrected)


# SOL-STAT-07, 08
def advantage_pct(base: float, candidate: float, better: Better) -> float | None:
    """How much better the candidate is in per cent of speed; None if neither direction is better. Rates:
    candidate / base - 1; times: base / candidate - 1.
    """
    if better is Better.UNJUDGED or base <= 0 or candidate <= 0:
        return None
    return gain_pct(candidate, base) if better is Better.LOWER else gain_pct(base, candidate)
