"""What a population shows, value by value: spread, outliers, and what goes with host, link, slot and time."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

from openpts.analysis.outliers import Outlier, find_outliers
from openpts.analysis.path_effect import group_chances, order_chances
from openpts.analysis.population import Repeatability, repeatability, spread_of
from openpts.report.population.drives import Drive, Population, Populations, ValueName, natural

FALSE_ALARM: Final = 0.005
"""Of reports on sound drives so many name one or more, and so many call a path slow that is not."""
GAP_ERROR: Final = 0.01
FEWEST_DRIVES: Final = 4
"""Below which no effect of a path is looked for."""
SLOT: Final = "slot order"
START: Final = "start order"


@dataclass(frozen=True, slots=True)
class NamedDrive:
    """An outlier. ``off`` is its distance from the median: in per cent, of temperatures in K.

    ``chance``: of reports on sound drives so many, at most, would name a drive as far away in any value.
    """

    drive: Drive
    value: float
    off: float
    chance: float


@dataclass(frozen=True, slots=True)
class PathEffect:
    """A value goes with where or when drives were tested.

    ``chance``: of reports without such an effect so many, at most, show one like it. ``groups`` are medians
    by group, empty for an order; ``end_to_end`` is by how much the last third of an order is off the first.
    """

    name: ValueName
    path: str
    chance: float
    groups: tuple[tuple[str, int, float], ...] = ()
    end_to_end: float | None = None


@dataclass(frozen=True, slots=True)
class ValueFinding:
    """A value over the drives that have it, in order of the value.

    ``spread`` is the scaled median distance from the median, in per cent, of temperatures in K; ``low`` and
    ``high`` are the bounds beyond which a drive is named, None where none can be. ``within`` is the path by
    whose medians drives are judged.
    """

    name: ValueName
    drives: tuple[tuple[Drive, float], ...]
    median: float
    spread: float
    low: float | None
    high: float | None
    named: tuple[NamedDrive, ...]
    effects: tuple[PathEffect, ...]
    within: str
    repeats: Repeatability | None
    reason: str

    @property
    def unit_of_distance(self) -> str:
        """``%``, or ``K`` of temperatures."""
        return "K" if self.name.linear else "%"


@dataclass(frozen=True, slots=True)
class PopulationFinding:
    """A population with what each of its values shows; ``paths`` are those that were looked at."""

    population: Population
    values: tuple[ValueFinding, ...]
    paths: tuple[str, ...]

    @property
    def named(self) -> tuple[tuple[ValueFinding, NamedDrive], ...]:
        """All outliers."""
        return tuple((value, one) for value in self.values for one in value.named)

    @property
    def effects(self) -> tuple[PathEffect, ...]:
        """All effects of paths."""
        return tuple(effect for value in self.values for effect in value.effects)


def findings_of(populations: Populations) -> tuple[PopulationFinding, ...]:
    """Judge all values of all populations together: each is one more chance of a false alarm."""
    judged = [one for one in populations.populations if len(one.drives) > 1]
    paths = [_paths(one) for one in judged]
    values = max(1, sum(len(one.names) for one in judged))
    looks = max(1, sum(len(of_one) for of_one in paths))
    return tuple(
        _finding(one, of_one, FALSE_ALARM / values, FALSE_ALARM / looks)
        for one, of_one in zip(judged, paths, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Path:
    """``groups`` has the group of each drive, ``order`` its place: one of them."""

    name: str
    groups: tuple[str, ...] = ()
    order: tuple[float, ...] = ()


def _paths(population: Population) -> list[_Path]:
    """What the drives differ in: groups with two members in the mean, and orders."""
    drives = population.drives
    if len(drives) < FEWEST_DRIVES:
        return []
    found: list[_Path] = []
    for name in dict.fromkeys(name for drive in drives for name in drive.first.groups):
        groups = tuple(drive.first.groups.get(name, "") for drive in drives)
        if 1 < len(set(groups)) <= len(drives) // 2 and all(groups != one.groups for one in found):
            found.append(_Path(name, groups))
    slots = [drive.first.slot for drive in drives]
    if all(slots) and len(set(slots)) > 2:
        in_order = sorted({slot for slot in slots if slot}, key=natural)
        found.append(_Path(SLOT, order=tuple(float(in_order.index(slot)) for slot in slots if slot)))
    starts = sorted({drive.first.started_at for drive in drives})
    order = tuple(float(starts.index(drive.first.started_at)) for drive in drives)
    if len(starts) > 2 and all(order != one.order for one in found):
        found.append(_Path(START, order=order))
    return found


def _finding(
    population: Population, paths: Sequence[_Path], error: float, path_error: float
) -> PopulationFinding:
    rows = [[drive.value(name.key) for drive in population.drives] for name in population.names]
    effects: list[list[PathEffect]] = [[] for _ in rows]
    groupings: list[_Path | None] = [None] * len(rows)
    for path in paths:
        chances = group_chances(rows, path.groups) if path.groups else order_chances(rows, path.order)
        for number, (name, row, chance) in enumerate(zip(population.names, rows, chances, strict=True)):
            if chance <= path_error:
                effects[number].append(_effect(name, path, row, chance * FALSE_ALARM / path_error))
                if path.groups and groupings[number] is None:
                    groupings[number] = path
    return PopulationFinding(
        population,
        tuple(
            _value(population.drives, name, row, _Setting(tuple(found), within, error))
            for name, row, found, within in zip(population.names, rows, effects, groupings, strict=True)
            if sum(value is not None for value in row) > 1
        ),
        tuple(path.name for path in paths),
    )


@dataclass(frozen=True, slots=True)
class _Setting:
    """What a value is judged with: its effects, the groups it is judged within, its share of the errors."""

    effects: tuple[PathEffect, ...]
    within: _Path | None
    error: float


def _effect(name: ValueName, path: _Path, row: Sequence[float | None], chance: float) -> PathEffect:
    if path.groups:
        found = [(group, value) for group, value in zip(path.groups, row, strict=True) if value is not None]
        of_group = {group: [value for own, value in found if own == group] for group, _ in found}
        medians = tuple((group, len(own), median(own)) for group, own in sorted(of_group.items()))
        return PathEffect(name, path.name, chance, medians)
    in_order = [v for _, v in sorted(zip(path.order, row, strict=True), key=lambda p: p[0]) if v is not None]
    third = max(1, len(in_order) // 3)
    first, last = fmean(in_order[:third]), fmean(in_order[-third:])
    return PathEffect(name, path.name, chance, end_to_end=distance(name, first, last))


def distance(name: ValueName, reference: float, value: float) -> float:
    """In per cent of the reference, of temperatures in K; in the value's own unit where it is 0."""
    return value - reference if name.linear or not reference else 100 * (value / reference - 1)


