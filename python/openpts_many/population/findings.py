"""What a population shows, value by value: spread, outliers, and what goes with host, link, slot and time."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.order_statistics import median_ranks
from openpts.pages.measure import Measured
from openpts.vocabulary.slots import are_beside, slot_order
from openpts_many.population.drives import Drive, Population, Populations
from openpts_many.population.figures import (
    DriveValue,
    Effect,
    LeftOut,
    NamedValue,
    PopulationFigures,
    TestFigures,
    ValueFigures,
)
from openpts_many.population.outliers import find_outliers
from openpts_many.population.path_effect import group_chances, order_chances
from openpts_many.population.statistics import (
    confidence_between_ends,
    confidence_beyond_one_end,
    missed_share,
    repeatability,
    spread_of,
)

FALSE_ALARM: Final = 0.005
"""Of reports on ordinary drives so many name one or more, whatever the values are like."""
SUSPICION: Final = 0.2
"""Of them so many find one worth a look; below 1 % where values are normal."""
LEAST_DIFFERENCE: Final = 1.0
"""Per cent of the median, of temperatures K: a drive that is off by less is not named."""
PATH_ALARM: Final = 0.005
"""Of reports so many call a path slow that is not."""
_FEWEST_DRIVES: Final = 4
"""Below which no effect of a path is looked for."""
_FEWEST_OF_GROUP: Final = 3
"""Of two drives, none is nearer to their median."""


def population_figures(
    populations: Populations, least_difference: float = LEAST_DIFFERENCE
) -> PopulationFigures:
    """Judge all values of all populations together: each is one more chance of a false alarm.

    Drives that are off by less than ``least_difference``, in per cent, of temperatures in K, are not named.
    """
    judged = populations.populations
    paths = [_paths(one) for one in judged]
    values = max(1, sum(len(one.names) for one in judged))
    looks = max(1, sum(len(of_one) for of_one in paths))
    return PopulationFigures(
        simulated=any(run.manifest.target.simulation for run in populations.runs),
        false_alarm=FALSE_ALARM,
        least_difference=least_difference,
        drives=list(populations.drives),
        populations=[
            _test(one, of_one, _Rule(values, least_difference), looks)
            for one, of_one in zip(judged, paths, strict=True)
        ],
        left_out=[LeftOut(run, reason) for run, reason in populations.left_out],
    )


class _Rule(Struct, frozen=True):
    """When drives are named: ``values`` share the errors, and a difference below ``least`` does not count."""

    values: int
    least: float


class _Path(Struct, frozen=True):
    """A possible cause of differences between drives: groups (host, slot) or an order (time)."""

    name: str
    of: Callable[[Drive], Any]
    groups: bool = False

    def chances(self, rows: Sequence[Sequence[float | None]], drives: Sequence[Drive]) -> list[float]:
        """For each value, the chance of so strong a dependence on the path if there were none."""
        chances = group_chances if self.groups else order_chances
        return chances(rows, self.places(drives))

    def places(self, drives: Sequence[Drive]) -> list[float]:
        """Number of each drive's group, or its rank in the order."""
        every = [self.of(drive) for drive in drives]
        in_order = sorted(set(every))
        return [float(in_order.index(one)) for one in every]


def _paths(population: Population) -> list[_Path]:
    """What the drives differ in: groups with two members in the mean, and orders; each division once."""
    drives = population.drives
    names = dict.fromkeys(name for drive in drives for name in drive.first.groups)
    paths = [_Path(name, partial(_group, name), groups=True) for name in names]
    if all(drive.first.slot for drive in drives):
        paths.append(_Path("slot order", lambda drive: slot_order(drive.first.slot or "")))
    paths.append(_Path("start order", lambda drive: drive.first.started_at))
    found: dict[tuple[float, ...], _Path] = {}
    for path in paths if len(drives) >= _FEWEST_DRIVES else []:
        places = tuple(path.places(drives))
        count = len(set(places))
        if 1 < count <= len(drives) // 2 if path.groups else count > 2:
            found.setdefault(places, path)
    return list(found.values())


def _group(name: str, drive: Drive) -> str:
    return drive.first.groups.get(name, "")


def _test(population: Population, paths: Sequence[_Path], rule: _Rule, looks: int) -> TestFigures:
    count = len(population.drives)
    rows = [[drive.value(name.key) for drive in population.drives] for name in population.names]
    chances = [path.chances(rows, population.drives) for path in paths]
    ranks = median_ranks(count)
    return TestFigures(
        test=population.test,
        number=population.number,
        title=population.title,
        kind=list(population.kind),
        condition=population.drives[0].first.condition or None,
        drives=count,
        paths=[path.name for path in paths],
        confidence_beyond_one_end=confidence_beyond_one_end(count),
        confidence_between_ends=confidence_between_ends(count),
        median_rank=None if ranks is None else ranks[0],
        missed_share=missed_share(count),
        values=[
            _Value.of(population.drives, name).figures(
                [(path, looks * chance) for path, chance in zip(paths, of_value, strict=True)], rule
            )
            for name, row, *of_value in zip(population.names, rows, *chances, strict=True)
            if sum(value is not None for value in row) > 1
        ],
    )


