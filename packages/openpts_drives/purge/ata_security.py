"""ATA Security Erase: the drive erases itself after a password was set on it (ACS).

If anything ends the erasure half way, the drive comes back locked after its next power cycle. So the password
is always the same, is in the documentation, and is in the journal before the drive has it; it is taken off
whatever happens.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Final

from msgspec import Struct

from openpts.device.ata_identify import AtaIdentity, AtaSecurity
from openpts.device.block_device import BlockDevice, all_disks
from openpts.device.guard.rules import quiet_refusals
from openpts.device.guard.usage import drive_claimed, read_usage
from openpts.device.journalled_drive import drive_subject, drive_text, find_drive, is_drive
from openpts.device.purge.methods import Capability, Progress
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import Target
from openpts.errors import OpenptsError, PurgeError, TargetError
from openpts.journal import Entry, Journal, JournalError
from openpts.programs import ProgramError, ProgramRunner, run_program
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact, Facts
from openpts_drives.purge.ata_commands import AtaDrive, hdparm_at_work, no_ata_drive
from openpts_drives.purge.purge_programs import DriveCommandError, held_drive, held_node

DRIVE_PASSWORD: Final = "drive password"  # noqa: S105 a kind, not a password
"""The kind of its entries in the undo journal."""
PASSWORD: Final = "openpts"  # noqa: S105 protects nothing: it must be found again, also without the journal
POWER_CYCLE: Final = "switch the drive's power off and on (a restart may not do that)"

# what hdparm allows a drive that reports no time, and more than it adds to what a drive reports
_BYTES_PER_S: Final = 30 * 1024**2
_MARGIN_S: Final = 2 * 3600.0


def refusal(entry: Entry, target: Target, is_left: bool) -> str:
    """Why no run begins on a drive that has the password."""
    if is_left:
        return (
            f"a run of {entry.made_at} was interrupted while openpts had a password on "
            f"{drive_text(entry.subject)}: remove it with `openpts purge --unlock {target}`"
        )
    return (
        f"another openpts is using the password of {drive_text(entry.subject)}, which was set "
        f"{entry.made_at} by process {entry.owner.pid}: wait until it has ended"
    )


def note_password(journal: Journal, device: BlockDevice, identity: AtaIdentity, *, enhanced: bool) -> Entry:
    """Write down that the password is about to be set on a drive. Raises JournalError."""
    reported = {
        "identify_serial": identity.serial,
        "identify_model": identity.model,
        "wwn": identity.world_wide_name,
    }
    subject = drive_subject(device) | {key: value for key, value in reported.items() if value is not None}
    found = {"password": PASSWORD, "erase": "enhanced" if enhanced else "normal"}
    return journal.add(DRIVE_PASSWORD, subject, found)


def erase_limit_s(identity: AtaIdentity, *, enhanced: bool) -> float:
    """When an erasure counts as hung: later than hdparm and the kernel give up on the command.

    They do so, by a reset, after the drive's own estimate and an hour, or after a time by its capacity.
    """
    security = identity.security
    minutes = security.enhanced_erase_minutes if enhanced else security.erase_minutes
    return max((minutes or 0) * 60.0, identity.capacity_bytes / _BYTES_PER_S) + _MARGIN_S


def take_password_off(
    entry: Entry, roots: SystemRoots, run: ProgramRunner, *, named: BlockDevice | None = None
) -> str:
    """Find the drive of an entry and free it of the password, as free_of_password does.

    ``named`` is the drive that the operator means, which decides where several answer to the entry.
    """
    return free_of_password(named or _find(entry.subject, roots, run), entry, run)


def free_of_password(device: BlockDevice, entry: Entry, run: ProgramRunner, *, ours: bool = False) -> str:
    """Unlock a drive and disable the password of its entry; what was done, for the operator.

    A drive that does not unlock before its erasure has ended is erased again; ``ours``: the guard holds it
    for us, or else no other process may have claimed it for that. Raises TargetError, with the remedy, if
    the drive does not answer or still has a password then.
    """
    drive = AtaDrive(device.node, run)
    with drive_claimed(device, None, device.roots), held_node(device, f"see dmesg, then {_unlock_by(drive)}"):
        name = f"{drive_text(entry.subject)}, now {device.node},"
        if (process := hdparm_at_work(device.node, device.roots)) is not None:
            raise TargetError(
                f"{name} is still in use by hdparm (process {process}), which continues after its openpts "
                f"has ended. An erasure can take hours: wait until that process has ended, then "
                f"{_unlock_by(drive)}"
            )
        before = _identity(drive)
        if not is_noted_identity(before, entry.subject):
            raise TargetError(
                f"{device.node} is {before.model} {before.serial}{_wwn_text(before.world_wide_name)}, not "
                f"{drive_text(entry.subject)}{_wwn_text(entry.subject.get('wwn'))}"
            )
        if not before.security.enabled:
            return f"{name} has no password: nothing to remove"
        _refuse_hopeless(drive, before.security)
        return f"{name} {_take_off(drive, device, before, entry.found, ours=ours)}"


def _wwn_text(wwn: str | None) -> str:
    return f", world wide name {wwn}" if wwn else ""


def password_state(entry: Entry, roots: SystemRoots, run: ProgramRunner) -> str:
    """Where the drive of an entry is now, and its security state; or why that is unknown."""
    try:
        device = _find(entry.subject, roots, run)
        security = AtaDrive(device.node, run).identify().security
    except (TargetError, ProgramError) as error:
        return f"now: not found or without an answer: {error}"
    if not security.enabled:
        return f"now {device.node}: no longer has a password"
    return f"now {device.node}: {security}"


def is_noted_drive(device: BlockDevice, entry: Entry, run: ProgramRunner) -> bool:
    """Whether a disk is the drive of an entry, by what the kernel or the drive itself says."""
    return is_drive(device, entry.subject) or _answers_to(device, entry.subject, run)


def identify_disk(disk: BlockDevice, run: ProgramRunner) -> AtaIdentity | None:
    """IDENTIFY DEVICE of a disk that may be an ATA drive; None if it is none or does not answer."""
    if no_ata_drive(disk) is not None:
        return None
    try:
        return AtaDrive(disk.node, run).identify()
    except ProgramError:
        return None


def _find(subject: Mapping[str, str], roots: SystemRoots, run: ProgramRunner) -> BlockDevice:
    """The drive of an entry under its present name.

    Behind another adapter it may show another serial number and half of its model: then the drives
    themselves are asked. Raises TargetError if it is not there, or if several drives answer to it.
    """
    try:
        return find_drive(subject, roots)
    except TargetError:
        found = [disk for disk in all_disks(roots) if _answers_to(disk, subject, run)]
        if not found:
            raise
        if len(found) > 1:
            nodes = ", ".join(str(disk.node) for disk in found)
            raise TargetError(
                f"several drives match {drive_text(subject)}: {nodes}; name one, as in "
                f"openpts purge --unlock {found[0].node}"
            ) from None
        return found[0]


def _answers_to(disk: BlockDevice, subject: Mapping[str, str], run: ProgramRunner) -> bool:
    identity = identify_disk(disk, run)
    return identity is not None and identity.serial is not None and is_noted_identity(identity, subject)


def is_noted_identity(identity: AtaIdentity, subject: Mapping[str, str]) -> bool:
    """Whether IDENTIFY DEVICE is of the drive of an entry; the world wide name counts where both have one."""
    if (identity.serial, identity.model) != (subject.get("identify_serial"), subject.get("identify_model")):
        return False
    return identity.world_wide_name is None or subject.get("wwn") in {None, identity.world_wide_name}


def _refuse_hopeless(drive: AtaDrive, security: AtaSecurity) -> None:
    if security.frozen:
        raise TargetError(
            f"{drive.node} still has the password, but its security is frozen: {POWER_CYCLE}; it is locked "
            f"then, but no longer frozen; after that {_unlock_by(drive)}"
        )
    if security.locked and security.count_expired:
        raise TargetError(
            f"{drive.node} is locked and accepts no further password, since too many were tried: "
            f"{POWER_CYCLE}, then {_unlock_by(drive)}"
        )


def _take_off(
    drive: AtaDrive, device: BlockDevice, before: AtaIdentity, found: Mapping[str, str], *, ours: bool
) -> str:
    """What was done, as the end of a sentence. Raises TargetError if the password is still there."""
    password, done = found["password"], "the password was removed"
    refused = _attempt(lambda: drive.disable_password(password))
    if (now := _identity(drive).security).locked:
        refused = _erase_again(drive, device, before, found, ours=ours) or refused
        done = "unlocks only after an erasure, so it was erased again, and the password is removed"
        if (now := _identity(drive).security).enabled:
            refused = _attempt(lambda: drive.disable_password(password)) or refused
            now = _identity(drive).security
    if not now.enabled:
        return done
    again = f"({refused or 'no reason given'}): {POWER_CYCLE}, then {_unlock_by(drive)}"
    if not now.locked:
        raise TargetError(f"{drive.node} still has the password {password!r} {again}")
    raise TargetError(
        f"{drive.node} is locked, and neither unlocks nor erases itself with the password {password!r} "
        f"{again}. If that fails too, the password is another one: ask its owner, or the drive's maker"
    )


def _erase_again(
    drive: AtaDrive, device: BlockDevice, before: AtaIdentity, found: Mapping[str, str], *, ours: bool
) -> str | None:
    """Finish an erasure that was cut off; what the drive had against it. Raises TargetError."""
    must = "it must be erased again before it unlocks"
    with nullcontext() if ours else held_node(device, f"{must}: see fuser -v {device.node}", alone=True):
        # a locked drive can't be in use, but only the kernel's lists show it
        if refusals := quiet_refusals(device, read_usage(device.roots)):
            raise TargetError(f"{drive.node}: {must}, but {refusals[0]}")
        enhanced = found["erase"] == "enhanced"
        limit_s = erase_limit_s(before, enhanced=enhanced)
        return _attempt(lambda: drive.erase(found["password"], limit_s, enhanced=enhanced))


def _attempt(command: Callable[[], None]) -> str | None:
    """Why a command was refused; whether it was done is read from the drive afterwards."""
    try:
        command()
    except ProgramError as error:
        return str(error)
    return None


def _identity(drive: AtaDrive) -> AtaIdentity:
    try:
        return drive.identify()
    except ProgramError as error:
        raise TargetError(
            f"{drive.node} does not answer ({error}): it may still be erasing itself, so wait, then "
            f"{_unlock_by(drive)}; if that does not help, {POWER_CYCLE} before"
        ) from error


def _unlock_by(drive: AtaDrive) -> str:
    return f"run openpts purge --unlock {drive.node}"


_FROZEN_REMEDY: Final = (
    "most machines freeze their drives at start: suspend to RAM and resume (rtcwake -m mem -s 10); or pull "
    "the drive's power plug and put it back while the machine runs; or take a port of another controller. "
    "Then try again"
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
        except (ProgramError, JournalError) as error:
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
        except (ProgramError, JournalError) as error:
            raise PurgeError(f"{self.title} of {device.node} failed: {error}") from error

    def status(self, target: OpenTarget) -> Facts:
        """The state of the security feature set."""
        if target.device is None:
            return {}
        try:
            security = AtaDrive(target.device.node, self.run).identify().security
        except ProgramError as error:
            return {"ata_security": Fact(None, str(error))}
        return {"ata_security": Fact(str(security), "IDENTIFY DEVICE word 128")}

    def _erase(self, device: BlockDevice, progress: Progress) -> str:
        drive = AtaDrive(device.node, self.run)
        identity = drive.identify()
        if (against := self._against(device, identity)) is not None:
            raise DriveCommandError(against)
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
            raise DriveCommandError("the drive did not accept the password, though hdparm reported no error")
        limit_s = erase_limit_s(identity, enhanced=self.enhanced)
        drive.erase(PASSWORD, limit_s, enhanced=self.enhanced, elapsed=self._shown(identity, progress))
        if drive.identify().security.enabled:
            raise DriveCommandError("the drive still has the password, so it has not erased itself")

    def _shown(self, identity: AtaIdentity, progress: Progress) -> Callable[[float], None]:
        """Shows how far the erasure should be by the drive's estimate: it reports nothing meanwhile."""
        minutes = self._minutes(identity)
        text = "erasing itself, which can't be interrupted"
        if minutes is None:
            return lambda seconds: progress(None, f"{text}, {seconds:.0f} s so far, without an estimate")
        most = 0.99
        return lambda seconds: progress(
            min(seconds / (minutes * 60), most), f"{text}; {minutes} min by its own estimate"
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
