"""The course of a fill: its break points, what idle time gives back, and bursts by fill level.

Implements: HYP-FILL-01, HYP-FILL-02.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import Final

from openpts.units import NS_PER_S, per_second
from openpts.vocabulary.sample import Sample
from openpts_practice.fill.change_points import Segment, segments_of
from openpts_practice.fill.rate_fall import Fall, fall_between

LEAST_GAIN: Final = 1.5
"""After an idle time a drive has a cache again if its fastest step is so many times as fast as usual."""

# An interval that the step's end cut is no record of its length.
_WHOLE: Final = 0.99

READING: Final = (
    "The first break to a lower rate is read as the end of the cache, the second one as the start of garbage "
    "collection (or of folding the cache). Both are placed by the intervals around them, and lie within the "
    "bounds that are given: those of the interval in which the rate fell. The last segment of the fill, if a "
    "break is before it, has the last rate; no rule of steady state was held against it."
)


@dataclass(frozen=True, slots=True)
class FillPoint:
    """A step of a course: bytes written up to its end, its rate, and those of its whole intervals."""

    end_bytes: int
    bytes: int
    elapsed_ns: int
    lowest_bytes_per_s: float | None
    highest_bytes_per_s: float | None

    @property
    def bytes_per_s(self) -> float:
        """Mean rate."""
        return per_second(self.bytes, self.elapsed_ns)


@dataclass(frozen=True, slots=True)
class FillSegment:
    """A part of a course at one rate: from and to in bytes written, and bytes over time in it.

    ``fall`` is that with which it begins; None for the first one, and for a faster one than that before.
    """

    start_bytes: int
    end_bytes: int
    bytes_per_s: float
    fall: Fall | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
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

    @property
    def written_bytes(self) -> int:
        """All of it."""
        return self.points[-1].end_bytes if self.points else 0


@dataclass(frozen=True, slots=True)
class Returned:
    """What idle time gave back: bytes written at the higher rate; ``at_least`` if the rate never fell."""

    bytes: int
    at_least: bool = False


def course_of(samples: Sequence[Sample]) -> Trajectory:
    """The course of consecutive writes that were carried out whole, one point per step."""
    ends = accumulate(sample.write.bytes for sample in samples)
    points = tuple(
        _point(sample, end) for sample, end in zip(samples, ends, strict=True) if sample.write.bytes
    )
    found = segments_of([point.bytes_per_s for point in points])
    measured = [sample for sample in samples if sample.write.bytes]
    before = (None, *found)
    segments = tuple(
        _segment(points, segment, _fall(measured, points, previous, segment))
        for previous, segment in zip(before, found, strict=False)
    )
    return Trajectory(points, segments)


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
    return Returned(round(sum(_at_fastest(point, fastest, usual) for point in course.points[: slow + 1])))


def _at_fastest(point: FillPoint, fastest: float, usual: float) -> float:
    """Bytes of a step at the fastest rate, if all others were written at the usual one."""
    saved_s = point.bytes / usual - point.elapsed_ns / NS_PER_S
    return min(float(point.bytes), max(0.0, saved_s / (1 / usual - 1 / fastest)))


def _point(sample: Sample, end_bytes: int) -> FillPoint:
    whole = [one for one in sample.intervals if one.elapsed_ns >= _WHOLE * sample.interval_ns]
    rates = [interval.bandwidth_bytes_per_s for interval in whole]
    return FillPoint(
        end_bytes=end_bytes,
        bytes=sample.write.bytes,
        elapsed_ns=sample.elapsed_ns,
        lowest_bytes_per_s=min(rates, default=None),
        highest_bytes_per_s=max(rates, default=None),
    )


def _fall(
    samples: Sequence[Sample], points: Sequence[FillPoint], before: Segment | None, segment: Segment
) -> Fall | None:
    """Looked for from the last two steps of one segment to the first two of the next."""
    if before is None or segment.rate >= before.rate:
        return None
    first, last = max(before.start, before.end - 2), min(segment.end, segment.start + 2)
    start_bytes = points[first].end_bytes - points[first].bytes
    return fall_between(samples[first:last], start_bytes, before.rate, segment.rate)


def _segment(points: Sequence[FillPoint], segment: Segment, fall: Fall | None) -> FillSegment:
    inside = points[segment.start : segment.end]
    written = sum(point.bytes for point in inside)
    elapsed_ns = sum(point.elapsed_ns for point in inside)
    return FillSegment(
        start_bytes=inside[0].end_bytes - inside[0].bytes,
        end_bytes=inside[-1].end_bytes,
        bytes_per_s=per_second(written, elapsed_ns),
        fall=fall,
    )