class _Scale(Struct, frozen=True):
    """Logarithms, on which ratios count, of values above 0; temperatures and others as they are."""

    unit: str
    of: Callable[[float], float]
    back: Callable[[float], float]

    @classmethod
    def for_values(cls, unit: str, values: Sequence[float]) -> "_Scale":
        """Scale to compare drives on: ratios in per cent, or differences where ratios make no sense."""
        if unit == "°C" or min(values) <= 0:
            return cls("K" if unit == "°C" else unit, float, float)
        return cls("%", math.log, math.exp)

    @property
    def is_log(self) -> bool:
        """Whether the scale compares ratios."""
        return self.of is not float

    def off(self, difference: float) -> float:
        """Difference on the scale in its unit: per cent, or the unit of the values."""
        return 100 * math.expm1(difference) if self.is_log else difference

    def least(self, off: float) -> tuple[float, float]:
        """The differences up to which, and from which on, it is at least that; 0 for other units."""
        if self.is_log:
            return (math.log1p(-off / 100) if off < 100 else -math.inf), math.log1p(off / 100)
        return (-off, off) if self.unit == "K" else (0.0, 0.0)

    def step(self, values: Sequence[float]) -> float:
        """Resolution of values that are whole numbers; infinite of others."""
        middle = abs(median(values))
        if not middle or any(value != round(value) for value in values):
            return math.inf
        return 1 / middle if self.is_log else 1.0


class _Value(Struct, frozen=True):
    """The drives that have a value, and their values."""

    name: Measured
    drives: list[Drive]
    values: list[float]
    scale: _Scale

    @classmethod
    def of(cls, drives: Sequence[Drive], name: Measured) -> "_Value":
        """Drives without the value have no part in it."""
        found = [(drive, value) for drive in drives if (value := drive.value(name.key)) is not None]
        scale = _Scale.for_values(
            name.unit, [value for drive, _ in found for value in drive.values(name.key)]
        )
        return cls(name, [drive for drive, _ in found], [value for _, value in found], scale)

    def figures(self, paths: Sequence[tuple[_Path, float]], rule: _Rule) -> ValueFigures:
        """``paths`` with the chance of their effects."""
        found = [(path, chance) for path, chance in paths if chance <= PATH_ALARM]
        within = next((path for path, _ in found if path.groups), None)
        away, places = self._differences(within)
        drives = [
            self._drive(drive, self.scale.off(one)) for drive, one in zip(self.drives, away, strict=True)
        ]
        step = self.scale.step(self.values)
        judged, suspects = (
            find_outliers([away[place] for place in places], error / rule.values, step)
            for error in (FALSE_ALARM, SUSPICION)
        )
        below, above = self.scale.least(rule.least)
        named, suspected = (
            {
                places[one.place]: one.chance * rule.values
                for one in found.outliers
                if not below < away[places[one.place]] < above
            }
            for found in (judged, suspects)
        )
        between, runs = self._repeats()
        middle = median(self.values)
        low, high = (
            None if bound is None else self.scale.back(self.scale.of(middle) + farthest(bound, least))
            for bound, farthest, least in ((judged.low, min, below), (judged.high, max, above))
        )
        return ValueFigures(
            key=self.name.key,
            label=self.name.label,
            unit=self.name.unit,
            better=self.name.better,
            distance_unit=self.scale.unit,
            median=middle,
            spread=spread_of(self.values) * (100 / middle if self.scale.is_log else 1),
            between_drives=between,
            between_runs=runs,
            named_below=low,
            named_above=high,
            within=within.name if within else None,
            reason=judged.reason or None,
            drives=sorted(drives, key=lambda one: one.value),
            named=[_named(drives, place, chance) for place, chance in named.items()],
            suspected=[
                _named(drives, place, chance) for place, chance in suspected.items() if place not in named
            ],
            effects=[self._effect(path, chance) for path, chance in found],
        )

    def _differences(self, within: _Path | None) -> tuple[list[float], list[int]]:
        """Of each drive from the median of all or of its group, on the scale; and the places to be judged.

        Of groups, those are all in groups of three and more but the drive that is the median.
        """
        groups = [within.of(drive) if within else "" for drive in self.drives]
        scaled = list(zip(groups, map(self.scale.of, self.values), strict=True))
        medians = {group: median(x for own, x in scaled if own == group) for group in set(groups)}
        away = [x - medians[group] for group, x in scaled]
        return away, [
            place
            for place, group in enumerate(groups)
            if within is None or (groups.count(group) >= _FEWEST_OF_GROUP and away[place])
        ]

    def _drive(self, drive: Drive, off: float) -> DriveValue:
        values = drive.values(self.name.key)
        link = drive.first.groups.get("link") or None
        return DriveValue(
            drive.name,
            drive.first.slot,
            drive.host,
            median(values),
            len(values),
            off,
            link,
            drive.first.started_at,
        )

    def _effect(self, path: _Path, chance: float) -> Effect:
        in_order = sorted(zip(map(path.of, self.drives), self.values, strict=True))
        if path.groups:
            groups = {group: [v for own, v in in_order if own == group] for group, _ in in_order}
            return Effect(path.name, chance, {group: median(own) for group, own in groups.items()}, None)
        third = max(1, len(in_order) // 3)
        first, last = (
            fmean(self.scale.of(v) for _, v in part) for part in (in_order[:third], in_order[-third:])
        )
        return Effect(path.name, chance, {}, self.scale.off(last - first))

    def _repeats(self) -> tuple[float | None, float | None]:
        """By how much drives differ, and runs of a drive; None where no drive has several."""
        every = [[self.scale.of(one) for one in drive.values(self.name.key)] for drive in self.drives]
        found = repeatability(every)
        return (
            (None, None) if found is None else (self.scale.off(found.between), self.scale.off(found.within))
        )


def _named(drives: Sequence[DriveValue], place: int, chance: float) -> NamedValue:
    own = drives[place]
    beside = {
        str(one.slot): one.off for one in drives if one.host == own.host and are_beside(one.slot, own.slot)
    }
    return NamedValue(own.drive, own.slot, own.host, own.value, own.off, chance, beside)
