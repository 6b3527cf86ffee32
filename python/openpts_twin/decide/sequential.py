"""Rounds judged one after the other, with the error rates of a test of fixed length.

Each round says how far it is on the side of yes, in natural logarithms. Two hypotheses are held against all
rounds so far: that nothing is on that side (0), and that the margin is. The first is rejected for a yes, the
second for a no. Rounds of a drive have a spread that is not known, so a mean is judged by Student's t, as the
normal score of the same probability (Jennison and Turnbull, Group Sequential Methods, 11.3). Bounds are lines
over the information, as of Wald's test, and it ends once that is what was planned: with 1.05 x the looks
that a fixed number needs, where each tells something of its own.

A round is judged in quarters: the noise of a minute is that of four quarters, and four times as many values
tell their spread better. What a quarter tells of the next is taken from their intervals: under noise that
lasts, the mean varies by more than their scatter says, and the information is less than their number by so
much. It then goes on for longer, up to a limit at which it stays open.
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
FEWEST_LOOKS: Final = 3
LOOKS_PER_ROUND: Final = 4
_LONGEST: Final = 1.05
_LONGEST_LASTING: Final = 3
"""Times as many looks at the most where noise lasts: enough where it lasts for a quarter, by simulation."""
_NORMAL: Final = NormalDist()
_ALPHA, _BETA = _NORMAL.inv_cdf(1 - FALSE_YES), _NORMAL.inv_cdf(POWER)
# Start and slope of the lines for the sum of looks, in units of its standard deviation at the last look, and
# the scores that the last look asks for: of lines that keep both error rates where rounds vary just as was
# planned, by simulation of 200,000 decisions each (margin 5 %, spreads 2 to 16 %), those with fewest looks on
# average over nothing, the margin and twice the margin. Where rounds vary less, errors are rarer.
_YES: Final = (1.62, 1.96)
_NO: Final = (1.12, 1.71)
_LAST: Final = 2.62
_LAST_NO: Final = 1.68
_SMALLEST: Final = 1e-15


class Decision(StrEnum):
    """The answer."""

    YES = "yes"
    NO = "no"
    OPEN = "not decided"


class Lengths(Struct, frozen=True):
    """How many rounds a test of fixed length needs, and after how many looks this one ends: ``most``.

    A look is at a part of a round, or at a whole one: ``looks_per_round``. Where noise outlasts a look, it
    ends after ``longest``.
    """

    fixed: int
    most: int
    looks_per_round: int

    @classmethod
    def of(cls, margin: float, spread: float, looks_per_round: int = LOOKS_PER_ROUND) -> "Lengths":
        """For rounds with this standard deviation, whose parts vary as those of white noise do."""
        of_look = spread * math.sqrt(looks_per_round)
        fixed, most = _needed(margin, spread), math.ceil(_LONGEST * _needed(margin, of_look))
        return cls(fixed, min(most, math.floor(_LONGEST * fixed * looks_per_round)), looks_per_round)

    @property
    def longest(self) -> int:
        """After how many looks it ends where noise lasts; looks at whole rounds do not tell of it."""
        return self.most * (_LONGEST_LASTING if self.looks_per_round > 1 else 1)

    def has_ended(self, found: "Look") -> bool:
        """Whether that look was the last one, whatever it said."""
        return found.told >= self.most or found.count >= self.longest

    def rounds(self, looks: float) -> float:
        """Rounds of so many looks."""
        return looks / self.looks_per_round


def _needed(margin: float, spread: float) -> int:
    """Values for Student's t, with Guenther's correction for a spread that is not known."""
    return max(FEWEST_LOOKS, math.ceil((_ALPHA + _BETA) ** 2 * (spread / margin) ** 2 + _ALPHA**2 / 2))


class Look(Struct, frozen=True):
    """What all values so far say: the mean on the side of yes, and where it lies with 99 % at any look.

    ``count`` is how many they are, ``told`` how many that tell nothing of each other would tell as much.
    Scores are of the mean against 0 and, downwards, against the margin; None before there is a spread.
    """

    count: int
    told: float
    decision: Decision
    mean: float
    low: float | None = None
    high: float | None = None
    score_of_none: float | None = None
    score_of_margin: float | None = None


def look(values: Sequence[Block], margin: float, most: int) -> Look:
    """Judge the values; not decided means that neither hypothesis can be rejected, at the last look for good.

    The last look is the one at which ``told`` is ``most``.
    """
    count = len(values)
    mean = sum(one.value for one in values) / max(1, count)
    if count < FEWEST_LOOKS:
        return Look(count, count, Decision.OPEN, mean)
    # a drift of one drive against the other is no noise of theirs: the mean over the rounds is what is asked
    found = budget(one for one in of_mean(values).components if one.name != DRIFT)
    scatter = found.components[0].standard
    told = count * (scatter / found.standard) ** 2 if scatter else count
    # what does not vary at all is known as well as a figure is
    standard = found.standard or abs(margin) * _SMALLEST
    degrees = max(1, math.floor(min(found.degrees_of_freedom, 10_000)))
    none, less = (_score(distance / standard, degrees) for distance in (mean, margin - mean))
    yes_at, no_at = scores_needed(told, most)
    decision = Decision.YES if none >= yes_at else Decision.NO if less >= no_at else Decision.OPEN
    tail = max(_SMALLEST, math.erfc(yes_at / math.sqrt(2)) / 2)
    reach = critical_value(1 - 2 * tail, degrees) * standard
    return Look(count, told, decision, mean, mean - reach, mean + reach, none, less)


def scores_needed(told: float, most: int) -> tuple[float, float]:
    """The scores to be reached for a yes and for a no, by looks that tell as much as so many."""
    if told >= most:
        return _LAST, _LAST_NO
    share = told / most
    yes_at, no_at = ((start + slope * share) / math.sqrt(share) for start, slope in (_YES, _NO))
    return yes_at, no_at


def _score(t: float, degrees: int) -> float:
    """The normal score of a t: what a standard normal exceeds as rarely."""
    tail = (1 - central_probability(abs(t), degrees)) / 2
    return math.copysign(-_NORMAL.inv_cdf(max(_SMALLEST, tail)), t)
