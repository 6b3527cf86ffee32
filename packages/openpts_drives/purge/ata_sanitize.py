"""ATA SANITIZE DEVICE: block erase, crypto scramble, overwrite (ACS), which continue inside the drive.

Once begun it can't be stopped, not even by a power cycle, and the drive serves no data until it has ended.
"""

import re
from typing import Final

from msgspec import Struct

from openpts.device.ata_identify import AtaIdentity
from openpts.device.block_device import BlockDevice
from openpts.device.purge.methods import Capability, Progress, SanitizeKind
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, failing_as
from openpts.programs import ProgramError, ProgramRunner, Reply, run_program
from openpts.vocabulary.facts import Fact, Facts
from openpts_drives.purge.ata_commands import AtaDrive, fixed_senses, no_ata_drive
from openpts_drives.purge.purge_programs import (
    CLOCK,
    Clock,
    DriveCommandError,
    held_drive,
    wait_while_running,
)

_STATE: Final = re.compile(r"^\s*State:\s+(SD[0-4])\b", re.MULTILINE)
_PROGRESS: Final = re.compile(r"^\s*Progress: 0x([0-9a-f]{1,4})\b", re.MULTILINE)
_NOT_RUNNING: Final = 0xFFFF
_SHARES: Final = 0x10000
_ARGUMENTS: Final = {
    SanitizeKind.BLOCK: ("--sanitize-block-erase",),
    SanitizeKind.CRYPTO: ("--sanitize-crypto-scramble",),
    # one pass: the default of hdparm, 0, means sixteen
    SanitizeKind.OVERWRITE: ("--sanitize-overwrite-passes", "1", "--sanitize-overwrite", "hex:00000000"),
}
_COMMANDS: Final = {
    SanitizeKind.BLOCK: "BLOCK ERASE EXT",
    SanitizeKind.CRYPTO: "CRYPTO SCRAMBLE EXT",
    SanitizeKind.OVERWRITE: "OVERWRITE EXT, one pass of zeros",
}


class SanitizeStatus(Struct, frozen=True):
    """What a drive reports of its last sanitize operation.

    ``completed`` is None where the answer came in a format that leaves that out, and ``complaint`` is what
    was printed instead of an answer.
    """

    running: bool = False
    share: float | None = None
    frozen: bool = False
    failed: bool = False
    completed: bool | None = None
    complaint: str = ""

    def __str__(self) -> str:
        if self.failed:
            return "the last sanitize operation failed (SD3)"
        if self.complaint:
            return f"n/a ({self.complaint})"
        if self.running:
            return f"in process, {self.share:.0%} done" if self.share is not None else "in process"
        ended = {
            True: "the last operation completed without error",
            False: "no operation completed without error",
            None: "the end of the last operation is not reported",
        }[self.completed]
        return f"{'frozen' if self.frozen else 'idle'}, {ended}"


