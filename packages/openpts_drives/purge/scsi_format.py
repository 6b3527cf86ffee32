"""SCSI FORMAT UNIT, with the block size and the protection type that the drive has (SBC)."""

from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.purge.method import Capability, Progress, SanitizeKind
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError
from openpts.programs import ProgramRunner, run_program
from openpts.system_files import read_text
from openpts.vocabulary.facts import Facts
from openpts_drives.purge.scsi_commands import ScsiOperation, carry_out_inside, scsi_capability, scsi_status
from openpts_drives.purge.waiting import CLOCK, Clock

_FORMAT_UNIT: Final = 0x04
# FMTPINFO and the protection field usage that give a protection type; without them it would be lost
_PROTECTION: Final = {
    0: (),
    1: ("--fmtpinfo=2", "--pfu=0"),
    2: ("--fmtpinfo=3", "--pfu=0"),
    3: ("--fmtpinfo=3", "--pfu=1"),
}


class ScsiFormat(Struct, frozen=True):
    """Implements openpts.device.purge.method.PurgeMethod."""

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
        # without --wait sg_format looks once a minute; we begin it only and look ourselves
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
