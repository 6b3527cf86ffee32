"""A run of the thermal test as its record tells it: loads as points of heat, and temperatures over time."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.record.health import HealthRecord
from openpts.record.reader import Run, StepRecord
from openpts.units import GB, MB, format_duration
from openpts.vocabulary.sample import Phase
from openpts_pages import cells
from openpts_pages.model import Verdict
from openpts_practice.thermal import COLD, DUTY_CYCLE, WARM, ThermalConditions
from openpts_practice.thermal.results import (
    HOT_WITHIN_K,
    SLOW_SHARE,
    WARMED_BY_K,
    HeatPoint,
    Throttling,
    ThrottlingEvidence,
    counters_rose,
    reference_of,
    throttling_of,
    whole_minutes,
)

NAMES: Final = {COLD: "Cold run", WARM: "Warm run", DUTY_CYCLE: "Duty cycle"}
TEMPERATURE: Final = "temperature_c"


class HeatingLoad(Struct, frozen=True):
    """A long stimulus: points from its first I/O on, and the readings of the log around and in it."""

    number: int
    started_ns: int
    ended_ns: int
    points: tuple[HeatPoint, ...]
    throttling: Throttling
    readings: tuple[HealthRecord, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        return NAMES[self.number]

    @property
    def length_ns(self) -> int:
        """From its first I/O to its end, idle time of the duty cycle included."""
        return self.ended_ns - self.started_ns

    @property
    def written_bytes(self) -> int:
        """All that was written in it."""
        return sum(point.written_bytes for point in self.points)

    def counted(self, name: str) -> float | None:
        """By how much a counter of the log rose in it; None where the log has none or was read once."""
        values = [reading.reading.values[name] for reading in self.readings if name in reading.reading.values]
        return values[-1] - values[0] if len(values) > 1 else None

    @property
    def highest_temperature_c(self) -> float | None:
        """The highest temperature in a load."""
        known = [point.temperature_c for point in self.points if point.temperature_c is not None]
        return max(known, default=None)

    def verdict(self, minute_ns: int) -> Verdict:
        """Whether it was slowed down by heat; ``fail`` only if that is not known."""
        evidence = self.throttling.evidence
        if evidence is ThrottlingEvidence.UNKNOWN:
            return Verdict(
                f"{self.name}: n/a (the record has neither temperatures of this drive nor its own report on "
                "throttling).",
                "fail",
            )
        if not self.throttling.seen:
            length = format_duration(self.length_ns)
            slow = self._slow_minutes(minute_ns)
            return Verdict(f"{self.name}: no throttling seen in {length}{self._highest_text}.{slow}")
        cause = (
            "throttled, as the drive reports"
            if evidence is ThrottlingEvidence.DRIVE
            else "slow while hot, which looks like throttling; the drive does not report it"
        )
        return Verdict(f"{self.name}: {cause}. {self._since_text}{self._cost_text}{self._highest_text}.")

    @property
    def _highest_text(self) -> str:
        """The highest temperature of a load; empty where none is known."""
        highest_c = self.highest_temperature_c
        return "" if highest_c is None else f"; highest temperature {highest_c:.0f} °C"

    @property
    def _since_text(self) -> str:
        throttling = self.throttling
        assert throttling.first_ns is not None  # noqa: S101 the caller looked
        written = cells.fixed((throttling.bytes_before or 0) / GB, 1)
        share = cells.fixed(100 * (throttling.share or 0.0), 1)
        return (
            f"It began after {format_duration(throttling.first_ns)} and {written} GB; {share} % of the time "
            "with I/O was throttled"
        )

    @property
    def _cost_text(self) -> str:
        before, during = self.throttling.before_bytes_per_s, self.throttling.throttled_bytes_per_s
        if before is None or during is None or not before:
            return ""
        rates = f"{cells.fixed(before / MB, 0)} MB/s before, {cells.fixed(during / MB, 0)} MB/s throttled"
        if during >= _NO_LOSS_SHARE * before:
            return f", which cost no speed ({rates})"
        return f": {rates}, {cells.fixed(100 * during / before, 0)} % of it"

    def _slow_minutes(self, minute_ns: int) -> str:
        """A drive that slows down without heat has another reason, which is not this test's."""
        minutes = whole_minutes(self.points, minute_ns)
        slow = sum(minute.bytes_per_s < SLOW_SHARE * minutes[0].bytes_per_s for minute in minutes)
        if not slow:
            return ""
        return (
            f" {slow} of {len(minutes)} stretches of {format_duration(minute_ns)} were below "
            f"{100 * SLOW_SHARE:g} % of the first: by the rule not heat, perhaps a full cache."
        )


