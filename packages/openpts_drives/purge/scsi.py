"""SCSI purges by sg3-utils: FORMAT UNIT and SANITIZE, and how far the answers can be trusted (SBC).

FORMAT UNIT and SANITIZE have in common that they continue inside the drive when they have begun.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.purge.methods import Capability, Progress, SanitizeKind
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, failing_as
from openpts.programs import ProgramError, ProgramRunner, Reply, run_program
from openpts.system_files import read_text
from openpts.vocabulary.facts import Fact, Facts
from openpts_drives.purge.purge_programs import (
    CLOCK,
    Clock,
    DriveCommandError,
    held_drive,
    wait_while_running,
)

_QUESTION_LIMIT_S: Final = 60.0
_COMMAND_LIMIT_S: Final = 300.0
_HEX_LINE: Final = re.compile(
    r"^ ?[0-9a-f]+ {2,}((?:[0-9a-f]{2} {1,2})*[0-9a-f]{2})\s*(?:$| {2})", re.MULTILINE
)
_FIXED_FORMAT: Final = (0x70, 0x71)
_DESCRIPTOR_FORMAT: Final = (0x72, 0x73)
_SENSE_KEY_SPECIFIC: Final = 0x02
_NO_SENSE, _NOT_READY, _UNIT_ATTENTION = 0x0, 0x2, 0x6
_IN_PROGRESS: Final = {
    (0x04, 0x04): "format in progress",
    (0x04, 0x1B): "sanitize in progress",
    (0x00, 0x16): "operation in progress",
}
_FAILURES: Final = {
    (0x31, 0x00): "its format is corrupted: an earlier format did not end well",
    (0x31, 0x01): "the format command failed",
    (0x31, 0x03): "the sanitize command failed",
}
_SHARES: Final = 0x10000


class Sense(Struct, frozen=True):
    """What REQUEST SENSE returned (SPC). ``share`` is the progress indication, None where there is none."""

    key: int
    code: tuple[int, int]
    share: float | None

    @property
    def running(self) -> bool:
        """Whether a format or sanitize is in progress."""
        return self.code in _IN_PROGRESS

    @property
    def failure(self) -> str | None:
        """The failure of a format or sanitize, as a text; None where the drive reports none."""
        return _FAILURES.get(self.code)

    @property
    def is_of_something_else(self) -> bool:
        """Whether it reports a reset, or a drive not ready, which hides the state of an operation."""
        return self.key in {_NOT_READY, _UNIT_ATTENTION} and not self.running and self.failure is None

    def __str__(self) -> str:
        text = _IN_PROGRESS.get(self.code) or self.failure
        if text is None and self.key == _NO_SENSE:
            text = "nothing in progress, no failure"
        numbers = f"sense key {self.key:x}h, code {self.code[0]:02x}h/{self.code[1]:02x}h"
        return f"{text} ({numbers})" if text else numbers


class ScsiDrive(Struct, frozen=True):
    """A SCSI drive behind a node, reached by sg3-utils."""

    node: Path
    run: ProgramRunner

    def supports(self, operation_code: int, service_action: int | None = None) -> str | None:
        """Why a command is not usable, by REPORT SUPPORTED OPERATION CODES; None: the drive has it."""
        code = f"0x{operation_code:02x}" + ("" if service_action is None else f",{service_action}")
        try:
            answer = self._ask(("sg_opcodes", "--no-inquiry", f"--opcode={code}"), _QUESTION_LIMIT_S)
        except ProgramError as error:
            return str(error)
        if answer.returncode != 0:
            return f"can't read which commands it has: {answer.complaint}"
        if "Command is supported" in answer.stdout:
            return None
        if "NOT supported" in answer.stdout:
            return f"has no such command: REPORT SUPPORTED OPERATION CODES does not list {code}"
        return f"can't read which commands it has: its driver or adapter keeps no list ({code})"

    def request_sense(self) -> Sense:
        """REQUEST SENSE. Raises ProgramError if the drive does not answer."""
        answer = self._ask(("sg_requests", "--hex"), _QUESTION_LIMIT_S)
        sense = parse_sense(answer.stdout)
        if sense is None:
            raise DriveCommandError(
                f"REQUEST SENSE of {self.node} returned no sense data: {answer.complaint}"
            )
        return sense

    def begin(self, arguments: Sequence[str]) -> None:
        """Begin an operation that then continues in the drive. Raises ProgramError."""
        answer = self._ask(arguments, _COMMAND_LIMIT_S, to_the_end=True)
        # sg_sanitize ends with 0 after an error of the host adapter, and reports it on stderr alone
        if answer.returncode != 0 or answer.stderr.strip():
            raise DriveCommandError(f"{arguments[0]}: {answer.complaint}")

    def _ask(self, command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        return self.run((*command, str(self.node)), timeout_s, to_the_end=to_the_end)


def parse_sense(text: str) -> Sense | None:
    """Sense data out of what ``sg_requests --hex`` prints; None if there are none."""
    data = bytes.fromhex(" ".join(match[1] for match in _HEX_LINE.finditer(text)))
    if len(data) >= 14 and data[0] & 0x7F in _FIXED_FORMAT:
        share = _share(data[15:18]) if len(data) >= 18 else None
        return Sense(data[2] & 0xF, (data[12], data[13]), share)
    if len(data) >= 8 and data[0] & 0x7F in _DESCRIPTOR_FORMAT:
        return Sense(data[1] & 0xF, (data[2], data[3]), _share_of_descriptors(data[8 : 8 + data[7]]))
    return None


def _share(sense_key_specific: bytes) -> float | None:
    """Progress out of three bytes, of which the first bit says whether they hold any."""
    if not sense_key_specific[0] & 0x80:
        return None
    return int.from_bytes(sense_key_specific[1:3], "big") / _SHARES


def _share_of_descriptors(descriptors: bytes) -> float | None:
    while len(descriptors) >= 8:
        if descriptors[0] == _SENSE_KEY_SPECIFIC:
            return _share(descriptors[4:7])
        descriptors = descriptors[2 + descriptors[1] :]
    return None


class ScsiOperation(Struct, frozen=True):
    """A command that begins an operation, how long that may take, and who runs and waits."""

    command: tuple[str, ...]
    limit_s: float
    run: ProgramRunner
    clock: Clock


def scsi_capability(
    device: BlockDevice, run: ProgramRunner, operation_code: int, service_action: int | None = None
) -> Capability:
    """Whether a drive lists a command and has nothing under way."""
    if device.kind is DeviceKind.ATA:
        reason = "is an ATA drive: its own commands are ata-sanitize and ata-security-erase"
        return Capability(False, reason, foreign=True)
    if device.kind is not DeviceKind.SCSI:
        return Capability(False, f"is no SCSI drive but {device.kind}", foreign=True)
    drive = ScsiDrive(device.node, run)
    against = drive.supports(operation_code, service_action)
    if against is not None:
        return Capability(False, against)
    try:
        sense = drive.request_sense()
    except ProgramError as error:
        return Capability(False, str(error))
    if sense.running:
        return Capability(False, f"is busy: {sense}; wait, see sg_requests --progress {device.node}")
    return Capability(True, "REPORT SUPPORTED OPERATION CODES lists it")


def carry_out_inside(target: OpenTarget, title: str, operation: ScsiOperation, progress: Progress) -> None:
    """Begin an operation that continues inside a drive, and wait for its end. Raises PurgeError."""
    device = held_drive(target, title)
    drive = ScsiDrive(device.node, operation.run)
    what = f"{title} of {device.node}"
    with failing_as(PurgeError, f"{what} failed", of=ProgramError):
        drive.begin(operation.command)
    sense = wait_while_running(lambda: _sense_of(drive), what, operation.limit_s, progress, operation.clock)
    if sense.failure is not None:
        raise PurgeError(f"{what} failed: {sense}")


def scsi_status(target: OpenTarget, run: ProgramRunner) -> Facts:
    """What the drive says of its last format or sanitize; empty for a file."""
    if target.device is None:
        return {}
    try:
        sense = ScsiDrive(target.device.node, run).request_sense()
    except ProgramError as error:
        return {"scsi_sense": Fact(None, str(error))}
    return {"scsi_sense": Fact(str(sense), "REQUEST SENSE")}


def _sense_of(drive: ScsiDrive) -> Sense:
    sense = drive.request_sense()
    if sense.is_of_something_else:
        raise DriveCommandError(str(sense))
    return sense


_FORMAT_UNIT: Final = 0x04
# FMTPINFO and the protection field usage that give a protection type; without them it would be lost
_PROTECTION: Final = {
    0: (),
    1: ("--fmtpinfo=2", "--pfu=0"),
    2: ("--fmtpinfo=3", "--pfu=0"),
    3: ("--fmtpinfo=3", "--pfu=1"),
}


class ScsiFormat(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod."""

    run: ProgramRunner = run_program
    clock: Clock = CLOCK
    name: str = "scsi-format"
    title: str = "SCSI FORMAT UNIT"
    is_purge: bool = True

    def capability(self, device: BlockDevice) -> Capability:
        """REPORT SUPPORTED OPERATION CODES, and a protection type that can be kept."""
        capability = scsi_capability(device, self.run, _FORMAT_UNIT)
        if capability.supported and protection_type(device) not in _PROTECTION:
            return Capability(False, f"has protection type {protection_type(device)}, which is not known")
        return capability

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        if target.device is None:
            raise PurgeError(f"{self.title} of {target.facts.path} failed: it is a file")
        protection = protection_type(target.device)
        # without --wait sg_format polls once a minute; we begin it only and poll ourselves
        command = ("sg_format", "--format", *_PROTECTION[protection], "--early", "--quick")
        # a disk writes every block
        limit_s = SanitizeKind.OVERWRITE.limit_s(target.facts.user_capacity_bytes)
        carry_out_inside(target, self.title, ScsiOperation(command, limit_s, self.run, self.clock), progress)
        return f"block size {target.facts.sector_bytes} B and protection type {protection} kept"

    def status(self, target: OpenTarget) -> Facts:
        """REQUEST SENSE."""
        return scsi_status(target, self.run)


