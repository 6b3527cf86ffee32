"""The password that a Security Erase needs: noted before it is set, and taken off whatever happens.

An ATA drive erases itself only after a password was set on it. If anything ends the erasure
half way, the drive comes back locked after its next power cycle. So the password is always the same, stands
in the documentation, and is in the journal before the drive has it.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Final

from openpts.device.ata_identify import AtaIdentity, AtaSecurity
from openpts.device.block_device import BlockDevice, all_disks
from openpts.device.guard.rules import quiet_refusals
from openpts.device.guard.usage import drive_claimed, read_usage
from openpts.device.journalled_drive import drive_subject, drive_text, find_drive, is_drive
from openpts.device.targets.target import Target
from openpts.errors import TargetError
from openpts.journal import Entry, Journal
from openpts.programs import ProgramRunner
from openpts.system_files import SystemRoots
from openpts_drives.purge.ata_commands import AtaCommandError, AtaDrive, hdparm_at_work, no_ata_drive
from openpts_drives.purge.purge_programs import held_node

DRIVE_PASSWORD: Final = "drive password"  # noqa: S105 a kind, not a password
"""The kind of its entries in the undo journal."""
PASSWORD: Final = "openpts"  # noqa: S105 protects nothing: it must be found again, also without the journal
POWER_CYCLE: Final = "switch the drive's power off and on (a restart may not do that)"

# what hdparm allows a drive that tells no time, and more than it adds to what a drive tells
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
                f"has ended; an erasure can take hours: wait until that process has ended, then "
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
    except (TargetError, AtaCommandError) as error:
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
    except AtaCommandError:
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
        f"{again}; if that fails too, the password is another one: ask its owner, or the drive's maker"
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
    """What was said against a command; whether it was done is asked of the drive afterwards."""
    try:
        command()
    except AtaCommandError as error:
        return str(error)
    return None


def _identity(drive: AtaDrive) -> AtaIdentity:
    try:
        return drive.identify()
    except AtaCommandError as error:
        raise TargetError(
            f"{drive.node} does not answer ({error}): it may still be erasing itself, so wait, then "
            f"{_unlock_by(drive)}; if that does not help, {POWER_CYCLE} before"
        ) from error


def _unlock_by(drive: AtaDrive) -> str:
    return f"run openpts purge --unlock {drive.node}"