class AtaSanitize(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod for one kind."""

    kind: SanitizeKind
    run: ProgramRunner = run_program
    clock: Clock = CLOCK

    @property
    def name(self) -> str:
        return f"ata-sanitize-{self.kind}"

    @property
    def title(self) -> str:
        return f"ATA SANITIZE DEVICE, {_COMMANDS[self.kind]}"

    @property
    def is_purge(self) -> bool:
        return self.kind.is_purge

    def capability(self, device: BlockDevice) -> Capability:
        """Word 59 of IDENTIFY DEVICE, and SANITIZE STATUS EXT."""
        if (reason := no_ata_drive(device)) is not None:
            return Capability(False, reason, foreign=True)
        drive = AtaDrive(device.node, self.run)
        try:
            identity = drive.identify()
            against = self._against(identity) or _state_against(parse_status(drive.sanitize_status()))
        except ProgramError as error:
            return Capability(False, str(error))
        if against is not None:
            return Capability(False, against)
        return Capability(
            True, "IDENTIFY DEVICE word 59 lists it, and SANITIZE STATUS EXT has nothing against it"
        )

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        device = held_drive(target, self.title)
        drive = AtaDrive(device.node, self.run)
        what = f"{self.title} of {device.node}"
        with failing_as(PurgeError, f"{what} failed", of=ProgramError):
            drive.start_sanitize(_ARGUMENTS[self.kind])
        limit_s = self.kind.limit_s(target.facts.user_capacity_bytes)
        status = wait_while_running(lambda: _status_of(drive), what, limit_s, progress, self.clock)
        if status.failed or status.completed is False:
            raise PurgeError(f"{what} failed: {_explain_end(status)}")
        return f"{_COMMANDS[self.kind]}; {status}"

    def status(self, target: OpenTarget) -> Facts:
        """SANITIZE STATUS EXT."""
        if target.device is None:
            return {}
        try:
            status = parse_status(AtaDrive(target.device.node, self.run).sanitize_status())
        except ProgramError as error:
            return {"ata_sanitize": Fact(None, str(error))}
        return {"ata_sanitize": Fact(str(status), "SANITIZE STATUS EXT")}

    def _against(self, identity: AtaIdentity) -> str | None:
        if self.kind.value not in identity.sanitizes:
            return f"has no such sanitize operation: IDENTIFY DEVICE word 59 is 0x{identity.words[59]:04x}"
        if identity.security.locked:
            return "is locked by a password, and sanitizes nothing until it is unlocked"
        return None


def parse_status(answer: Reply) -> SanitizeStatus:
    """What ``hdparm --sanitize-status`` printed, also where the kernel handed the answer on in fixed format.

    Then hdparm takes every register for 0 and prints "idle"; the progress is in the bytes that it shows.
    """
    if "SD3 Sanitize Operation Failed" in answer.stderr:
        return SanitizeStatus(failed=True, complaint=answer.complaint)
    if answer.returncode != 0:
        return SanitizeStatus(complaint=answer.complaint)
    if senses := fixed_senses(answer.stderr):
        sense = senses[-1]
        if sense.is_error:
            return SanitizeStatus(complaint="the drive aborted SANITIZE STATUS EXT")
        progress = sense.lba_mid << 8 | sense.lba_low
        running = progress != _NOT_RUNNING
        return SanitizeStatus(running=running, share=progress / _SHARES if running else None)
    state = _STATE.search(answer.stdout)
    if state is None:
        return SanitizeStatus(complaint=f"hdparm reported no state: {answer.complaint}")
    reported = _PROGRESS.search(answer.stdout)
    return SanitizeStatus(
        running=state[1] == "SD2",
        share=int(reported[1], 16) / _SHARES if reported else None,
        frozen=state[1] == "SD1",
        failed=state[1] == "SD3",
        completed="Last Sanitize Operation Completed Without Error" in answer.stdout,
    )


def _status_of(drive: AtaDrive) -> SanitizeStatus:
    status = parse_status(drive.sanitize_status())
    if status.complaint and not status.failed:
        raise DriveCommandError(status.complaint)
    return status


def _state_against(status: SanitizeStatus) -> str | None:
    """Why no sanitize can begin in this state, with what to do; None if nothing is against it."""
    if status.running:
        return (
            f"a sanitize operation is in progress in it already, {status}: wait, see hdparm "
            "--sanitize-status; it continues after a power cycle too"
        )
    if status.frozen:
        return (
            "its sanitize commands are frozen until its next power cycle (SANITIZE FREEZE LOCK EXT, sent by "
            "the machine's firmware or by another program): switch its power off and on, or pull its plug "
            "and put it back while the machine runs; after that hdparm --sanitize-antifreeze-lock keeps "
            "others from freezing it again"
        )
    if status.failed:
        return (
            "its last sanitize operation failed (SD3), and it allows nothing but another one: sanitize it by "
            "hand with its maker's tool, and take the drive out of use if that fails too"
        )
    return f"its state is unknown: {status.complaint}" if status.complaint else None


def _explain_end(status: SanitizeStatus) -> str:
    if status.failed:
        return (
            f"the drive reports that blocks could not be sanitized (SD3): {status.complaint}; it serves data "
            "only after a sanitize that succeeds: try once more, and take the drive out of use if that fails"
        )
    return "the drive reports that it did not complete without error"


BLOCK: Final = AtaSanitize(SanitizeKind.BLOCK)
CRYPTO: Final = AtaSanitize(SanitizeKind.CRYPTO)
OVERWRITE: Final = AtaSanitize(SanitizeKind.OVERWRITE)
