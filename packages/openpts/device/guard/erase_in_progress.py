"""Whether another process runs long commands on a drive, so that it must not be queried.

A drive that formats itself may answer nothing else meanwhile. The kernel gives a question up after some
seconds and resets the drive, in the middle of what is in progress.
"""

from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.guard.claims import ClaimKind
from openpts.device.guard.usage import Usage
from openpts.device.nvme.nvme_subsystem import NvmeSubsystem

_PROGRAMS: Final = frozenset({"nvme", "hdparm", "openpts"})
_SG3_UTILS: Final = "sg_"


def at_work(device: BlockDevice, usage: Usage) -> str | None:
    """The process that has a drive or another namespace of it open, in words; None: no process."""
    whole = device.whole
    for each in (whole, *NvmeSubsystem.of(whole).besides(whole)):
        for claim in usage.claims:
            program = claim.program or ""
            if claim.kind is not ClaimKind.OPEN or not claim.concerns(each):
                continue
            if program in _PROGRAMS or program.startswith(_SG3_UTILS):
                return f"{claim.node or each.node} {claim.text}, which may be at work on it"
    return None
