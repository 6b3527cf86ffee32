"""The Identify Namespace data structure, as far as a purge needs it: the format to keep, the space in use.

NVM Express NVM Command Set Specification, "Identify Namespace Data Structure".
"""

import struct
from dataclasses import dataclass
from typing import Final

IDENTIFY_NAMESPACE_BYTES: Final = 4096

_NSFEAT_AT, _FLBAS_AT, _DPS_AT, _DLFEAT_AT = 24, 26, 29, 33
_NVMCAP: Final = slice(48, 64)
_LBA_FORMATS_AT: Final = 128
_BLANK_WORDS: Final = {1: "zeros", 2: "ones"}


@dataclass(frozen=True, slots=True)
class NvmeNamespace:
    """The fields by their names in the specification; sizes are in logical blocks.

    ``nvmcap`` is in bytes, 0 where the drive doesn't report it. ``format_index``, ``extended``,
    ``protection`` and ``protection_first`` are what a Format NVM command must repeat to leave the format as
    it is. ``metadata_bytes`` belong to each block.
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

    @classmethod
    def parse(cls, data: bytes) -> "NvmeNamespace":
        """Pick the fields out of what Identify Namespace returned. Raises ValueError if that is nonsense."""
        if len(data) != IDENTIFY_NAMESPACE_BYTES:
            raise ValueError(f"Identify Namespace has {IDENTIFY_NAMESPACE_BYTES} bytes, not {len(data)}")
        nsze, ncap, nuse = struct.unpack_from("<QQQ", data, 0)
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
        )

    @property
    def reads_as(self) -> str | None:
        """What deallocated blocks read as, ``zeros`` or ``ones``; None where that is not promised."""
        return _BLANK_WORDS.get(self.dlfeat & 0x7)

    @property
    def format_text(self) -> str:
        """Such as ``LBA format 1: 512 B blocks, 8 B metadata (separate), protection type 1``."""
        text = f"LBA format {self.format_index}: {self.block_bytes} B blocks"
        if self.metadata_bytes:
            way = "extended blocks" if self.extended else "separate"
            text += f", {self.metadata_bytes} B metadata ({way})"
        return f"{text}, protection type {self.protection}" if self.protection else text
