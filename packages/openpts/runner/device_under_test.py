"""What a run asks of the device under test, whatever that is: a drive, a file, or a simulated drive."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import open_target
from openpts.device.guard.usage import drive_claimed
from openpts.device.purge.methods import Progress
from openpts.device.targets.free_space import SpaceNeed
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.reading import open_for_reading
from openpts.device.targets.target import BlockTarget, FileTarget, has_scheme, parse_target, scheme_of
from openpts.device.write_cache import write_cache_control
from openpts.engine.contract import CapturingEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.journal import Journal
from openpts.ownership import RunOwner
from openpts.runner.healing import Healing, heal_before_run
from openpts.runner.physical_device import PhysicalDevice
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Facts, HealthReading, PurgeReport, TargetFacts, WriteCacheReport
from openpts.vocabulary.purge import Consent, PurgeChoice
from openpts.vocabulary.stimulus import ActiveRange, Step
from openpts.vocabulary.trimmed_reads import TrimmedReads
from openpts.vocabulary.verdict import Deviation


class DeviceUnderTest(Protocol):
    """A device that is ours until the test ends."""

    @property
    def facts(self) -> TargetFacts:
        """The device as an engine sees it."""

    @property
    def target(self) -> OpenTarget | None:
        """What is open of it; None of a simulated one, whose time is virtual."""

    @property
    def owner(self) -> RunOwner:
        """The run that it is ours for, and its names; only of a device that is open for writing."""

    @property
    def healed(self) -> tuple[Healing, ...]:
        """What runs that were killed had left on it, and what became of that before it was opened."""

    @property
    def inputs(self) -> Mapping[str, bytes]:
        """The files that the operator wrote for it, by the names of their copies in the run folder."""

    def identity(self) -> Facts:
        """What it is (PTS 5.4), under the keys of the report's header."""

    def deviations(self, steps: Sequence[Step]) -> tuple[Deviation, ...]:
        """What it is not: entries of the ledger of a run of these steps on it.

        Raises UsageError where the figures would say nothing at all, TargetError where it can't take a step.
        """

    def space_needs(self, written_bytes: int) -> tuple[SpaceNeed, ...]:
        """What writing to a range of so many bytes takes from file systems below it.

        Raises TargetError where it can't hold the range in any case.
        """

    def notes(self, step: Step) -> tuple[str, ...]:
        """What an operator should know before reading figures of this step."""

    def engine(
        self, demand: Demand, seed: int, options: NativeOptions, *, near: bool, first_thread: int = 0
    ) -> AbstractContextManager[CapturingEngine]:
        """An engine on it, stopped at the end.

        ``near``: its threads run on the processors near the device instead of ``options.cpus``, where
        ``first_thread`` threads of others are already.
        """

    def trimmed_reads(self, active_range: ActiveRange, seed: int) -> TrimmedReads:
        """What LBAs of that range read as when they were written and trimmed. Raises RunFailedError.

        What cannot be known is in the answer, with the reason.
        """

    def check_purge(self, choice: PurgeChoice) -> None:
        """Raise OpenptsError if the device has no such purge, or it would erase what is not confirmed."""

    def purge(self, choice: PurgeChoice, progress: Progress) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        """Purge it as chosen and prove it, with what a purge of such a device is not. Raises PurgeError."""

    def write_cache(self, required_enabled: bool) -> WriteCacheReport:
        """The volatile write cache, set as required where it can be set, and read back.

        As it was found again when the device is closed.
        """

    def write_cache_now(self, required_enabled: bool) -> WriteCacheReport:
        """The volatile write cache as it is, left as it is."""

    def health(self) -> HealthReading:
        """What its own log says now, under the names of vocabulary.health; never raises."""

    def fault(self) -> str | None:
        """Why no test can continue on it: gone, smaller, read-only. None while it is fine.

        It is not asked itself: this may be called while it works.
        """

    def put_back(self) -> str | None:
        """Put back what of it was changed for a test that failed; what could not be, and how it can be."""


@contextmanager
def drive_kept(text: str) -> Iterator[None]:
    """Keep a drive claimed as long as the block lasts, also between runs; nothing else is kept."""
    target = None if has_scheme(text) else parse_target(text)
    if not isinstance(target, BlockTarget):
        yield
        return
    roots = SystemRoots()
    with drive_claimed(BlockDevice.of_node(target.path, roots), None, roots):
        yield


@contextmanager
def device_under_test(
    named: str | FileTarget, consent: Consent, *, for_writing: bool, run_id: str | None = None
) -> Iterator[DeviceUnderTest]:
    """The device that the operator's text names, or a file in a folder that is open; closed at the end.

    What exists is claimed for the run (None: one without a record) and opened by the guard if anything on it
    is to change, after what a run that was killed had left on it was put back. Raises OpenptsError.
    """
    if isinstance(named, str) and (scheme := scheme_of(named)) is not None:
        with scheme.part("device")(named, run_id) as device:
            yield device
        return
    target = parse_target(named) if isinstance(named, str) else named
    roots, journal = SystemRoots(), Journal.of_machine()
    healed = heal_before_run(target, journal, roots, run_id) if for_writing else ()
    opening = open_target(target, consent, roots, run_id) if for_writing else open_for_reading(target, roots)
    with opening as opened, write_cache_control(opened, roots, journal) as cache:
        yield PhysicalDevice(opened, roots, cache, healed)
