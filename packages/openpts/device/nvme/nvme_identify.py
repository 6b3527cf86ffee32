"""The Identify data structures of NVMe: what a controller says about itself, and the format of a namespace.

NVM Express Base Specification, "Identify Controller Data Structure (CNS 01h)"; NVM Command Set Specification,
"Identify Namespace Data Structure", as far as a purge needs it.
"""

import struct
from typing import Final

from msgspec import Struct

from openpts.system_files import printable

IDENTIFY_BYTES: Final = 4096
SMART_LOG_BYTES: Final = 512

# the limits are in whole kelvin, of which 273 is 0 degrees
_ZERO_CELSIUS_K: Final = 273


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

    @property
    def has_volatile_write_cache(self) -> bool:
        """Bit 0 of VWC."""
        return bool(self.vwc & 1)

    @property
    def manages_namespaces(self) -> bool:
        """Bit 3 of OACS: Namespace Management, which drives for data centers have."""
        return bool(self.oacs & 1 << 3)

    @property
    def tests_itself(self) -> bool:
        """Bit 4 of OACS: the Device Self-test command."""
        return bool(self.oacs & 1 << 4)

    @property
    def has_security(self) -> bool:
        """Bit 0 of OACS: the Security Send and Receive commands."""
        return bool(self.oacs & 1 << 0)

    @property
    def has_uuid_list(self) -> bool:
        """Bit 9 of CTRATT: pages of several vendors under one number are distinguished by UUIDs."""
        return bool(self.ctratt & 1 << 9)

    @property
    def has_flexible_placement(self) -> bool:
        """Bit 19 of CTRATT: Flexible Data Placement."""
        return bool(self.ctratt & 1 << 19)

    @property
    def measures_power(self) -> bool:
        """Bit 21 of CTRATT: the Power Measurement feature and its log."""
        return bool(self.ctratt & 1 << 21)

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
    return NvmeController(**fields, sn=_text(data[4:24]))


def _text(data: bytes) -> str:
    """ASCII, padded with blanks; firmware puts other bytes there too."""
    return printable(data.decode("ascii", errors="replace"))


IDENTIFY_NAMESPACE_BYTES: Final = 4096

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
        if len(data) != IDENTIFY_NAMESPACE_BYTES:
            raise ValueError(f"Identify Namespace has {IDENTIFY_NAMESPACE_BYTES} bytes, not {len(data)}")
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
