"""What the record holds of the device beside its I/O: readings of its log, and what was sampled meanwhile."""

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, structs

from openpts.escaped_text import visible_line
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.phase import Phase

CONTINUED: Final = "process_continued"
"""How often openpts has gone on after it was stopped, among what was sampled."""

EXTERNAL_POWER: Final = "power_external_w"
EXTERNAL_PEAK: Final = "power_external_peak_w"
DRIVE_POWER: Final = "drive_power_w"
"""What a power meter of the operator's reports, among what was sampled."""


class ReadingPoint(StrEnum):
    """When a log was read: before the first purge, as the test asked for it, or after the last step.

    RESUMED: before an attempt that continues with the run. SET_ASIDE: for steps that were carried out again.
    """

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"
    RESUMED = "resumed"
    SET_ASIDE = "set_aside"


class HealthRecord(Struct, frozen=True):
    """One reading of the device's log.

    ``part`` and ``number`` are those of the request, None before and after the test; ``cycle`` counts purges.
    ``read_at`` is ISO 8601, UTC; ``t_ns`` is on the engine's clock, as times of steps are: the end of the
    step before, None before the first.
    """

    occasion: ReadingPoint
    cycle: int
    phase: Phase | None
    number: int | None
    read_at: str
    t_ns: int | None
    reading: HealthReading


def around(readings: Sequence[HealthRecord]) -> tuple[HealthRecord | None, HealthRecord | None]:
    """The reading before the run, and the one after it, which a run that was killed does not have.

    One that was resumed has such readings of each attempt: of its first, and of its last.
    """
    firsts = [record for record in readings if record.occasion is ReadingPoint.BEFORE]
    ends = [record for record in readings if record.occasion in {ReadingPoint.AFTER, ReadingPoint.RESUMED}]
    has_ended = bool(ends) and ends[-1].occasion is ReadingPoint.AFTER
    return (firsts[0] if firsts else None), (ends[-1] if has_ended else None)


class TelemetryPoint(Struct, frozen=True, order=True, gc=False):
    """One value that was sampled beside the I/O; ``t_ns`` is on the engine's clock, as times of steps are."""

    t_ns: int
    name: str
    value: float


class TelemetrySeries(Struct, frozen=True):
    """All that was sampled of one name, by time: hundreds of thousands of values, so no point for each."""

    t_ns: Sequence[int]
    values: Sequence[float]

    def held(self, begin_ns: int, end_ns: int) -> Sequence[float]:
        """The values that held between these moments: each does until the next."""
        first = max(0, bisect_right(self.t_ns, begin_ns) - 1)
        return self.values[first : bisect_right(self.t_ns, end_ns)]

    def at(self, t_ns: int) -> float:
        """The value that held at that moment; the first one before it."""
        return self.values[max(0, bisect_right(self.t_ns, t_ns) - 1)]


def visible_points(points: tuple[TelemetryPoint, ...]) -> tuple[TelemetryPoint, ...]:
    """Points with printable names; each name is checked once, as hundreds of thousands share a few."""
    names = {name: visible_line(name) for name in {point.name for point in points}}
    if all(name == shown for name, shown in names.items()):
        return points
    return tuple(structs.replace(point, name=names[point.name]) for point in points)
