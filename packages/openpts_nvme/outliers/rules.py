"""The rules by which a slow I/O is put down to a cause: the first that holds, from host to drive."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import fsum
from typing import Final

from msgspec import Struct

from openpts.record.health import CONTINUED, HealthRecord, TelemetrySeries
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import SlowIo
from openpts_nvme.outliers.causes import Cause

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
            link_errors=sum(self._growth(name, slow) for name in self._link) if self._link else None,
            link_errors_usual=self._usual,
            foreign_share=self._foreign_share(slow, step),
            stolen_ns=self._stolen_ns(slow),
            throttled=self._throttled(slow, step),
            temperature_c=self._highest("temperature_c", slow),
            continued=self._continued(slow),
            hottest_c=self._hottest_c,
        )

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
        """Errors per period, if there are some in most of the periods examined; else 0.

        Periods without slow I/Os are examined: errors that come with these alone are not usual. Where there
        are hardly any of these, all are examined.
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


BATCH_IOS: Final = 8
"""I/Os that the engine submits at once: so many are on their way to the driver at any moment."""


class Witnessed(Struct, frozen=True):
    """All that is known of one slow I/O.

    ``drive_denies``: the drive's latency monitor was armed, and has nothing of this length in the phase;
    None where it was not armed, or does not look at I/Os of this length.
    """

    slow: SlowIo
    around: Around
    drive_denies: bool | None = None

    @property
    def away_ns(self) -> int:
        """How much of its time the thread that issued it could not have seen its answer."""
        slow = self.slow
        return max(slow.absent_ns + slow.own_ns, slow.waited_ns or 0)

    @property
    def thread_was_there(self) -> bool:
        """Whether the thread looked for most of the time."""
        return 2 * self.away_ns < self.slow.latency_ns

    @property
    def driver_had_it(self) -> bool | None:
        """Whether the driver had it: when the thread looked, or as others were answered and none waited."""
        slow = self.slow
        if slow.least_at_driver is None or slow.missing_at_driver is None:
            return None
        if 2 * slow.silence_ns < slow.latency_ns:
            return slow.missing_at_driver <= max(BATCH_IOS, slow.least_at_driver)
        return slow.least_at_driver > 0 and slow.looks > 0

    @property
    def drive_had_it_alone(self) -> bool:
        """Whether the drive had this command and no other, which it fetches at once; no link errors."""
        slow = self.slow
        alone = slow.least_at_driver == 1 and not slow.foreign_at_driver and not slow.missing_at_driver
        if not alone or not self.thread_was_there or not self.driver_had_it:
            return False
        return self.around.link_errors is not None and not _link_errors(self)


class CauseRule(Struct, frozen=True):
    """``holds`` gives the evidence as text, or nothing where the rule does not hold.

    ``threshold`` and ``why`` are for readers.
    """

    cause: Cause
    threshold: str
    why: str
    holds: Callable[[Witnessed], str]


_Holds = Callable[[Witnessed], str]
OWN_NS: Final = NS_PER_MS
HALF: Final = "half of its time or more"
IDLE_NS: Final = 50 * NS_PER_MS
FOREIGN_SHARE: Final = 0.05
LINK_TIMES: Final = 2.0
HOT_C: Final = 2.0
HIDES: Final = (
    "the drive had this command alone, and its latency monitor does not have it: the drive hides it"
)
"""The evidence against a drive whose log leaves out what it should have."""


RULES: Final[list[CauseRule]] = []
"""In the order in which they are asked."""


def _rule(cause: Cause, threshold: str, why: str) -> Callable[[_Holds], _Holds]:
    """Enter a function among the rules."""

    def enter(holds: _Holds) -> _Holds:
        RULES.append(CauseRule(cause, threshold, why, holds))
        return holds

    return enter


@_rule(
    Cause.PROCESSOR,
    f"no processor for {HALF} of it",
    "a thread that can't run sees no answer; the scheduler's own count is exact",
)
def _waited(witnessed: Witnessed) -> str:
    slow = witnessed.slow
    if witnessed.thread_was_there or 2 * (slow.waited_ns or 0) < witnessed.away_ns:
        return ""
    return f"the thread was ready to run and had no processor for {_ns(slow.waited_ns or 0)}"


