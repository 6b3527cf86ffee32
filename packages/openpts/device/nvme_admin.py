"""NVMe admin commands and the Identify data structures, byte by byte (NVM Express Base Specification).

By the block device or by the generic character device. Does not decide when a command may be sent.
"""

import ctypes
import fcntl
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind, number_text
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError, failing_as
from openpts.system_files import closed_at_end, printable, read_text

IDENTIFY_BYTES: Final = 4096
SMART_LOG_BYTES: Final = 512

# the limits are in whole kelvin, of which 273 is 0 degrees
_ZERO_CELSIUS_K: Final = 273


class _Bit:
    """Whether a controller has a bit of one of its fields."""

    def __init__(self, field: str, number: int) -> None:
        self._field, self._number = field, number

    def __get__(self, controller: "NvmeController", _owner: type) -> bool:
        return bool(getattr(controller, self._field) >> self._number & 1)


class NvmeController(Struct, frozen=True):
    """What a controller says about itself; the numbers are fields of Identify Controller by their names.

    ``awupf``, in logical blocks, counts from 0. ``vid`` and ``ssvid`` are PCI vendors;
    ``mntmt`` and ``mxtmt`` bound, in kelvin, the temperatures of host controlled thermal management. ``sn``
    is printable, "" where there is none.
    """

    ver: int
    oacs: int
    sanicap: int
    oncs: int
    fna: int
    vwc: int
    wctemp: int = 0
    cctemp: int = 0
    vid: int = 0
    ssvid: int = 0
    sn: str = ""
    cntlid: int = 0
    ctratt: int = 0
    tnvmcap: int = 0
    unvmcap: int = 0
    hctma: int = 0
    mntmt: int = 0
    mxtmt: int = 0
    nn: int = 0
    awupf: int = 0

    @property
    def version(self) -> str | None:
        """The NVMe version it follows, such as ``1.4``; None where it predates the field."""
        major, minor, patch = self.ver >> 16, self.ver >> 8 & 0xFF, self.ver & 0xFF
        if not major:
            return None
        return f"{major}.{minor}.{patch}" if patch else f"{major}.{minor}"

    has_volatile_write_cache = _Bit("vwc", 0)
    manages_namespaces = _Bit("oacs", 3)  # Namespace Management, which drives for data centers have
    tests_itself = _Bit("oacs", 4)  # Device Self-test
    has_security = _Bit("oacs", 0)  # Security Send and Receive
    has_uuid_list = _Bit("ctratt", 9)  # pages of several vendors under one number are distinguished by UUIDs
    has_flexible_placement = _Bit("ctratt", 19)
    measures_power = _Bit("ctratt", 21)  # the Power Measurement feature and its log

    @property
    def temperature_limits_c(self) -> dict[str, float]:
        """WCTEMP and CCTEMP in degrees Celsius, under the names of vocabulary.health; 0 K is none."""
        limits = {"warning_limit_c": self.wctemp, "critical_limit_c": self.cctemp}
        return {name: float(kelvin - _ZERO_CELSIUS_K) for name, kelvin in limits.items() if kelvin}

    @property
    def features(self) -> tuple[str, ...]:
        """Optional commands and abilities, by the specification's names."""
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


# first byte, bytes
_CONTROLLER_FIELDS: Final = {
    "vid": (0, 2),
    "ssvid": (2, 2),
    "cntlid": (78, 2),
    "ver": (80, 4),
    "ctratt": (96, 4),
    "oacs": (256, 2),
    "wctemp": (266, 2),
    "cctemp": (268, 2),
    "tnvmcap": (280, 16),
    "unvmcap": (296, 16),
    "hctma": (322, 2),
    "mntmt": (324, 2),
    "mxtmt": (326, 2),
    "sanicap": (328, 4),
    "nn": (516, 4),
    "oncs": (520, 2),
    "fna": (524, 1),
    "vwc": (525, 1),
    "awupf": (528, 2),
}


