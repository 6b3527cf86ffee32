"""`openpts purge --unlock`: take passwords off drives that a run which was cut off has left there."""

import os
from functools import partial
from pathlib import Path

import click

from openpts.device.block_device import BlockDevice
from openpts.errors import TargetError
from openpts.hooks import Healer
from openpts.journal import Entry, Journal
from openpts.programs import run_program
from openpts.runner.healing import heal
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.system_files import SystemRoots
from openpts_drives.purge.ata_password import (
    DRIVE_PASSWORD,
    PASSWORD,
    identify_disk,
    is_noted_drive,
    password_state,
    take_password_off,
)


def unlock(drive: str | None, *, only_list: bool) -> int:
    """Remove the password that an interrupted run left on a drive, and return the exit code.

    ATA Security Erase needs a password on the drive while it erases itself. openpts records that before it
    sets one, and removes it afterwards; what a crash or a power cut left is removed here. ``drive`` is a node
    or a serial number; None are all drives on record. A drive is known by its serial number, whatever its
    node is now; where several have the same, the node that is named decides.

    A drive that unlocks only after its erasure has ended is erased again: its data was to be erased anyway.
    ``only_list`` prints the recorded passwords, and changes nothing.
    """
    roots, journal = SystemRoots(), Journal.of_machine()
    noted = [entry for entry in journal.entries() if entry.kind == DRIVE_PASSWORD]
    named = _device(drive, roots) if drive is not None and "/" in drive else None
    meant = [entry for entry in noted if drive is None or _is_meant(entry, drive, named)]
    if os.geteuid() != 0:
        click.echo(
            "openpts: not run as root: what root recorded is not seen; run sudo openpts purge --unlock",
            err=True,
        )
    if not meant:
        return _nothing_noted(drive, roots, journal)
    if only_list:
        for entry in meant:
            click.echo(f"{_told(entry)}\n  {password_state(entry, roots, run_program)}")
        return 0
    left_behind = journal.left_behind()
    busy = [entry for entry in meant if entry not in left_behind]
    for entry in busy:
        click.echo(f"{_told(entry)}; that process is still running and will remove it", err=True)
    identifiers = {entry.entry_id for entry in meant}
    with terminate_as_interrupt():  # a lost terminal too ends it between two commands, not in one
        healed = heal(
            journal,
            roots,
            {DRIVE_PASSWORD},
            concerns=lambda entry: entry.entry_id in identifiers,
            run=run_program,
            healers=lambda _: Healer(partial(take_password_off, named=named)),
        )
    for healing in healed:
        click.echo(healing.text, err=not healing.put_back)
    done = not busy and all(healing.put_back for healing in healed)
    return 0 if done else TargetError.exit_code


def _is_meant(entry: Entry, drive: str, named: BlockDevice | None) -> bool:
    if named is not None:
        return is_noted_drive(named, entry, run_program)
    return drive in {entry.subject.get("serial"), entry.subject.get("identify_serial")}


def _device(drive: str, roots: SystemRoots) -> BlockDevice:
    return BlockDevice.of_node(Path(drive), roots)


def _told(entry: Entry) -> str:
    subject = entry.subject
    name = f"{subject.get('identify_model')}, serial number {subject.get('identify_serial')}"
    return f"{name}: password set {entry.made_at} by process {entry.owner.pid}, as {subject.get('node')}"


def _nothing_noted(drive: str | None, roots: SystemRoots, journal: Journal) -> int:
    """What to say without an entry; about a drive that is named, what it says of itself."""
    where = f"(records are in {journal.folder})"
    if drive is None or "/" not in drive:
        click.echo(f"no password is recorded{f' for {drive}' if drive else ''} {where}")
        return 0
    identity = identify_disk(_device(drive, roots), run_program)
    if identity is None:
        unseen = "" if os.geteuid() == 0 else ", or can't be queried without root"
        reported = f"{drive} is not an ATA drive, or does not answer as one{unseen}"
        click.echo(f"{reported}; no password is recorded for it {where}")
        return 0
    if not identity.security.enabled:
        click.echo(f"{drive} has no password ({identity.security})")
        return 0
    raise TargetError(
        f"{drive} has a password ({identity.security}), which is not recorded here {where}: if openpts "
        f"set it on another machine, it is {PASSWORD!r} as always, so hdparm --user-master u "
        f"--security-disable {PASSWORD} {drive} removes it; otherwise its owner has to remove it"
    )