@_rule(
    Cause.ENGINE,
    f"back late by {HALF}, after a signal or when openpts had been stopped",
    "what stops a process wakes it first, which may end its wait; the signal that lets it continue is seen",
)
def _interrupted(witnessed: Witnessed) -> str:
    slow = witnessed.slow
    if witnessed.thread_was_there or not (slow.interruptions or witnessed.around.continued):
        return ""
    how = (
        "openpts continued after it was stopped" if witnessed.around.continued else "a signal ended the wait"
    )
    return f"{how}, and the thread came back {_ns(slow.absent_ns + slow.own_ns)} late"


def _in_own_code(witnessed: Witnessed) -> bool:
    return not witnessed.thread_was_there and witnessed.slow.own_ns >= witnessed.slow.absent_ns


@_rule(
    Cause.PROCESSOR,
    f"in its own code for {HALF}, and the hypervisor gave half of that to others",
    "a thread that is taken off the processor unseen seems to be at work",
)
def _stolen(witnessed: Witnessed) -> str:
    stolen_ns = witnessed.around.stolen_ns or 0
    if not _in_own_code(witnessed) or 2 * stolen_ns < witnessed.slow.own_ns:
        return ""
    return f"the hypervisor gave {_ns(stolen_ns)} of the second to others"


@_rule(
    Cause.PROCESSOR,
    f"in its own code for {HALF} and for 1 ms or more, all of it counted as running",
    "openpts makes and submits the I/Os of a batch in some 10 us; one that is stopped does not run",
)
def _stands(witnessed: Witnessed) -> str:
    slow = witnessed.slow
    if not _in_own_code(witnessed) or 2 * (slow.ran_ns or 0) < slow.own_ns or slow.own_ns < OWN_NS:
        return ""
    return f"the processor counted {_ns(slow.own_ns)} as the thread's for some microseconds of work"


@_rule(Cause.ENGINE, f"in its own code for {HALF}", "what openpts does itself is no answer time")
def _busy(witnessed: Witnessed) -> str:
    return (
        f"the thread was in its own code for {_ns(witnessed.slow.own_ns)}" if _in_own_code(witnessed) else ""
    )


@_rule(
    Cause.PROCESSOR,
    f"back late by {HALF}, without a signal and without waiting for a processor",
    "a timer that is late on an idle processor: hypervisor, firmware, or interrupts off",
)
def _late(witnessed: Witnessed) -> str:
    slow = witnessed.slow
    if witnessed.thread_was_there:
        return ""
    stolen_ns = witnessed.around.stolen_ns
    others = f"; the hypervisor gave {_ns(stolen_ns)} of the second to others" if stolen_ns else ""
    return f"a timer was {_ns(slow.absent_ns)} late, and no other thread had the processor{others}"


@_rule(
    Cause.KERNEL_QUEUE,
    "none at the driver while some are outstanding",
    "what the driver does not have, the drive can't be late with",
)
def _held(witnessed: Witnessed) -> str:
    slow = witnessed.slow
    if slow.least_at_driver is None or not slow.missing_at_driver or slow.least_at_driver:
        return ""
    if not slow.looks and slow.missing_at_driver <= BATCH_IOS:
        return ""
    return f"the driver had none of {slow.missing_at_driver} I/Os that were outstanding"


@_rule(
    Cause.KERNEL_QUEUE,
    "more above the driver than at it, while others are answered",
    "a drive that stands still fills the queue, too: then none is answered",
)
def _queued(witnessed: Witnessed) -> str:
    slow = witnessed.slow
    if slow.least_at_driver is None or 2 * slow.silence_ns >= slow.latency_ns:
        return ""
    if (slow.missing_at_driver or 0) <= max(slow.least_at_driver, BATCH_IOS):
        return ""
    waited = f"{slow.missing_at_driver} waited above it"
    return f"the driver had {slow.least_at_driver} I/Os and answered, while {waited}"


