"""Prepares a run: purge and write cache with their ledger entries, a look at the data to be written."""

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.purge.methods import Progress
from openpts.device.purge.purge import no_purge
from openpts.device.write_cache import DISABLED, ENABLED, NO_CACHE, UNKNOWN
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.errors import PurgeImpossibleError
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import (
    ROTATIONAL,
    Facts,
    PurgeReport,
    TargetFacts,
    TargetKind,
    WriteCacheReport,
    has_platters,
    media_of,
)
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    DataCheck,
    ReducibleData,
    Step,
    Stimulus,
)
from openpts.vocabulary.verdict import Deviation

LEFT_OUT: Final = "the operator asked for none"
"""Why there was no purge, in the report of one."""


class Preparation(Struct, frozen=True):
    """The door through which a run prepares its device."""

    device: DeviceUnderTest
    purge_choice: PurgeChoice

    def check_purge(self) -> None:
        """Raise OpenptsError where the purge would be refused before it touches anything."""
        if not self.purge_choice.left_out:
            with _with_hint_to_run_unpurged():
                self.device.check_purge(self.purge_choice)

    def purge(self, progress: Progress) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        """Purge and prove it. Raises PurgeError: a failed purge ends the run."""
        if self.purge_choice.left_out:
            report = no_purge(LEFT_OUT)
            return report, (purge_left_out(report),)
        with _with_hint_to_run_unpurged():
            return self.device.purge(self.purge_choice, progress)

    def fault(self) -> str | None:
        """Why no test can continue on the device; None while it is fine."""
        return self.device.fault()

    @property
    def sector_bytes(self) -> int:
        """Size of the device's LBAs."""
        return self.device.facts.sector_bytes

    def write_cache(self, required_enabled: bool) -> tuple[WriteCacheReport, tuple[Deviation, ...]]:
        """Read the volatile write cache back; it is reported, and entered if it is not as required."""
        report = self.device.write_cache(required_enabled)
        satisfied = {ENABLED} if required_enabled else {DISABLED, NO_CACHE}
        if report.actual in satisfied:
            return report, ()
        return report, (other_write_cache(report),)

    def cache_since(self, report: WriteCacheReport) -> tuple[Deviation, ...]:
        """The entry of a cache that is no longer as when the cycle began, say after a drive's reset."""
        now = self.device.write_cache_now(report.required == ENABLED)
        if now.actual in {report.actual, UNKNOWN}:
            return ()
        return (
            Deviation(
                rule_id="PTS-CACHE-01",
                clause="3.7",
                required=f"{report.required}, throughout",
                used=f"{report.actual} when the cycle began, {now.actual} at its end ({now.source})",
                effect="it is unknown since when: figures with either cache are mixed",
            ),
        )


@contextmanager
def _with_hint_to_run_unpurged() -> Iterator[None]:
    try:
        yield
    except PurgeImpossibleError as error:
        without = "to test without a purge use --purge none, which the report discloses"
        raise PurgeImpossibleError(f"{error}; {without}") from error


def path_deviations(engine: Facts) -> tuple[Deviation, ...]:
    """Where every system call waits, QD I/Os of a thread are QD threads, each with a sequence of its own."""
    if (path := engine.get("io_path")) is None or path.value != IoPath.SYNC:
        return ()
    return (
        Deviation(
            rule_id="PTS-DEF-08",
            clause="2.1.16",
            required="threads with QD I/Os outstanding each",
            used="TC x QD threads with one I/O each, by system calls",
            effect="sequential I/O runs in TC x QD streams instead of TC",
        ),
    )


def purge_left_out(report: PurgeReport) -> Deviation:
    """Ledger entry of a run without a purge."""
    return Deviation(
        rule_id="PTS-PRG-01",
        clause="3.2",
        required="a purge before preconditioning",
        used=f"none: {report.detail}",
        effect="the write history of the drive shows in the results",
    )


def other_write_cache(report: WriteCacheReport) -> Deviation:
    """Ledger entry if the write cache is not in the required state."""
    return Deviation(
        rule_id="PTS-CACHE-01",
        clause="3.7",
        required=report.required,
        used=f"{report.actual} ({report.source})",
        effect="a volatile cache may absorb writes that the rule wants on the media, or the reverse",
    )


def rotational_deviations(dut: Facts, *, of_specification: bool) -> tuple[Deviation, ...]:
    """The entry of a rotational disk; none for other or unknown media, or for practice tests."""
    if not of_specification or not has_platters(dut):
        return ()
    return (
        Deviation(
            rule_id="PTS-GEN-01",
            clause="1.1",
            required="a solid state storage device",
            used=media_of(dut) or ROTATIONAL,
            effect="purge, preconditioning and steady state mean little on platters; "
            "`openpts io --range` measures their zones",
        ),
    )


SAMPLED_BYTES: Final = 4 * MIB
_BLOCK_BYTES: Final = 128 * KIB
_SECTOR_BYTES: Final = 512
_DEMAND: Final = Demand(1, 1, _BLOCK_BYTES)
_TIMEOUT_S: Final = 60
_HOW: Final = f"native engine into memory; zlib {zlib.ZLIB_RUNTIME_VERSION}, each piece by itself"


def data_checks(steps: Iterable[Step], target: TargetFacts, seed: int) -> tuple[DataCheck, ...]:
    """A check of each reducible pattern of these steps, in the order in which they come."""
    patterns = dict.fromkeys(
        stimulus.data
        for step in steps
        for stimulus in step.stimuli
        if isinstance(stimulus.data, ReducibleData)
    )
    if target.simulation is not None:
        return tuple(_told(data) for data in patterns)
    return tuple(checked(data, sample_of(data, seed)) for data in patterns)


def _told(data: ReducibleData) -> DataCheck:
    return DataCheck(
        data, data.entropy_pct, 100 - data.duplicate_pct, 0, "given to the model: no bytes are made"
    )


def checked(data: ReducibleData, sample: bytes) -> DataCheck:
    """What compression and deduplication leave of a sample, granule by granule, as drives reduce data."""
    granules = [sample[at : at + data.granule_bytes] for at in range(0, len(sample), data.granule_bytes)]
    left_bytes = sum(len(zlib.compress(granule)) for granule in granules)
    return DataCheck(
        data,
        compressed_pct=100 * left_bytes / len(sample),
        distinct_pct=100 * len(set(granules)) / len(granules),
        sampled_bytes=len(sample),
        how=_HOW,
    )


def sample_of(data: ReducibleData, seed: int) -> bytes:
    """What the native engine writes with this pattern and seed: to memory, in sequence."""
    stimulus = Stimulus.of(AccessPattern.SEQUENTIAL, _BLOCK_BYTES, 0, 1, 1, ActiveRange())
    step = Step.of(replace(stimulus, data=data), ByteAmount(SAMPLED_BYTES))
    with _memory(SAMPLED_BYTES) as descriptor:
        facts = TargetFacts(TargetKind.FILE, "memory", "memory", SAMPLED_BYTES, _SECTOR_BYTES)
        engine = NativeEngine(descriptor, facts, _DEMAND, seed, NativeOptions(io_path=IoPath.SYNC))
        try:
            engine.submit((step,))
            engine.poll(_TIMEOUT_S)
        finally:
            engine.stop()
        return os.pread(descriptor, SAMPLED_BYTES, 0)


@contextmanager
def _memory(size_bytes: int) -> Iterator[int]:
    """Descriptor of a file of zeros in memory (memfd)."""
    descriptor = os.memfd_create("openpts-data-check")
    try:
        os.truncate(descriptor, size_bytes)
        yield descriptor
    finally:
        os.close(descriptor)
