"""A drive or a file as the device under test: its engine, its health, its purge."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.guard.usage import owner_note
from openpts.device.identity import dut_facts
from openpts.device.link import kernel_threads_fact, kernel_threads_note
from openpts.device.purge.methods import Progress
from openpts.device.purge.purge import chosen_methods, purge
from openpts.device.targets.free_space import SpaceNeed, target_needs
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.reading import has_unwritten_parts
from openpts.device.trimmed_reads import refuse_without_trim, trimmed_reads
from openpts.device.write_cache import WriteCacheControl, read_write_cache
from openpts.engine.contract import CapturingEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.errors import OpenptsError
from openpts.hooks import health_of
from openpts.ownership import RunOwner
from openpts.runner.healing import Healing
from openpts.runner.native_engine import native_engine, pinned_near
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import (
    Facts,
    HealthReading,
    PurgeReport,
    TargetFacts,
    TargetKind,
    WriteCacheReport,
)
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import ActiveRange, Step
from openpts.vocabulary.trimmed_reads import TrimmedReads
from openpts.vocabulary.verdict import Deviation


class PhysicalDevice(Struct):
    """Implements openpts.runner.device_under_test.DeviceUnderTest on a target that is open."""

    target: OpenTarget
    roots: SystemRoots
    cache: WriteCacheControl
    healed: tuple[Healing, ...] = ()
    programs_do_its_io: ClassVar[bool] = False
    """Whether programs of the operator do: then the kernel's counts of it are figures of the run."""

    @property
    def facts(self) -> TargetFacts:
        return self.target.facts

    @property
    def owner(self) -> RunOwner:
        assert self.target.owner is not None  # noqa: S101 what was opened for reading belongs to no run
        return self.target.owner

    @property
    def inputs(self) -> Mapping[str, bytes]:
        """No input files: a physical device is described in the settings."""
        return {}

    def identity(self) -> Facts:
        """Facts of the drive and its kernel threads. Raises TargetError if the drive has gone."""
        return dut_facts(self.target.facts, self.roots) | kernel_threads_fact(self.target.facts, self.roots)

    def deviations(self, steps: Sequence[Step]) -> tuple[Deviation, ...]:
        """A file, or the kernel's own device, stands between the stimulus and the drive."""
        if any(stimulus.operations.trim for step in steps for stimulus in step.stimuli):
            refuse_without_trim(self.target.device)
        if self._is_file:
            return (NOT_THE_DEVICE,)
        return kernel_made(self.target.device) if self.target.device else ()

    def space_needs(self, written_bytes: int) -> tuple[SpaceNeed, ...]:
        return target_needs(self.target, written_bytes, self.roots)

    def notes(self, step: Step) -> tuple[str, ...]:
        if step.is_idle:
            return ()
        notes = (*owner_note(self.target), *kernel_threads_note(self.target, self.roots))
        if not any(stimulus.operations.read for stimulus in step.stimuli) or not has_unwritten_parts(
            self.target
        ):
            return notes
        return (
            *notes,
            f"parts of {self.facts.path} were never written: reads of them do not reach the drive",
        )

    @contextmanager
    def engine(
        self, demand: Demand, seed: int, options: NativeOptions, *, near: bool, first_thread: int = 0
    ) -> Iterator[CapturingEngine]:
        if near:
            options = pinned_near(self.target, options, first_thread)
        with native_engine(self.target, demand, seed, options) as engine:
            yield engine

    def trimmed_reads(self, active_range: ActiveRange, seed: int) -> TrimmedReads:
        """See the protocol: through the descriptor that the guard has opened."""
        facts = self.facts
        start_bytes, end_bytes = active_range.bytes_of(facts.user_capacity_bytes, facts.sector_bytes)
        return trimmed_reads(self.target, start_bytes, end_bytes, seed)

    def check_purge(self, choice: PurgeChoice) -> None:
        chosen_methods(self.target, choice)

    def purge(self, choice: PurgeChoice, progress: Progress) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        report = purge(self.target, choice, progress)
        if self._is_file:
            return report, (purge_of_a_file(report.method),)
        return report, () if report.ran else (not_a_purge(report.method),)

    def write_cache(self, required_enabled: bool) -> WriteCacheReport:
        return self.cache.require(required_enabled)

    def write_cache_now(self, required_enabled: bool) -> WriteCacheReport:
        return read_write_cache(self.target, required_enabled, self.roots)

    def health(self) -> HealthReading:
        return health_of(self.target)

    def fault(self) -> str | None:
        return self.target.fault

    def put_back(self) -> str | None:
        try:
            self.cache.put_back()
        except OpenptsError as error:
            return str(error)
        return None

    @property
    def _is_file(self) -> bool:
        return self.facts.kind is TargetKind.FILE


NOT_THE_DEVICE: Final = Deviation(
    rule_id="PTS-GEN-05",
    clause="1.1, 6 (2)",
    required="block I/O to the device itself",
    used="direct I/O to a file",
    effect="the file system and whatever lies below it are measured as well",
)
"""The entry of every run on a file."""


def kernel_made(device: BlockDevice) -> tuple[Deviation, ...]:
    """The entry of a device that is none of its own, such as a loop device; none for a drive."""
    if not device.is_made_of_others:
        return ()
    return (
        Deviation(
            rule_id="PTS-GEN-05",
            clause="1.1, 6 (2)",
            required="block I/O to the device itself",
            used=f"{device.name}, which the kernel makes of other storage or of memory",
            effect="whatever lies below it is measured, with what the kernel adds",
        ),
    )


def not_a_purge(method: str) -> Deviation:
    """The entry of a drive that was written over instead of purged."""
    return Deviation(
        rule_id="PTS-PRG-01",
        clause="3.2",
        required="a purge before preconditioning",
        used=f"no purge: {method}",
        effect="the drive is full instead of fresh, and its write history shows in the results",
    )


def purge_of_a_file(method: str) -> Deviation:
    """The entry of a purge that only gives a file new blocks."""
    return Deviation(
        rule_id="PTS-PRG-03",
        clause="3.2",
        required="a purge of the device",
        used=method,
        effect="the drive below the file keeps its write history",
    )
