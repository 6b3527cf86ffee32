"""A sweep of one property of the stimulus: levels that were each visited twice, and what the property does.

Implements: LSI-ENT-01, LSI-MIX-01.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from statistics import fmean
from typing import Final, TypeVar

from msgspec import Struct

from openpts.analysis.comparison import relative_standard_error_pct
from openpts.analysis.student_t import critical_value
from openpts.procedures.kit.steps import summarize

REDUCTION_LIMIT: Final = 1.05
"""A drive reduces data only if it is at least so many times as fast at the least entropy as at the most."""

CONFIDENCE: Final = 0.99
_VISITS: Final = 2

K = TypeVar("K")
T = TypeVar("T")


class Level(Struct, frozen=True):
    """A level of the property, and the figure at each visit, in the order of the visits."""

    level: float
    visits: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the visits."""
        return fmean(self.visits)

    @property
    def rse_pct(self) -> float | None:
        """Relative standard error of the visits; None with a single one."""
        return relative_standard_error_pct(self.visits)

    @property
    def drift_pct(self) -> float | None:
        """How far the last visit lies from the first one, in per cent of it; None with a single one."""
        first, last = self.visits[0], self.visits[-1]
        return 100 * (last / first - 1) if len(self.visits) > 1 and first else None


class Reduction(Enum):
    """What an entropy sweep shows of a drive."""

    SEEN = "data reduction seen"
    NONE = "no effect seen"
    UNDECIDED = "no verdict"


class EntropyEffect(Struct, frozen=True):
    """The figure at the least entropy over that at the most.

    ``interval`` holds the factor with a confidence of ``CONFIDENCE``, by what the two visits of all levels
    differ; None with single visits.
    """

    least: Level
    most: Level
    factor: float | None
    interval: tuple[float, float] | None

    @property
    def reduction(self) -> Reduction:
        """Seen if all of the interval reaches ``REDUCTION_LIMIT``, none if nothing of it does."""
        if self.interval is None:
            return Reduction.UNDECIDED
        low, high = self.interval
        if low >= REDUCTION_LIMIT:
            return Reduction.SEEN
        return Reduction.NONE if high < REDUCTION_LIMIT else Reduction.UNDECIDED


def levels_of(
    rows: Iterable[tuple[K, T]], key: Callable[[K], float], figure: Callable[[T], float]
) -> tuple[Level, ...]:
    """Levels in rising order, of what was applied and measured in the order of the visits."""
    return tuple(Level(level, visits) for level, visits in summarize(rows, key, figure).items())


def entropy_effect(levels: tuple[Level, ...]) -> EntropyEffect | None:
    """The two ends of a sweep; None with fewer than two levels."""
    if len(levels) < 2:
        return None
    least, most = levels[0], levels[-1]
    factor = least.mean / most.mean if most.mean else None
    reach = _reach(levels)
    interval = None if reach is None or factor is None else (factor / reach, factor * reach)
    return EntropyEffect(least, most, factor, interval)


def _reach(levels: Sequence[Level]) -> float | None:
    """The factor by which the ratio of two levels may be off, from the scatter of visits; None if unknown.

    With a scatter s of the logarithms of single visits, the difference of two visits scatters by s √2, the
    mean of two by s / √2, and the difference of two such means by s.
    """
    pairs = [(level.visits[0], level.visits[-1]) for level in levels if len(level.visits) == _VISITS]
    if len(pairs) < len(levels) or not all(first and last for first, last in pairs):
        return None
    scatter = math.sqrt(math.fsum(math.log(last / first) ** 2 for first, last in pairs) / 2 / len(pairs))
    return math.exp(critical_value(CONFIDENCE, len(pairs)) * scatter)


def sweep_drift_pct(levels: tuple[Level, ...]) -> float | None:
    """The drift of the level whose visits differ most, as a share of the first: the possible effect of time
    alone.
    """
    drifts = [level.drift_pct for level in levels if level.drift_pct is not None]
    return max(drifts, key=abs, default=None)


def loss_pct(levels: tuple[Level, ...], at: float, of: float = 0.0) -> float | None:
    """What is lost from level ``of`` to level ``at``, in per cent; None where one of them is missing."""
    means = {level.level: level.mean for level in levels}
    if not means.get(of) or at not in means:
        return None
    return 100 * (1 - means[at] / means[of])
