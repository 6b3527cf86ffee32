"""A drive or a file as the device under test."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from openpts.device.identity import dut_facts
from openpts.device.open_target import OpenTarget
from openpts.device.purge import purge
from openpts.device.reading import has_unwritten_parts
from openpts.device.write_cache import read_write_cache
from openpts.engine.contract import CapturingEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.runner.engines import native_engine, pinned_near
from openpts.system_files import SystemRoots
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import Facts, PurgeReport, TargetFacts, TargetKind, WriteCacheReport
from openpts.vocabulary.stimulus import Step


@dataclass(frozen=True, slots=True)
class PhysicalDevice:
    """Implements openpts.runner.bench.DeviceUnderTest on a target that is open."""

    target: OpenTarget
    roots: SystemRoots

    @property
    def facts(self) -> TargetFacts:
        """See the protocol."""
        return self.target.facts

    def identity(self) -> Facts:
        """See the protocol. Raises TargetError if the drive has gone."""
        return dut_facts(self.target.facts, self.roots)

    def deviations(self, steps: Sequence[Step]) -> tuple[Deviation, ...]:  # noqa: ARG002 whatever they are
        """See the protocol: a file stands between the stimulus and the device."""
        if not self._is_file:
            return ()
        return (
            Deviation(
                rule_id="PTS-GEN-05",
                clause="1.1, 6 (2)",
                required="block I/O to the device itself",
                used="direct I/O to a file",
                effect="the file system and whatever lies below it are measured as well",
            ),
        )

    def notes(self, step: Step) -> tuple[str, ...]:
        """See the protocol."""
        stimulus = step.stimulus
        if stimulus is None or not stimulus.operations.read or not has_unwritten_parts(self.target):
            return ()
        return (f"parts of {self.facts.path} were never written: reads of them do not reach the drive",)

    @contextmanager
    def engine(
        self, demand: Demand, seed: int, options: NativeOptions, *, near: bool, first_thread: int = 0
    ) -> Iterator[CapturingEngine]:
        """See the protocol."""
        if near:
            options = pinned_near(self.target, options, first_thread)
        with native_engine(self.target, demand, seed, options) as engine:
            yield engine

    def purge(self) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        """See the protocol."""
        report = purge(self.target)
        return report, (_purge_of_a_file(report),) if self._is_file else ()

    def write_cache(self, required_enabled: bool) -> WriteCacheReport:
        """See the protocol: it is read, never set."""
        return read_write_cache(self.target, required_enabled, self.roots)

    @property
    def _is_file(self) -> bool:
        return self.facts.kind is TargetKind.FILE


def _purge_of_a_file(report: PurgeReport) -> Deviation:
    return Deviation(
        rule_id="PTS-PRG-03",
        clause="3.2",
        required="a purge of the device",
        used=report.method,
        effect="the drive below the file keeps its write history",
    )