def parse_identify_controller(data: bytes) -> NvmeController:
    """Pick the fields out of what Identify Controller returns. Raises ValueError if it is no 4096 bytes."""
    if len(data) != IDENTIFY_BYTES:
        raise ValueError(f"Identify Controller has {IDENTIFY_BYTES} bytes, not {len(data)}")
    fields = {
        name: int.from_bytes(data[start : start + length], "little")
        for name, (start, length) in _CONTROLLER_FIELDS.items()
    }
    # ASCII, padded with blanks; firmware puts other bytes there too
    return NvmeController(**fields, sn=printable(data[4:24].decode("ascii", errors="replace")))


_NSFEAT_AT, _FLBAS_AT, _DPS_AT, _DLFEAT_AT = 24, 26, 29, 33
_NAWUPF_AT: Final = 36
_NVMCAP: Final = slice(48, 64)
_LBA_FORMATS_AT: Final = 128
_BLANK_WORDS: Final = {1: "zeros", 2: "ones"}


class NvmeNamespace(Struct, frozen=True):
    """The fields by their names in the specification; sizes are in logical blocks.

    ``nvmcap`` is in bytes, 0 where the drive doesn't report it. ``format_index``, ``extended``,
    ``protection`` and ``protection_first`` are what a Format NVM command must repeat to leave the format as
    it is. ``metadata_bytes`` belong to each block. ``nawupf`` and ``nabspf`` count from 0.
    """

    nsze: int
    ncap: int
    nuse: int
    nvmcap: int
    nsfeat: int
    dlfeat: int
    format_index: int
    extended: bool
    protection: int
    protection_first: bool
    block_bytes: int
    metadata_bytes: int
    nawupf: int = 0
    nabo: int = 0
    nabspf: int = 0

    @classmethod
    def parse(cls, data: bytes) -> "NvmeNamespace":
        """Pick the fields out of what Identify Namespace returned. Raises ValueError if that is nonsense."""
        if len(data) != IDENTIFY_BYTES:
            raise ValueError(f"Identify Namespace has {IDENTIFY_BYTES} bytes, not {len(data)}")
        nsze, ncap, nuse = struct.unpack_from("<QQQ", data, 0)
        nawupf, _, _, nabo, nabspf = struct.unpack_from("<5H", data, _NAWUPF_AT)
        flbas, dps = data[_FLBAS_AT], data[_DPS_AT]
        index = flbas & 0xF | (flbas >> 5 & 0x3) << 4
        metadata_bytes, block_shift = struct.unpack_from("<HB", data, _LBA_FORMATS_AT + 4 * index)
        if not nsze:
            raise ValueError("the namespace is not active: its size is 0")
        if not 9 <= block_shift <= 32:
            raise ValueError(f"LBA format {index} has blocks of 2^{block_shift} bytes")
        return cls(
            nsze=nsze,
            ncap=ncap,
            nuse=nuse,
            nvmcap=int.from_bytes(data[_NVMCAP], "little"),
            nsfeat=data[_NSFEAT_AT],
            dlfeat=data[_DLFEAT_AT],
            format_index=index,
            extended=bool(flbas & 1 << 4),
            protection=dps & 0x7,
            protection_first=bool(dps & 1 << 3),
            block_bytes=1 << block_shift,
            metadata_bytes=metadata_bytes,
            nawupf=nawupf,
            nabo=nabo,
            nabspf=nabspf,
        )

    @property
    def reads_as(self) -> str | None:
        """What deallocated blocks read as, ``zeros`` or ``ones``; None where that is not promised."""
        return _BLANK_WORDS.get(self.dlfeat & 0x7)

    @property
    def format_text(self) -> str:
        """``LBA format 1: 512 B blocks, 8 B metadata (separate), protection type 1``."""
        text = f"LBA format {self.format_index}: {self.block_bytes} B blocks"
        if self.metadata_bytes:
            way = "extended blocks" if self.extended else "separate"
            text += f", {self.metadata_bytes} B metadata ({way})"
        return f"{text}, protection type {self.protection}" if self.protection else text


