"""Whether the block sizes and access ranges of a pattern hold within each measurement period.

PTS 13.2 step 2.1 gives no tolerance: openpts accepts a period if each share lies within 4 standard errors of
its binomial, and reports the chi-square test beside it.
"""

import math
from collections.abc import Sequence
from math import fsum
from typing import Final

from msgspec import Struct

from openpts.analysis.ratio import chi_square_survival
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Stimulus, Zones


def chi_square_statistic(counts: Sequence[float], expected: Sequence[float]) -> float:
    """Sum of (count - expected)^2 / expected. Raises ValueError unless both are equally long."""
    return fsum((count - mean) ** 2 / mean for count, mean in zip(counts, expected, strict=True))


LIMIT_STANDARD_ERRORS: Final = 4.0
_FEWEST_EXPECTED: Final = 5
"""With fewer expected I/Os of a kind the statistic does not follow the chi-square distribution."""


class Shares(Struct, frozen=True):
    """I/Os of each kind against the shares wanted; ``ios`` are those that were carried out.

    ``errors`` are the distances of the shares in standard errors. ``chi_square`` and ``p_value`` are None
    where there are too few I/Os for them.
    """

    expected_pct: tuple[float, ...]
    ios: tuple[float, ...]
    errors: tuple[float, ...]
    chi_square: float | None
    p_value: float | None

    @property
    def total(self) -> float:
        """All I/Os of the period."""
        return sum(self.ios)

    @property
    def shares_pct(self) -> tuple[float, ...]:
        """Shares of the I/Os in per cent."""
        return tuple(100 * count / self.total for count in self.ios)

    @property
    def worst(self) -> int:
        """The kind whose share is off by the most standard errors."""
        return max(range(len(self.errors)), key=lambda kind: abs(self.errors[kind]))

    @property
    def hold(self) -> bool:
        """Whether each share lies within 4 standard errors of the one wanted."""
        return all(abs(error) <= LIMIT_STANDARD_ERRORS for error in self.errors)


class PeriodShares(Struct, frozen=True):
    """Shares in a measurement period; None where the pattern has one kind only, or nothing was counted."""

    block_sizes: Shares | None
    zones: Shares | None

    @property
    def checked(self) -> tuple[Shares, ...]:
        """The kinds of counts that are compared with the pattern."""
        return tuple(shares for shares in (self.block_sizes, self.zones) if shares is not None)


def has_shares(stimulus: Stimulus) -> bool:
    """Whether a pattern has several sizes or zones, so that there is something to check."""
    return len(stimulus.block_sizes) > 1 or isinstance(stimulus.placement, Zones)


def period_shares(sample: Sample, scale: int = 1) -> PeriodShares:
    """Compare what the engine counted in a step with the step's own pattern.

    ``scale`` is that of a simulated drive: only one in so many of the I/Os was carried out.
    """
    stimulus = sample.step.stimulus
    if stimulus is None:
        return PeriodShares(None, None)
    zones = stimulus.placement.zones if isinstance(stimulus.placement, Zones) else ()
    return PeriodShares(
        block_sizes=_shares_of(
            sample.ios_by_block_size, [size.weight for size in stimulus.block_sizes], scale
        ),
        zones=_shares_of(sample.ios_by_zone, [zone.weight for zone in zones], scale),
    )


def compare_shares(counts: Sequence[float], weights: Sequence[float]) -> Shares:
    """Compare counts with weights.

    Raises ValueError unless both are equally long, with an I/O and two kinds of positive weight at least.
    """
    total, weight = sum(counts), fsum(weights)
    if len(counts) < 2 or total <= 0 or min(weights) <= 0:
        raise ValueError("shares need two kinds at least, and an I/O")
    shares = [one / weight for one in weights]
    expected = [total * share for share in shares]
    measurable = min(expected) >= _FEWEST_EXPECTED
    chi_square = chi_square_statistic(counts, expected) if measurable else None
    return Shares(
        expected_pct=tuple(100 * share for share in shares),
        ios=tuple(counts),
        errors=tuple(
            (count - mean) / math.sqrt(mean * (1 - share))
            for count, mean, share in zip(counts, expected, shares, strict=True)
        ),
        chi_square=chi_square,
        p_value=None if chi_square is None else chi_square_survival(chi_square, len(counts) - 1),
    )


def _shares_of(counts: Sequence[int], weights: Sequence[int], scale: int) -> Shares | None:
    if len(weights) < 2 or len(counts) != len(weights) or not sum(counts):
        return None
    return compare_shares([count / scale for count in counts], weights)
