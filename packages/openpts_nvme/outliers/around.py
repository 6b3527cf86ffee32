"""What the record has of the time of one slow I/O, beside what its own thread knew."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import fsum
from typing import Final

from msgspec import Struct

from openpts.record.health import CONTINUED, HealthRecord, TelemetrySeries
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import SlowIo

_LINK_COUNTERS: Final = ("aer_", "link_errors")
_THROTTLING: Final = ("throttle_events", "drive_throttle_events", "throttled_s")
LEAST_QUIET: Final = 3
"""Periods without slow I/Os that tell what is usual."""
_STEAL: Final = ("cpu_engine_steal_pct", "cpu_all_steal_pct")


class Around(Struct, frozen=True, kw_only=True):
    """What was sampled around an I/O; None where the record does not tell.

    ``link_errors`` is what the link's counters grew by in the period of the I/O, ``link_errors_usual`` in one
    without slow I/Os. ``foreign_share`` is what others moved on the drive in that period, of all bytes.
    ``stolen_ns`` is the processors' time that the hypervisor gave to others. ``throttled``: the drive was
    held back by heat. ``continued``: openpts itself continued after it was stopped. ``temperature_c`` and
    ``hottest_c`` are the drive's own, then and at most.
    """

    link_errors: float | None = None
    link_errors_usual: float = 0.0
    foreign_share: float | None = None
    stolen_ns: float | None = None
    throttled: bool | None = None
    temperature_c: float | None = None
    hottest_c: float | None = None
    continued: bool = False


class Surroundings:
    """What was sampled in a run, by time."""

    def __init__(
        self,
        series: Mapping[str, TelemetrySeries],
        health: Sequence[HealthRecord],
        period_s: float | None,
        slow_ios: Sequence[SlowIo],
    ) -> None:
        self._series = series
        self._period_ns = round((period_s or 1.0) * NS_PER_S)
        self._health = [record for record in health if record.t_ns is not None]
        self._health_t_ns = [record.t_ns for record in health if record.t_ns is not None]
        temperature = series.get("temperature_c")
        self._hottest_c = max(temperature.values) if temperature else None
        self._instants = sorted({t_ns for one in series.values() for t_ns in one.t_ns})
        self._link = [name for name in series if name.startswith(_LINK_COUNTERS)]
        self._usual = self._usual_errors(slow_ios)

    @classmethod
    def of(cls, run: Run) -> "Surroundings":
        """Surroundings of a recorded run."""
        ordered = run.manifest.ordered
        period_s = None if ordered is None else ordered.telemetry_period_s
        slow_ios = [slow for step in run.steps for slow in step.sample.slow_ios]
        return cls(run.telemetry_series, run.health, period_s, slow_ios)

    def around(self, slow: SlowIo, step: StepRecord) -> Around:
        """Of an I/O of this step."""
        return Around(
            link_errors=self._growths(self._link, slow),
            link_errors_usual=self._usual,
            foreign_share=self._foreign_share(slow, step),
            stolen_ns=self._stolen_ns(slow),
            throttled=self._throttled(slow, step),
            temperature_c=self._highest("temperature_c", slow),
            continued=self._continued(slow),
            hottest_c=self._hottest_c,
        )

    def _growths(self, names: Sequence[str], slow: SlowIo) -> float | None:
        """What counters grew by from the last sample before the I/O to the first one after it."""
        return sum(self._growth(name, slow) for name in names) if names else None

    def _growth(self, name: str, slow: SlowIo) -> float:
        held = self._series[name].held(slow.submitted_ns, self._next_sample_ns(slow.answered_ns))
        return max(0.0, held[-1] - held[0]) if held else 0.0

    def _next_sample_ns(self, at_ns: int) -> int:
        """When gauges were read next; that a value is not stored means only that it has not changed."""
        place = bisect_left(self._instants, at_ns)
        least_ns = self._instants[place] if place < len(self._instants) else at_ns
        # gauges are read one after the other
        return min(least_ns + self._period_ns // 20, at_ns + self._period_ns)

    def _usual_errors(self, slow_ios: Sequence[SlowIo]) -> float:
        """Errors per period, if there are some in most of the periods that are looked at; else 0.

        Periods without slow I/Os are looked at: errors that come with these alone are not usual. Where there
        are hardly any of these, all are looked at.
        """
        usual = 0.0
        for name in self._link:
            series = self._series[name]
            beside = list(self._beside(slow_ios, series.t_ns[0], series.t_ns[-1]))
            spent_ns = series.t_ns[-1] - series.t_ns[0]
            quiet_ns = spent_ns - sum(until_ns - from_ns for from_ns, until_ns in beside)
            if quiet_ns < LEAST_QUIET * self._period_ns:
                quiet_ns, beside = spent_ns, []
            grown = [
                after - before
                for at_ns, (before, after) in zip(series.t_ns[1:], pairwise(series.values), strict=True)
                if after > before and not any(from_ns <= at_ns <= until_ns for from_ns, until_ns in beside)
            ]
            if 2 * len(grown) * self._period_ns > quiet_ns:
                usual += fsum(grown) * self._period_ns / quiet_ns
        return usual

    def _beside(self, slow_ios: Sequence[SlowIo], first_ns: int, last_ns: int) -> Iterator[tuple[int, int]]:
        """From when until when a counter is read whose growth may be of the time of a slow I/O."""
        free_ns = first_ns
        for slow in slow_ios:
            until_ns = min(last_ns, slow.answered_ns + self._period_ns + self._period_ns // 20)
            from_ns = max(free_ns, slow.submitted_ns)
            if from_ns < until_ns:
                yield from_ns, until_ns
                free_ns = until_ns

    def _foreign_share(self, slow: SlowIo, step: StepRecord) -> float | None:
        if "foreign_bytes" not in self._series:
            return None
        foreign = self._growth("foreign_bytes", slow)
        own = step.sample.bandwidth_bytes_per_s * self._period_ns / NS_PER_S
        return foreign / (foreign + own) if foreign + own else 0.0

    def _stolen_ns(self, slow: SlowIo) -> float | None:
        """The value of a share is of the time before its point."""
        for name in _STEAL:
            if (series := self._series.get(name)) is not None:
                place = min(bisect_left(series.t_ns, slow.answered_ns), len(series.t_ns) - 1)
                return series.values[place] / 100 * self._period_ns
        return None

    def _throttled(self, slow: SlowIo, step: StepRecord) -> bool | None:
        """Told by the interval, else by the drive's own counts between the readings around the I/O."""
        sample = step.sample
        index = (slow.answered_ns - sample.started_ns) // sample.interval_ns
        place = bisect_left(sample.intervals, index, key=lambda interval: interval.index)
        for interval in sample.intervals[place : place + 1]:
            if interval.index == index and interval.throttled is not None:
                return interval.throttled
        before = bisect_right(self._health_t_ns, slow.submitted_ns)
        after = bisect_left(self._health_t_ns, slow.answered_ns)
        if not before or after == len(self._health):
            return None
        then, now = (self._health[place].reading.values for place in (before - 1, after))
        throttled = [now[name] > then[name] for name in _THROTTLING if name in now and name in then]
        return any(throttled) if throttled else None

    def _continued(self, slow: SlowIo) -> bool:
        """Python takes note of a signal when its main thread comes to it: a period later at most."""
        series = self._series.get(CONTINUED)
        if series is None:
            return False
        place = bisect_left(series.t_ns, slow.submitted_ns)
        return place < len(series.t_ns) and series.t_ns[place] <= slow.answered_ns + self._period_ns

    def _highest(self, name: str, slow: SlowIo) -> float | None:
        """The highest value from the I/O's start to the first sample after it."""
        series = self._series.get(name)
        held = series.held(slow.submitted_ns, self._next_sample_ns(slow.answered_ns)) if series else ()
        return max(held, default=None)
