"""Rounds judged one after the other, with the error rates of a test of fixed length.

Each round says how far it is on the side of yes, in natural logarithms. Two hypotheses are held against all
rounds so far: that nothing is on that side (0), and that the margin is. The first is rejected for a yes, the
second for a no. Rounds of a drive have a spread that is not known, so a mean is judged by Student's t, as the
normal score of the same probability (Jennison and Turnbull, Group Sequential Methods, 11.3). Bounds are lines
over the information, as of Wald's test, and it ends with the last round: 1.05 x what a fixed number needs.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from statistics import NormalDist
from typing import Final

from msgspec import Struct

from openpts.analysis.student_t import central_probability, critical_value
from openpts.analysis.uncertainty import DRIFT, Block, budget, of_mean

FALSE_YES: Final = 0.005
"""Share of answers that are yes where nothing is on that side, at the most."""
POWER: Final = 0.95
"""Share of answers that are yes where it is just the margin, at the least."""
FEWEST_ROUNDS: Final = 3
_LONGEST: Final = 1.05
_NORMAL: Final = NormalDist()
_ALPHA, _BETA = _NORMAL.inv_cdf(1 - FALSE_YES), _NORMAL.inv_cdf(POWER)
# Start and slope of the lines for the sum of rounds, in units of its standard deviation at the last round,
# and the score that the last round asks for: of lines that keep both error rates, by recursive integration
# of the normal density, those with the fewest rounds on average over both hypotheses.
_YES: Final = (1.5, 1.87)
_NO: Final = (1.15, 1.7)
_LAST: Final = 2.6
_LAST_NO: Final = math.sqrt(_LONGEST) * (_ALPHA + _BETA) - _LAST
_SMALLEST: Final = 1e-15


class Decision(StrEnum):
    """The answer."""

    YES = "yes"
    NO = "no"
    OPEN = "not decided"


class Lengths(Struct, frozen=True):
    """How many rounds a test of fixed length needs, and after how many this one ends at the latest."""

    fixed: int
    most: int

    @classmethod
    def of(cls, margin: float, spread: float) -> "Lengths":
        """For rounds with this standard deviation (Guenther's correction for one that is not known)."""
        fixed = max(FEWEST_ROUNDS, math.ceil((_ALPHA + _BETA) ** 2 * (spread / margin) ** 2 + _ALPHA**2 / 2))
        return cls(fixed, math.floor(_LONGEST * fixed))


class Look(Struct, frozen=True):
    """What all rounds so far say: the mean on the side of yes, and where it lies with 99 % at any look.

    Scores are of the mean against 0 and, downwards, against the margin; None before there is a spread.
    """

    rounds: int
    decision: Decision
    mean: float
    low: float | None = None
    high: float | None = None
    score_of_none: float | None = None
    score_of_margin: float | None = None


def look(rounds: Sequence[Block], margin: float, most: int) -> Look:
    """Judge the rounds; not decided means at the last look that neither hypothesis can be rejected."""
    count = len(rounds)
    mean = sum(one.value for one in rounds) / max(1, count)
    if count < FEWEST_ROUNDS:
        return Look(count, Decision.OPEN, mean)
    # a drift of one drive against the other is no noise of theirs: the mean over the rounds is what is asked
    found = budget(one for one in of_mean(rounds).components if one.name != DRIFT)
    # what does not vary at all is known as well as a figure is
    standard = found.standard or abs(margin) * _SMALLEST
    degrees = max(1, math.floor(min(found.degrees_of_freedom, 10_000)))
    share = min(1.0, count / most)
    none, less = (_score(distance / standard, degrees) for distance in (mean, margin - mean))
    yes_at, no_at = _bound(_YES, share, _LAST), _bound(_NO, share, _LAST_NO)
    decision = Decision.YES if none >= yes_at else Decision.NO if less >= no_at else Decision.OPEN
    tail = max(_SMALLEST, 1 - _NORMAL.cdf(yes_at))
    reach = critical_value(1 - 2 * tail, degrees) * standard
    return Look(count, decision, mean, mean - reach, mean + reach, none, less)


def _bound(line: tuple[float, float], share: float, last: float) -> float:
    """The score to be reached with this share of the rounds."""
    start, slope = line
    return last if share >= 1 else (start + slope * share) / math.sqrt(share)


def _score(t: float, degrees: int) -> float:
    """The normal score of a t: what a standard normal exceeds as rarely."""
    tail = (1 - central_probability(abs(t), degrees)) / 2
    return math.copysign(-_NORMAL.inv_cdf(max(_SMALLEST, tail)), t)
