"""Rounds of test points: which of them count, and which are the window (PTS 2.1.13, 2.1.21)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import TypeVar

from msgspec import Struct

from openpts.analysis.steady_state import WINDOW_ROUNDS, disturbed_rounds, judge
from openpts.vocabulary.sample import CpuShares, Sample, StepState
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.verdict import RoundPoint, SteadyStateReport, TrackingVariable

CompleteRound = Mapping[RoundPoint, Sample]
P = TypeVar("P")


def test_point(stimulus: Stimulus | None) -> RoundPoint | None:
    """The test point to which a stimulus belongs; None for an idle gap, or a mix of no whole per cents."""
    if stimulus is None:
        return None
    point = RoundPoint(stimulus.access_pattern, stimulus.block_size_bytes, round(stimulus.read_pct))
    return point if point.matches(stimulus) else None


def complete_rounds(
    numbered: Iterable[tuple[int, Sample]], points: Collection[RoundPoint]
) -> tuple[CompleteRound, ...]:
    """Rounds 1, 2, ... in which every point was measured to its end; index 0 is round 1.

    The first round with a missing, interrupted or failed step ends the series: a window needs
    consecutive rounds, so nothing behind a gap can count.
    """
    keyed = ((number, test_point(sample.step.stimulus), sample) for number, sample in numbered)
    return consecutive_rounds(keyed, points)


def consecutive_rounds(
    keyed: Iterable[tuple[int, P | None, Sample]], points: Collection[P]
) -> tuple[Mapping[P, Sample], ...]:
    """As ``complete_rounds``, for points of any kind; a step without a point belongs to no round."""
    measured: dict[int, dict[P, Sample]] = defaultdict(dict)
    for number, point, sample in keyed:
        if point is not None and sample.state is StepState.COMPLETE:
            measured[number][point] = sample
    rounds: list[Mapping[P, Sample]] = []
    while (samples := measured.get(len(rounds) + 1)) is not None and set(points) <= set(samples):
        rounds.append(samples)
    return tuple(rounds)


class MeasurementWindow(Struct, frozen=True):
    """The rounds over which results are averaged; ``rounds`` may be fewer than the five that PTS requires."""

    rounds: tuple[int, ...]

    @property
    def is_full(self) -> bool:
        """Whether it has the five rounds without which steady state can't be judged."""
        return len(self.rounds) == WINDOW_ROUNDS

    @property
    def label(self) -> str:
        """First and last round as the header prints them: ``6 - 10``."""
        if not self.rounds:
            return "none"
        return f"{self.rounds[0]} - {self.rounds[-1]}" if len(self.rounds) > 1 else str(self.rounds[0])

    @property
    def averaging(self) -> str:
        """What a figure over it averages, in words."""
        count = len(self.rounds)
        if not count:
            return "no Round was completed"
        if self.is_full:
            return f"mean of the five Rounds {self.label}"
        return f"mean of {count} Round{'s' if count > 1 else ''} ({self.label}), not of five"

    def select(self, rounds: Sequence[CompleteRound]) -> tuple[CompleteRound, ...]:
        """The window's part of all complete rounds."""
        return tuple(rounds[number - 1] for number in self.rounds)


def measurement_window(complete_count: int, steady_round: int | None) -> MeasurementWindow:
    """Rounds x-4 to x: x is the steady round, or else the last complete one (PTS 2.1.13, 7.3).

    With fewer than five complete rounds the window is all of them.
    """
    last = complete_count
    if steady_round is not None and WINDOW_ROUNDS <= steady_round <= complete_count:
        last = steady_round
    return MeasurementWindow(tuple(range(max(1, last - WINDOW_ROUNDS + 1), last + 1)))


def judge_window(
    rounds: Sequence[CompleteRound], window: MeasurementWindow, tracking: Sequence[TrackingVariable]
) -> tuple[SteadyStateReport | None, ...]:
    """The verdict for each tracking variable, from the samples alone.

    None where it can't be judged: fewer than five rounds, or a variable that was not measured.
    """
    chosen = window.select(rounds)
    disturbed = disturbed_rounds(samples.values() for samples in rounds)
    return tuple(
        judge(window.rounds, [variable.of(samples[variable.point]) for samples in chosen], disturbed)
        if window.is_full and all(variable.point in samples for samples in chosen)
        else None
        for variable in tracking
    )


class RoundsMean(Struct, frozen=True, eq=False, dict=True):
    """A test point over the rounds of a window: means of the rounds' values, extremes of all of them.

    A mean is None unless every round has a value. ``samples`` are one of each round. ``state`` is None at
    full length; in the short form the share at most by which the drive's state may be off.
    """

    samples: tuple[Sample, ...]
    state: float | None = None

    @property
    def ios(self) -> int:
        """I/Os of all rounds together."""
        return sum(sample.ios for sample in self.samples)

    @cached_property
    def iops_by_round(self) -> tuple[float, ...]:
        """IOPS of each round."""
        return tuple(sample.iops for sample in self.samples)

    @property
    def iops(self) -> float:
        """Mean of the rounds' IOPS."""
        return fmean(self.iops_by_round)

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Mean of the rounds' throughputs."""
        return fmean(sample.bandwidth_bytes_per_s for sample in self.samples)

    @cached_property
    def mean_latency_ns(self) -> float | None:
        """Mean of the rounds' average response times."""
        known = [sample.mean_latency_ns for sample in self.samples if sample.mean_latency_ns is not None]
        return fmean(known) if len(known) == len(self.samples) else None

    @property
    def min_latency_ns(self) -> int | None:
        """Least response time of all rounds."""
        found = (sample.min_latency_ns for sample in self.samples)
        return min((least for least in found if least is not None), default=None)

    @property
    def max_latency_ns(self) -> int | None:
        """Maximum response time of all rounds."""
        found = (sample.max_latency_ns for sample in self.samples)
        return max((most for most in found if most is not None), default=None)

    @property
    def cpu(self) -> CpuShares | None:
        """Mean of the rounds' shares of the processors."""
        known = [sample.cpu for sample in self.samples if sample.cpu is not None]
        if len(known) < len(self.samples):
            return None
        return CpuShares(
            user_pct=fmean(cpu.user_pct for cpu in known),
            sys_pct=fmean(cpu.sys_pct for cpu in known),
            iowait_pct=fmean(cpu.iowait_pct for cpu in known),
            process_ns=sum(cpu.process_ns for cpu in known),
        )