# <linux/nvme_ioctl.h>: _IOWR('N', 0x41, struct nvme_passthru_cmd), 72 bytes
_NVME_IOCTL_ADMIN_CMD: Final = 0xC0484E41
_NVME_IOCTL_IO_CMD: Final = 0xC0484E43
# the namespace's number is the call's own answer
_NVME_IOCTL_ID: Final = 0x4E40
# opcode flags rsvd1 nsid cdw2 cdw3 metadata addr metadata_len data_len cdw10..15 timeout_ms result
_COMMAND: Final = struct.Struct("=BBHIIIQQII6III")
# the same with a result of 64 bits: _IOWR('N', 0x47, struct nvme_passthru_cmd64), 80 bytes
_NVME_IOCTL_ADMIN64_CMD: Final = 0xC0504E47
_COMMAND64: Final = struct.Struct("=BBHIIIQQII6IIIQ")
_TIMEOUT_MS: Final = 5000

# NVM Express Base Specification: opcodes, log pages and features
_IDENTIFY: Final = 0x06
_IDENTIFY_NAMESPACE: Final = 0x00
_IDENTIFY_CONTROLLER: Final = 0x01
_IDENTIFY_ALLOCATED: Final = 0x10
_NSIDS: Final = struct.Struct(f"<{IDENTIFY_BYTES // 4}I")
_IDENTIFY_UUID_LIST: Final = 0x17
_GET_LOG_PAGE: Final = 0x02
_SMART_LOG: Final = 0x02
_ALL_NAMESPACES: Final = 0xFFFFFFFF
_SET_FEATURES: Final = 0x09
_GET_FEATURES: Final = 0x0A
_VOLATILE_WRITE_CACHE: Final = 0x06
_SECURITY_RECEIVE: Final = 0x82
_IO_MANAGEMENT_RECEIVE: Final = 0x12
_HANDLE_STATUS: Final = 0x01
_HANDLE_STATUS_BYTES: Final = 4096


class NvmeCommandError(Exception):
    """The controller refused a command, or the kernel didn't let it through; the text says why."""


class NvmeStatusError(NvmeCommandError):
    """The controller itself answered a command with a status that is no success."""


def identify_controller(fd: int) -> NvmeController:
    """Identify the controller of an open NVMe block device. Raises NvmeCommandError."""
    return parse_identify_controller(identify_controller_data(fd))


def identify_controller_data(fd: int) -> bytes:
    """The Identify Controller data structure, as it is. Raises NvmeCommandError."""
    return _command(fd, _IDENTIFY, _IDENTIFY_CONTROLLER, read_bytes=IDENTIFY_BYTES)[1]


def identify_namespace(fd: int, nsid: int) -> bytes:
    """The Identify Namespace data structure of one namespace, as it is. Raises NvmeCommandError."""
    return _command(fd, _IDENTIFY, _IDENTIFY_NAMESPACE, read_bytes=IDENTIFY_BYTES, nsid=nsid)[1]


def identify_uuid_list(fd: int) -> bytes:
    """The UUID List, which distinguishes the log pages of vendors. Raises NvmeCommandError."""
    return _command(fd, _IDENTIFY, _IDENTIFY_UUID_LIST, read_bytes=IDENTIFY_BYTES)[1]


def allocated_namespaces(fd: int) -> tuple[int, ...]:
    """NSIDs of all namespaces of the NVM subsystem, attached to whatever controller or to none, by number.

    What has Namespace Management (bit 3 of OACS) has this list. Raises NvmeCommandError.
    """
    found: list[int] = []
    while True:
        above = found[-1] if found else 0
        _, data = _command(fd, _IDENTIFY, _IDENTIFY_ALLOCATED, read_bytes=IDENTIFY_BYTES, nsid=above)
        page = [nsid for nsid in _NSIDS.unpack(data) if nsid > above]
        found += page
        if len(page) < IDENTIFY_BYTES // 4:
            return tuple(found)


def namespace_id(fd: int) -> int:
    """The NSID of an open NVMe device. Raises NvmeCommandError."""
    try:
        return fcntl.ioctl(fd, _NVME_IOCTL_ID)
    except OSError as error:
        raise NvmeCommandError(error.strerror) from error


