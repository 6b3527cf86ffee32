"""Asks a drive whether it is locked: an NVMe drive itself, others by way of the kernel's own driver."""

import errno
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.kernel_calls import opal_flags, open_to_ask
from openpts.device.nvme.nvme_admin import (
    NvmeCommandError,
    NvmeStatusError,
    identify_controller,
    security_receive,
)
from openpts.device.security.level0 import LEVEL0_BYTES, Level0
from openpts.vocabulary.facts import Fact

_TCG: Final = 0x01
_LEVEL0: Final = 0x0001
_NO_TCG: Final = Level0()
ENOTSUPP: Final = 524
"""The kernel's own number, which it lets out where it knows no such drive; no errno of user space."""
_UNSUPPORTED: Final = frozenset({errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, ENOTSUPP})
# <linux/sed-opal.h>
_FL_LOCKING, _FL_ENABLED, _FL_LOCKED, _FL_MBR_ENABLED, _FL_MBR_DONE = 2, 4, 8, 16, 32


class Security(Struct, frozen=True):
    """What a drive says of its locking, and where; ``state`` is None if that can't be found out."""

    state: Level0 | None
    source: str

    @property
    def fact(self) -> Fact:
        """For a list of drives."""
        return Fact(None if self.state is None else str(self.state), self.source)

    @property
    def against(self) -> str | None:
        """Why what is read of the drive is not its own contents, or may not be; None: it is."""
        if self.state is None:
            return f"whether it is locked is unknown: {self.source}"
        return str(self.state) if self.state.keeps_data_away else None


def read_security(device: BlockDevice) -> Security:
    """Whether a drive is locked now. Asks it, changes nothing, and never raises."""
    if device.kind not in {DeviceKind.NVME, DeviceKind.ATA, DeviceKind.SCSI}:
        return Security(_NO_TCG, f"a {device.kind} has none")
    try:
        with open_to_ask(device) as fd:
            return _of_nvme(fd) if device.kind is DeviceKind.NVME else _by_the_kernel(fd)
    except OSError as error:
        return Security(None, f"{device.node} can't be asked: {error.strerror}")


def _of_nvme(fd: int) -> Security:
    try:
        if not identify_controller(fd).has_security:
            return Security(_NO_TCG, "Identify Controller: OACS has no Security Receive")
        answer = security_receive(fd, _TCG, _LEVEL0, LEVEL0_BYTES)
    except NvmeStatusError as error:
        return Security(_NO_TCG, f"Security Receive, level 0 discovery: {error}")
    except NvmeCommandError as error:
        return Security(None, f"Security Receive, level 0 discovery: {error}")
    try:
        return Security(Level0.parse(answer), "Security Receive, level 0 discovery")
    except ValueError as error:
        return Security(None, f"its level 0 discovery makes no sense: {error}")


def _by_the_kernel(fd: int) -> Security:
    """SATA drives are known to the kernel's driver only if it was started with ``libata.allow_tpm=1``."""
    try:
        flags = opal_flags(fd)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return Security(_NO_TCG, "IOC_OPAL_GET_STATUS: the kernel has found none")
        raise
    state = Level0(
        classes=("Opal",),
        locking=bool(flags & _FL_LOCKING),
        enabled=bool(flags & _FL_ENABLED),
        locked=bool(flags & _FL_LOCKED),
        shadowed=bool(flags & _FL_MBR_ENABLED) and not flags & _FL_MBR_DONE,
    )
    return Security(state, "IOC_OPAL_GET_STATUS")
