"""Samples what drive and host tell of themselves, and judges in which seconds the host was the limit.

Nothing is shared with the driver but a queue to which one side only adds and from which the other only takes,
so that neither ever waits. Files are opened once; a sample is a read of each. A value is stored when it has
changed, and now and then all the same: it holds until the next one of its name. What all runs on this host
have in common is read by one of them (SharedSample).
"""

import fcntl
import os
import signal
import struct
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Struct, field

from openpts.analysis.host_limits import HostLimit, rule_of
from openpts.gauge import Gauge
from openpts.ownership import HOST_FOLDER
from openpts.record.health import CONTINUED, Spans, TelemetryPoint, TelemetrySeries, spans_of, step_marks
from openpts.runner.events import HostLimited
from openpts.runner.meter_command import METERS, MeterCommand
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.sample import Sample, StepPlace

# Longer than it takes to read, unless that process was stopped.
_LOOKS_S: Final = 0.05
_LOOKS: Final = 5
# a checksum of the rest, and when the first of its files was read
_HEADER: Final = struct.Struct("<Iq")


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """Contents of files in their order, on the monotonic clock; ``values``, if they are those of all runs."""

    at_ns: int
    contents: tuple[bytes, ...]
    values: dict[str, float] | None = None


Readings = Mapping[str, Reading]
_DECODER: Final = msgspec.msgpack.Decoder(dict[str, Reading])


