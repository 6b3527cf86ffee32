"""A test of varied demand, CBW or DIRTH, from its samples: rounds, window, operating points (PTS 13.2)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from openpts.analysis.rounds import RoundsMean, consecutive_rounds, measurement_window
from openpts.analysis.steady_state import disturbed_rounds, judge
from openpts.vocabulary.sample import Sample
from openpts_pts.shared.demand.conditions import DemandConditions
from openpts_pts.shared.window_results import WindowResults

_KNEE_FACTOR = 2


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


class PointResults(RoundsMean, frozen=True, eq=False, kw_only=True):
    """An operating point over the rounds of the window."""

    point: OperatingPoint


class ChosenPoints(Struct, frozen=True):
    """The points at which response times are measured, and how they were found.

    ``below_art_limit`` is False where no point's average response time is below the limit: ``maximum`` is
    then the one with the lowest. ``highest_iops`` is the highest among the points that were eligible.
    ``mid_targets_iops`` may be more than ``middles``, for only points strictly between count.
    """

    maximum: PointResults
    minimum: PointResults
    middles: tuple[PointResults, ...]
    below_art_limit: bool
    highest_iops: float
    mid_targets_iops: tuple[float, ...]

    @property
    def named(self) -> tuple[tuple[str, PointResults], ...]:
        """In the same order, with what they are of: ``MaxIOPS``."""
        names = ("MaxIOPS", "MinIOPS", *("MidIOPS" for _ in self.middles))
        return tuple(zip(names, self.in_order, strict=True))

    @property
    def in_order(self) -> tuple[PointResults, ...]:
        """In the order of their histograms: maximum, minimum, then those between."""
        return (self.maximum, self.minimum, *self.middles)


def operating_points(tcs: Iterable[int], qds: Sequence[int]) -> tuple[OperatingPoint, ...]:
    """All combinations by decreasing total outstanding I/O; of equal ones the higher thread count first."""
    points = (OperatingPoint(tc, qd) for tc in tcs for qd in qds)
    return tuple(sorted(points, key=lambda point: (-point.toio, -point.tc)))


def choose_points(measured: Sequence[PointResults], conditions: DemandConditions) -> ChosenPoints:
    """The points at which a test measures response times: maximum, minimum, and so many between.

    Raises ValueError without a point.
    """
    if not measured:
        raise ValueError("there is no operating point to choose from")
    limit_ns, mid_points = conditions.art_limit_ns, conditions.mid_points
    eligible = [m for m in measured if m.mean_latency_ns is not None and m.mean_latency_ns < limit_ns]
    maximum = _plateau_start(eligible, conditions.plateau_pct) if eligible else min(measured, key=_slowness)
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


def _plateau_start(eligible: Sequence[PointResults], plateau_pct: float) -> PointResults:
    """The least demand that gets the highest IOPS but for ``plateau_pct``."""
    highest = max(m.iops for m in eligible)
    plateau = [m for m in eligible if m.iops >= highest * (1 - plateau_pct / 100)]
    return min(plateau, key=lambda m: (m.point.toio, -m.point.tc, -m.iops))


def _slowness(measured: PointResults) -> tuple[float, int, int]:
    """Order by average response time; a point without an I/O is slower than any."""
    art_ns = float("inf") if measured.mean_latency_ns is None else measured.mean_latency_ns
    return art_ns, measured.point.toio, -measured.point.tc


def _nearest(
    measured: Sequence[PointResults], targets: Sequence[float], low: float, high: float
) -> tuple[PointResults, ...]:
    """For each target the nearest point strictly between that no target before it has taken."""
    between = [m for m in measured if low < m.iops < high]
    chosen: list[PointResults] = []
    for target in targets:
        free = [m for m in between if m not in chosen]
        if not free:
            break
        chosen.append(min(free, key=partial(_distance, target)))
    return tuple(chosen)


def _distance(target_iops: float, measured: PointResults) -> tuple[float, int, int]:
    return abs(measured.iops - target_iops), measured.point.toio, -measured.point.tc


class DemandResults(WindowResults, frozen=True, kw_only=True):
    """The results of the rounds, which are complete ones; ``points`` are the operating points in their order.

    ``verdict`` is None with fewer than five rounds, ``chosen`` without any.
    """

    conditions: DemandConditions
    points: tuple[OperatingPoint, ...]
    rounds: tuple[Mapping[OperatingPoint, Sample], ...]
    results: Mapping[OperatingPoint, PointResults]
    chosen: ChosenPoints | None

    @property
    def tracked(self) -> OperatingPoint:
        """The highest demand: its IOPS are the tracking variable."""
        return self.points[0]

    def iops_by_round(self, point: OperatingPoint) -> tuple[float, ...]:
        """IOPS of a point in all complete rounds."""
        return tuple(samples[point].iops for samples in self.rounds)

    def by_toio(self) -> dict[int, list[PointResults]]:
        """The points of each total outstanding I/O, from the lowest on."""
        found = defaultdict[int, list[PointResults]](list)
        for point in sorted(self.results, key=lambda point: point.toio):
            found[point.toio].append(self.results[point])
        return found

    def knee_toio(self) -> int | None:
        """The least TOIO at which the response time is more than twice that of the minimum (openpts' own).

        The response time of a TOIO is the mean of its points' averages. None if it never is.
        """
        if self.chosen is None or self.chosen.minimum.mean_latency_ns is None:
            return None
        limit_ns = _KNEE_FACTOR * self.chosen.minimum.mean_latency_ns
        for toio, points in self.by_toio().items():
            latencies = [at_ns for point in points if (at_ns := point.mean_latency_ns) is not None]
            if latencies and fmean(latencies) > limit_ns:
                return toio
        return None


def analyze_demand(
    conditions: DemandConditions, numbered: Iterable[tuple[int, Sample]], steady_round: int | None
) -> DemandResults:
    """Judge and average the rounds, from their samples, each with its round number.

    ``steady_round`` only places the window; whether it is steady is judged again.
    """
    points = operating_points(conditions.tcs, conditions.qds)
    keyed = ((number, _point_of(sample), sample) for number, sample in numbered)
    rounds = consecutive_rounds(keyed, points)
    window = measurement_window(len(rounds), steady_round)
    chosen_rounds = [rounds[number - 1] for number in window.rounds]
    tracked = [samples[points[0]].iops for samples in chosen_rounds]
    results = {
        point: PointResults(tuple(samples[point] for samples in chosen_rounds), point=point)
        for point in points
        if chosen_rounds
    }
    disturbed = disturbed_rounds(samples.values() for samples in rounds)
    return DemandResults(
        window=window,
        verdicts=(judge(window.rounds, tracked, disturbed) if window.is_full else None,),
        conditions=conditions,
        points=points,
        rounds=rounds,
        results=results,
        chosen=choose_points(list(results.values()), conditions) if results else None,
    )


def _point_of(sample: Sample) -> OperatingPoint | None:
    stimulus = sample.step.stimulus
    return None if stimulus is None else OperatingPoint(stimulus.tc, stimulus.qd)