@_rule(
    Cause.NEIGHBOUR,
    f"others' I/Os at the driver, and {FOREIGN_SHARE:.0%} of all bytes",
    "a single I/O of a file system is no load",
)
def _foreign(witnessed: Witnessed) -> str:
    slow, share = witnessed.slow, witnessed.around.foreign_share
    if not slow.foreign_at_driver or share is None or share < FOREIGN_SHARE:
        return ""
    return f"the driver had {slow.foreign_at_driver} I/Os of others, who moved {share:.0%} of all bytes"


@_rule(
    Cause.LINK,
    f"more than {LINK_TIMES:g} times the errors of a period without slow I/Os",
    "a link with errors all the time has them beside each outlier",
)
def _link_errors(witnessed: Witnessed) -> str:
    around = witnessed.around
    if not around.link_errors or around.link_errors <= LINK_TIMES * around.link_errors_usual:
        return ""
    return f"the link counted {around.link_errors:.0f} errors in its time"


@_rule(
    Cause.POWER_STATE,
    f"first after {IDLE_NS // NS_PER_MS} ms without I/O",
    "half of the shortest time-out that Linux sets (100 ms); a closed loop never rests so long",
)
def _idle(witnessed: Witnessed) -> str:
    idle_ns = witnessed.slow.idle_ns
    if idle_ns is None or idle_ns < IDLE_NS:
        return ""
    return f"it was the first after {_ns(idle_ns)} without any"


@_rule(
    Cause.HEAT,
    f"throttled, within {HOT_C:g} °C of the hottest",
    "drives end throttling 2 °C below where they begin (OCP 2.7: 77 and 75 °C)",
)
def _hot(witnessed: Witnessed) -> str:
    around = witnessed.around
    if not around.throttled:
        return ""
    if around.temperature_c is None or around.hottest_c is None:
        return "heat slowed the drive down in its interval"
    if around.temperature_c < around.hottest_c - HOT_C:
        return ""
    return f"heat slowed the drive down, at {around.temperature_c:.0f} °C"


@_rule(
    Cause.DRIVE,
    "the monitor denies it, the drive had this command alone, and the link counts no errors",
    "alone it is fetched at once: the drive's log leaves out what it should have",
)
def _hidden(witnessed: Witnessed) -> str:
    return HIDES if witnessed.drive_denies and witnessed.drive_had_it_alone else ""


@_rule(
    Cause.LINK,
    "the monitor denies it, the thread was there and the driver had it",
    "what neither the host nor the drive had is between them, or the drive hides it",
)
def _denied(witnessed: Witnessed) -> str:
    if not witnessed.drive_denies or not witnessed.thread_was_there or witnessed.driver_had_it is False:
        return ""
    return "the drive's latency monitor has no command of this length, and the driver had given it one"


@_rule(
    Cause.DRIVE,
    "the monitor has it; or the driver had it at a look, and the link counts no errors",
    "all others are excluded; without counters of the link it may be the link",
)
def _drive(witnessed: Witnessed) -> str:
    if not witnessed.thread_was_there:
        return ""
    if witnessed.drive_denies is False:
        return "the drive's own latency monitor has it"
    if not witnessed.driver_had_it or witnessed.around.link_errors is None:
        return ""
    return (
        f"the driver had it at {witnessed.slow.looks} looks, and the link counted no more errors than usual"
    )


def cause_of(witnessed: Witnessed) -> tuple[Cause, str]:
    """The cause and its evidence as text."""
    for rule in RULES:
        if evidence := rule.holds(witnessed):
            return rule.cause, evidence
    return Cause.NOT_KNOWN, "; ".join(_missing(witnessed))


def _missing(witnessed: Witnessed) -> Iterator[str]:
    """What the record would have to have."""
    if witnessed.driver_had_it is None:
        yield "the kernel does not report what the driver had"
    elif not witnessed.driver_had_it:
        yield "the thread did not look while it was outstanding"
    if witnessed.around.link_errors is None:
        yield "the link has no counter of errors: drive or link"


def _ns(duration_ns: float) -> str:
    return f"{duration_ns / NS_PER_MS:.3g} ms"
