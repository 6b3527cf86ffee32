"""NVMe admin commands: Identify Controller, SMART log, Get and Set Features of the volatile write cache."""

import ctypes
import fcntl
import struct
from dataclasses import dataclass
from typing import Final

from openpts.device.nvme_smart import SMART_LOG_BYTES

# <linux/nvme_ioctl.h>: _IOWR('N', 0x41, struct nvme_passthru_cmd), 72 bytes
_NVME_IOCTL_ADMIN_CMD: Final = 0xC0484E41
# opcode flags rsvd1 nsid cdw2 cdw3 metadata addr metadata_len data_len cdw10..15 timeout_ms result
_COMMAND: Final = struct.Struct("=BBHIIIQQII6III")
_TIMEOUT_MS: Final = 5000

# NVM Express Base Specification: opcodes, and offsets in the Identify Controller data structure
_IDENTIFY: Final = 0x06
_IDENTIFY_CONTROLLER: Final = 0x01
_IDENTIFY_BYTES: Final = 4096
_GET_LOG_PAGE: Final = 0x02
_SMART_LOG: Final = 0x02
_ALL_NAMESPACES: Final = 0xFFFFFFFF
_SET_FEATURES: Final = 0x09
_GET_FEATURES: Final = 0x0A
_VOLATILE_WRITE_CACHE: Final = 0x06
# the log counts whole kelvin: its 273 is 0 degrees
_ZERO_CELSIUS_K: Final = 273


class NvmeCommandError(Exception):
    """The controller refused a command, or the kernel didn't let it through; the text says why."""


@dataclass(frozen=True, slots=True)
class NvmeController:
    """What a controller says about itself; the numbers are fields of Identify Controller by their names."""

    ver: int
    oacs: int
    sanicap: int
    oncs: int
    fna: int
    vwc: int
    wctemp: int = 0
    cctemp: int = 0

    @property
    def version(self) -> str | None:
        """The NVMe version it follows, such as ``1.4``; None where it predates the field."""
        major, minor, patch = self.ver >> 16, self.ver >> 8 & 0xFF, self.ver & 0xFF
        if not major:
            return None
        return f"{major}.{minor}.{patch}" if patch else f"{major}.{minor}"

    @property
    def has_volatile_write_cache(self) -> bool:
        """Bit 0 of VWC."""
        return bool(self.vwc & 1)

    @property
    def temperature_limits_c(self) -> dict[str, float]:
        """WCTEMP and CCTEMP in degrees Celsius, under the names of vocabulary.health; 0 K is none."""
        limits = {"warning_limit_c": self.wctemp, "critical_limit_c": self.cctemp}
        return {name: float(kelvin - _ZERO_CELSIUS_K) for name, kelvin in limits.items() if kelvin}

    @property
    def features(self) -> tuple[str, ...]:
        """Optional commands and abilities, in the specification's words."""
        named = (
            (self.oacs & 1 << 1, "Format NVM"),
            (self.fna & 1 << 2, "cryptographic erase"),
            (self.sanicap & 1 << 0, "Sanitize: Crypto Erase"),
            (self.sanicap & 1 << 1, "Sanitize: Block Erase"),
            (self.sanicap & 1 << 2, "Sanitize: Overwrite"),
            (self.oncs & 1 << 2, "Deallocate"),
            (self.oncs & 1 << 3, "Write Zeroes"),
            (self.oacs & 1 << 0, "Security Send/Receive"),
            (self.oacs & 1 << 4, "Device Self-test"),
            (self.vwc & 1, "volatile write cache"),
        )
        return tuple(name for bit, name in named if bit)


def identify_controller(fd: int) -> NvmeController:
    """Identify the controller of an open NVMe block device. Raises NvmeCommandError."""
    buffer = ctypes.create_string_buffer(_IDENTIFY_BYTES)
    _admin_command(fd, _IDENTIFY, _IDENTIFY_CONTROLLER, buffer)
    return parse_identify_controller(buffer.raw)


def parse_identify_controller(data: bytes) -> NvmeController:
    """Pick the fields out of the 4096 bytes that Identify Controller returns."""
    (ver,) = struct.unpack_from("<I", data, 80)
    (oacs,) = struct.unpack_from("<H", data, 256)
    wctemp, cctemp = struct.unpack_from("<HH", data, 266)
    (sanicap,) = struct.unpack_from("<I", data, 328)
    (oncs,) = struct.unpack_from("<H", data, 520)
    return NvmeController(
        ver=ver,
        oacs=oacs,
        sanicap=sanicap,
        oncs=oncs,
        fna=data[524],
        vwc=data[525],
        wctemp=wctemp,
        cctemp=cctemp,
    )


def read_smart_log(fd: int) -> bytes:
    """The controller's SMART / Health Information log, for which root is needed. Raises NvmeCommandError."""
    buffer = ctypes.create_string_buffer(SMART_LOG_BYTES)
    # dword 10: the page, and above bit 16 the number of dwords but one
    cdw10 = _SMART_LOG | (SMART_LOG_BYTES // 4 - 1) << 16
    _admin_command(fd, _GET_LOG_PAGE, cdw10, buffer, nsid=_ALL_NAMESPACES)
    return buffer.raw


def volatile_write_cache_enabled(fd: int) -> bool:
    """Current value of feature 06h of an open NVMe block device. Raises NvmeCommandError."""
    return bool(_admin_command(fd, _GET_FEATURES, _VOLATILE_WRITE_CACHE, None) & 1)


def set_volatile_write_cache(fd: int, *, enabled: bool) -> None:
    """Set feature 06h until the controller's next reset; of all its namespaces. Raises NvmeCommandError.

    ``fd`` is a target that the guard has opened for writing.
    """
    _admin_command(fd, _SET_FEATURES, _VOLATILE_WRITE_CACHE, None, cdw11=int(enabled))


def _admin_command(
    fd: int,
    opcode: int,
    cdw10: int,
    buffer: "ctypes.Array[ctypes.c_char] | None",
    *,
    cdw11: int = 0,
    nsid: int = 0,
) -> int:
    """Send a command that returns data or has none, and return dword 0 of its completion."""
    address, length = (ctypes.addressof(buffer), len(buffer)) if buffer is not None else (0, 0)
    command = bytearray(
        _COMMAND.pack(
            opcode, 0, 0, nsid, 0, 0, 0, address, 0, length, cdw10, cdw11, 0, 0, 0, 0, _TIMEOUT_MS, 0
        )
    )
    try:
        status = fcntl.ioctl(fd, _NVME_IOCTL_ADMIN_CMD, command, True)
    except OSError as error:
        raise NvmeCommandError(error.strerror) from error
    if status != 0:
        raise NvmeCommandError(f"NVMe status {status:#x}")
    result: int = struct.unpack_from("<I", command, _COMMAND.size - 4)[0]
    return result
