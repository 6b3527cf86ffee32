"""An array of md as the device under test, whose members the operator gave up for purging."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic_ns

import msgspec

from openpts.device.block_device import BlockDevice
from openpts.device.guard.consent import Consent
from openpts.device.guard.drive_claim import drive_claimed
from openpts.device.guard.guard import open_target
from openpts.device.md_array import read_array
from openpts.device.purge.method import Progress
from openpts.device.targets.target import BlockTarget
from openpts.device.write_cache_control import write_cache_control
from openpts.engine.contract import CapturingEngine, EngineProgress
from openpts.engine.options import CaptureSummary, Demand, NativeOptions
from openpts.errors import UsageError
from openpts.host.tuning import host_changes
from openpts.journal import Journal
from openpts.ownership import RunOwner
from openpts.runner.array_purge import ArrayPurge
from openpts.runner.healing import Healing
from openpts.runner.physical_device import PhysicalDevice
from openpts.system_files import SystemRoots
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import Facts, PurgeReport
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.sample import Interval, Sample
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.tuning import Change, Scenario


@dataclass(slots=True)
class ArrayEngine:
    """An engine that can be closed and created again: an array that is open can't be stopped.

    ``make`` takes a seed: each new one has its own, so that no cycle repeats the offsets of another.
    """

    make: Callable[[int], AbstractContextManager[CapturingEngine]]
    seed: int
    _cycle: int = 0
    _held: ExitStack = field(default_factory=ExitStack)
    _inner: CapturingEngine | None = None
    _before: EngineProgress = field(default_factory=lambda: EngineProgress(0, 0, 0, 0))
    _first_clock_ns: int | None = None
    _shift_ns: int | None = None

    def open(self) -> None:
        """Make the engine on the array as it is now."""
        self._inner = self._held.enter_context(self.make(self.seed + self._cycle))
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
        return self.inner.facts

    @property
    def cpus(self) -> tuple[int, ...]:
        return self.inner.cpus

    def check(self, steps: Sequence[Step]) -> None:
        self.inner.check(steps)

    def submit(self, steps: Sequence[Step]) -> None:
        self.inner.submit(steps)

    def poll(self, timeout_s: float) -> Sample | None:
        """Samples of all cycles are on the clock of the first engine."""
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
        """Counted over all cycles, and as it was while a purge goes on."""
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
        return self.inner.new_intervals()

    def stop(self) -> None:
        if self._inner is not None:
            self._inner.stop()

    def finish(self) -> CaptureSummary | None:
        return self.inner.finish()


@dataclass(slots=True, kw_only=True)
class ArrayDevice(PhysicalDevice):
    """An md array, open between its purges; ``is_open`` is False once a purge has not created it again.

    ``claim`` is that of its members, which are claimed throughout, also while it is taken apart.
    """

    path: BlockTarget
    consent: Consent
    purging: ArrayPurge
    journal: Journal
    claim: RunOwner
    held: ExitStack
    is_open: bool = True
    _engine: ArrayEngine | None = None

    @classmethod
    @contextmanager
    def opened(
        cls,
        path: BlockTarget,
        consent: Consent,
        roots: SystemRoots,
        journal: Journal,
        healed: tuple[Healing, ...],
        *,
        run_id: str | None = None,
    ) -> Iterator["ArrayDevice"]:
        """The array, open by the guard, and closed at the end. Raises OpenptsError."""
        array = read_array(BlockDevice.of_node(path.path, roots))
        purging = ArrayPurge(array, consent.confirm_members, roots)
        with drive_claimed(array.device, run_id, roots) as claim, ExitStack() as held:
            target = held.enter_context(open_target(path, consent, roots, claim.run_id))
            yield cls(
                target=target,
                roots=roots,
                cache=held.enter_context(write_cache_control(target, roots, journal)),
                healed=healed,
                path=path,
                consent=consent,
                purging=purging,
                journal=journal,
                claim=claim,
                held=held,
            )

    @property
    def owner(self) -> RunOwner:
        """See the protocol."""
        return self.claim

    @contextmanager
    def engine(
        self, demand: Demand, seed: int, options: NativeOptions, *, near: bool, first_thread: int = 0
    ) -> Iterator[CapturingEngine]:
        if options.capture is not None:
            raise UsageError(
                "--capture can't continue over purges, for which an array is taken apart: remove it"
            )
        make = partial(
            PhysicalDevice.engine, self, demand, options=options, near=near, first_thread=first_thread
        )
        engine = ArrayEngine(make, seed)
        engine.open()
        self._engine = engine
        try:
            yield engine
        finally:
            self._engine = None
            engine.close()

    def check_purge(self, choice: PurgeChoice) -> None:
        self.purging.check(choice)

    def purge(self, choice: PurgeChoice, progress: Progress) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        self.purging.check(choice)
        if self._engine is not None:
            self._engine.close()
        self.is_open = False
        self.held.close()
        purged = self.purging.carry_out(choice, progress)
        opened = open_target(self.path, self.consent, self.roots, self.claim.run_id)
        self.target = self.held.enter_context(opened)
        self.cache = self.held.enter_context(write_cache_control(self.target, self.roots, self.journal))
        self.is_open = True
        if self._engine is not None:
            self._engine.open()
        return purged

    def health(self) -> HealthReading:
        if not self.is_open:
            return HealthReading("the array was not created again after its purge")
        return PhysicalDevice.health(self)

    def put_back(self) -> str | None:
        """An array that was not created again after its purge has no cache."""
        return PhysicalDevice.put_back(self) if self.is_open else None

    def host_settings(self) -> Facts:
        return PhysicalDevice.host_settings(self) if self.is_open else {}

    def host_changes(self, scenario: Scenario) -> tuple[Change, ...]:
        """The array is created with a new queue, which keeps its defaults."""
        return host_changes(self.roots, scenario, lasting=False)
