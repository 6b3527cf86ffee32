"""What remains of short figures and of claims after a load.

Implements: HYP-SUS-02 to 05 (reading AMB-50 of openpts: the formula, not the claims of the talk).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from openpts.analysis.minutes import Piece
from openpts.procedures.extended.sustained.conditions import SHORT_FIGURES, ShortFigure
from openpts.vocabulary.sample import Sample

KEPT_PCT: Final = 95.0
"""A claim is missed below so many per cent of it: data sheets are rounded."""

HELD_INTERVALS: Final = 10
"""Intervals in a row that are averaged to find how long a claim held: a single dip does not end it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A figure of both runs, in its unit; None where it was not measured."""

    figure: ShortFigure
    fresh: float | None
    sustained: float | None

    @property
    def ratio_pct(self) -> float | None:
        """Sustained performance: run #2 in per cent of run #1."""
        if self.sustained is None or not self.fresh:
            return None
        return 100 * self.sustained / self.fresh


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim beside what was measured. ``held_ns`` is how long the load kept it; None if the load is not of
    the claim's figure.
    """

    pair: Pair
    claimed: float
    held_ns: int | None

    @property
    def missed_fresh(self) -> bool:
        """Whether not even the fresh drive comes near."""
        return self.pair.fresh is not None and self.pair.fresh < self.claimed * KEPT_PCT / 100

    @property
    def missed(self) -> bool:
        """Whether the drive does not sustain the claim."""
        return self.pair.sustained is not None and self.pair.sustained < self.claimed * KEPT_PCT / 100


def pairs_of(fresh: Iterable[Sample], sustained: Iterable[Sample]) -> tuple[Pair, ...]:
    """The figures of both runs in their order, from the steps of each."""
    before, after = _values(fresh), _values(sustained)
    return tuple(Pair(figure, before.get(name), after.get(name)) for name, figure in SHORT_FIGURES.items())


def _values(samples: Iterable[Sample]) -> Mapping[str, float]:
    return {
        figure.name: figure.of(sample)
        for sample in samples
        for figure in SHORT_FIGURES.values()
        if _is(figure, sample)
    }


def _is(figure: ShortFigure, sample: Sample) -> bool:
    stimulus = sample.step.stimulus
    return stimulus is not None and (
        (stimulus.access_pattern, stimulus.read_pct) == (figure.access_pattern, figure.read_pct)
    )


def held_ns(pieces: Sequence[Piece], figure: ShortFigure, claimed: float) -> int:
    """How long the load kept a value: until the first ten intervals in a row whose mean is below it.

    The time goes to the first interval below the value among these ten. With fewer intervals than that, their
    mean decides for all.
    """
    if not pieces:
        return 0
    rates = [(piece, figure.of(piece.measured)) for piece in pieces]
    count = min(HELD_INTERVALS, len(rates))
    for start in range(len(rates) - count + 1):
        window = rates[start : start + count]
        if sum(rate for _, rate in window) < claimed * count:
            return next(piece.start_ns for piece, rate in window if rate < claimed)
    return pieces[-1].end_ns
