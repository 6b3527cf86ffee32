"""A test of varied demand, CBW or DIRTH, from its samples: rounds, window, operating points (PTS 13.2)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from openpts.analysis.rounds import MeasurementWindow, consecutive_rounds, measurement_window
from openpts.analysis.steady_state import disturbed_rounds, judge
from openpts.procedures.shared.demand.conditions import DemandConditions
from openpts.procedures.shared.demand.operating_points import (
    ChosenPoints,
    MeasuredPoint,
    OperatingPoint,
    choose_points,
    operating_points,
)
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.verdict import SteadyStateReport

_KNEE_FACTOR = 2


@dataclass(frozen=True, slots=True)
class PointResults:
    """An operating point over the rounds of the window: means of the rounds' values, maximum of their maxima.

    Shares of CPU in per cent; None where a round did not record them.
    """

    point: OperatingPoint
    iops_by_round: tuple[float, ...]
    bandwidth_bytes_per_s: float
    art_ns: float | None
    mrt_ns: int | None
    cpu_sys_pct: float | None
    cpu_iowait_pct: float | None

    @property
    def iops(self) -> float:
        """Mean of the rounds' IOPS."""
        return fmean(self.iops_by_round)

    @property
    def measured(self) -> MeasuredPoint:
        """What the choice of operating points goes by."""
        return MeasuredPoint(self.point, self.iops, self.art_ns)


@dataclass(frozen=True, slots=True)
class ToioResults:
    """All operating points of one total outstanding I/O."""

    toio: int
    points: tuple[PointResults, ...]

    @property
    def iops(self) -> float:
        """Mean over the points."""
        return fmean(point.iops for point in self.points)

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Mean over the points."""
        return fmean(point.bandwidth_bytes_per_s for point in self.points)


@dataclass(frozen=True, slots=True)
class DemandResults:
    """The results of the rounds. ``rounds`` are complete ones, ``points`` the operating points in their
    order, ``tracked`` the one on which steady state is judged. ``verdict`` is None with fewer than five
    rounds, ``chosen`` without any.
    """

    conditions: DemandConditions
    points: tuple[OperatingPoint, ...]
    rounds: tuple[Mapping[OperatingPoint, Sample], ...]
    window: MeasurementWindow
    verdict: SteadyStateReport | None
    results: Mapping[OperatingPoint, PointResults]
    chosen: ChosenPoints | None

    @property
    def tracked(self) -> OperatingPoint:
        """The highest demand: its IOPS are the tracking variable."""
        return self.points[0]

    @property
    def steady(self) -> bool:
        """Whether steady state was reached."""
        return self.verdict is not None and self.verdict.steady

    def iops_by_round(self, point: OperatingPoint) -> tuple[float, ...]:
        """IOPS of a point in all complete rounds."""
        return tuple(samples[point].iops for samples in self.rounds)

    def by_toio(self) -> tuple[ToioResults, ...]:
        """Results by total outstanding I/O, from the lowest on."""
        toios = sorted({point.toio for point in self.results})
        return tuple(
            ToioResults(toio, tuple(result for point, result in self.results.items() if point.toio == toio))
            for toio in toios
        )

    def knee_toio(self) -> int | None:
        """The least TOIO at which the response time is more than twice that of the minimum (openpts' own).

        The response time of a TOIO is the mean of its points' averages. None if it never is.
        """
        if self.chosen is None or self.chosen.minimum.art_ns is None:
            return None
        limit_ns = _KNEE_FACTOR * self.chosen.minimum.art_ns
        for at_toio in self.by_toio():
            latencies = [point.art_ns for point in at_toio.points if point.art_ns is not None]
            if latencies and fmean(latencies) > limit_ns:
                return at_toio.toio
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
        point: measure_point(point, [samples[point] for samples in chosen_rounds])
        for point in points
        if chosen_rounds
    }
    return DemandResults(
        conditions=conditions,
        points=points,
        rounds=rounds,
        window=window,
        verdict=judge(window.rounds, tracked, disturbed_rounds(samples.values() for samples in rounds))
        if window.is_full
        else None,
        results=results,
        chosen=chosen_points(conditions, list(results.values())) if results else None,
    )


def measure_point(point: OperatingPoint, samples: Sequence[Sample]) -> PointResults:
    """Average a point over its rounds. Raises ValueError without a sample."""
    if not samples:
        raise ValueError("an operating point needs at least one round")
    latencies = [sample.mean_latency_ns for sample in samples if sample.mean_latency_ns is not None]
    shares = [sample.cpu for sample in samples if sample.cpu is not None]
    has_cpu = len(shares) == len(samples)
    return PointResults(
        point=point,
        iops_by_round=tuple(sample.iops for sample in samples),
        bandwidth_bytes_per_s=fmean(sample.bandwidth_bytes_per_s for sample in samples),
        art_ns=fmean(latencies) if len(latencies) == len(samples) else None,
        mrt_ns=max((s.max_latency_ns for s in samples if s.max_latency_ns is not None), default=None),
        cpu_sys_pct=fmean(share.sys_pct for share in shares) if has_cpu else None,
        cpu_iowait_pct=fmean(share.iowait_pct for share in shares) if has_cpu else None,
    )


def chosen_points(conditions: DemandConditions, results: Sequence[PointResults]) -> ChosenPoints:
    """The points at which this test measures response times."""
    return choose_points(
        [result.measured for result in results],
        art_limit_ns=conditions.art_limit_ns,
        plateau_pct=conditions.plateau_pct,
        mid_points=conditions.mid_points,
    )


def _point_of(sample: Sample) -> OperatingPoint | None:
    stimulus = sample.step.stimulus
    return None if stimulus is None else OperatingPoint(stimulus.tc, stimulus.qd)
