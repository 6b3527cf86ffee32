"""The operating points of demand variation, and the choice of Max, Min and Mid among them.

PTS 13.2 steps 4.3.1 and 6, 14.2 steps 3.3.1 and 5, as openpts reads them where they leave room.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple


class OperatingPoint(NamedTuple):
    """A demand: thread count and queue depth."""

    tc: int
    qd: int

    @property
    def toio(self) -> int:
        """Total outstanding I/O."""
        return self.tc * self.qd

    def __str__(self) -> str:
        return f"TC {self.tc} / QD {self.qd}"


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """An operating point with the averages of its rounds; ``art_ns`` is None without an I/O."""

    point: OperatingPoint
    iops: float
    art_ns: float | None


@dataclass(frozen=True, slots=True)
class ChosenPoints:
    """The points at which response times are measured, and how they were found.

    ``below_art_limit`` is False where no point's average response time is below the limit: ``maximum`` is
    then the one with the lowest. ``highest_iops`` is the highest among the points that were eligible.
    ``mid_targets_iops`` may be more than ``middles``, for only points strictly between count.
    """

    maximum: MeasuredPoint
    minimum: MeasuredPoint
    middles: tuple[MeasuredPoint, ...]
    below_art_limit: bool
    highest_iops: float
    mid_targets_iops: tuple[float, ...]

    @property
    def in_order(self) -> tuple[MeasuredPoint, ...]:
        """In the order of their histograms: maximum, minimum, then those between."""
        return (self.maximum, self.minimum, *self.middles)


def operating_points(tcs: Iterable[int], qds: Sequence[int]) -> tuple[OperatingPoint, ...]:
    """All combinations by decreasing total outstanding I/O; of equal ones the higher thread count first."""
    points = (OperatingPoint(tc, qd) for tc in tcs for qd in qds)
    return tuple(sorted(points, key=lambda point: (-point.toio, -point.tc)))


def choose_points(
    measured: Sequence[MeasuredPoint], *, art_limit_ns: int, plateau_pct: float, mid_points: int
) -> ChosenPoints:
    """Choose the maximum, the minimum and so many points between.

    Raises ValueError without a point.
    """
    if not measured:
        raise ValueError("there is no operating point to choose from")
    eligible = [m for m in measured if m.art_ns is not None and m.art_ns < art_limit_ns]
    maximum = _plateau_start(eligible, plateau_pct) if eligible else min(measured, key=_slowness)
    minimum = min(measured, key=lambda m: (m.point.toio, -m.point.tc))
    targets = tuple(
        minimum.iops + number * (maximum.iops - minimum.iops) / (mid_points + 1)
        for number in range(1, mid_points + 1)
    )
    return ChosenPoints(
        maximum=maximum,
        minimum=minimum,
        middles=_nearest(measured, targets, minimum.iops, maximum.iops),
        below_art_limit=bool(eligible),
        highest_iops=max(m.iops for m in eligible or [maximum]),
        mid_targets_iops=targets,
    )


def _plateau_start(eligible: Sequence[MeasuredPoint], plateau_pct: float) -> MeasuredPoint:
    """The least demand that gets the highest IOPS but for ``plateau_pct``."""
    highest = max(m.iops for m in eligible)
    plateau = [m for m in eligible if m.iops >= highest * (1 - plateau_pct / 100)]
    return min(plateau, key=lambda m: (m.point.toio, -m.point.tc, -m.iops))


def _slowness(measured: MeasuredPoint) -> tuple[float, int, int]:
    """Order by average response time; a point without an I/O is slower than any."""
    art_ns = float("inf") if measured.art_ns is None else measured.art_ns
    return art_ns, measured.point.toio, -measured.point.tc


def _nearest(
    measured: Sequence[MeasuredPoint], targets: Sequence[float], low: float, high: float
) -> tuple[MeasuredPoint, ...]:
    """For each target the nearest point strictly between that no target before it has taken."""
    between = [m for m in measured if low < m.iops < high]
    chosen: list[MeasuredPoint] = []
    for target in targets:
        free = [m for m in between if m not in chosen]
        if not free:
            break
        chosen.append(min(free, key=partial(_distance, target)))
    return tuple(chosen)


def _distance(target_iops: float, measured: MeasuredPoint) -> tuple[float, int, int]:
    return abs(measured.iops - target_iops), measured.point.toio, -measured.point.tc
