"""The engine of an array under test, which lets go of it while its members are purged."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from time import monotonic_ns

import msgspec

from openpts.engine.contract import CapturingEngine, EngineProgress
from openpts.engine.options import CaptureSummary, Demand, NativeOptions
from openpts.runner.physical_device import PhysicalDevice
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.sample import Interval, Sample
from openpts.vocabulary.stimulus import Step


@dataclass(slots=True)
class ArrayEngine:
    """An engine that can be closed and created again: an array that is open can't be stopped.

    Each new one has a seed of its own, so that no cycle repeats the offsets of another.
    """

    demand: Demand
    seed: int
    options: NativeOptions
    near: bool
    first_thread: int
    _cycle: int = 0
    _held: ExitStack = field(default_factory=ExitStack)
    _inner: CapturingEngine | None = None
    _before: EngineProgress = field(default_factory=lambda: EngineProgress(0, 0, 0, 0))
    _first_clock_ns: int | None = None
    _shift_ns: int | None = None

    def open(self, device: PhysicalDevice) -> None:
        """Make the engine on the array as it is now."""
        made = device.engine(
            self.demand, self.seed + self._cycle, self.options, near=self.near, first_thread=self.first_thread
        )
        self._inner = self._held.enter_context(made)
        self._cycle += 1

    def close(self) -> None:
        """Let go of the array."""
        self._before = replace(self.progress(), oldest=None)
        self._inner, self._shift_ns = None, None
        self._held.close()

    @property
    def inner(self) -> CapturingEngine:
        """The engine of this cycle."""
        assert self._inner is not None  # noqa: S101 no steps are submitted during a purge
        return self._inner

    @property
    def facts(self) -> Facts:
        """See the protocol."""
        return self.inner.facts

    @property
    def cpus(self) -> tuple[int, ...]:
        """See the protocol."""
        return self.inner.cpus

    def check(self, steps: Sequence[Step]) -> None:
        """See the protocol."""
        self.inner.check(steps)

    def submit(self, steps: Sequence[Step]) -> None:
        """See the protocol."""
        self.inner.submit(steps)

    def poll(self, timeout_s: float) -> Sample | None:
        """See the protocol; samples of all cycles are on the clock of the first engine."""
        sample = self.inner.poll(timeout_s)
        if sample is None:
            return None
        if self._shift_ns is None:
            clock_ns = sample.started_ns + sample.elapsed_ns - monotonic_ns()
            self._first_clock_ns = clock_ns if self._first_clock_ns is None else self._first_clock_ns
            self._shift_ns = self._first_clock_ns - clock_ns
        return msgspec.structs.replace(
            sample,
            started_ns=sample.started_ns + self._shift_ns,
            standstills=tuple(
                msgspec.structs.replace(standstill, started_ns=standstill.started_ns + self._shift_ns)
                for standstill in sample.standstills
            ),
        )

    def progress(self) -> EngineProgress:
        """See the protocol: counted over all cycles, and as it was while a purge goes on."""
        if self._inner is None:
            return self._before
        now, before = self._inner.progress(), self._before
        return replace(
            now,
            steps_begun=before.steps_begun + now.steps_begun,
            ios=before.ios + now.ios,
            bytes=before.bytes + now.bytes,
        )

    def new_intervals(self) -> tuple[Interval, ...]:
        """See the protocol."""
        return self.inner.new_intervals()

    def stop(self) -> None:
        """See the protocol."""
        if self._inner is not None:
            self._inner.stop()

    def finish(self) -> CaptureSummary | None:
        """See the protocol."""
        return self.inner.finish()
