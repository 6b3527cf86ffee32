"""An array of md as the device under test, whose members the operator gave up for purging."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic_ns

import msgspec

from openpts.device.block_device import BlockDevice
from openpts.device.guard.consent import Consent
from openpts.device.guard.drive_claim import drive_claimed
from openpts.device.guard.guard import open_target
from openpts.device.md_array import read_array
from openpts.device.purge.method import Progress
from openpts.device.targets.free_space import SpaceNeed
from openpts.device.targets.target import BlockTarget
from openpts.device.write_cache_control import write_cache_control
from openpts.engine.contract import CapturingEngine, EngineProgress
from openpts.engine.options import CaptureSummary, Demand, NativeOptions
from openpts.errors import UsageError
from openpts.gauge import Gauge
from openpts.host.tuning import host_changes
from openpts.journal import Journal
from openpts.ownership import RunOwner
from openpts.runner.array_purge import ArrayPurge
from openpts.runner.healing import Healing
from openpts.runner.host_capacity import DrivenDrive
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.power_cut import PowerCutter
from openpts.runner.tuning import tuned_host
from openpts.system_files import SystemRoots
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import Facts, PurgeReport, TargetFacts, WriteCacheReport
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth
from openpts.vocabulary.power_cut import CutLoad
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.sample import Interval, Sample
from openpts.vocabulary.stimulus import ActiveRange, Step
from openpts.vocabulary.trimmed_reads import TrimmedReads
from openpts.vocabulary.tuning import ChangeReport, Scenario


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


@dataclass(slots=True)
class ArrayDevice:
    """A DeviceUnderTest that is an md array, open between its purges."""

    path: BlockTarget
    consent: Consent
    purging: ArrayPurge
    roots: SystemRoots
    journal: Journal
    owner: RunOwner
    healed: tuple[Healing, ...] = ()
    _held: ExitStack = field(default_factory=ExitStack)
    _opened: PhysicalDevice | None = None
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
        """The array, open by the guard, and closed at the end. Raises OpenptsError.

        Its members are claimed throughout, also while it is taken apart.
        """
        array = read_array(BlockDevice.of_node(path.path, roots))
        purging = ArrayPurge(array, consent.confirm_members, roots)
        with drive_claimed(array.device, run_id, roots) as owner:
            device = cls(path, consent, purging, roots, journal, owner, healed)
            device._open()
            try:
                yield device
            finally:
                device._close()

    @property
    def facts(self) -> TargetFacts:
        return self._device.facts

    @property
    def inputs(self) -> Mapping[str, bytes]:
        return self._device.inputs

    def identity(self) -> Facts:
        return self._device.identity()

    def deviations(self, steps: Sequence[Step]) -> tuple[Deviation, ...]:
        return self._device.deviations(steps)

    def space_needs(self, written_bytes: int) -> tuple[SpaceNeed, ...]:
        return self._device.space_needs(written_bytes)

    def notes(self, step: Step) -> tuple[str, ...]:
        return self._device.notes(step)

    @contextmanager
    def engine(
        self, demand: Demand, seed: int, options: NativeOptions, *, near: bool, first_thread: int = 0
    ) -> Iterator[CapturingEngine]:
        if options.capture is not None:
            raise UsageError(
                "--capture can't continue over purges, for which an array is taken apart: remove it"
            )
        engine = ArrayEngine(demand, seed, options, near, first_thread)
        engine.open(self._device)
        self._engine = engine
        try:
            yield engine
        finally:
            self._engine = None
            engine.close()

    def power_cutter(self, load: CutLoad, command: str | None) -> PowerCutter:
        """See the protocol."""
        return self._device.power_cutter(load, command)

    def trimmed_reads(self, active_range: ActiveRange, seed: int) -> TrimmedReads:
        return self._device.trimmed_reads(active_range, seed)

    def check_purge(self, choice: PurgeChoice) -> None:
        self.purging.check(choice)

    def purge(self, choice: PurgeChoice, progress: Progress) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        self.purging.check(choice)
        if self._engine is not None:
            self._engine.close()
        self._close()
        purged = self.purging.carry_out(choice, progress)
        self._open()
        if self._engine is not None:
            self._engine.open(self._device)
        return purged

    def write_cache(self, required_enabled: bool) -> WriteCacheReport:
        return self._device.write_cache(required_enabled)

    def write_cache_now(self, required_enabled: bool) -> WriteCacheReport:
        return self._device.write_cache_now(required_enabled)

    def health(self) -> HealthReading:
        if self._opened is None:
            return HealthReading("the array was not created again after its purge")
        return self._opened.health()

    def fault(self) -> str | None:
        return self._device.fault()

    def put_back(self) -> str | None:
        """An array that was not created again after its purge has no cache."""
        return None if self._opened is None else self._opened.put_back()

    def host_settings(self) -> Facts:
        return {} if self._opened is None else self._opened.host_settings()

    def driven_drives(self) -> tuple[DrivenDrive, ...]:
        return self._device.driven_drives()

    def tuned_host(self, scenario: Scenario) -> AbstractContextManager[tuple[ChangeReport, ...]]:
        """The array is created with a new queue, which keeps its defaults."""
        changes = host_changes(self.roots, scenario, lasting=False)
        return tuned_host(changes, scenario, self.roots, self.journal)

    def gauges(
        self, engine: CapturingEngine, demand: Demand, memory: MemoryBandwidth | None
    ) -> tuple[Gauge, ...]:
        return self._device.gauges(engine, demand, memory)

    @property
    def _device(self) -> PhysicalDevice:
        assert self._opened is not None  # noqa: S101 a purge that failed ends the run
        return self._opened

    def _open(self) -> None:
        target = self._held.enter_context(open_target(self.path, self.consent, self.roots, self.owner.run_id))
        cache = self._held.enter_context(write_cache_control(target, self.roots, self.journal))
        self._opened = PhysicalDevice(target, self.roots, cache, self.healed)

    def _close(self) -> None:
        self._opened = None
        self._held.close()
