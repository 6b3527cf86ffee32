"""Prepares a run: purge and write cache, with their entries of the ledger."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from openpts.device.purge.methods import Progress
from openpts.device.purge.purge import no_purge
from openpts.device.write_cache import DISABLED, ENABLED, NO_CACHE, UNKNOWN
from openpts.engine.options import IoPath
from openpts.errors import PurgeImpossibleError
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.vocabulary.facts import ROTATIONAL, Facts, PurgeReport, WriteCacheReport, has_platters, media_of
from openpts.vocabulary.purge import PurgeChoice
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
