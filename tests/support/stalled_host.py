"""A host and a drive in virtual time with planted stalls, and the record that a run on them would leave.

The truth is the list of what was planted. The judge sees the slow I/Os as the engine's watch notes them
(`rust/core/src/engine/slow.rs`, written once more here in the words of this model), and what is sampled once
a second. Everything has the noise of a quiet virtual machine.
"""

import heapq
import random
from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from openpts.record.health import CONTINUED, HealthRecord, ReadingPoint, TelemetrySeries
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import SlowIo
from openpts_nvme.outliers.causes import Cause

US: Final = 1_000
MS: Final = 1_000 * US
S: Final = 1_000 * MS
MINUTE: Final = 60 * S
SLACK: Final = 50 * US
ENDS_A_WAIT: Final = 0.4
"""How often a stop ends a wait: 4 of 10 on a busy machine, where the answer is mostly there before."""

NEVER: Final = 1 << 62


class Kind(StrEnum):
    """The twelve kinds of stalls."""

    COLLECTION = "collection of garbage"
    RETRY = "retries of the media"
    THROTTLE = "thermal throttling"
    POWER_EXIT = "exit from a power state"
    RETRAIN = "link with errors"
    LOSS = "segments lost on a network"
    QUEUE_DEPTH = "more I/Os than the kernel's queue has"
    IO_MAX = "limit of a control group"
    HOG = "program of higher priority"
    STEAL = "hypervisor"
    STOPPED = "process that is stopped"
    NEIGHBOUR = "load of others on the drive"


TRUTH: Final = {
    Kind.COLLECTION: Cause.DRIVE,
    Kind.RETRY: Cause.DRIVE,
    Kind.THROTTLE: Cause.HEAT,
    Kind.POWER_EXIT: Cause.POWER_STATE,
    Kind.RETRAIN: Cause.LINK,
    Kind.LOSS: Cause.LINK,
    Kind.QUEUE_DEPTH: Cause.KERNEL_QUEUE,
    Kind.IO_MAX: Cause.KERNEL_QUEUE,
    Kind.HOG: Cause.PROCESSOR,
    Kind.STEAL: Cause.PROCESSOR,
    Kind.STOPPED: Cause.ENGINE,
    Kind.NEIGHBOUR: Cause.NEIGHBOUR,
}

OF_DRIVE: Final = {Kind.COLLECTION, Kind.RETRY, Kind.THROTTLE, Kind.POWER_EXIT, Kind.NEIGHBOUR}
"""Stalls in the time of which the drive itself has the command."""


class Stall(Struct, frozen=True):
    """One planted stall, from ``from_ns`` on, at a depth of ``qd``."""

    kind: Kind
    from_ns: int
    length_ns: int
    qd: int

    @property
    def until_ns(self) -> int:
        """When it is over."""
        return self.from_ns + self.length_ns


class Io(Struct):
    """An I/O: when it was submitted, when the driver had it, when its answer was there."""

    submitted_ns: int
    at_driver_ns: int
    answered_ns: int
    drive_ns: int


class Second(Struct):
    """What the gauges of one second see."""

    link_errors: int = 0
    foreign_bytes: int = 0
    throttled: bool = False
    stolen_ns: int = 0


