"""What an ATA drive says in IDENTIFY DEVICE, which the kernel keeps as VPD page 89h (SAT, ACS).

The SCSI view of such a drive cuts its model to 16 and its firmware to 4 characters; this doesn't.
"""

from dataclasses import dataclass
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.system_files import printable

VPD_PAGE: Final = "device/vpd_pg89"

_IDENTIFY_AT: Final = 60
_IDENTIFY_BYTES: Final = 512
_NOT_REPORTED: Final = (0x0000, 0xFFFF)
_FORM_FACTORS: Final = {
    1: "5.25 inch",
    2: "3.5 inch",
    3: "2.5 inch",
    4: "1.8 inch",
    5: "smaller than 1.8 inch",
    6: "mSATA",
    7: "M.2",
    8: "MicroSSD",
    9: "CFast",
}


@dataclass(frozen=True, slots=True)
class AtaIdentity:
    """The 256 words of IDENTIFY DEVICE."""

    words: tuple[int, ...]

    @property
    def firmware(self) -> str | None:
        """Words 23 to 26."""
        return self._text(23, 26)

    @property
    def model(self) -> str | None:
        """Words 27 to 46."""
        return self._text(27, 46)

    @property
    def form_factor(self) -> str | None:
        """Nominal form factor, word 168; None where the drive doesn't report it."""
        return _FORM_FACTORS.get(self._word(168) & 0xF)

    @property
    def has_volatile_write_cache(self) -> bool:
        """Word 82, bit 5."""
        return bool(self._word(82) & 1 << 5)

    @property
    def features(self) -> tuple[str, ...]:
        """Optional commands and abilities, in the standard's words."""
        named = (
            (self._word(76) & 1 << 8, f"NCQ, queue depth {(self._word(75) & 0x1F) + 1}"),
            (self._word(82) & 1 << 1, "security feature set"),
            (self._word(59) & 1 << 13, "Sanitize: crypto scramble"),
            (self._word(59) & 1 << 15, "Sanitize: block erase"),
            (self._word(59) & 1 << 14, "Sanitize: overwrite"),
            (self._word(169) & 1, "TRIM"),
            (self._word(69) & 1 << 14 and self._word(69) & 1 << 5, "zeros after TRIM"),
            (self.has_volatile_write_cache, "volatile write cache"),
        )
        return tuple(name for bit, name in named if bit)

    def _word(self, number: int) -> int:
        """A word, 0 where it is not reported."""
        word = self.words[number]
        return 0 if word in _NOT_REPORTED else word

    def _text(self, first: int, last: int) -> str | None:
        # the characters of a word stand in it the wrong way round
        swapped = b"".join(word.to_bytes(2, "big") for word in self.words[first : last + 1])
        return printable(swapped.decode("ascii", errors="replace")) or None


def read_ata_identity(device: BlockDevice) -> AtaIdentity | None:
    """IDENTIFY DEVICE of a disk; None if it is no ATA drive or the kernel doesn't keep the page."""
    if device.kind is not DeviceKind.ATA:
        return None
    try:
        page = (device.folder / VPD_PAGE).read_bytes()
    except OSError:
        return None
    return parse_ata_information_page(page)


def parse_ata_information_page(page: bytes) -> AtaIdentity | None:
    """IDENTIFY DEVICE out of VPD page 89h; None if the page is malformed."""
    data = page[_IDENTIFY_AT : _IDENTIFY_AT + _IDENTIFY_BYTES]
    if len(data) < _IDENTIFY_BYTES or page[1] != 0x89:
        return None
    words = (int.from_bytes(data[at : at + 2], "little") for at in range(0, _IDENTIFY_BYTES, 2))
    return AtaIdentity(tuple(words))