def protection_type(device: BlockDevice) -> int:
    """The T10 protection type that the drive is formatted with, as the kernel has read it; 0: none."""
    for attribute in device.folder.glob("device/scsi_disk/*/protection_type"):
        text = read_text(attribute)
        if text is not None and text.isdecimal():
            return int(text)
    return 0


FORMAT: Final = ScsiFormat()


_SANITIZE: Final = 0x48
_SERVICE_ACTIONS: Final = {SanitizeKind.OVERWRITE: 1, SanitizeKind.BLOCK: 2, SanitizeKind.CRYPTO: 3}
_ARGUMENTS: Final = {
    SanitizeKind.OVERWRITE: ("--overwrite", "--zero"),
    SanitizeKind.BLOCK: ("--block",),
    SanitizeKind.CRYPTO: ("--crypto",),
}
_WORDS: Final = {
    SanitizeKind.OVERWRITE: "OVERWRITE, one pass of zeros",
    SanitizeKind.BLOCK: "BLOCK ERASE",
    SanitizeKind.CRYPTO: "CRYPTOGRAPHIC ERASE",
}


class ScsiSanitize(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod for one kind."""

    kind: SanitizeKind
    run: ProgramRunner = run_program
    clock: Clock = CLOCK

    @property
    def name(self) -> str:
        return f"scsi-sanitize-{self.kind}"

    @property
    def title(self) -> str:
        return f"SCSI SANITIZE, {_WORDS[self.kind]}"

    @property
    def is_purge(self) -> bool:
        return self.kind.is_purge

    def capability(self, device: BlockDevice) -> Capability:
        """REPORT SUPPORTED OPERATION CODES, and REQUEST SENSE for what is in progress."""
        return scsi_capability(device, self.run, _SANITIZE, _SERVICE_ACTIONS[self.kind])

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        command = ("sg_sanitize", *_ARGUMENTS[self.kind], "--early", "--quick")
        limit_s = self.kind.limit_s(target.facts.user_capacity_bytes)
        carry_out_inside(target, self.title, ScsiOperation(command, limit_s, self.run, self.clock), progress)
        return _WORDS[self.kind]

    def status(self, target: OpenTarget) -> Facts:
        """REQUEST SENSE."""
        return scsi_status(target, self.run)


BLOCK: Final = ScsiSanitize(SanitizeKind.BLOCK)
CRYPTO: Final = ScsiSanitize(SanitizeKind.CRYPTO)
OVERWRITE: Final = ScsiSanitize(SanitizeKind.OVERWRITE)