def handle_status(fd: int, nsid: int) -> bytes:
    """Status of the reclaim unit handles that hosts of a namespace may name, up to 127 of them.

    I/O Management Receive reads it. Raises NvmeCommandError.
    """
    return _command(
        fd,
        _IO_MANAGEMENT_RECEIVE,
        _HANDLE_STATUS,
        read_bytes=_HANDLE_STATUS_BYTES,
        cdw11=_HANDLE_STATUS_BYTES // 4 - 1,
        nsid=nsid,
        request=_NVME_IOCTL_IO_CMD,
    )[1]


def read_smart_log(fd: int) -> bytes:
    """The controller's SMART / Health Information log, for which root is needed. Raises NvmeCommandError."""
    return read_log(fd, _SMART_LOG, SMART_LOG_BYTES)


def read_log(
    fd: int,
    page: int,
    length: int,
    timeout_ms: int = _TIMEOUT_MS,
    *,
    uuid_index: int = 0,
    offset: int = 0,
    endurance_group: int = 0,
    retain_events: bool = False,
) -> bytes:
    """``length`` bytes, a multiple of 4, of a controller's log from byte ``offset``. Raises NvmeCommandError.

    ``uuid_index`` says whose page of this number is meant, 0 for no particular vendor; ``endurance_group`` is
    the group that a log of placement is of. ``retain_events`` leaves the log's event, and telemetry data that
    wait for a reader, to others.
    """
    dwords = length // 4 - 1
    return _command(
        fd,
        _GET_LOG_PAGE,
        page | retain_events << 15 | (dwords & 0xFFFF) << 16,
        read_bytes=length,
        cdw11=dwords >> 16 | endurance_group << 16,
        cdw12=offset & 0xFFFFFFFF,
        cdw13=offset >> 32,
        cdw14=uuid_index,
        nsid=_ALL_NAMESPACES,
        timeout_ms=timeout_ms,
    )[1]


def get_feature(
    fd: int, feature: int, *, select: int = 0, cdw11: int = 0, uuid_index: int = 0, data_bytes: int = 0
) -> tuple[int, bytes]:
    """Dword 0 and the data of a feature; ``select``: 0 current, 1 default, 2 saved, 3 what it supports.

    Raises NvmeCommandError.
    """
    cdw10 = feature | select << 8
    return _command(fd, _GET_FEATURES, cdw10, read_bytes=data_bytes, cdw11=cdw11, cdw14=uuid_index)


def set_feature(fd: int, feature: int, value: int, *, data: bytes = b"", uuid_index: int = 0) -> int:
    """Set a feature until the controller's next reset, and return dword 0 of the completion.

    ``fd`` is a target that the guard has opened, or one opened for reading to restore what a run has
    changed: no block is written. Raises NvmeCommandError.
    """
    return _command(fd, _SET_FEATURES, feature, data=data, cdw11=value, cdw14=uuid_index)[0]


def security_receive(fd: int, protocol: int, specific: int, length: int) -> bytes:
    """What the controller has to say by a security protocol (SECP, SPSP). Raises NvmeCommandError."""
    cdw10 = protocol << 24 | specific << 8
    return _command(fd, _SECURITY_RECEIVE, cdw10, read_bytes=length, cdw11=length)[1]


def volatile_write_cache_enabled(fd: int) -> bool:
    """Current value of feature 06h of an open NVMe block device. Raises NvmeCommandError."""
    return bool(get_feature(fd, _VOLATILE_WRITE_CACHE)[0] & 1)


def set_volatile_write_cache(fd: int, *, enabled: bool) -> None:
    """Set feature 06h of all the controller's namespaces, as set_feature does. Raises NvmeCommandError."""
    set_feature(fd, _VOLATILE_WRITE_CACHE, int(enabled))


