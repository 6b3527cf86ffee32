"""An array of md as the device under test, whose members the operator gave up for purging."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

from openpts.device.block_device import BlockDevice
from openpts.device.guard.consent import Consent
from openpts.device.guard.guard import open_target
from openpts.device.md_array import read_array
from openpts.device.purge.method import Progress
from openpts.device.targets.free_space import SpaceNeed
from openpts.device.targets.target import BlockTarget
from openpts.device.write_cache_control import write_cache_control
from openpts.engine.contract import CapturingEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.errors import UsageError
from openpts.gauge import Gauge
from openpts.host.tuning import host_changes
from openpts.journal import Journal
from openpts.runner.array_engine import ArrayEngine
from openpts.runner.array_purge import ArrayPurge
from openpts.runner.healing import Healing
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.tuning import tuned_host
from openpts.system_files import SystemRoots
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import Facts, PurgeReport, TargetFacts, WriteCacheReport
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.tuning import ChangeReport, Scenario


@dataclass(slots=True)
class ArrayDevice:
    """A DeviceUnderTest that is an md array, open between its purges."""

    path: BlockTarget
    consent: Consent
    purging: ArrayPurge
    roots: SystemRoots
    journal: Journal
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
    ) -> Iterator["ArrayDevice"]:
        """The array, open by the guard, and closed at the end. Raises OpenptsError."""
        array = read_array(BlockDevice.of_node(path.path, roots))
        device = cls(path, consent, ArrayPurge(array, consent.confirm_members, roots), roots, journal, healed)
        device._open()
        try:
            yield device
        finally:
            device._close()

    @property
    def facts(self) -> TargetFacts:
        """See the protocol."""
        return self._device.facts

    def identity(self) -> Facts:
        """See the protocol."""
        return self._device.identity()

    def deviations(self, steps: Sequence[Step]) -> tuple[Deviation, ...]:
        """See the protocol."""
        return self._device.deviations(steps)

    def space_needs(self, written_bytes: int) -> tuple[SpaceNeed, ...]:
        """See the protocol."""
        return self._device.space_needs(written_bytes)

    def notes(self, step: Step) -> tuple[str, ...]:
        """See the protocol."""
        return self._device.notes(step)

    @contextmanager
    def engine(
        self, demand: Demand, seed: int, options: NativeOptions, *, near: bool, first_thread: int = 0
    ) -> Iterator[CapturingEngine]:
        """See the protocol."""
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

    def check_purge(self, choice: PurgeChoice) -> None:
        """See the protocol."""
        self.purging.check(choice)

    def purge(self, choice: PurgeChoice, progress: Progress) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        """See the protocol."""
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
        """See the protocol."""
        return self._device.write_cache(required_enabled)

    def write_cache_now(self, required_enabled: bool) -> WriteCacheReport:
        """See the protocol."""
        return self._device.write_cache_now(required_enabled)

    def health(self) -> HealthReading:
        """See the protocol."""
        if self._opened is None:
            return HealthReading("the array was not created again after its purge")
        return self._opened.health()

    def host_settings(self) -> Facts:
        """See the protocol."""
        return {} if self._opened is None else self._opened.host_settings()

    def tuned_host(self, scenario: Scenario) -> AbstractContextManager[tuple[ChangeReport, ...]]:
        """See the protocol; the array is created with a new queue, which keeps its defaults."""
        changes = host_changes(self.roots, scenario, lasting=False)
        return tuned_host(changes, scenario, self.roots, self.journal)

    def gauges(self, engine: CapturingEngine, demand: Demand) -> tuple[Gauge, ...]:
        """See the protocol."""
        return self._device.gauges(engine, demand)

    @property
    def _device(self) -> PhysicalDevice:
        assert self._opened is not None  # noqa: S101 a purge that failed ends the run
        return self._opened

    def _open(self) -> None:
        target = self._held.enter_context(open_target(self.path, self.consent, self.roots))
        cache = self._held.enter_context(write_cache_control(target, self.roots, self.journal))
        self._opened = PhysicalDevice(target, self.roots, cache, self.healed)

    def _close(self) -> None:
        self._opened = None
        self._held.close()
