"""A continuous stimulus judged by its tracked minutes (PTS 11.2 step 3.2, 13.2 step 3.2.2)."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec import Struct

from openpts.analysis.minutes import starts_ns
from openpts.analysis.rounds import MeasurementWindow, measurement_window
from openpts.analysis.steady_state import WINDOW_ROUNDS, disturbed_rounds, judge, window_ending_at
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.verdict import SteadyStateReport


class TrackedStep(NamedTuple):
    """A step of the stimulus: its tracking round, its position in it, and what was measured."""

    number: int
    position: int
    sample: Sample


class TrackingResults(Struct, frozen=True):
    """``minutes`` are the tracked ones of tracking rounds 1, 2, ..., each complete.

    ``begun`` tracking rounds have steps, complete or not. ``starts_ns`` and ``ends_ns`` of the tracked
    minutes count from the start of the stimulus. ``verdict`` is None with fewer than five tracked minutes.
    """

    begun: int
    minutes: tuple[Sample, ...]
    starts_ns: tuple[int, ...]
    ends_ns: tuple[int, ...]
    window: MeasurementWindow
    verdict: SteadyStateReport | None

    @property
    def iops(self) -> tuple[float, ...]:
        """The tracking variable: IOPS of each tracked minute."""
        return tuple(minute.iops for minute in self.minutes)

    @property
    def steady(self) -> bool:
        """Whether steady state was reached."""
        return self.verdict is not None and self.verdict.steady

    @property
    def window_minutes(self) -> tuple[Sample, ...]:
        """The tracked minutes of the window, steady or not."""
        return tuple(self.minutes[number - 1] for number in self.window.rounds)


def analyze_tracking(steps: Sequence[TrackedStep], *, minute_ns: int, period_ns: int) -> TrackingResults:
    """Judge a stimulus whose tracked minutes begin ``period_ns`` apart, from all of its steps in order.

    The window ends with the first tracking round at which it is steady, as the test does, or with the last.
    """
    starts = starts_ns([step.sample for step in steps])
    tracked = {
        step.number: (start_ns, step.sample)
        for start_ns, step in zip(starts, steps, strict=True)
        if step.position == _tracked_position(step.number, minute_ns, period_ns)
        and step.sample.state is StepState.COMPLETE
    }
    in_order: list[tuple[int, Sample]] = []
    while (found := tracked.get(len(in_order) + 1)) is not None:
        in_order.append(found)
    iops = [minute.iops for _, minute in in_order]
    disturbed = disturbed_rounds([minute] for _, minute in in_order)
    window = measurement_window(len(iops), _steady_round(iops, disturbed))
    return TrackingResults(
        begun=len({step.number for step in steps}),
        minutes=tuple(minute for _, minute in in_order),
        starts_ns=tuple(start_ns for start_ns, _ in in_order),
        ends_ns=tuple(start_ns + minute.elapsed_ns for start_ns, minute in in_order),
        window=window,
        verdict=judge(window.rounds, [iops[number - 1] for number in window.rounds], disturbed)
        if window.is_full
        else None,
    )


def _tracked_position(number: int, minute_ns: int, period_ns: int) -> int:
    """The position of the tracked minute in its round: behind the steps that fill the time since the one
    before.
    """
    return 0 if number == 1 or period_ns <= minute_ns else 1


def _steady_round(iops: Sequence[float], disturbed: Collection[int]) -> int | None:
    last_rounds = range(WINDOW_ROUNDS, len(iops) + 1)
    return next((number for number in last_rounds if window_ending_at(iops, number, disturbed).steady), None)
