"""ATA Security Erase: the drive erases itself after a password was set on it (ACS)."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from openpts.device.ata_identify import AtaIdentity, AtaSecurity
from openpts.device.block_device import BlockDevice
from openpts.device.purge.methods import Capability, Progress
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import OpenptsError, PurgeError, TargetError
from openpts.journal import Entry, Journal, JournalError
from openpts.programs import ProgramRunner, run_program
from openpts.vocabulary.facts import Fact, Facts
from openpts_drives.purge.ata_commands import AtaCommandError, AtaDrive, no_ata_drive
from openpts_drives.purge.ata_password import (
    DRIVE_PASSWORD,
    PASSWORD,
    POWER_CYCLE,
    erase_limit_s,
    free_of_password,
    is_noted_identity,
    note_password,
)
from openpts_drives.purge.purge_programs import held_drive

_FROZEN_REMEDY: Final = (
    "most machines freeze their drives at start; suspend to RAM and resume (rtcwake -m mem -s 10), or pull "
    "the drive's power plug and put it back while the machine runs, or take a port that is left alone, such "
    "as one of another controller; then try again"
)


class AtaSecurityErase(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod.

    ``enhanced`` also reaches retired sectors, and may change the key instead of erasing.
    """

    enhanced: bool = False
    run: ProgramRunner = run_program
    journal: Callable[[], Journal] = Journal.of_machine
    is_purge: bool = True

    @property
    def name(self) -> str:
        return "ata-security-erase-enhanced" if self.enhanced else "ata-security-erase"

    @property
    def title(self) -> str:
        mode = "enhanced" if self.enhanced else "normal"
        return f"ATA SECURITY ERASE UNIT, {mode} mode"

    def capability(self, device: BlockDevice) -> Capability:
        """Words 82, 89, 90 and 128 of IDENTIFY DEVICE, asked of the drive."""
        if (reason := no_ata_drive(device)) is not None:
            return Capability(False, reason, foreign=True)
        try:
            identity = AtaDrive(device.node, self.run).identify()
            against = self._against(device, identity)
        except (AtaCommandError, JournalError) as error:
            return Capability(False, str(error))
        if against is not None:
            return Capability(False, against)
        minutes = self._minutes(identity)
        return Capability(
            True,
            f"IDENTIFY DEVICE word 128: {identity.security}",
            None if minutes is None else minutes * 60.0,
        )

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        """Whatever happens, the password is taken off again before this ends.

        Raises TargetError where that could not be done, so that no other method is tried on the drive:
        the password is in the journal for ``openpts purge --unlock`` then.
        """
        device = held_drive(target, self.title)
        try:
            return self._erase(device, progress)
        except (AtaCommandError, JournalError) as error:
            raise PurgeError(f"{self.title} of {device.node} failed: {error}") from error

    def status(self, target: OpenTarget) -> Facts:
        """The state of the security feature set."""
        if target.device is None:
            return {}
        try:
            security = AtaDrive(target.device.node, self.run).identify().security
        except AtaCommandError as error:
            return {"ata_security": Fact(None, str(error))}
        return {"ata_security": Fact(str(security), "IDENTIFY DEVICE word 128")}

    def _erase(self, device: BlockDevice, progress: Progress) -> str:
        drive = AtaDrive(device.node, self.run)
        identity = drive.identify()
        if (against := self._against(device, identity)) is not None:
            raise AtaCommandError(against)
        journal = self.journal()
        entry = note_password(journal, device, identity, enhanced=self.enhanced)
        try:
            self._erase_by_password(drive, identity, progress)
        except BaseException as error:
            self._free(device, entry, error)
            journal.remove(entry)
            raise
        journal.remove(entry)
        return "user password set, erased, and security is not enabled any more"

    def _erase_by_password(self, drive: AtaDrive, identity: AtaIdentity, progress: Progress) -> None:
        """Set the password and erase; IDENTIFY decides each time, since hdparm may end with 0 for nothing."""
        drive.set_password(PASSWORD)
        if not drive.identify().security.enabled:
            raise AtaCommandError("the drive did not accept the password, though hdparm reported no error")
        limit_s = erase_limit_s(identity, enhanced=self.enhanced)
        drive.erase(PASSWORD, limit_s, enhanced=self.enhanced, tell=self._teller(identity, progress))
        if drive.identify().security.enabled:
            raise AtaCommandError("the drive still has the password, so it has not erased itself")

    def _teller(self, identity: AtaIdentity, progress: Progress) -> Callable[[float], None]:
        """Tells how far the erasure should be by the drive's estimate: it says nothing while it is at it."""
        minutes = self._minutes(identity)
        words = "erasing itself, which can't be interrupted"
        if minutes is None:
            return lambda seconds: progress(None, f"{words}, {seconds:.0f} s so far, without an estimate")
        most = 0.99
        return lambda seconds: progress(
            min(seconds / (minutes * 60), most), f"{words}; {minutes} min by its own estimate"
        )

    def _minutes(self, identity: AtaIdentity) -> int | None:
        security = identity.security
        return security.enhanced_erase_minutes if self.enhanced else security.erase_minutes

    def _free(self, device: BlockDevice, entry: Entry, error: BaseException) -> None:
        """Take the password off after something went wrong, or say that it may still be there."""
        try:
            free_of_password(device, entry, self.run, ours=True)
        except OpenptsError as failure:
            reason = str(error) or type(error).__name__
            raise TargetError(
                f"{self.title} of {device.node} failed: {reason}; and THE DRIVE MAY STILL HAVE A PASSWORD: "
                f"{failure}"
            ) from error

    def _against(self, device: BlockDevice, identity: AtaIdentity) -> str | None:
        """Why the drive can't be erased now, with what to do; None if nothing is against it."""
        for entry in self.journal().entries():
            if entry.kind == DRIVE_PASSWORD and is_noted_identity(identity, entry.subject):
                return (
                    f"openpts set a password on it at {entry.made_at} and has not removed it: remove it "
                    f"first, with openpts purge --unlock {device.node}"
                )
        return _state_against(device, identity.security, enhanced=self.enhanced)


def _state_against(device: BlockDevice, security: AtaSecurity, *, enhanced: bool) -> str | None:
    """The same, by what the drive says of itself."""
    if not security.supported:
        return "has no security feature set (IDENTIFY DEVICE word 82)"
    if security.enabled:
        state = "and is locked by it" if security.locked else "and will be locked by it without power"
        return (
            f"has a password that openpts did not record, {state}: have its owner remove it, with "
            f"hdparm --user-master u --security-disable PASSWORD {device.node}"
        )
    if security.frozen:
        return f"its security is frozen until its next power cycle: {_FROZEN_REMEDY}"
    if security.count_expired:
        return f"takes no password, since too many wrong ones were tried: {POWER_CYCLE}"
    if enhanced and not security.enhanced_erase:
        return "has no enhanced mode (IDENTIFY DEVICE word 128, bit 5)"
    return None


NORMAL: Final = AtaSecurityErase()
ENHANCED: Final = AtaSecurityErase(enhanced=True)
