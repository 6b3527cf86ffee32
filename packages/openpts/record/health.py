"""What a record holds beside the I/O: readings of the drive's log, seconds when the host was the limit."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, structs

from openpts.analysis.host_limits import HostLimit, Marks, limits_of, marks_of
from openpts.escaped_text import visible_line
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import Phase, Sample

CONTINUED: Final = "process_continued"
"""How often openpts has gone on after it was stopped, among what was sampled."""

# What meters of the operator's report, among what was sampled.
EXTERNAL_TEMPERATURE: Final = "temperature_external_c"
EXTERNAL_POWER: Final = "power_external_w"
EXTERNAL_PEAK: Final = "power_external_peak_w"
DRIVE_POWER: Final = "drive_power_w"


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


def difference(of: TelemetrySeries | None, base: TelemetrySeries | None) -> TelemetrySeries | None:
    """By how much the first is above what the other was then; None where they have no time in common."""
    if of is None or base is None:
        return None
    moments = [
        (t_ns, value - base.at(t_ns))
        for t_ns, value in zip(of.t_ns, of.values, strict=True)
        if t_ns >= base.t_ns[0]
    ]
    return TelemetrySeries(*zip(*moments, strict=True)) if moments else None


def visible_points(points: tuple[TelemetryPoint, ...]) -> tuple[TelemetryPoint, ...]:
    """Points with printable names; each name is checked once, as hundreds of thousands share a few."""
    names = {name: visible_line(name) for name in {point.name for point in points}}
    if all(name == shown for name, shown in names.items()):
        return points
    return tuple(structs.replace(point, name=names[point.name]) for point in points)


Spans = tuple[tuple[int, int], ...]


class StepMarks(Struct, frozen=True):
    """``spans`` are from and to on the engine's clock, those of the step's intervals; ``marks`` are of each:
    None where nothing was sampled. An idle step has none.
    """

    spans: Spans
    marks: tuple[Marks | None, ...]

    @property
    def judged_ns(self) -> int:
        """Time of the step for which host values were sampled, in ns."""
        return self._lasted_ns(lambda marks: marks is not None)

    def evidence(self, limit: HostLimit) -> frozenset[str]:
        """Names of the sampled values that show this limit."""
        names = {name for marks in self.marks for name in marks or ()}
        return frozenset(name for name in names if limit in limits_of(frozenset((name,))))

    def marked_ns(self, limit: HostLimit | None = None) -> int:
        """Time for which the host was the limit by ``limit``, in ns; by any limit for None."""
        return self._lasted_ns(lambda marks: bool(marks and (limit is None or limit in limits_of(marks))))

    def _lasted_ns(self, counts: Callable[[Marks | None], bool]) -> int:
        pairs = zip(self.spans, self.marks, strict=True)
        return sum(to_ns - from_ns for (from_ns, to_ns), marks in pairs if counts(marks))


def step_marks(
    steps: Sequence[Spans], series: Mapping[str, TelemetrySeries], period_s: float | None, *, polling: bool
) -> tuple[StepMarks, ...]:
    """Of each step, in their order. ``polling``: see ``marks_of``."""
    flat = [span for spans in steps for span in spans]
    period_ns = round((period_s or 1) * NS_PER_S)
    marks = iter(marks_of(series, flat, period_ns, polling=polling))
    return tuple(StepMarks(spans, tuple(next(marks) for _ in spans)) for spans in steps)


def spans_of(sample: Sample) -> Spans:
    """From and to of each interval of a step with I/O, on the engine's clock; none of an idle one."""
    if sample.step.is_idle:
        return ()
    length_ns = sample.interval_ns or NS_PER_S
    end_ns = sample.started_ns + sample.elapsed_ns
    begins = range(sample.started_ns, end_ns, length_ns)
    return tuple((from_ns, min(from_ns + length_ns, end_ns)) for from_ns in begins)