class SharedSample(Struct):
    """What one run reads of the host for all runs of its user on it: the last sample is in a file in memory.

    The periods of all runs begin at the same moments of the host's monotonic clock. The first run of a period
    reads the host's files, the others take its sample with its times. No run is the reader for good: when it
    is killed or stands still, the next one reads. ``led``: the last sample is this run's own.
    """

    fd: int
    led: bool = False

    @classmethod
    def opened(cls, folder: Path | None) -> Self | None:
        """None without a folder, where it can't be made, or if what is there is another user's."""
        if folder is None:
            return None
        with suppress(OSError):
            folder.mkdir(mode=0o755, exist_ok=True)
            fd = os.open(folder / "host.sample", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            if os.fstat(fd).st_uid == os.geteuid():
                return cls(fd)
            os.close(fd)
        return None

    def since(self, earliest_ns: int, reads: Mapping[str, Callable[[], Reading]]) -> Readings:
        """All that is wanted, read then or later by some run, or now by this one."""
        self.led = False
        for _ in range(_LOOKS):
            if (found := self._left(earliest_ns, reads.keys())) is not None:
                return found
            with suppress(BlockingIOError):
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                try:
                    # another may have left it since we looked
                    found = self._left(earliest_ns, reads.keys())
                    return (
                        self._leave({key: read() for key, read in reads.items()}) if found is None else found
                    )
                finally:
                    fcntl.flock(self.fd, fcntl.LOCK_UN)
            time.sleep(_LOOKS_S / _LOOKS)
        return {key: read() for key, read in reads.items()}

    def _left(self, earliest_ns: int, keys: Set[str]) -> Readings | None:
        content = memoryview(os.pread(self.fd, os.fstat(self.fd).st_size, 0))
        with suppress(struct.error, msgspec.MsgspecError):  # it is new, or another version's
            checksum, at_ns = _HEADER.unpack_from(content)
            packed = content[_HEADER.size :]
            # else its run writes, or was killed while it did
            is_whole = earliest_ns <= at_ns <= time.monotonic_ns() and zlib.crc32(packed) == checksum
            if is_whole and (found := _DECODER.decode(packed)).keys() >= keys:
                return found
        return None

    def _leave(self, readings: Readings) -> Readings:
        packed = msgspec.msgpack.encode(readings)
        with suppress(OSError):  # no room: each reads for itself
            at_ns = min(reading.at_ns for reading in readings.values())
            os.pwrite(self.fd, _HEADER.pack(zlib.crc32(packed), at_ns) + packed, 0)
            os.ftruncate(self.fd, _HEADER.size + len(packed))
            self.led = True
        return readings


PERIOD_S: Final = 1.0
# An unchanged value is stored again after so many periods of its gauge: then a gap means that there was none.
_PERIODS_UNTIL_STORED_AGAIN: Final = 60
_LONGEST_SHORT_FILE: Final = 4096
_PIECE_BYTES: Final = 65536
# A drive that answers no more must not keep the run from ending.
_TIMEOUT_S: Final = 2.0

Sampled = tuple[int, str, float]


class Sampler:
    """Samples of gauges since they were last taken, on the host's monotonic clock.

    While ``leave_drive_alone`` is set, nothing is sampled for which the drive would have to be asked.
    ``temperature_c`` is the drive's last one, None if it reported none. In the folder ``shared`` runs leave
    for one another what they read of this host; with None each reads for itself.
    """

    def __init__(
        self,
        gauges: Sequence[Gauge],
        period_s: float = PERIOD_S,
        meters: Sequence[MeterCommand] = (),
        shared: Path | None = None,
    ) -> None:
        self._gauges = tuple(gauges)
        self.period_s = period_s
        self._folder = shared
        self._shared: SharedSample | None = None
        self.leave_drive_alone = False
        self.temperature_c: float | None = None
        self._meters = tuple(meters)
        self._sampled: deque[Sampled] = deque()
        self._stopped = threading.Event()

    @property
    def facts(self) -> Facts:
        """What is sampled and how often, for the record."""
        facts = {gauge.name: Fact(self._text(gauge), gauge.source) for gauge in self._gauges}
        for meter in self._meters:
            facts |= meter.facts
        return facts

    def doubts(self, *, ended: bool) -> Iterator[str]:
        """What is wrong with the lines of the operator's meters, as ``MeterCommand.doubt`` has it."""
        yield from filter(None, (meter.doubt(ended=ended) for meter in self._meters))

    def _text(self, gauge: Gauge) -> str | None:
        if not gauge.is_read:
            return gauge.what
        by_one = ", by one run for all on this host" if gauge.of_host and self._shared else ""
        return f"{gauge.what}; each {self.period_s * gauge.each:g} s{by_one}"

    def take(self, engine_clock_offset_ns: int) -> tuple[TelemetryPoint, ...]:
        """All samples that were not taken yet; the offset turns monotonic time into the engine's."""
        points = []
        with suppress(IndexError):
            while True:
                at_ns, name, value = self._sampled.popleft()
                points.append(TelemetryPoint(at_ns + engine_clock_offset_ns, name, value))
        return tuple(points)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Sample while the block runs; without anything to read there is no thread.

        Raises UsageError if a meter's command of the operator can't be started.
        """
        with ExitStack() as stack:
            for meter in self._meters:
                stack.enter_context(meter.running(self._sampled.append))
            opened = [_Open.of(gauge, self.period_s) for gauge in self._gauges if gauge.is_read]
            if not opened:
                yield
                return
            self._shared = SharedSample.opened(self._folder)
            stack.enter_context(self._noting_stops())
            thread = threading.Thread(target=self._sample, args=(opened,), name="telemetry", daemon=True)
            thread.start()
            try:
                yield
            finally:
                self._stopped.set()
                thread.join(_TIMEOUT_S)

    @contextmanager
    def _noting_stops(self) -> Iterator[None]:
        """Note when this process continues after a stop: only that distinguishes it from a late timer."""
        if threading.current_thread() is not threading.main_thread():  # Python gives signals to no other
            yield
            return
        times = count(1)

        def continued(_number: int, _frame: object) -> None:
            self._sampled.append((time.monotonic_ns(), CONTINUED, float(next(times))))

        before = signal.signal(signal.SIGCONT, continued)
        try:
            yield
        finally:
            signal.signal(signal.SIGCONT, before)

    def _sample(self, opened: "Sequence[_Open]") -> None:
        """Sample until stopped; periods of all runs begin at once. The thread closes its sources."""
        due_ns = earliest_ns = time.monotonic_ns()
        period_ns = round(self.period_s * NS_PER_S)
        # the second sample is at least half a period behind the first
        period = (due_ns + period_ns // 2) // period_ns
        # A run that took another's sample comes later in the next period, and not all such runs at once.
        lag_ns = period_ns * (2 + os.getpid() % 16) // 100
        try:
            while not self._stopped.wait(max(0, due_ns - time.monotonic_ns()) / NS_PER_S):
                period = max(period, time.monotonic_ns() // period_ns)
                due = [each for each in opened if each.is_due(period)]
                of_host = {each.key: each.read for each in due if each.gauge.of_host}
                readings = (
                    self._shared.since(max(earliest_ns, period * period_ns), of_host)
                    if self._shared is not None and of_host
                    else {}
                )
                earliest_ns = max((reading.at_ns + 1 for reading in readings.values()), default=earliest_ns)
                for each in due:
                    if not (each.gauge.asks_drive and self.leave_drive_alone):
                        self._sampled.extend(each.news(readings.get(each.key) or each.read()))
                        self.temperature_c = each.last_value("temperature_c", self.temperature_c)
                period += 1
                led = self._shared is None or self._shared.led
                due_ns = period * period_ns + (0 if led else lag_ns)
            for each in opened:
                self._sampled.extend(each.last_known())
        finally:
            for each in opened:
                each.close()
            if self._shared is not None:
                os.close(self._shared.fd)


class _Open(Struct):
    """A gauge whose files are open; None for one that could not be opened.

    ``key`` says which files these are, however a container calls them, and which values are understood.
    """

    gauge: Gauge
    descriptors: tuple[int | None, ...]
    keep_ns: int
    key: str
    _turn: int | None = None
    _reading: Reading | None = None
    _understood_ns: int | None = None
    _stored: dict[str, tuple[int, float]] = field(default_factory=dict)
    _last: dict[str, tuple[int, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, gauge: Gauge, period_s: float) -> "_Open":
        keep_s = period_s * gauge.each * _PERIODS_UNTIL_STORED_AGAIN
        descriptors = tuple(_opened(path) for path in gauge.paths)
        files = [os.fstat(descriptor) for descriptor in descriptors if descriptor is not None]
        key = " ".join([gauge.name * gauge.for_all, *(f"{file.st_dev}:{file.st_ino}" for file in files)])
        return cls(gauge, descriptors, round(keep_s * NS_PER_S), key)

    def is_due(self, period: int) -> bool:
        """Whether its turn has come in this period, or since the one before."""
        before, self._turn = self._turn, period // self.gauge.each
        return self._turn != before

    def read(self) -> Reading:
        """Read the files; what any run would understand of them is understood."""
        before_ns = time.monotonic_ns()
        ask = self.gauge.ask
        read = tuple(self._content(descriptor) for descriptor in self.descriptors)
        contents = read if ask is None else (ask(),)
        at_ns = (before_ns + time.monotonic_ns()) // 2
        if not self.gauge.for_all:
            return Reading(at_ns, contents)
        before = self._reading
        if before is not None and before.at_ns != self._understood_ns:  # another run's: growth is since then
            self._understood(before.contents, before.at_ns)
        return Reading(at_ns, contents, self._understood(contents, at_ns))

    def news(self, reading: Reading) -> Iterator[Sampled]:
        """Values that have changed by as much as counts, or were not stored for long."""
        self._reading, at_ns, values = reading, reading.at_ns, reading.values
        for name, value in (self._understood(reading.contents, at_ns) if values is None else values).items():
            before = self._last.get(name)
            self._last[name] = (at_ns, value)
            if self._is_news(name, at_ns, value):
                if self.gauge.of_period and before is not None and before[0] > self._stored[name][0]:
                    yield before[0], name, before[1]
                self._stored[name] = (at_ns, value)
                yield at_ns, name, value

    def last_known(self) -> Iterator[Sampled]:
        """The end of each value's last stretch, where it is not stored yet."""
        for name, (at_ns, value) in self._last.items():
            if self._stored[name][0] < at_ns:
                yield at_ns, name, value

    def last_value(self, name: str, otherwise: float | None) -> float | None:
        """Last value of a quantity; ``otherwise`` if the gauge does not have it."""
        return self._last[name][1] if name in self._last else otherwise

    def close(self) -> None:
        for descriptor in self.descriptors:
            if descriptor is not None:
                os.close(descriptor)

    def _is_news(self, name: str, at_ns: int, value: float) -> bool:
        if name not in self._stored:
            return True
        stored_ns, stored = self._stored[name]
        counts = max(self.gauge.resolution, self.gauge.share * abs(stored))
        return abs(value - stored) > counts or at_ns - stored_ns >= self.keep_ns

    def _understood(self, contents: Sequence[bytes], at_ns: int) -> dict[str, float]:
        self._understood_ns = at_ns
        if not any(contents):
            return {}
        try:
            return dict(self.gauge.understand(contents, at_ns))
        except (ValueError, IndexError):  # not as the kernel writes it: no value, and the next one may come
            return {}

    def _content(self, descriptor: int | None) -> bytes:
        """Empty of a drive that has gone, or a sensor that is asleep."""
        if descriptor is None:
            return b""
        try:
            if not self.gauge.is_long:
                return os.pread(descriptor, _LONGEST_SHORT_FILE, 0)
            pieces: list[bytes] = []
            while piece := os.pread(descriptor, _PIECE_BYTES, sum(map(len, pieces))):
                pieces.append(piece)
            return b"".join(pieces)
        except OSError:
            return b""


def _opened(path: Path) -> int | None:
    with suppress(OSError):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return None


def sampler_of(
    period_s: float | None, commands: Mapping[str, str | None], gauges: Callable[[], Sequence[Gauge]]
) -> Sampler:
    """The sampler of a run; ``period_s`` None: nothing is sampled but what the operator's meters measure.

    ``commands`` are those of meters by what they measure. Raises UsageError if one makes no sense.
    """
    meters = [
        MeterCommand(METERS[what], command) for what, command in commands.items() if command is not None
    ]
    if period_s is None:
        return Sampler((Gauge("telemetry", None, "switched off by the operator"),), meters=meters)
    return Sampler(gauges(), period_s, meters, HOST_FOLDER)


class HostWatch(Struct):
    """Takes steps and samples as they come; a step is judged when one more period has been sampled."""

    period_s: float
    polling: bool
    _series: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    _steps: list[tuple[StepPlace, Spans]] = field(default_factory=list)
    _seen: set[HostLimit] = field(default_factory=set)

    def follows(
        self,
        steps: Sequence[tuple[StepPlace, Sample]],
        points: Sequence[TelemetryPoint],
        now_ns: int,
        ended: bool,
    ) -> Iterator[HostLimited]:
        """The steps in which the host was the limit, of those that can be judged; ``ended``: of all.

        All times are on the steps' clock.
        """
        self._steps += [(place, found) for place, sample in steps if (found := spans_of(sample))]
        for point in points:
            if rule_of(point.name) is not None:
                self._series.setdefault(point.name, []).append((point.t_ns, point.value))
        behind_ns = 0 if ended else round(2 * self.period_s * NS_PER_S)
        ready = [one for one in self._steps if one[1][-1][1] + behind_ns <= now_ns]
        if not ready:
            return
        self._steps = self._steps[len(ready) :]
        spans = [of_step for _, of_step in ready]
        # a value that was not stored since has not changed
        series = {
            name: TelemetrySeries(*zip(*sampled, (now_ns, sampled[-1][1]), strict=True))
            for name, sampled in self._series.items()
        }
        judged = step_marks(spans, series, self.period_s, polling=self.polling)
        for (place, _), marks in zip(ready, judged, strict=True):
            limited_ns = {limit: ns for limit in HostLimit if (ns := marks.marked_ns(limit))}
            if limited_ns:
                new = tuple(limit for limit in limited_ns if limit not in self._seen)
                self._seen.update(new)
                evidence = sorted(name for limit in limited_ns for name in marks.evidence(limit))
                yield HostLimited(place, limited_ns, marks.judged_ns, new, tuple(evidence))
        until_ns = spans[-1][-1][1]
        for name, sampled in self._series.items():  # the last until then tells where the next value begins
            begin = sum(t_ns <= until_ns for t_ns, _ in sampled)
            self._series[name] = sampled[max(0, begin - 1) :]
