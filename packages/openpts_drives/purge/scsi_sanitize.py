"""SCSI SANITIZE: block erase, cryptographic erase, overwrite (SBC), which continue inside the drive."""

from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.purge.method import Capability, Progress, SanitizeKind
from openpts.device.targets.open_target import OpenTarget
from openpts.programs import ProgramRunner, run_program
from openpts.vocabulary.facts import Facts
from openpts_drives.purge.scsi_commands import ScsiOperation, carry_out_inside, scsi_capability, scsi_status
from openpts_drives.purge.waiting import CLOCK, Clock

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
    """Implements openpts.device.purge.method.PurgeMethod for one kind."""

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
