"""Whether heat slowed a drive down, since when, and by how much: from speed, heat and its own report."""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Final

from msgspec import Struct

from openpts.units import per_second

SLOW_SHARE: Final = 0.8
"""A minute is slow below this share of the reference speed."""

HOT_WITHIN_K: Final = 3
"""A minute is hot when it is this near to the highest temperature of its run."""

WARMED_BY_K: Final = 10
"""A run must have warmed the drive by this much for its highest temperature to count as hot."""

STABLE_SPREAD: Final = 0.1
"""Speed is stable when its range over some minutes is no more than this share of their mean."""

SETTLED_LOOKS: Final = 5
SETTLED_WITHIN_K: Final = 1
"""A drive cools no more when it lost less than this over so many looks."""

COUNTERS: Final = ("throttle_events", "throttled_s")
"""Counters of a health log that rise when, and only when, heat slows the drive down."""


class ThrottlingEvidence(StrEnum):
    """What the judgement rests on."""

    DRIVE = "drive"
    """The drive reports that it throttled."""
    SPEED = "speed"
    """The drive reports nothing, but was slow while it was hot."""
    NONE = "none"
    """It was not slow while it was hot, or reports that it did not throttle."""
    UNKNOWN = "unknown"
    """Neither its temperature nor its own report is known."""


class HeatPoint(Struct, frozen=True):
    """A stretch of a run: ``end_ns`` from the run's beginning, temperature at its end.

    ``elapsed_ns`` is the time with I/O. ``throttled`` is what the drive reports, None where it does not
    report it.
    """

    end_ns: int
    elapsed_ns: int
    written_bytes: int
    temperature_c: float | None = None
    throttled: bool | None = None

    @property
    def begin_ns(self) -> int:
        """Where it begins."""
        return self.end_ns - self.elapsed_ns

    @property
    def bytes_per_s(self) -> float:
        """Throughput of the writes."""
        return per_second(self.written_bytes, self.elapsed_ns)


class Throttling(Struct, frozen=True):
    """``first_ns`` is when the first throttled point began, ``bytes_before`` what was written until then.

    Speeds are means over time, None where there was none of it. ``share`` is that of the time with I/O.
    """

    evidence: ThrottlingEvidence
    first_ns: int | None = None
    bytes_before: int | None = None
    before_bytes_per_s: float | None = None
    throttled_bytes_per_s: float | None = None
    share: float | None = None

    @property
    def seen(self) -> bool:
        """Whether heat slowed the drive down, on either evidence."""
        return self.first_ns is not None


def throttling_of(points: Sequence[HeatPoint], reference_bytes_per_s: float, minute_ns: int) -> Throttling:
    """Judge a run. The drive's own word decides where there is one.

    Without it, minutes are slow below ``SLOW_SHARE`` of the reference speed and hot within ``HOT_WITHIN_K``
    of the highest temperature, if the run warmed the drive by ``WARMED_BY_K``.
    """
    if any(point.throttled for point in points):
        return _split(ThrottlingEvidence.DRIVE, points, [bool(point.throttled) for point in points])
    if points and all(point.throttled is False for point in points):
        return _split(ThrottlingEvidence.NONE, points, [False] * len(points))
    minutes = whole_minutes(points, minute_ns)
    temperatures = [minute.temperature_c for minute in minutes if minute.temperature_c is not None]
    first_c = next((point.temperature_c for point in points if point.temperature_c is not None), None)
    if not temperatures or first_c is None:
        return _split(ThrottlingEvidence.UNKNOWN, points, [False] * len(points))
    highest_c = max(temperatures)
    warmed = highest_c - first_c >= WARMED_BY_K
    slow = [
        warmed
        and minute.temperature_c is not None
        and minute.temperature_c >= highest_c - HOT_WITHIN_K
        and minute.bytes_per_s < SLOW_SHARE * reference_bytes_per_s
        for minute in minutes
    ]
    return _split(ThrottlingEvidence.SPEED if any(slow) else ThrottlingEvidence.NONE, minutes, slow)


