"""Asks a drive whether it is locked: an NVMe drive itself, others by way of the kernel's own driver."""

import errno
import struct
from typing import Final, Self

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.kernel_calls import opal_flags, open_to_ask
from openpts.device.nvme_admin import NvmeCommandError, NvmeStatusError, identify_controller, security_receive
from openpts.vocabulary.facts import Fact

LEVEL0_BYTES: Final = 2048
"""What is requested; drives have some 200 bytes."""

_HEADER_BYTES: Final = 48
# what the length of the header does not count
_LENGTH_BYTES: Final = 4
_DESCRIPTOR: Final = struct.Struct(">HBB")

_LOCKING, _BLOCK_SID = 0x0002, 0x0402
_CLASSES: Final = {
    0x0100: "Enterprise",
    0x0200: "Opal 1",
    0x0203: "Opal 2",
    0x0301: "Opalite",
    0x0302: "Pyrite 1",
    0x0303: "Pyrite 2",
    0x0304: "Ruby",
}
_SUPPORTED, _ENABLED, _LOCKED, _MBR_ENABLED, _MBR_DONE = 1 << 0, 1 << 1, 1 << 2, 1 << 4, 1 << 5
_SID_BLOCKED: Final = 1 << 1


class Level0(Struct, frozen=True):
    """``classes`` are the Security Subsystem Classes of a drive; none: it has no TCG.

    ``locking``, ``enabled`` and ``locked`` are of the Locking feature: it is there, it was activated, a range
    is locked now. ``shadowed``: an MBR of the drive's own is shown in place of the first blocks.
    ``sid_blocked``: the owner's PIN is not accepted until the next power cycle; the PSID is.
    """

    classes: tuple[str, ...] = ()
    locking: bool = False
    enabled: bool = False
    locked: bool = False
    shadowed: bool = False
    sid_blocked: bool = False

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The answer to Security Receive, security protocol 01h, ComID 0001h.

        Raises ValueError where its lengths contradict each other, so that nothing of it can be trusted.
        """
        if len(data) < _HEADER_BYTES:
            raise ValueError(f"a level 0 discovery has {_HEADER_BYTES} bytes at least, not {len(data)}")
        end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
        if end == _LENGTH_BYTES:  # some drives without it answer with zeros
            return cls()
        if not _HEADER_BYTES <= end <= len(data):
            raise ValueError(f"its length is {end} bytes, of which {len(data)} were read")
        features, at = {}, _HEADER_BYTES
        while at < end:
            if at + _DESCRIPTOR.size > end:
                raise ValueError(f"{end - at} bytes are left over behind its last descriptor")
            code, _, length = _DESCRIPTOR.unpack_from(data, at)
            at += _DESCRIPTOR.size
            if at + length > end:
                raise ValueError(f"descriptor {code:04x}h has {length} bytes, and only {end - at} are left")
            features[code] = data[at : at + length]
            at += length
        flags = {}
        for code, name in ((_LOCKING, "locking"), (_BLOCK_SID, "block SID")):
            if code in features and not features[code]:
                raise ValueError(f"its {name} descriptor is empty")
            flags[code] = features[code][0] if code in features else 0
        locking = flags[_LOCKING]
        return cls(
            classes=tuple(name for code, name in sorted(_CLASSES.items()) if code in features),
            locking=bool(locking & _SUPPORTED),
            enabled=bool(locking & _ENABLED),
            locked=bool(locking & _LOCKED),
            shadowed=bool(locking & _MBR_ENABLED) and not locking & _MBR_DONE,
            sid_blocked=bool(flags[_BLOCK_SID] & _SID_BLOCKED),
        )

    @property
    def keeps_data_away(self) -> bool:
        """Whether something other than the drive's own blocks is read now, or nothing at all."""
        return self.locked or self.shadowed

    def __str__(self) -> str:
        """``TCG Opal 2: locked, a shadow MBR hides the first blocks``."""
        name = f"TCG {', '.join(self.classes)}" if self.classes else "TCG of no known class"
        if not (self.classes or self.locking):
            return "no TCG"
        state = "locked" if self.locked else "locking enabled, unlocked" if self.enabled else "not locking"
        texts = [state]
        if self.shadowed:
            texts.append("a shadow MBR hides the first blocks")
        if self.sid_blocked:
            texts.append("SID blocked until power-on")
        return f"{name}: {', '.join(texts)}"


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
