"""The rules by which a slow I/O is put down to a cause: the first that holds, from host to drive."""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from openpts.units import NS_PER_MS
from openpts.vocabulary.sample import SlowIo
from openpts_nvme.outliers.around import Around
from openpts_nvme.outliers.causes import Cause

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
    """``holds`` gives the evidence in words, or nothing where the rule does not hold.

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
    "what stops a process wakes it first, which may end its wait; the signal that lets it go on is seen",
)
def _interrupted(witnessed: Witnessed) -> str:
    slow = witnessed.slow
    if witnessed.thread_was_there or not (slow.interruptions or witnessed.around.continued):
        return ""
    how = "openpts went on after it was stopped" if witnessed.around.continued else "a signal ended the wait"
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
    """The cause and its evidence in words."""
    for rule in RULES:
        if evidence := rule.holds(witnessed):
            return rule.cause, evidence
    return Cause.NOT_KNOWN, "; ".join(_missing(witnessed))


def _missing(witnessed: Witnessed) -> Iterator[str]:
    """What the record would have to have."""
    if witnessed.driver_had_it is None:
        yield "the kernel does not tell what the driver had"
    elif not witnessed.driver_had_it:
        yield "the thread did not look while it was outstanding"
    if witnessed.around.link_errors is None:
        yield "the link has no counter of errors: drive or link"


def _ns(duration_ns: float) -> str:
    return f"{duration_ns / NS_PER_MS:.3g} ms"
