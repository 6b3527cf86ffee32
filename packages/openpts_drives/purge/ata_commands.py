"""ATA commands by hdparm, and how far its answers can be trusted.

hdparm understands the registers that come back only in descriptor sense data. From a kernel or an adapter
that hands them on in fixed format it prints the bytes ("bad/missing sense data"), takes all registers for 0,
and ends with 0 even where the drive aborted the command: so the bytes are read here.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.ata_identify import VPD_PAGE, AtaIdentity, parse_identify_words
from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.programs import ProgramRunner, Reply
from openpts.system_files import SystemRoots, printable, read_bytes
from openpts_drives.purge.purge_programs import DriveCommandError, run_watched

_QUESTION_LIMIT_S: Final = 60.0
_COMMAND_LIMIT_S: Final = 120.0
_SENSE: Final = re.compile(r"bad/missing sense data, sb\[\]:((?:\s+[0-9a-f]{2})+)")
_FIXED_FORMAT: Final = (0x70, 0x71)
_FIXED_BYTES: Final = 12
_NO_SENSE, _RECOVERED_ERROR = 0x0, 0x1
_ATA_STATUS_ERROR: Final = 1
# the user password; a master password would outlive the erasure
_USER: Final = ("--user-master", "u")
_I_KNOW: Final = "--yes-i-know-what-i-am-doing"


class FixedSense(Struct, frozen=True):
    """What fixed-format sense data hold of the registers of an ATA command (SAT)."""

    key: int
    status: int
    lba_low: int
    lba_mid: int

    @property
    def is_error(self) -> bool:
        """Whether the drive or the adapter ended the command with an error."""
        if self.key not in {_NO_SENSE, _RECOVERED_ERROR}:
            return True
        return bool(self.status & _ATA_STATUS_ERROR)


def fixed_senses(stderr: str) -> tuple[FixedSense, ...]:
    """Every piece of fixed-format sense data that hdparm printed because it could not read it."""
    found = []
    for match in _SENSE.finditer(stderr):
        data = bytes.fromhex(match[1])
        if len(data) >= _FIXED_BYTES and data[0] & 0x7F in _FIXED_FORMAT:
            found.append(FixedSense(data[2] & 0xF, data[4], data[9], data[10]))
    return tuple(found)


def refusal(answer: Reply) -> str | None:
    """Why an answer of hdparm is no success, whatever its exit status; None if it is one."""
    senses = fixed_senses(answer.stderr)
    if answer.returncode != 0:
        return answer.complaint
    if any(sense.is_error for sense in senses):
        return "the drive aborted the command (hdparm ended with 0)"
    if "bad/missing sense data" in answer.stderr and not senses:
        return f"hdparm ended with 0, but could not read the answer: {answer.complaint}"
    return None


class AtaDrive(Struct, frozen=True):
    """An ATA drive behind a node, reached by hdparm's pass-through."""

    node: Path
    run: ProgramRunner

    def identify(self) -> AtaIdentity:
        """IDENTIFY DEVICE as it is now; what sysfs keeps was read when the drive was found.

        Raises ProgramError if the drive doesn't answer, or if nothing passes the question on.
        """
        answer = self._ask(("--Istdout",), _QUESTION_LIMIT_S)
        identity = parse_identify_words(answer.stdout)
        if identity is not None:
            return identity
        why = answer.complaint if answer.returncode or answer.stderr.strip() else "the answer is empty"
        raise DriveCommandError(f"is no ATA drive, or its adapter passes no ATA commands on: {why}")

    def set_password(self, password: str) -> None:
        """SECURITY SET PASSWORD: the user password, level high. Raises ProgramError."""
        self._send((*_USER, "--security-mode", "h", "--security-set-pass", password), _COMMAND_LIMIT_S)

    def disable_password(self, password: str) -> None:
        """SECURITY UNLOCK and SECURITY DISABLE PASSWORD. Raises ProgramError."""
        self._send((*_USER, "--security-disable", password), _COMMAND_LIMIT_S)

    def erase(
        self,
        password: str,
        timeout_s: float,
        *,
        enhanced: bool,
        elapsed: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        """SECURITY ERASE PREPARE and UNIT; returns when the drive is done.

        ``elapsed`` is called every second with the seconds gone by. Raises ProgramError.
        """
        option = "--security-erase-enhanced" if enhanced else "--security-erase"
        command = ("hdparm", *_USER, option, password, str(self.node))
        if (why := refusal(run_watched(self.run, command, timeout_s, elapsed))) is not None:
            raise DriveCommandError(why)

    def start_sanitize(self, arguments: Sequence[str]) -> None:
        """Begin a sanitize operation, which continues in the drive. Raises ProgramError."""
        self._send((_I_KNOW, *arguments), _COMMAND_LIMIT_S)

    def sanitize_status(self) -> Reply:
        """SANITIZE STATUS EXT. Raises ProgramError if hdparm can't be run."""
        return self._ask(("--sanitize-status",), _QUESTION_LIMIT_S)

    def _send(self, arguments: tuple[str, ...], timeout_s: float) -> None:
        if (why := refusal(self._ask(arguments, timeout_s, to_the_end=True))) is not None:
            raise DriveCommandError(why)

    def _ask(self, arguments: tuple[str, ...], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        return self.run(("hdparm", *arguments, str(self.node)), timeout_s, to_the_end=to_the_end)


def no_ata_drive(device: BlockDevice) -> str | None:
    """Why it makes no sense to send a disk ATA commands; None if it may understand them.

    A USB bridge may pass them on without saying so; other adapters that do show VPD page 89h (SAT).
    """
    if device.kind is DeviceKind.ATA:
        return None
    if device.kind is not DeviceKind.SCSI:
        return f"is no ATA drive but {device.kind}"
    behind_usb = any(part.startswith("usb") for part in device.folder.parts)
    if behind_usb or (device.folder / VPD_PAGE).exists():
        return None
    return f"is no ATA drive: there is no ATA information page, see {device.place(VPD_PAGE)}"


def hdparm_at_work(node: Path, roots: SystemRoots) -> int | None:
    """The number of a process of hdparm that still sends a node security commands; None if there is none.

    One whose openpts was killed continues, and could change the drive during a query.
    """
    for process in roots.proc.glob("[0-9]*"):
        arguments = (read_bytes(process / "cmdline") or b"").split(b"\0")
        program, *options = [printable(argument.decode(errors="replace")) for argument in arguments]
        sends = any(option.startswith("--security-") for option in options)
        if Path(program).name == "hdparm" and sends and str(node) in options:
            return int(process.name)
    return None