def _value(
    drives: Sequence[Drive], name: ValueName, row: Sequence[float | None], setting: _Setting
) -> ValueFinding:
    found = [(drive, value) for drive, value in zip(drives, row, strict=True) if value is not None]
    within, error = setting.within, setting.error
    values = [value for _, value in found]
    every = [drive.values(name.key) for drive, _ in found]
    to_scale, from_scale = _scale(name, [value for own in every for value in own])
    scaled = [to_scale(value) for value in values]
    centred = scaled
    if within is not None:
        groups = [g for g, value in zip(within.groups, row, strict=True) if value is not None]
        medians = {g: median(x for x, own in zip(scaled, groups, strict=True) if own == g) for g in groups}
        centred = [x - medians[g] + median(scaled) for x, g in zip(scaled, groups, strict=True)]
    middle = median(values)
    whole = all(value == round(value) for value in values)
    step = (1 if to_scale is float else 1 / abs(middle)) if whole and middle else math.inf
    judged = find_outliers(centred, error, error if name.is_extreme else GAP_ERROR, step)
    return ValueFinding(
        name,
        tuple(sorted(found, key=lambda one: one[1])),
        middle,
        _spread(name, middle, values),
        None if judged.low is None else from_scale(judged.low),
        None if judged.high is None else from_scale(judged.high),
        _named(name, found, centred, judged.outliers, (from_scale, FALSE_ALARM / error)),
        setting.effects,
        within.name if within else "",
        repeatability([[to_scale(one) for one in own] for own in every]),
        judged.reason,
    )


def _spread(name: ValueName, middle: float, values: Sequence[float]) -> float:
    return spread_of(values) * (1 if name.linear or not middle else 100 / middle)


_Scale = Callable[[float], float]


def _scale(name: ValueName, values: Sequence[float]) -> tuple[_Scale, _Scale]:
    """Logarithms, on which ratios count, of values above 0; temperatures as they are."""
    if name.linear or min(values) <= 0:
        return float, float
    return math.log, math.exp


def _named(
    name: ValueName,
    found: Sequence[tuple[Drive, float]],
    centred: Sequence[float],
    outliers: Sequence[Outlier],
    scale: tuple[_Scale, float],
) -> tuple[NamedDrive, ...]:
    (from_scale, looks), middle = scale, median(centred)
    return tuple(
        NamedDrive(
            *found[one.place],
            off=distance(name, from_scale(middle), from_scale(centred[one.place])),
            chance=min(1.0, one.chance * looks),
        )
        for one in outliers
    )
