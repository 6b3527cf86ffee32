"""`openpts purge`: erase a drive by the best of its own methods, and prove it."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Final, TextIO

import click
from msgspec import Struct
from rich.text import Text

from openpts.cli.consent_options import CONFIRM_NAMESPACE, ConsentOfOne
from openpts.cli.console import table_console, table_of
from openpts.cli.log_lines import purge_lines
from openpts.cli.options import argument, flag, group, option, with_options
from openpts.cli.standard_streams import can_be_drawn_over, draw_over, print_document
from openpts.device.block_device import BlockDevice
from openpts.device.purge.methods import purge_choice
from openpts.errors import TargetError, UsageError
from openpts.hooks import Healer
from openpts.journal import Entry, Journal
from openpts.programs import run_program
from openpts.runner.healing import heal
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.system_files import SystemRoots, printable
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.document import Document
from openpts.vocabulary.facts import PurgeReport
from openpts.vocabulary.purge import AUTO
from openpts_drives.listing import PurgeAbility
from openpts_drives.purge.ata_security import (
    DRIVE_PASSWORD,
    PASSWORD,
    identify_disk,
    is_noted_drive,
    password_state,
    take_password_off,
)
from openpts_drives.purge.psid_revert import MOST_PSID_BYTES, PSID_REVERT
from openpts_drives.purge.purge_alone import PurgeRequest, methods_of, purge_alone


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
    named = BlockDevice.of_node(Path(drive), roots) if drive is not None and "/" in drive else None
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
            click.echo(f"{_password_of(entry)}\n  {password_state(entry, roots, run_program)}")
        return 0
    left_behind = journal.left_behind()
    busy = [entry for entry in meant if entry not in left_behind]
    for entry in busy:
        click.echo(f"{_password_of(entry)}; that process is still running and will remove it", err=True)
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


def _password_of(entry: Entry) -> str:
    subject = entry.subject
    name = f"{subject.get('identify_model')}, serial number {subject.get('identify_serial')}"
    return f"{name}: password set {entry.made_at} by process {entry.owner.pid}, as {subject.get('node')}"


def _nothing_noted(drive: str | None, roots: SystemRoots, journal: Journal) -> int:
    """What to say without an entry; about a drive that is named, what it says of itself."""
    where = f"(records are in {journal.folder})"
    if drive is None or "/" not in drive:
        click.echo(f"no password is recorded{f' for {drive}' if drive else ''} {where}")
        return 0
    identity = identify_disk(BlockDevice.of_node(Path(drive), roots), run_program)
    if identity is None:
        unseen = "" if os.geteuid() == 0 else ", or can't be queried without root"
        reported = f"{drive} is not an ATA drive, or does not answer as one{unseen}"
        click.echo(f"{reported}; no password is recorded for it {where}")
        return 0
    if not identity.security.enabled:
        click.echo(f"{drive} has no password ({identity.security})")
        return 0
    raise TargetError(
        f"{drive} has a password ({identity.security}), which is not recorded here {where}. If openpts "
        f"set it on another machine, type hdparm --user-master u --security-disable {PASSWORD} {drive}. "
        "Otherwise its owner has to remove it."
    )


_SHOW_EVERY_S: Final = 30.0


class Purged(Document, frozen=True, kw_only=True, tag="openpts.purge/1"):
    """The methods of the drive, and what the purge was; None where they were only listed."""

    target: str
    methods: tuple[PurgeAbility, ...]
    purge: PurgeReport | None


@dataclass(frozen=True, slots=True)
class _PurgeConsent(ConsentOfOne):
    confirm_namespaces: tuple[Path, ...] = CONFIRM_NAMESPACE


@click.command()
@with_options
def purge(
    *,
    target: str | None = argument("TARGET", required=False),
    method: str | None = option(
        "METHOD",
        "Use this method, or several separated by commas, each tried if the one before failed; auto, the "
        "best purge that the drive has.",
    ),
    only_list: bool = flag(
        "Print the methods of the drive, with --unlock the recorded passwords, and change nothing.",
        name="--list",
    ),
    to_unlock: bool = flag(
        "Purge nothing: remove the password that an interrupted ATA Security Erase left. TARGET is a node or "
        "a serial number. Without it, all drives on record.",
        name="--unlock to_unlock",
    ),
    consent: ConsentOfOne = group(_PurgeConsent),
    as_json: bool = flag("Print one JSON object; the log goes to stderr.", name="--json"),
) -> int:
    """Purge TARGET by one of its methods, and prove it. DESTROYS ALL DATA on it.

    Before the purge, random marks are written all over the drive and older data is sampled. All of it must
    read back changed afterwards, whatever the drive reports. The drive's own logs are printed, too.
    Its methods are untried on hardware: emulated drives have run them.

    The method psid-revert also frees a drive that is locked. It asks for the PSID on the drive's label, or
    reads it from standard input, and nothing records it.

    A drive that still has a password of openpts is refused until --unlock has removed that. One that unlocks
    only after its erasure has ended is erased again: its data was to be erased anyway.
    """
    if to_unlock:
        if method is not None or as_json or any(astuple(consent)):
            raise UsageError("--unlock goes with TARGET and --list alone: it needs no consent")
        return unlock(target, only_list=only_list)
    if target is None:
        raise click.MissingParameter(param_hint="'TARGET'", param_type="argument")
    choice = purge_choice(method or AUTO)
    if choice.left_out:
        raise UsageError("--method none: nothing to do")
    log = sys.stderr if as_json else sys.stdout
    methods = methods_of(target, to_purge=not only_list)
    abilities = [PurgeAbility.of(*each) for each in methods]
    if not as_json:
        _print_methods([one for one, (_, has) in zip(abilities, methods, strict=True) if not has.foreign])
    report: PurgeReport | None = None
    if not only_list:
        psid = _asked_psid() if PSID_REVERT in choice.methods else None
        display = _Display(log)
        request = PurgeRequest(target, consent, choice, None if psid is None else lambda: psid)
        report = purge_alone(
            request, display.show, lambda healing: click.echo(printable(healing.text), file=log)
        )
        draw_over(log)
        for line in (report.detail, *purge_lines(report)):
            click.echo(line, file=log)
    if as_json:
        print_document(Purged(target=target, methods=tuple(abilities), purge=report))
    return 0


def _asked_psid() -> bytes:
    """The number on the drive's label, not shown; a line of standard input where that is no terminal."""
    if sys.stdin.isatty():
        text = click.prompt("PSID on the drive's label", hide_input=True, err=True)
    else:
        text = sys.stdin.readline()
    psid = "".join(text.split()).encode()
    if not 0 < len(psid) <= MOST_PSID_BYTES:
        raise UsageError("no PSID was given: type the 32 characters from the drive's label")
    return psid


def _print_methods(methods: Sequence[PurgeAbility]) -> None:
    """Print the methods that a drive of this kind could have, the best first."""
    if not methods:
        return
    table = table_of("=Method", "=Does", "=Has it", "=Takes", "Reason, or source", left_out=("Takes", "Does"))
    for one in methods:
        takes = "not reported"
        if not one.supported:
            takes = "-"
        elif one.duration_s is not None:
            takes = format_duration(round(one.duration_s * NS_PER_S))
        reaches = f"; erases {', '.join(one.reaches)} as well" if one.reaches else ""
        texts = (one.name, one.title, "yes" if one.supported else "no", takes, one.reason + reaches)
        table.add_row(*map(Text, texts))
    table_console().print(table)


class _Display(Struct):
    """One line that changes on a terminal; elsewhere a line now and then."""

    stream: TextIO
    _shown_s: float = 0.0

    def show(self, share: float | None, text: str) -> None:
        line = text if share is None else f"{share:.0%} {text}"
        draw_over(self.stream, line)
        if not can_be_drawn_over(self.stream) and time.monotonic() - self._shown_s >= _SHOW_EVERY_S:
            self._shown_s = time.monotonic()
            click.echo(line, file=self.stream)
