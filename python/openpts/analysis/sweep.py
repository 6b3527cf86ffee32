"""A sweep of one property of the stimulus: levels that were each visited twice, and what the property does.

Implements: LSI-ENT-01, LSI-MIX-01.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from statistics import fmean
from typing import Final

REDUCTION_LIMIT: Final = 1.05
"""A drive reduces data only if it is at least so many times as fast at the least entropy as at the most."""


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the property, and the figure at each visit, in the order of the visits."""

    level: float
    visits: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the visits."""
        return fmean(self.visits)

    @property
    def drift_pct(self) -> float | None:
        """How far the last visit lies from the first one, in per cent of it; None with a single one."""
        first, last = self.visits[0], self.visits[-1]
        return 100 * (last / first - 1) if len(self.visits) > 1 and first else None


class Reduction(Enum):
    """What an entropy sweep says of a drive."""

    SEEN = "data reduction seen"
    NONE = "no effect seen"
    UNDECIDED = "no verdict"


@dataclass(frozen=True, slots=True)
class EntropyEffect:
    """The figure at the least entropy over that at the most; ``reduction`` is what follows from it."""

    least: Level
    most: Level

    @property
    def factor(self) -> float | None:
        """Mean at the least entropy over mean at the most; None where that is 0."""
        return self.least.mean / self.most.mean if self.most.mean else None

    @property
    def apart(self) -> bool:
        """Whether each visit at the least entropy was faster than each at the most."""
        return min(self.least.visits) > max(self.most.visits)

    @property
    def reduction(self) -> Reduction:
        """Seen from a factor of ``REDUCTION_LIMIT`` on, if the visits do not overlap."""
        if self.factor is None:
            return Reduction.UNDECIDED
        if self.factor < REDUCTION_LIMIT:
            return Reduction.NONE
        return Reduction.SEEN if self.apart else Reduction.UNDECIDED


def levels_of(visits: Iterable[tuple[float, float]]) -> tuple[Level, ...]:
    """Levels in rising order, from (level, figure) in the order in which they were measured."""
    found: dict[float, list[float]] = {}
    for level, figure in visits:
        found.setdefault(level, []).append(figure)
    return tuple(Level(level, tuple(found[level])) for level in sorted(found))


def entropy_effect(levels: tuple[Level, ...]) -> EntropyEffect | None:
    """The two ends of a sweep; None with fewer than two levels."""
    return EntropyEffect(levels[0], levels[-1]) if len(levels) > 1 else None


def sweep_drift_pct(levels: tuple[Level, ...]) -> float | None:
    """The drift of the level whose visits differ most, as a share of the first: what time alone may do."""
    drifts = [level.drift_pct for level in levels if level.drift_pct is not None]
    return max(drifts, key=abs, default=None)


def loss_pct(levels: tuple[Level, ...], at: float, of: float = 0.0) -> float | None:
    """What is lost from level ``of`` to level ``at``, in per cent; None where one of them is missing."""
    means = {level.level: level.mean for level in levels}
    if not means.get(of) or at not in means:
        return None
    return 100 * (1 - means[at] / means[of])
