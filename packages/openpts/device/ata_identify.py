"""What an ATA drive says in IDENTIFY DEVICE (SAT, ACS), and the names of any drive.

The SCSI view of such a drive cuts its model to 16 and its firmware to 4 characters; this doesn't.
"""

import re
import struct
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.system_files import printable, read_bytes
from openpts.vocabulary.facts import Fact

VPD_PAGE: Final = "device/vpd_pg89"

_IDENTIFY_AT: Final = 60
_IDENTIFY_BYTES: Final = 512
_WORDS: Final = 256
_LINE_OF_WORDS: Final = re.compile(r"(?:[0-9a-f]{4} ){7}[0-9a-f]{4}")
_NOT_REPORTED: Final = (0x0000, 0xFFFF)
_CHECKSUM_SIGNATURE: Final = 0xA5
# word 89 or 90 with bit 15: the minutes are in bits 14 to 0, else in bits 7 to 0, both in units of two
_EXTENDED_TIME: Final = 1 << 15
_MINUTES_PER_UNIT: Final = 2
_SATA_RATES_GBIT_PER_S: Final = {1: 1.5, 2: 3.0, 3: 6.0}  # bit of word 76
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


class AtaSecurity(Struct, frozen=True):
    """The security feature set (ACS): words 82, 89, 90 and 128.

    ``erase_minutes`` and ``enhanced_erase_minutes`` are the drive's own estimates, None where it gives
    none; the largest value that fits means that much or more.
    """

    supported: bool
    enabled: bool
    locked: bool
    frozen: bool
    count_expired: bool
    enhanced_erase: bool
    maximum_level: bool
    erase_minutes: int | None
    enhanced_erase_minutes: int | None

    def __str__(self) -> str:
        if not self.supported:
            return "no security feature set"
        states = (
            (True, "enabled" if self.enabled else "not enabled"),
            (self.locked, "locked"),
            (self.frozen, "frozen"),
            (self.count_expired, "password attempts used up"),
            (self.maximum_level and self.enabled, "level maximum"),
        )
        return ", ".join(state for reported, state in states if reported)


