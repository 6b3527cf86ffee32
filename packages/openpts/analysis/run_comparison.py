"""Repeats as a set, and two sets beside each other: median, spread, delta, sessions, whether they differ.

The repeats are runs of a test, or passes of a benchmark's row within a run.

Median, spread and delta follow the Solidigm guide, sections 4.1 to 4.3. The gate's interval decides when two
sets are called different: chance seldom puts them so far apart, and the difference is large enough to matter.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate, pairwise, permutations
from math import fsum, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final

from msgspec import Struct

from openpts.analysis.ratio import MOST_RUNS, Ratio, chance_of, ratio_of
from openpts.vocabulary.verdict import Better


def gain_pct(basis: float, comparison: float) -> float | None:
    """The increase from the basis to the comparison, in per cent of the basis; None for a basis of 0. For
    rates this is the gain in speed; for times, exchange the two arguments.
    """
    return 100 * (comparison / basis - 1) if basis else None


def share_pct(part: float, whole: float) -> float | None:
    """The part in per cent of the whole, such as settled performance of fresh performance."""
    return 100 * part / whole if whole else None


def relative_standard_error_pct(values: Sequence[float]) -> float | None:
    """Standard error of the mean in per cent of the mean, with the sample's standard deviation (N - 1).

    None for fewer than two values, or a mean of 0.
    """
    if len(values) < 2 or not (mean := fmean(values)):
        return None
    return abs(100 * stdev(values) / (mean * sqrt(len(values))))


FALSE_ALARM_LIMIT: Final = 0.05
"""A line is called different if the probability of a false alarm in any line is at most this."""


def holm(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Each probability corrected for all of them, by Holm's step-down method.

    The least is multiplied by their number, the next by one less, and so on; none is below the one before,
    or above 1. What is then at or below a limit is a false alarm in any of the lines no more often than
    that, however the lines depend on each other.
    """
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    steps = (min(1.0, (len(order) - place) * probabilities[index]) for place, index in enumerate(order))
    corrected = dict(zip(order, accumulate(steps, max), strict=True))
    return tuple(corrected[index] for index in range(len(probabilities)))


DRIFT_LIMIT: Final = 0.02
"""Runs drift if chance puts them in such an order more seldom: of fewer than five runs it never does."""
_MOST_PERMUTED: Final = 7
_ROUNDING: Final = 1e-9


_NIGHT_S: Final = 12 * 3600.0


class Made(Struct, frozen=True):
    """Of a run: its host, its start in seconds of any one clock, and what distinguishes boots of the host."""

    host: str
    started_s: float
    boot: str = ""


def are_apart(base: Sequence[Made | None], candidate: Sequence[Made | None]) -> bool:
    """Whether what sessions shift is in the difference of two sides by more than the spread of runs shows.

    It is where all runs of one side were made before those of the other, or on other hosts, and where the
    sessions of one side lack runs of the other. None is a run of a simulated drive, which knows no session.
    """
    sides = [[one for one in side if one is not None] for side in (base, candidate)]
    if not all(sides):
        return False
    hosts = [{one.host for one in side} for side in sides]
    times = [[one.started_s for one in side] for side in sides]
    behind = max(times[0]) < min(times[1]) or max(times[1]) < min(times[0])
    return not hosts[0] & hosts[1] or behind or _is_shifted(*sides)


def _is_shifted(base: Sequence[Made], candidate: Sequence[Made]) -> bool:
    """Whether the variance of the difference exceeds that of independent runs with the spread within sides,
    where each session shifts its runs alike and shifts vary as runs do.
    """
    sessions = _sessions([*base, *candidate])
    shares = [
        [sum(one in session for one in side) / len(side) for session in sessions]
        for side in (base, candidate)
    ]
    of_runs = 1 / len(base) + 1 / len(candidate)
    of_shifts: float = fsum((ours - theirs) ** 2 for ours, theirs in zip(*shares, strict=True))
    within: float = fsum(
        len(side) * (1 - fsum(share**2 for share in of_side))
        for side, of_side in zip((base, candidate), shares, strict=True)
    )
    degrees = max(1, len(base) + len(candidate) - 2)
    allowed = of_runs * within / degrees
    return of_shifts > allowed + _ROUNDING


def _sessions(runs: Sequence[Made]) -> list[list[Made]]:
    """Runs of one boot of a host, each started within a night of the one before it."""
    found: list[list[Made]] = []
    for one in sorted(runs, key=lambda run: (run.host, run.boot, run.started_s)):
        last = found[-1][-1] if found else None
        same = last is not None and (last.host, last.boot) == (one.host, one.boot)
        if last is not None and same and one.started_s - last.started_s < _NIGHT_S:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def drift_chance(values: Sequence[float]) -> float:
    """How often values without an order follow each other as closely as these do, by von Neumann's ratio.

    All orders of up to seven values are counted; more are nearly normal.
    """
    if len(values) < 3 or len(set(values)) == 1:
        return 1.0
    mean = fmean(values)
    squares = fsum((value - mean) ** 2 for value in values)
    found = _steps(values)
    if len(values) <= _MOST_PERMUTED:
        orders = [_steps(order) for order in permutations(values)]
        return sum(one <= found * (1 + 1e-9) for one in orders) / len(orders)
    count = len(values)
    error = math.sqrt(4 * (count - 2) / (count**2 - 1))
    return NormalDist(2, error).cdf(found / squares)


def _steps(values: Sequence[float]) -> float:
    """The sum of the squares of all differences between neighbors."""
    return fsum((one - other) ** 2 for one, other in pairwise(values))


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
