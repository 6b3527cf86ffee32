"""The course of a fill: its break points, what idle time gives back, and bursts by fill level.

Implements: HYP-FILL-01, HYP-FILL-02.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median
from typing import Final

from openpts.analysis.breaks import Segment, segments_of
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Sample

LEAST_GAIN: Final = 1.5
"""After an idle time a drive has a cache again if its fastest step is so many times as fast as usual."""

# An interval that the step's end cut is no record of its length.
_WHOLE: Final = 0.99

READING: Final = (
    "The first break to a lower rate is read as the end of the cache, the second one as the start of garbage "
    "collection (or of folding the cache); the last segment of the fill, if a break is before it, is the "
    "steady one."
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
        return self.bytes * NS_PER_S / self.elapsed_ns if self.elapsed_ns else 0.0


@dataclass(frozen=True, slots=True)
class FillSegment:
    """A part of a course at one rate: from and to in bytes written, and bytes over time in it."""

    start_bytes: int
    end_bytes: int
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Course:
    """Points and segments of consecutive writes. Places are bytes written from the course's start."""

    points: tuple[FillPoint, ...]
    segments: tuple[FillSegment, ...]

    @property
    def falls_bytes(self) -> tuple[int, ...]:
        """Up to where the rate was higher, in order: the ends of segments with a slower one behind them."""
        return tuple(a.end_bytes for a, b in pairwise(self.segments) if b.bytes_per_s < a.bytes_per_s)

    @property
    def cache_end_bytes(self) -> int | None:
        """The first fall."""
        return self.falls_bytes[0] if self.falls_bytes else None

    @property
    def collection_start_bytes(self) -> int | None:
        """The second fall."""
        return self.falls_bytes[1] if len(self.falls_bytes) > 1 else None

    @property
    def steady_from_bytes(self) -> int | None:
        """The start of the last segment."""
        return self.segments[-1].start_bytes if len(self.segments) > 1 else None

    @property
    def written_bytes(self) -> int:
        """All of it."""
        return self.points[-1].end_bytes if self.points else 0


@dataclass(frozen=True, slots=True)
class Returned:
    """What idle time gave back: bytes written at the higher rate; ``at_least`` if the rate never fell."""

    bytes: int
    at_least: bool = False


def course_of(samples: Sequence[Sample]) -> Course:
    """The course of consecutive writes that were carried out whole, one point per step."""
    ends = accumulate(sample.write.bytes for sample in samples)
    points = tuple(
        _point(sample, end) for sample, end in zip(samples, ends, strict=True) if sample.write.bytes
    )
    segments = segments_of([point.bytes_per_s for point in points])
    return Course(points, tuple(_segment(points, segment) for segment in segments))


def returned(course: Course, without_idle: Course) -> Returned:
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


def _segment(points: Sequence[FillPoint], segment: Segment) -> FillSegment:
    inside = points[segment.start : segment.end]
    written = sum(point.bytes for point in inside)
    elapsed_ns = sum(point.elapsed_ns for point in inside)
    return FillSegment(
        start_bytes=inside[0].end_bytes - inside[0].bytes,
        end_bytes=inside[-1].end_bytes,
        bytes_per_s=written * NS_PER_S / elapsed_ns if elapsed_ns else 0.0,
    )
