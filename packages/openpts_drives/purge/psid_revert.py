"""TCG PSID revert: by the number on its label a drive goes back to how it was made, locked or not.

It makes new keys, so all data is lost (TCG Storage Opal, PSID feature set). The kernel's own driver for
self-encrypting drives carries it out.
"""

import errno
import os
from collections.abc import Callable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.kernel_calls import opal_psid_revert
from openpts.device.nvme_admin import NvmeCommandError
from openpts.device.purge.methods import Capability, Progress
from openpts.device.security import ENOTSUPP, read_security
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError
from openpts.vocabulary.facts import Facts
from openpts_drives.purge.nvme_drive import NvmeQuestions, check_held, of_all, opened
from openpts_drives.purge.purge_programs import held_drive

PSID_REVERT: Final = "psid-revert"
MOST_PSID_BYTES: Final = 255

# method status codes of the TCG core specification that a revert may end with
_STATUS: Final = {
    1: "the drive does not accept this PSID",
    3: "the drive has no free session: another program is at work on its locking",
    18: "the drive accepts no more tries until its next power cycle",
}
_NO_DRIVER: Final = frozenset({errno.ENOTTY, errno.EOPNOTSUPP, ENOTSUPP})


def _none_given() -> bytes:
    raise PurgeError(f"the PSID on the drive's label is needed: use openpts purge --method {PSID_REVERT}")


class PsidRevert(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod; ``psid`` gives the number as the label has it."""

    name: str = PSID_REVERT
    title: str = "TCG PSID revert"
    is_purge: bool = True
    psid: Callable[[], bytes] = _none_given
    questions: NvmeQuestions = field(default_factory=NvmeQuestions)

    def with_psid(self, psid: Callable[[], bytes]) -> "PsidRevert":
        return replace(self, psid=psid)

    def capability(self, device: BlockDevice) -> Capability:
        """Level 0 discovery; of NVMe, with all namespaces of the subsystem."""
        if device.kind not in {DeviceKind.NVME, DeviceKind.ATA, DeviceKind.SCSI}:
            return Capability(False, f"a {device.kind} has no TCG", foreign=True)
        security = read_security(device)
        if security.state is None:
            return Capability(False, security.source)
        if not security.state.classes:
            return Capability(False, f"has no TCG ({security.source})")
        capability = Capability(True, str(security.state), needs="the PSID on the drive's label")
        return capability if device.kind is not DeviceKind.NVME else self._of_nvme(device, capability)

    def _of_nvme(self, device: BlockDevice, capability: Capability) -> Capability:
        try:
            with opened(device) as fd:
                controller = self.questions.controller(fd)
        except NvmeCommandError as error:
            return Capability(False, f"can't query the controller: {error}")
        return of_all(capability, device, controller, self.questions)

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        device = held_drive(target, self.title)
        check_held(target, self.capability(device))
        psid = self.psid()
        progress(None, "reverting")
        try:
            status = opal_psid_revert(target.fd, psid)
        except OSError as error:
            raise self._failed(target, _why(error)) from error
        if status:
            raise self._failed(target, _STATUS.get(status, f"TCG method status {status}"))
        if (against := read_security(device).against) is not None:
            raise self._failed(target, f"it ended without an error, but the drive is still {against}")
        return str(read_security(device).state)

    def status(self, target: OpenTarget) -> Facts:
        """What level 0 discovery says now."""
        return {} if target.device is None else {"security": read_security(target.device).fact}

    def _failed(self, target: OpenTarget, why: str) -> PurgeError:
        return PurgeError(f"{self.title} of {target.facts.path} failed: {why}")


def _why(error: OSError) -> str:
    if error.errno not in _NO_DRIVER:
        return os.strerror(error.errno or 0)
    return (
        "the kernel's driver for self-encrypting drives has not taken this drive (of SATA it needs "
        "libata.allow_tpm=1, of NVMe over fabrics Linux 6.2); sedutil-cli can revert it"
    )


REVERT: Final = PsidRevert()
