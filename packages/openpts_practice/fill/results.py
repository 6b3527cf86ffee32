"""The course of a fill: its break points, what idle time gives back, and bursts by fill level.

Implements: HYP-FILL-01, HYP-FILL-02.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.analysis.minutes import sum_parts
from openpts.analysis.steady_state import WINDOW_ROUNDS, judge
from openpts.units import NS_PER_S, per_second
from openpts.vocabulary.sample import Measured, Sample
from openpts_work.dips import Segment, segments_of
from openpts_work.work import MORE_THAN_HOST, WorkSpan

LEAST_GAIN: Final = 1.5
"""After an idle time a drive has a cache again if its fastest step is so many times as fast as usual."""

# An interval that the step's end cut is no record of its length.
_WHOLE: Final = 0.99

READING: Final = (
    "The first break to a lower rate is read as the end of the cache. The second one is the start of garbage "
    "collection, or of folding the cache. Both are placed by the intervals around them, and lie within the "
    "bounds that are given: those of the interval in which the rate fell. The last segment of the fill, if a "
    "break is before it, has the last rate. Steady state is reached with the first five of its steps that "
    "are steady by definition 2.1.24. GC counted: the first step in which media writes exceed the host's by "
    "a tenth, where a drive counts them by step. Folding of the cache counts alike."
)


# What stood still has no logarithm: it counts as so much of the lower rate.
_STILL: Final = 1e-3


class Fall(Struct, frozen=True):
    """Bytes written when the rate fell: between ``low_bytes`` and ``high_bytes``, most likely ``at_bytes``.

    The bounds are those of the interval in which it fell. Within it as much is counted before the fall as
    must have been written at the higher rate for it to take the time that it took.
    """

    at_bytes: int
    low_bytes: int
    high_bytes: int


class FillPoint(Struct, frozen=True):
    """A step of a course of writes: bytes written up to its end, and what was measured."""

    end_bytes: int
    step: Sample

    @property
    def start_bytes(self) -> int:
        """Bytes written up to its begin."""
        return self.end_bytes - self.step.write.bytes

    @property
    def bytes_per_s(self) -> float:
        """Mean rate."""
        return self.step.bandwidth_bytes_per_s

    @property
    def spread_bytes_per_s(self) -> tuple[float, float] | None:
        """Lowest and highest rate of its whole intervals; None without any."""
        step = self.step
        whole = [one for one in step.intervals if one.elapsed_ns >= _WHOLE * step.interval_ns]
        rates = [interval.bandwidth_bytes_per_s for interval in whole]
        return (min(rates), max(rates)) if rates else None


class FillSegment(Measured, frozen=True, kw_only=True):
    """A part of a course at one rate: its steps together, from ``start_bytes`` written on.

    ``fall`` is that with which it begins; None for the first one, and for a faster one than that before.
    """

    start_bytes: int
    fall: Fall | None = None

    @property
    def end_bytes(self) -> int:
        """Bytes written up to its end."""
        return self.start_bytes + self.write.bytes


class Trajectory(Struct, frozen=True):
    """Points and segments of consecutive writes. Places are bytes written from the course's start."""

    points: tuple[FillPoint, ...]
    segments: tuple[FillSegment, ...]

    @property
    def falls(self) -> tuple[Fall, ...]:
        """Where the rate fell, in order."""
        return tuple(segment.fall for segment in self.segments if segment.fall is not None)

    @property
    def cache_end(self) -> Fall | None:
        """The first fall."""
        return self.falls[0] if self.falls else None

    @property
    def collection_start(self) -> Fall | None:
        """The second fall."""
        return self.falls[1] if len(self.falls) > 1 else None

    @property
    def last_rate_from_bytes(self) -> int | None:
        """Where the last segment begins, if there is one before it: with a fall, or a step if it rose."""
        if len(self.segments) < 2:
            return None
        last = self.segments[-1]
        return last.start_bytes if last.fall is None else last.fall.at_bytes

    # HYP-FILL-02
    @property
    def steady_from_bytes(self) -> int | None:
        """The end of the first five steps of the last segment that are steady by 2.1.24.

        None without a break point: the plateau of a fresh drive is steady, too.
        """
        if len(self.segments) < 2:
            return None
        last = [point for point in self.points if point.start_bytes >= self.segments[-1].start_bytes]
        for end in range(WINDOW_ROUNDS, len(last) + 1):
            window = last[end - WINDOW_ROUNDS : end]
            if judge(range(WINDOW_ROUNDS), [point.bytes_per_s for point in window]).steady:
                return window[-1].end_bytes
        return None

    @property
    def written_bytes(self) -> int:
        """All of it."""
        return self.points[-1].end_bytes if self.points else 0


