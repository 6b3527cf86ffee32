"""Rounds of test points: which of them count, and where the window lies (PTS 2.1.13, 2.1.21)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from openpts.analysis.steady_state import WINDOW_ROUNDS, judge
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.verdict import SteadyStateReport, TrackingVariable

# A test point is what a tracking variable names: access pattern, block size and R/W mix.
TestPoint = TrackingVariable
CompleteRound = Mapping[TestPoint, Sample]


def test_point(stimulus: Stimulus | None) -> TestPoint | None:
    """The test point to which a stimulus belongs; None for an idle gap, or a mix of no whole per cents."""
    if stimulus is None:
        return None
    point = TestPoint(stimulus.access_pattern, stimulus.block_size_bytes, round(stimulus.read_pct))
    return point if point.matches(stimulus) else None


def complete_rounds(
    numbered: Iterable[tuple[int, Sample]], points: Collection[TestPoint]
) -> tuple[CompleteRound, ...]:
    """Rounds 1, 2, ... in which every point was measured to its end; index 0 is round 1.

    The first round with a missing, interrupted or failed step ends the series: a window needs
    consecutive rounds, so nothing behind a gap can count.
    """
    measured: dict[int, dict[TestPoint, Sample]] = defaultdict(dict)
    for number, sample in numbered:
        point = test_point(sample.step.stimulus)
        if point is not None and sample.state is StepState.COMPLETE:
            measured[number][point] = sample
    rounds: list[CompleteRound] = []
    while (samples := measured.get(len(rounds) + 1)) is not None and set(points) <= set(samples):
        rounds.append(samples)
    return tuple(rounds)


def iops_by_round(rounds: Sequence[CompleteRound], point: TestPoint) -> tuple[float, ...]:
    """IOPS of one test point in rounds 1, 2, ...; empty if the point was never measured."""
    return tuple(samples[point].iops for samples in rounds if point in samples)


@dataclass(frozen=True, slots=True)
class MeasurementWindow:
    """The rounds over which results are averaged; ``rounds`` may be fewer than the five that PTS wants."""

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
    return tuple(
        judge(window.rounds, [samples[variable].iops for samples in chosen])
        if window.is_full and all(variable in samples for samples in chosen)
        else None
        for variable in tracking
    )