class AtaIdentity(Struct, frozen=True):
    """The 256 words of IDENTIFY DEVICE."""

    words: tuple[int, ...]

    @property
    def serial(self) -> str | None:
        """Words 10 to 19."""
        return self._text(10, 19)

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
    def rotation_rate(self) -> int:
        """Word 217: 1 for a drive where nothing turns, else revolutions a minute; 0 is not reported."""
        return self._word(217)

    @property
    def fastest_sata_gbit_per_s(self) -> float | None:
        """The highest signalling rate that the drive supports, word 76; None where it isn't reported."""
        supported = (rate for bit, rate in _SATA_RATES_GBIT_PER_S.items() if self._word(76) & 1 << bit)
        return max(supported, default=None)

    @property
    def has_volatile_write_cache(self) -> bool:
        """Word 82, bit 5."""
        return bool(self._word(82) & 1 << 5)

    @property
    def world_wide_name(self) -> str | None:
        """Words 108 to 111 in hexadecimal digits; None where word 87 does not say that there is one."""
        if not self._word(87) & 1 << 8:
            return None
        return "".join(f"{word:04x}" for word in self.words[108:112])

    @property
    def capacity_bytes(self) -> int:
        """All user-addressable sectors: words 100 to 103, or 60 and 61 without 48-bit addresses."""
        first, last = (100, 103) if self._word(83) & 1 << 10 else (60, 61)
        sectors = sum(word << 16 * at for at, word in enumerate(self.words[first : last + 1]))
        in_words = self.words[117] | self.words[118] << 16
        # word 106 is valid with bits 15:14 = 01, and bit 12 says that sectors are longer than 256 words
        longer = self._word(106) & 0xC000 == 0x4000 and self._word(106) & 1 << 12
        return sectors * (in_words * 2 if longer else 512)

    @property
    def security(self) -> AtaSecurity:
        """The state of the security feature set when this was read."""
        word = self._word(128)
        return AtaSecurity(
            supported=bool(self._word(82) & 1 << 1 or word & 1),
            enabled=bool(word & 1 << 1),
            locked=bool(word & 1 << 2),
            frozen=bool(word & 1 << 3),
            count_expired=bool(word & 1 << 4),
            enhanced_erase=bool(word & 1 << 5),
            maximum_level=bool(word & 1 << 8),
            erase_minutes=_erase_minutes(self._word(89)),
            enhanced_erase_minutes=_erase_minutes(self._word(90)),
        )

    @property
    def sanitizes(self) -> frozenset[str]:
        """Which sanitize operations word 59 lists: ``block``, ``crypto``, ``overwrite``."""
        word = self._word(59)
        if not word & 1 << 12:
            return frozenset()
        return frozenset(
            name for bit, name in ((13, "crypto"), (14, "overwrite"), (15, "block")) if word & 1 << bit
        )

    @property
    def deterministic_after_trim(self) -> bool:
        """DRAT, word 69, bit 14: trimmed sectors read the same each time."""
        return bool(self._word(69) & 1 << 14)

    @property
    def zeros_after_trim(self) -> bool:
        """RZAT, word 69, bit 5: they read as zeros, where they read the same each time."""
        return bool(self._word(69) & 1 << 5)

    @property
    def features(self) -> tuple[str, ...]:
        """Optional commands and abilities, by the standard's names."""
        named = (
            (self._word(76) & 1 << 8, f"NCQ, queue depth {(self._word(75) & 0x1F) + 1}"),
            (self._word(82) & 1 << 1, "security feature set"),
            (self._word(59) & 1 << 13, "Sanitize: crypto scramble"),
            (self._word(59) & 1 << 15, "Sanitize: block erase"),
            (self._word(59) & 1 << 14, "Sanitize: overwrite"),
            (self._word(169) & 1, "TRIM"),
            (self.deterministic_after_trim and self.zeros_after_trim, "zeros after TRIM"),
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
    page = read_bytes(device.folder / VPD_PAGE)
    return None if page is None else parse_ata_information_page(page)


def parse_ata_information_page(page: bytes) -> AtaIdentity | None:
    """IDENTIFY DEVICE out of VPD page 89h; None if the page is malformed."""
    data = page[_IDENTIFY_AT : _IDENTIFY_AT + _IDENTIFY_BYTES]
    if len(data) < _IDENTIFY_BYTES or page[1] != 0x89:
        return None
    return AtaIdentity(struct.unpack(f"<{_WORDS}H", data))


def parse_identify_words(text: str) -> AtaIdentity | None:
    """IDENTIFY DEVICE out of what ``hdparm --Istdout`` prints: 256 words as hexadecimal digits.

    None if it is something else, if the checksum is wrong, and for the zeros that come from what passes no
    ATA command on: hdparm calls that a success.
    """
    words = " ".join(line for line in text.splitlines() if _LINE_OF_WORDS.fullmatch(line)).split()
    if len(words) != _WORDS:
        return None
    identity = AtaIdentity(tuple(int(word, 16) for word in words))
    return identity if identity.model and _checksum_holds(identity.words) else None


def _checksum_holds(words: tuple[int, ...]) -> bool:
    """Word 255 holds a signature and a checksum since ATA-5; drives without the signature have none."""
    if words[-1] & 0xFF != _CHECKSUM_SIGNATURE:
        return True
    return sum(struct.pack(f"<{_WORDS}H", *words)) & 0xFF == 0


def _erase_minutes(word: int) -> int | None:
    units = word & 0x7FFF if word & _EXTENDED_TIME else word & 0xFF
    return units * _MINUTES_PER_UNIT or None


def model(device: BlockDevice) -> Fact:
    """The drive's model, whole where the command set has room for it."""
    identity = read_ata_identity(device)
    if identity is not None and identity.model:
        return Fact(identity.model, device.place(VPD_PAGE))
    return first_attribute(device, "device/model", "device/name")


def name_with_model(device: BlockDevice) -> str:
    """Model and kernel name, or kernel name and kind where the model is unknown."""
    known = model(device).value
    return f"{known} ({device.name})" if known else f"{device.name} ({device.kind})"


def first_attribute(device: BlockDevice, *attributes: str) -> Fact:
    """The first of these attributes that sysfs has."""
    for attribute in attributes:
        if text := device.text(attribute):
            return Fact(text, device.place(attribute))
    return Fact(None, f"no {' or '.join(attributes)} in {device.place('')}")


_UNIT_SERIAL_NUMBER: Final = "device/vpd_pg80"
_UNIT_SERIAL_NUMBER_PAGE: Final = 0x80
_PAGE_HEADER_BYTES: Final = 4


def serial_number(device: BlockDevice) -> Fact:
    """Serial number of a disk, printable and without white space at its ends.

    A world wide name is no substitute: it is not what is printed on the drive's label.
    """
    for attribute in ("device/serial", "serial"):  # NVMe and MMC; virtio
        if serial := device.text(attribute):
            return Fact(serial, device.place(attribute))
    place = device.place(_UNIT_SERIAL_NUMBER)
    if (page := read_bytes(device.folder / _UNIT_SERIAL_NUMBER)) is None:
        return Fact(None, f"neither device/serial nor serial nor VPD page 80h in {device.place('')}")
    serial = unit_serial_number(page)
    return Fact(serial, place if serial else f"{place} holds no serial number")


def unit_serial_number(page: bytes) -> str | None:
    """The text of VPD page 80h (SPC), whose 16-bit length is at byte 2; None if the page is malformed."""
    if len(page) < _PAGE_HEADER_BYTES or page[1] != _UNIT_SERIAL_NUMBER_PAGE:
        return None
    length = int.from_bytes(page[2:4], "big")
    text = page[_PAGE_HEADER_BYTES : _PAGE_HEADER_BYTES + length]
    if len(text) < length:
        return None
    return printable(text.decode("ascii", errors="replace")) or None