def _split(
    evidence: ThrottlingEvidence, points: Sequence[HeatPoint], throttled: Sequence[bool]
) -> Throttling:
    first = next((index for index, flag in enumerate(throttled) if flag), None)
    hot = [point for point, flag in zip(points, throttled, strict=True) if flag]
    before = points[:first]
    unknown = evidence is ThrottlingEvidence.UNKNOWN
    return Throttling(
        evidence=evidence,
        first_ns=None if first is None else points[first].begin_ns,
        bytes_before=None if first is None else sum(point.written_bytes for point in before),
        before_bytes_per_s=mean_bytes_per_s(before),
        throttled_bytes_per_s=mean_bytes_per_s(hot),
        share=None if unknown else _time_ns(hot) / _time_ns(points) if _time_ns(points) else 0.0,
    )


def mean_bytes_per_s(points: Sequence[HeatPoint]) -> float | None:
    """Speed over all points together; None without any time."""
    elapsed_ns = _time_ns(points)
    written_bytes = sum(point.written_bytes for point in points)
    return per_second(written_bytes, elapsed_ns) if elapsed_ns else None


def _time_ns(points: Iterable[HeatPoint]) -> int:
    return sum(point.elapsed_ns for point in points)


def merged(points: Sequence[HeatPoint], length_ns: int) -> tuple[HeatPoint, ...]:
    """Points put together in stretches of a length, by where they end; the last temperature counts."""
    return tuple(
        _together(list(group))
        for _, group in groupby(points, key=lambda point: (point.end_ns - 1) // length_ns)
    )


def whole_minutes(points: Sequence[HeatPoint], minute_ns: int) -> tuple[HeatPoint, ...]:
    """Points put together by minutes, without those of little I/O: a run's end, pauses of a duty cycle."""
    minutes = merged(points, minute_ns)
    return tuple(minute for minute in minutes if 2 * minute.elapsed_ns >= minute_ns) or minutes


def _together(points: Sequence[HeatPoint]) -> HeatPoint:
    reports = [point.throttled for point in points]
    return HeatPoint(
        end_ns=points[-1].end_ns,
        elapsed_ns=_time_ns(points),
        written_bytes=sum(point.written_bytes for point in points),
        temperature_c=points[-1].temperature_c,
        throttled=True if any(reports) else None if None in reports else False,
    )


def reference_of(points: Sequence[HeatPoint], length_ns: int) -> float:
    """The speed that later minutes are held against: that of the run's first so many nanoseconds."""
    first = [point for point in points if point.end_ns <= length_ns] or points[:1]
    return mean_bytes_per_s(first) or 0.0


def is_stable(minutes: Sequence[HeatPoint], count: int) -> bool:
    """Whether the speed of the last minutes is stable."""
    if len(minutes) < count:
        return False
    rates = [minute.bytes_per_s for minute in minutes[-count:]]
    return max(rates) - min(rates) <= STABLE_SPREAD * math.fsum(rates) / count


def has_cooled(temperatures_c: Sequence[float], goal_c: float | None) -> bool:
    """Whether an idle drive is at the goal, or without one cools no more."""
    if not temperatures_c:
        return False
    if goal_c is not None:
        return temperatures_c[-1] <= goal_c
    return (
        len(temperatures_c) > SETTLED_LOOKS
        and temperatures_c[-1 - SETTLED_LOOKS] - temperatures_c[-1] < SETTLED_WITHIN_K
    )


def counters_rose(before: Mapping[str, float], after: Mapping[str, float]) -> bool | None:
    """Whether the drive counted throttling between two readings of its log; None where its log does not show
    it.

    A counter that stood still proves nothing: drives need not count what they do on their own.
    """
    rose = any(after[name] > before[name] for name in COUNTERS if name in before and name in after)
    return True if rose else None
