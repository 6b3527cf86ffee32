"""A course of random writes from a known state: where it begins, when it is steady, what lies between."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from openpts.analysis.minutes import Minute, minutes_of, starts_ns
from openpts.analysis.saturation import TrackedStep, disturbed_minutes, steady_round_of, tracked_iops
from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stop import Duration
from openpts.vocabulary.verdict import SteadyStateReport


@dataclass(frozen=True, slots=True)
class CourseResults:
    """One course. ``tracked_iops`` are those of tracked minutes 1, 2, ...

    ``steady_round`` is the tracked minute at which steady state was found, ``verdict`` the window that ends
    there, or at the last one; None with fewer than five. ``steady_after_ns`` and ``steady_after_bytes`` are
    time and bytes written from the start of the course to the end of that minute.
    """

    minutes: tuple[Minute, ...]
    tracked_iops: tuple[float, ...]
    elapsed_ns: int
    written_bytes: int
    steady_round: int | None
    verdict: SteadyStateReport | None
    steady_after_ns: int | None
    steady_after_bytes: int | None

    @property
    def first_iops(self) -> float | None:
        """IOPS of the first minute."""
        return self.tracked_iops[0] if self.tracked_iops else None

    @property
    def steady_iops(self) -> float | None:
        """Average of the steady window."""
        return self.verdict.average if self.verdict is not None and self.steady_round is not None else None

    @property
    def factor(self) -> float | None:
        """First minute over steady state."""
        if self.first_iops is None or not self.steady_iops:
            return None
        return self.first_iops / self.steady_iops


def analyze_course(samples: Sequence[Sample], minute_ns: int, least_bytes: float) -> CourseResults:
    """The course from its steps in order; steady state counts once ``least_bytes`` are written."""
    steps = rounds_of(samples)
    tracked = tracked_iops(steps, minute_ns)
    steady_round = steady_round_of(steps, minute_ns, least_bytes)
    last = steady_round or len(tracked)
    end = next((n for n, step in enumerate(steps) if step.tracked and step.number == steady_round), None)
    starts = starts_ns(samples)
    written = list(accumulate(sample.write.bytes for sample in samples))
    return CourseResults(
        minutes=minutes_of(samples, minute_ns),
        tracked_iops=tracked,
        elapsed_ns=starts[-1] + samples[-1].elapsed_ns if samples else 0,
        written_bytes=written[-1] if written else 0,
        steady_round=steady_round,
        verdict=window_ending_at(tracked, last, disturbed_minutes(steps)) if last >= WINDOW_ROUNDS else None,
        steady_after_ns=None if end is None else starts[end] + samples[end].elapsed_ns,
        steady_after_bytes=None if end is None else written[end],
    )


def rounds_of(samples: Sequence[Sample]) -> tuple[TrackedStep, ...]:
    """The steps with the tracked minute that each belongs to: only those end by their time alone."""
    found: list[TrackedStep] = []
    number = 1
    for sample in samples:
        tracked = isinstance(sample.step.stop, Duration)
        found.append(TrackedStep(number, tracked, sample))
        number += tracked
    return tuple(found)


def reached_at(minutes: Sequence[Minute], amount_bytes: float) -> Minute | None:
    """The minute in which so many bytes were written since the start; None if that was never so."""
    return next((minute for minute in minutes if minute.written_bytes >= amount_bytes), None)