def send_admin(
    fd: int,
    opcode: int,
    dwords: Sequence[int],
    *,
    nsid: int = 0,
    data: bytes = b"",
    read_bytes: int = 0,
    timeout_ms: int = _TIMEOUT_MS,
) -> tuple[int, int, bytes]:
    """Send any admin command: its status, type and code in one number, dwords 0 and 1, and its data.

    ``dwords``: CDW10 on, ``data`` is for the drive. What changes a drive needs an ``fd`` that the guard
    has opened. Raises OSError if the kernel doesn't let it through or the drive is gone.
    """
    buffer, address = _buffer(data, read_bytes)
    dwords = (*dwords, *(0,) * (6 - len(dwords)))
    command = bytearray(
        _COMMAND64.pack(opcode, 0, 0, nsid, 0, 0, 0, address, 0, len(buffer), *dwords, timeout_ms, 0, 0)
    )
    status = fcntl.ioctl(fd, _NVME_IOCTL_ADMIN64_CMD, command, True) & 0x7FF
    result: int = struct.unpack_from("<Q", command, _COMMAND64.size - 8)[0]
    return status, result, buffer.raw[:read_bytes]


def _buffer(data: bytes, read_bytes: int) -> tuple["ctypes.Array[ctypes.c_char]", int]:
    """Memory with the data of a command, or for those that it reads, and its address, 0 without data."""
    buffer = ctypes.create_string_buffer(data, len(data) or read_bytes)
    return buffer, ctypes.addressof(buffer) if len(buffer) else 0


def _command(
    fd: int,
    opcode: int,
    cdw10: int,
    *,
    read_bytes: int = 0,
    data: bytes = b"",
    cdw11: int = 0,
    cdw12: int = 0,
    cdw13: int = 0,
    cdw14: int = 0,
    nsid: int = 0,
    timeout_ms: int = _TIMEOUT_MS,
    request: int = _NVME_IOCTL_ADMIN_CMD,
) -> tuple[int, bytes]:
    """Send a command; dword 0 of its completion, and the data that it read. Raises NvmeCommandError."""
    buffer, address = _buffer(data, read_bytes)
    dwords = (cdw10, cdw11, cdw12, cdw13, cdw14, 0)
    command = bytearray(
        _COMMAND.pack(opcode, 0, 0, nsid, 0, 0, 0, address, 0, len(buffer), *dwords, timeout_ms, 0)
    )
    try:
        status = fcntl.ioctl(fd, request, command, True)
    except OSError as error:
        raise NvmeCommandError(error.strerror) from error
    if status != 0:
        raise NvmeStatusError(f"NVMe status {status:#x}")
    return struct.unpack_from("<I", command, _COMMAND.size - 4)[0], buffer.raw[:read_bytes]


@contextmanager
def open_nvme_generic(target: OpenTarget) -> Iterator[int]:
    """The generic device of the namespace that ``target`` holds, with the same rights and no more.

    The guard's claim on the block device stays the protection: this one is open only while that is.
    Raises TargetError where the target is no NVMe namespace, has no generic device (Linux 5.13), or the
    device that bears its name is another namespace.
    """
    device = target.device
    if device is None or device.kind is not DeviceKind.NVME or device.is_partition:
        raise TargetError(
            f"{target.facts.name} is not an NVMe namespace, so it takes no passthrough commands"
        )
    name = device.name.replace("nvme", "ng", 1)
    node, rights = device.roots.dev / name, fcntl.fcntl(target.fd, fcntl.F_GETFL) & os.O_ACCMODE
    with failing_as(TargetError, f"{node} can't be opened", "--io-path io_uring needs no such device"):
        descriptor = os.open(node, rights | os.O_CLOEXEC)
    with closed_at_end(descriptor):
        _check_same_namespace(descriptor, name, device)
        yield descriptor


def _check_same_namespace(descriptor: int, name: str, device: BlockDevice) -> None:
    folder = (device.roots.sys / "class/nvme-generic" / name).resolve()
    same_node = read_text(folder / "dev") == number_text(os.fstat(descriptor).st_rdev)
    same_parent = folder.parent == device.folder.parent
    with failing_as(TargetError, f"can't read the namespace ID of {name}", of=NvmeCommandError):
        same_number = namespace_id(descriptor) == device.integer("nsid")
    if not (same_node and same_parent and same_number):
        raise TargetError(f"{name} is not the namespace of {device.name}")
