"""Samples what the drive tells of itself while it works: a thread of its own, off the path of the I/O.

Nothing is shared with the driver but a queue to which one side only adds and from which the other only takes,
so that neither ever waits. Files are opened once; a sample is one read of each.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from openpts.device.thermometers import Thermometers
from openpts.record.health import TelemetryPoint
from openpts.vocabulary.facts import Fact, Facts

PERIOD_S: Final = 1.0
_LONGEST_TEXT: Final = 32
_MILLI: Final = 1000
# A drive that answers no more must not keep the run from ending.
_PATIENCE_S: Final = 2.0


class Sampler:
    """Samples of thermometers since they were last taken, on the host's monotonic clock."""

    def __init__(self, given: Thermometers, period_s: float = PERIOD_S) -> None:
        self._given = given
        self._period_s = period_s
        self._sampled: deque[tuple[int, str, float]] = deque()
        self._stopped = threading.Event()

    @property
    def facts(self) -> Facts:
        """What is sampled and how often, for the record."""
        names = ", ".join(self._given.files)
        text = f"{names}; each {self._period_s:g} s" if names else self._given.otherwise
        return {"temperature": Fact(text, self._given.source)}

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
        """Sample while the block runs; without thermometers there is no thread."""
        opened = _opened(self._given)
        if not opened:
            yield
            return
        thread = threading.Thread(target=self._sample, args=(opened,), name="telemetry", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join(_PATIENCE_S)

    def _sample(self, opened: Sequence[tuple[str, int]]) -> None:
        """Until it is told to stop; the moments do not drift. The thread closes what it reads from."""
        due_s = time.monotonic()
        try:
            while not self._stopped.wait(max(0.0, due_s - time.monotonic())):
                for name, descriptor in opened:
                    before_ns = time.monotonic_ns()
                    # a drive that has gone, or a sensor that is asleep: no value, and the next one may come
                    with suppress(OSError, ValueError):
                        value = int(os.pread(descriptor, _LONGEST_TEXT, 0)) / _MILLI
                        at_ns = (before_ns + time.monotonic_ns()) // 2
                        self._sampled.append((at_ns, name, value))
                due_s = max(due_s + self._period_s, time.monotonic())
        finally:
            for _, descriptor in opened:
                os.close(descriptor)


def _opened(given: Thermometers) -> list[tuple[str, int]]:
    opened = []
    for name, path in given.files.items():
        with suppress(OSError):
            opened.append((name, os.open(path, os.O_RDONLY | os.O_CLOEXEC)))
    return opened