class Returned(Struct, frozen=True):
    """What idle time gave back: bytes written at the higher rate; ``at_least`` if the rate never fell."""

    bytes: int
    at_least: bool = False


def course_of(samples: Sequence[Sample]) -> Trajectory:
    """The course of consecutive writes that were carried out whole, one point per step."""
    ends = accumulate(sample.write.bytes for sample in samples)
    points = tuple(
        FillPoint(end, sample) for sample, end in zip(samples, ends, strict=True) if sample.write.bytes
    )
    found = segments_of([point.bytes_per_s for point in points])
    segments = tuple(
        FillSegment(
            start_bytes=points[segment.start].start_bytes,
            fall=_fall(points, previous, segment),
            **sum_parts([point.step for point in points[segment.start : segment.end]]),
        )
        for previous, segment in zip((None, *found), found, strict=False)
    )
    return Trajectory(points, segments)


def collection_counted(stretches: Iterable[WorkSpan]) -> int | None:
    """Bytes written when media writes first exceeded the host's by a tenth; None if they never did.

    ``stretches`` are of the fill, of a step each; none, where the drive counts more coarsely.
    """
    written_bytes = 0.0
    for stretch in stretches:
        if stretch.host_bytes and stretch.media_bytes > MORE_THAN_HOST * stretch.host_bytes:
            return round(written_bytes)
        written_bytes += stretch.host_bytes
    return None


def returned(course: Trajectory, without_idle: Trajectory) -> Returned:
    """The cache that an idle time gave back, as bytes written at the rate of the course's fastest step.

    Counted up to the first slow step: one below the geometric mean of the fastest and of the median step of
    the course without idle time. Of each step as much is counted as must have been written at the fastest
    rate, and the rest at that median, for it to take the time that it took. It is nothing where the fastest
    is not ``LEAST_GAIN`` times that median.
    """
    rates = [point.bytes_per_s for point in course.points]
    if not rates or not without_idle.points:
        return Returned(0)
    usual = median(point.bytes_per_s for point in without_idle.points)
    fastest = max(rates)
    if fastest < LEAST_GAIN * usual:
        return Returned(0)
    limit = math.sqrt(fastest * usual)
    slow = next((number for number, rate in enumerate(rates) if rate < limit), None)
    if slow is None:
        return Returned(course.written_bytes, at_least=True)
    fast = course.points[: slow + 1]
    return Returned(round(sum(bytes_at_higher(point.step, fastest, usual) for point in fast)))


def _fall(points: Sequence[FillPoint], before: Segment | None, segment: Segment) -> Fall | None:
    """Looked for from the last two steps of one segment to the first two of the next."""
    if before is None or segment.rate >= before.rate:
        return None
    near = points[max(before.start, before.end - 2) : min(segment.end, segment.start + 2)]
    return fall_between([point.step for point in near], near[0].start_bytes, before.rate, segment.rate)


def fall_between(
    samples: Sequence[Sample], start_bytes: int, higher_bytes_per_s: float, lower_bytes_per_s: float
) -> Fall:
    """The fall within these steps, the first of which begins with so many bytes written.

    It lies in the interval whose removal leaves those before it nearest to the higher rate and those behind
    it nearest to the lower one (distances of logarithms, weighed by time, not squared: a single stall is no
    fall). Steps without intervals count as a whole.
    """
    parts = [part for sample in samples for part in (sample.intervals or (sample,)) if part.write.bytes]
    number = _fell_in(parts, higher_bytes_per_s, lower_bytes_per_s)
    ends = list(accumulate((part.write.bytes for part in parts), initial=start_bytes))
    before = bytes_at_higher(parts[number], higher_bytes_per_s, lower_bytes_per_s)
    return Fall(ends[number] + round(before), ends[number], ends[number + 1])


def _fell_in(parts: Sequence[Measured], higher: float, lower: float) -> int:
    """The number of the interval within which the rate fell."""

    def distances(level: float) -> list[float]:
        return [part.elapsed_ns * abs(math.log(max(_rate(part), _STILL * lower) / level)) for part in parts]

    before = list(accumulate(distances(higher), initial=0.0))
    behind = list(accumulate(reversed(distances(lower)), initial=0.0))[::-1]
    return min(range(len(parts)), key=lambda number: before[number] + behind[number + 1])


def bytes_at_higher(part: Measured, higher: float, lower: float) -> float:
    """Bytes of a step or an interval at the higher rate, if all others were written at the lower one."""
    saved_s = part.write.bytes / lower - part.elapsed_ns / NS_PER_S
    return min(float(part.write.bytes), max(0.0, saved_s / (1 / lower - 1 / higher)))


def _rate(part: Measured) -> float:
    return per_second(part.write.bytes, part.elapsed_ns)