class Machine(Struct):
    """One thread with a closed loop of ``qd`` reads around a stall, as the engine's watch sees it."""

    random: random.Random
    limit_ns: int
    stall: Stall
    slow: list[SlowIo] = field(default_factory=list)
    drive_latencies_ns: list[int] = field(default_factory=list)
    _outstanding: list[tuple[int, int, Io]] = field(default_factory=list)
    _absences: list[tuple[int, int]] = field(default_factory=list)
    _own: list[tuple[int, int]] = field(default_factory=list)
    _waits: list[tuple[int, int, int]] = field(default_factory=list)
    _signals: list[int] = field(default_factory=list)
    _looks: list[tuple[int, bool, int, int]] = field(default_factory=list)
    _run_delay_ns: int = 0
    _ran_ns: int = 0
    _read_delay: tuple[int, int, int] = (0, 0, 0)
    _number: int = 0

    def run(self) -> None:  # noqa: C901 the loop of the engine, with all that it looks at
        """Some I/Os before the stall, those in it, and some behind it."""
        stall, draw = self.stall, self.random
        now = last_answer = stall.from_ns - draw.randrange(300 * US, 800 * US)
        if stall.kind is Kind.POWER_EXIT:
            now = stall.from_ns
            last_answer = now - draw.randrange(60 * MS, 2 * S)
        self._read_delay = (now, 0, 0)
        begun = (now, now - last_answer)
        returned = alarm = now
        ends = stall.until_ns + 400 * US
        while now < ends or self._outstanding:
            answers = self._reap(now)
            fresh = [io for io in answers if now - io.submitted_ns >= self.limit_ns]
            silence = now - last_answer
            if fresh:
                self._read(now)
                if not self._looks or self._looks[-1][0] + silence < now:
                    self._look(now, in_silence=False)
                for io in fresh:
                    self._judge(io, now, silence, begun)
            elif not answers and self._outstanding and silence >= self.limit_ns // 2:
                self._look(now, in_silence=True)
            if answers:
                last_answer = now
            own_end = self._ready(now + draw.randrange(1 * US, 6 * US), own=True)
            self._ran_ns += 6 * US
            if now < ends:
                was_empty = not self._outstanding
                while len(self._outstanding) < stall.qd:
                    self._submit(own_end)
                if was_empty:
                    begun = (own_end, own_end - last_answer)
                    last_answer = own_end
            if own_end > returned + SLACK:
                self._own.append((returned, own_end))
            silent = own_end - last_answer
            patience = silent if silent >= self.limit_ns // 2 else self.limit_ns // 2 - silent
            if not own_end < alarm <= own_end + patience:
                alarm = own_end + patience
            first = self._outstanding[0][0] if self._outstanding else NEVER
            woken = max(min(first, alarm), own_end) + self._wake_up()
            before = now
            now = returned = self._ready(woken, own=False)
            if now > alarm + SLACK:
                self._absences.append((alarm, now))
            stopped = stall.kind is Kind.STOPPED and before < stall.until_ns <= now and now > stall.from_ns
            if stopped and draw.random() < ENDS_A_WAIT:
                self._signals.append(now)
            if now > self._read_delay[0] + max(MS, self.limit_ns // 2):
                self._read(now)

    def _wake_up(self) -> int:
        """From the interrupt to the thread: some microseconds, seldom more, part of it counted as a wait."""
        delay = round(self.random.lognormvariate(1.6, 0.5) * US)
        if self.random.random() < 0.002:
            delay += self.random.randrange(10 * US, 60 * US)
            self._run_delay_ns += delay // 2
        return delay

    def _ready(self, at: int, *, own: bool) -> int:
        """When the thread really runs: not in a stall of its processor or process."""
        stall = self.stall
        if stall.kind not in {Kind.HOG, Kind.STEAL, Kind.STOPPED} or not stall.from_ns <= at < stall.until_ns:
            return at
        if stall.kind is Kind.HOG:
            self._run_delay_ns += stall.until_ns - at
        elif stall.kind is Kind.STEAL and own:
            self._ran_ns += stall.until_ns - at
        return stall.until_ns + self.random.randrange(2 * US, 30 * US)

    def _submit(self, at: int) -> None:
        draw, stall = self.random, self.stall
        service = round(draw.lognormvariate(4.38, 0.15) * US)  # 80 us in the middle
        path = draw.randrange(2 * US, 6 * US)
        at_driver = at + path
        if stall.kind in {Kind.IO_MAX, Kind.QUEUE_DEPTH} and stall.from_ns <= at < stall.until_ns:
            # of a queue that is too short, others' I/Os and the first of ours go on
            goes_on = stall.kind is Kind.QUEUE_DEPTH and len(self._outstanding) < max(1, stall.qd // 4)
            if not goes_on:
                at_driver = stall.until_ns + draw.randrange(1 * US, 20 * US)
        begins = at_driver
        drive = service
        hit = stall.from_ns <= begins < stall.until_ns or begins < stall.from_ns < begins + service
        if hit and stall.kind in OF_DRIVE:
            alone = stall.kind is Kind.RETRY and any(
                io.drive_ns > stall.length_ns // 2 for _, _, io in self._outstanding
            )
            if not alone:
                drive = max(service, stall.until_ns - begins) + draw.randrange(5 * US)
        answered = begins + drive
        if hit and stall.kind in {Kind.RETRAIN, Kind.LOSS}:
            answered = max(answered, stall.until_ns + draw.randrange(5 * US))
        self._number += 1
        heapq.heappush(self._outstanding, (answered, self._number, Io(at, at_driver, answered, drive)))

    def _reap(self, now: int) -> list[Io]:
        found = []
        while self._outstanding and self._outstanding[0][0] <= now:
            io = heapq.heappop(self._outstanding)[2]
            self.drive_latencies_ns.append(io.drive_ns)
            found.append(io)
        return found

    def _look(self, now: int, *, in_silence: bool) -> None:
        """The driver's count, and how many are outstanding."""
        ours = len(self._outstanding)
        at_driver = sum(io.at_driver_ns <= now for _, _, io in self._outstanding)
        if self.stall.kind is Kind.NEIGHBOUR and now <= self.stall.until_ns + 20 * US:
            at_driver += self.random.randrange(4, 64)
        elif self.random.random() < 0.002:
            at_driver += 1  # a file system's own
        self._looks.append((now, in_silence, at_driver, ours))

    def _read(self, now: int) -> None:
        _, waited, ran = self._read_delay
        self._waits.append((now, self._run_delay_ns - waited, self._ran_ns - ran))
        self._read_delay = (now, self._run_delay_ns, self._ran_ns)

    def _judge(self, io: Io, now: int, silence: int, begun: tuple[int, int]) -> None:
        latency = now - io.submitted_ns

        def within(spans: list[tuple[int, int]]) -> int:
            return sum(max(0, min(b, now) - max(a, io.submitted_ns)) for a, b in spans)

        of_time = [one for one in self._looks if one[0] >= io.submitted_ns]
        silent = [one for one in of_time if one[1]]
        counts = [(n, ours) for _, _, n, ours in silent or of_time]
        waited = sum(amount for at, amount, _ in self._waits if at > io.submitted_ns)
        ran = sum(amount for at, _, amount in self._waits if at > io.submitted_ns)
        self.slow.append(
            SlowIo(
                operation="read",
                offset_bytes=0,
                length_bytes=4096,
                submitted_ns=io.submitted_ns,
                latency_ns=latency,
                silence_ns=min(silence, latency),
                idle_ns=begun[1] if begun[0] - begun[1] <= io.submitted_ns <= begun[0] else None,
                absent_ns=within(self._absences),
                own_ns=within(self._own),
                waited_ns=min(waited, latency),
                ran_ns=min(ran, latency),
                interruptions=sum(at > io.submitted_ns for at in self._signals),
                looks=sum(one[0] < now for one in of_time),
                least_at_driver=min((n for n, _ in counts), default=None),
                missing_at_driver=max((max(0, ours - n) for n, ours in counts), default=None),
                foreign_at_driver=max((max(0, n - ours) for n, ours in counts), default=None),
            )
        )


def planted(count: int, seed: int, lengths_ms: tuple[float, float], apart_s: float = 1.0) -> Iterator[Stall]:
    """Stalls of all kinds in turn, from ``apart_s`` to 3 s more apart; lengths are even on a log scale."""
    draw = random.Random(seed)
    at = 10 * S
    kinds = list(Kind)
    for number in range(count):
        at += round(apart_s * S) + draw.randrange(3 * S)
        length = round(lengths_ms[0] * (lengths_ms[1] / lengths_ms[0]) ** draw.random() * MS)
        kind = kinds[number % len(kinds)]
        qd = 1 if kind is Kind.POWER_EXIT else draw.choice((1, 4, 32))
        if kind is Kind.QUEUE_DEPTH:
            qd = 32
        yield Stall(kind, at, length, qd)


def readings(stalls: list[Stall]) -> list[HealthRecord]:
    """The drive's log, read once a minute: how often heat has slowed it down so far."""
    found, events = [], 0
    hot = {stall.from_ns // MINUTE for stall in stalls if stall.kind is Kind.THROTTLE}
    for number in range(stalls[-1].until_ns // MINUTE + 2):
        reading = HealthReading("log", {"throttle_events": float(events)})
        found.append(HealthRecord(ReadingPoint.DURING, 1, None, None, "", number * MINUTE, reading))
        events += number in hot
    return found


def sampled(stalls: list[Stall], seed: int) -> dict[str, TelemetrySeries]:
    """What the gauges keep of it: counters when they change, temperatures each second."""
    draw = random.Random(seed)
    seconds: dict[int, Second] = defaultdict(Second)
    for stall in stalls:
        second = seconds[stall.from_ns // S]
        if stall.kind in {Kind.RETRAIN, Kind.LOSS}:
            second.link_errors += (
                draw.randrange(2, 40) if stall.kind is Kind.RETRAIN else draw.randrange(1, 4)
            )
        if stall.kind is Kind.NEIGHBOUR:
            second.foreign_bytes += draw.randrange(20, 400) << 20
        if stall.kind is Kind.THROTTLE:
            for number in range(stall.from_ns // S, stall.until_ns // S + 1):
                seconds[number].throttled = True
    last = stalls[-1].until_ns // S + 3
    errors, foreign = 0, 0
    link, moved, heat = [(0, 0.0)], [(0, 0.0)], []
    for number in range(last):
        second = seconds.get(number, Second())
        at = (number + 1) * S + draw.randrange(5 * MS)
        if more := second.link_errors + (draw.random() < 0.002):
            errors += more
            link.append((at, float(errors)))
        foreign += second.foreign_bytes
        if second.foreign_bytes or draw.random() < 0.05:
            foreign += draw.randrange(1 << 16)
            moved.append((at, float(foreign)))
        heat.append((at, float(draw.randrange(77, 79) if second.throttled else draw.randrange(55, 68))))
    gone_on = [
        (stall.until_ns + draw.randrange(100 * MS), float(number))
        for number, stall in enumerate(stalls)
        if stall.kind is Kind.STOPPED
    ]
    link.append((last * S, float(errors)))
    moved.append((last * S, float(foreign)))
    return {
        name: TelemetrySeries(*zip(*points, strict=True))
        for name, points in (
            ("aer_correctable_errors", link),
            ("foreign_bytes", moved),
            ("temperature_c", heat),
            (CONTINUED, gone_on),
        )
    }
