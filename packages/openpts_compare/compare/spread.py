"""How the drives of a comparison spread, and which one lies out by Grubbs' test.

G is the largest distance from the mean over the standard deviation (Grubbs, Technometrics 11, 1969; ASTM
E178; ISO 5725-2). Values that are all of one normal distribution have one as large with a chance of at most n
times that of Student's t.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.comparison import FALSE_ALARM_LIMIT, holm
from openpts.analysis.student_t import central_probability
from openpts_compare.compare.metrics import ComparedMetric, ComparedMetrics
from openpts_pages.measure import Measured

FEWEST: Final = 3
"""Drives below which none can be distinguished from the others."""


class Grubbs(Struct, frozen=True):
    """The place of the value that is farthest from the mean, its G, and how often chance shows such a G."""

    place: int
    statistic: float
    chance: float


class Spread(Struct, frozen=True):
    """The medians of a key value over ``names``, all different drives or labels.

    ``grubbs`` is None where all values are equal. ``corrected_chance`` is that among all key values of the
    comparison; ``lies_out``: it is small, and the drive is off by the least difference of interest.
    """

    names: tuple[str, ...]
    medians: tuple[Measured, ...]
    mean: float
    standard_deviation: float
    grubbs: Grubbs | None
    corrected_chance: float | None = None
    lies_out: bool = False

    @property
    def farthest(self) -> str | None:
        """The drive that is farthest from the mean."""
        return None if self.grubbs is None else self.names[self.grubbs.place]

    @property
    def ends(self) -> tuple[Measured, Measured]:
        """Smallest and largest median."""
        in_order = sorted(self.medians, key=lambda one: one.value or 0.0)
        return in_order[0], in_order[-1]

    @property
    def off_pct(self) -> float | None:
        """How far the farthest drive is from the mean of the others, in per cent of it."""
        if self.grubbs is None:
            return None
        own = self.medians[self.grubbs.place].value or 0.0
        others = (len(self.medians) * self.mean - own) / (len(self.medians) - 1)
        return 100 * (own / others - 1) if others else None


def grubbs_test(values: Sequence[float]) -> Grubbs | None:
    """Of three values or more; None where all are equal."""
    count, mean, spread = len(values), fmean(values), stdev(values)
    if not spread:
        return None
    place = max(range(count), key=lambda place: abs(values[place] - mean))
    statistic = abs(values[place] - mean) / spread
    left = (count - 1) ** 2 - count * statistic**2  # 0 where all others are equal
    chance = 0.0
    if left > 0:
        t = statistic * math.sqrt(count * (count - 2) / left)
        chance = min(1.0, count * (1 - central_probability(t, count - 2)))
    return Grubbs(place, statistic, chance)


def spreads_of(tests: ComparedMetrics, least_difference_pct: float) -> dict[int, Spread]:
    """The spread of each key value that three drives or more have, by the ``id`` of its metric."""
    found = {
        id(metric): spread
        for _, metrics in tests
        for metric in metrics
        if (spread := _spread(metric)) is not None
    }
    tested = [key for key, spread in found.items() if spread.grubbs is not None]
    chances = [spread.grubbs.chance for spread in found.values() if spread.grubbs is not None]
    for key, chance in zip(tested, holm(chances), strict=True):
        off_pct = found[key].off_pct
        is_off = off_pct is None or abs(off_pct) >= least_difference_pct
        out = chance <= FALSE_ALARM_LIMIT and is_off
        found[key] = replace(found[key], corrected_chance=chance, lies_out=out)
    return found


def _spread(metric: ComparedMetric) -> Spread | None:
    """None of fewer drives, and where one has sets under several conditions."""
    having = [(one.contender, median) for one in metric.sets if (median := one.median) is not None]
    values = [median.value for _, median in having if median.value is not None]
    if len(values) < FEWEST or any(contender.number for contender, _ in having):
        return None
    return Spread(
        tuple(contender.name for contender, _ in having),
        tuple(median for _, median in having),
        fmean(values),
        stdev(values),
        grubbs_test(values),
    )
