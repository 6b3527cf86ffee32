"""Values of drives that do not belong to the others, with a bound on how often a sound drive is named.

A value is named if two rules agree.

*Far away.* Rosner's generalised ESD (Technometrics 25, 1983): the farthest value is taken away again and
again, up to a sixth of all, and held against Student's t of those that stay, corrected for their number. So
several outliers do not hide each other. Among normal values it finds one with a probability of ``error``.

*Apart.* Beyond some order, the spacings of ordered values, each times its rank, are independent and
exponential if the tail is (Renyi), so that a gap over their mean has an F distribution. The gap below the
named values must be one that is as rare as ``gap_error`` allows: a long tail that thins out gradually names
nobody. On logarithms an exponential tail is a power law.

Values in steps, such as whole kelvins, are spread over their step first, and a suspect counts as half a step
nearer: a rounded value next to many equal ones is no outlier.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import fmean, stdev
from typing import Final

from openpts.analysis.student_t import central_probability, critical_value

FEWEST: Final = 6
"""Values below which nothing can be said."""
_MOST_SHARE: Final = 6
_TAIL_SHARE: Final = 5
_TAIL_LEAST: Final = 12


@dataclass(frozen=True, slots=True)
class Outlier:
    """The place of a value among those given, and the ``error`` with which it would just be far enough."""

    place: int
    chance: float


@dataclass(frozen=True, slots=True)
class Judged:
    """Outliers, the farthest first, and the bounds beyond which one more value would be an outlier.

    ``reason`` says why nothing can be said, and then there are no bounds.
    """

    outliers: tuple[Outlier, ...] = ()
    low: float | None = None
    high: float | None = None
    reason: str = ""


def find_outliers(
    values: Sequence[float], error: float, gap_error: float, resolution: float = math.inf
) -> Judged:
    """The values that do not belong to the others; both errors are those of a lot without outliers.

    ``resolution`` is the step of the values, where it is known; it is no larger than the smallest difference.
    """
    if len(values) < FEWEST:
        return Judged(reason=f"fewer than {FEWEST} values")
    order = sorted(range(len(values)), key=values.__getitem__)
    if values[order[0]] == values[order[-1]]:
        return Judged(reason="all values are equal")
    placed, step = _spread_over_steps([values[place] for place in order], resolution)
    suspects = _suspects(placed, step, error)
    mirrored = [-value for value in reversed(placed)]
    last = len(placed) - 1
    low = _set_apart(mirrored, [last - place for place, _ in suspects], step, gap_error)
    high = _set_apart(placed, [place for place, _ in suspects], step, gap_error)
    kept = placed[low : len(placed) - high]
    outliers = tuple(
        Outlier(order[place], chance) for place, chance in suspects if place < low or place > last - high
    )
    reach, middle = _reach(kept, error) + step / 2, fmean(kept)
    return Judged(
        outliers,
        min(middle - reach, -_gap_bound(mirrored, low, step, gap_error)),
        max(middle + reach, _gap_bound(placed, high, step, gap_error)),
    )


def _spread_over_steps(ordered: Sequence[float], resolution: float) -> tuple[list[float], float]:
    """Equal values evenly over the smallest step between different ones, and that step."""
    step = min(resolution, *(after - before for before, after in pairwise(ordered) if after > before))
    placed: list[float] = []
    for value, equal in groupby(ordered):
        count = len(list(equal))
        placed += [value + step * ((place + 0.5) / count - 0.5) for place in range(count)]
    return placed, step


def _suspects(ordered: Sequence[float], step: float, error: float) -> list[tuple[int, float]]:
    """Places and chances of all values up to the last one that is too far from those that stay.

    A value that hides behind a farther one is too far as soon as that one is.
    """
    found = list(_farthest(ordered, step))
    count = max((number for number, (_, chance) in enumerate(found, 1) if chance <= error), default=0)
    return [
        (place, min(chance for _, chance in found[number:count]))
        for number, (place, _) in enumerate(found[:count])
    ]


def _farthest(ordered: Sequence[float], step: float) -> Iterator[tuple[int, float]]:
    """The place of the farthest value, of the farthest of the rest, and so on, each with its chance."""
    first, last = 0, len(ordered)
    for _ in range(max(1, len(ordered) // _MOST_SHARE)):
        rest = ordered[first:last]
        middle, spread, count = fmean(rest), stdev(rest), len(rest)
        is_low = middle - rest[0] > rest[-1] - middle
        place = first if is_low else last - 1
        first, last = first + is_low, last - (not is_low)
        distance = max(0.0, abs(ordered[place] - middle) - step / 2) / spread
        left = (count - 1) ** 2 - count * distance**2
        t = math.sqrt((count - 2) * count / left) * distance if left > 0 else math.inf
        beyond = 0.0 if math.isinf(t) else 1 - central_probability(t, count - 2)
        yield place, min(1.0, count * beyond)


def _set_apart(ordered: Sequence[float], suspects: Sequence[int], step: float, gap_error: float) -> int:
    """How many of the suspects at the upper end lie behind a gap."""
    most = sum(place >= len(ordered) - len(suspects) for place in suspects)
    for rank in range(most, 0, -1):
        spacing, left = _mean_spacing(ordered, rank, step)
        gap = ordered[len(ordered) - rank] - ordered[len(ordered) - rank - 1]
        if rank * max(0.0, gap - step) >= spacing * _critical_gap(left, gap_error):
            return rank
    return 0


def _mean_spacing(ordered: Sequence[float], rank: int, step: float) -> tuple[float, int]:
    """The mean of the spacings below so many upper values, each times its rank, and how many they are."""
    count = len(ordered)
    tail = min(count // 2, max(count // _TAIL_SHARE, _TAIL_LEAST))
    ranks = range(rank + 1, max(tail, rank + 2) + 1)
    spacings = [one * (ordered[count - one] - ordered[count - one - 1]) for one in ranks]
    return max(fmean(spacings), step), len(spacings)


def _critical_gap(spacings: int, gap_error: float) -> float:
    """The quantile of F with 2 and twice so many degrees of freedom."""
    return spacings * math.expm1(-math.log(gap_error) / spacings)


def _gap_bound(ordered: Sequence[float], named: int, step: float, gap_error: float) -> float:
    """Beyond which one more value above those that stay would be apart."""
    kept = ordered[: len(ordered) - named]
    spacing, left = _mean_spacing([*kept, kept[-1]], 1, step)
    return kept[-1] + spacing * _critical_gap(left, gap_error) + step


def _reach(kept: Sequence[float], error: float) -> float:
    """How far from the mean of the others one more value would be too far."""
    count = len(kept)
    t = critical_value(1 - error / (count + 1), count - 1)
    return t * stdev(kept) * math.sqrt(1 + 1 / count)