class ThermalRun(Struct, frozen=True, dict=True):
    """What a run measured. Times of ``temperatures`` are on the engine's clock."""

    run: Run
    conditions: ThermalConditions

    @cached_property
    def temperatures(self) -> tuple[tuple[int, float], ...]:
        """All that is known of the drive's temperature, in the order of time."""
        series = self.run.telemetry_series.get(TEMPERATURE)
        sampled = zip(series.t_ns, series.values, strict=True) if series else ()
        looked = [
            (health.t_ns, health.reading.values[TEMPERATURE])
            for health in self.run.health
            if health.t_ns is not None and TEMPERATURE in health.reading.values
        ]
        return tuple(sorted(dict([*looked, *sampled]).items()))

    @cached_property
    def loads(self) -> dict[int, HeatingLoad]:
        """The loads that were begun, by number."""
        begun = {number: self.run.phase(Phase.LOAD, number=number) for number in NAMES}
        points = {number: tuple(self._points(number, steps)) for number, steps in begun.items() if steps}
        minute_ns = self.conditions.minute_ns
        reference = reference_of(points.get(COLD, ()), minute_ns)
        return {
            number: HeatingLoad(
                number=number,
                started_ns=begun[number][0].sample.started_ns,
                ended_ns=_ended_ns(begun[number][-1]),
                points=of_load,
                throttling=throttling_of(of_load, reference, minute_ns),
                readings=self._readings(number),
            )
            for number, of_load in points.items()
            if of_load
        }

    def limit_c(self, name: str) -> float | None:
        """``warning_limit_c`` or ``critical_limit_c``, as the drive's log had it."""
        found = (health.reading.values.get(name) for health in self.run.health)
        return next((value for value in found if value is not None), None)

    def temperature_at(self, t_ns: int) -> float | None:
        """The last temperature that is known at a moment."""
        after = bisect_right(self.temperatures, t_ns, key=itemgetter(0))
        return self.temperatures[after - 1][1] if after else None

    def _readings(self, number: int) -> tuple[HealthRecord, ...]:
        return tuple(
            health for health in self.run.health if health.phase is Phase.LOAD and health.number == number
        )

    def _points(self, number: int, steps: list[StepRecord]) -> Iterator[HeatPoint]:
        """Intervals, the rest of a step with the last of them."""
        origin_ns = steps[0].sample.started_ns
        readings = self._readings(number)
        for step in steps:
            begin_ns, end_ns = step.sample.started_ns, _ended_ns(step)
            before = [reading for reading in readings if reading.t_ns is None or reading.t_ns <= begin_ns]
            after = [reading for reading in readings if reading.t_ns is not None and reading.t_ns >= end_ns]
            rose = None
            if before and after:
                rose = counters_rose(before[-1].reading.values, after[0].reading.values)
            for point in _points_of(step, origin_ns):
                yield replace(
                    point,
                    temperature_c=self._temperature(point, origin_ns),
                    throttled=rose if point.throttled is None else point.throttled,
                )

    def _temperature(self, point: HeatPoint, origin_ns: int) -> float | None:
        if point.temperature_c is not None:
            return point.temperature_c
        return self.temperature_at(origin_ns + point.end_ns)

    def verdict(self, number: int) -> Verdict:
        """Whether a load was slowed down by heat; ``fail`` only if that is not known."""
        load = self.loads.get(number)
        if load is None:
            return Verdict(f"{NAMES[number]}: n/a (not measured).", "fail")
        return load.verdict(self.conditions.minute_ns)


def _ended_ns(step: StepRecord) -> int:
    return step.sample.started_ns + step.sample.elapsed_ns


def _points_of(step: StepRecord, origin_ns: int) -> list[HeatPoint]:
    """Of an idle step, nothing: it has no speed."""
    sample = step.sample
    if sample.step.is_idle or not sample.elapsed_ns:
        return []
    if not sample.intervals:
        return [HeatPoint(_ended_ns(step) - origin_ns, sample.elapsed_ns, sample.write.bytes)]
    points: list[HeatPoint] = []
    for interval in sample.intervals:
        begin_ns = sample.started_ns - origin_ns + interval.index * sample.interval_ns
        point = HeatPoint(
            begin_ns + interval.elapsed_ns,
            interval.elapsed_ns,
            interval.write.bytes,
            interval.temperature_c,
            interval.throttled,
        )
        # the answers to what was outstanding at the step's end are no speed of their own
        if points and interval.elapsed_ns < sample.interval_ns:
            last = points.pop()
            point = replace(
                point,
                elapsed_ns=last.elapsed_ns + point.elapsed_ns,
                written_bytes=last.written_bytes + point.written_bytes,
                throttled=last.throttled if point.throttled is False else point.throttled,
            )
        points.append(point)
    return points


_NO_LOSS_SHARE: Final = 0.95

RULE: Final = (
    "Rule: the drive's own report decides, or a throttle counter of its log that rises. Without either, a "
    f"minute is throttled if its mean is below {100 * SLOW_SHARE:g} % of the first minute of the cold run. "
    f"The temperature must be within {HOT_WITHIN_K} K of the highest, in a run that warmed the drive by "
    f"{WARMED_BY_K} K."
)
