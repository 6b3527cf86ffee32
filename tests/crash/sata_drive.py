"""A SATA drive with the security feature set, as libata shows it to the SCSI layer (SAT, SPC, SBC).

How it keeps its password is ``AtaSecurityDrive``; here it gets ATA commands instead of hdparm's options. What
is on it is in memory, and its power is cut by a method.
"""

import mmap
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.crash.kernel_disk import Reply
from tests.support.ata_security_drive import IDENTIFY_PAGE, AtaSecurityDrive

SECTOR_BYTES: Final = 512
_SIGNATURE_BYTES: Final = 60  # of VPD page 89h, before the words

_IDENTIFY, _SET_PASSWORD, _UNLOCK, _PREPARE, _ERASE, _DISABLE = 0xEC, 0xF1, 0xF2, 0xF3, 0xF4, 0xF6
_NAMES: Final = {
    _IDENTIFY: "IDENTIFY DEVICE",
    _SET_PASSWORD: "SECURITY SET PASSWORD",
    _UNLOCK: "SECURITY UNLOCK",
    _PREPARE: "SECURITY ERASE PREPARE",
    _ERASE: "SECURITY ERASE UNIT",
    _DISABLE: "SECURITY DISABLE PASSWORD",
}
_MASTER, _ENHANCED = 1, 2  # bits of the first word that comes with a password
_ATA_16, _ATA_12 = 0x85, 0xA1
_INVALID_OPERATION: Final = (0x05, 0x20)
_INVALID_FIELD: Final = (0x05, 0x24)
_NOT_PERMITTED: Final = (0x07, 0x27)


class PowerLostError(Exception):
    """The drive got no further with its command."""


@dataclass
class SataDrive(AtaSecurityDrive):
    """Answers SCSI commands. ``before`` and ``after`` are called around each of ATA."""

    erase_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _power_lost: threading.Event = field(default_factory=threading.Event)
    _media: mmap.mmap = field(init=False)

    def __post_init__(self) -> None:
        words = self.identify_words()
        self.sectors = words[60] | words[61] << 16
        self.serial, self.firmware, self.model = _text(words[10:20]), _text(words[23:27]), _text(words[27:47])
        self._media = mmap.mmap(-1, self.sectors * SECTOR_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

    def answer(self, cdb: bytes, take: Callable[[], bytes]) -> Reply:
        """One command, while no other runs."""
        with self._lock:
            if cdb[0] in {_ATA_16, _ATA_12}:
                return self._pass_through(cdb, take)
            return self._scsi(cdb, take)

    def lose_power(self) -> None:
        """At once, also in the middle of an erasure; then it has power again."""
        self._power_lost.set()
        with self._lock:
            self._power_lost.clear()
            self.power_cycle()

    def _pass_through(self, cdb: bytes, take: Callable[[], bytes]) -> Reply:
        command = cdb[14] if cdb[0] == _ATA_16 else cdb[9]
        name = _NAMES.get(command, f"ATA command {command:#04x}")
        self.before(name)
        try:
            data = self._obey(command, take)
        except PowerLostError:
            data = None
        self.after(name)
        wants_registers = bool(cdb[2] & 1 << 5)
        if data is None or wants_registers:
            return Reply(data or b"", self._registers(failed=data is None))
        return Reply(data)

    def _obey(self, command: int, take: Callable[[], bytes]) -> bytes | None:
        """What comes back, None if the drive aborts the command."""
        prepared, self.prepared = self.prepared, False
        if command == _IDENTIFY:
            return b"".join(word.to_bytes(2, "little") for word in self.identify_words())
        if command not in _NAMES or not self.supported or self.frozen:
            return None
        if command == _PREPARE:
            self.prepared = True
            return b""
        data = take()
        assert not data[0] & _MASTER, "never the master password"
        given = data[2:34].rstrip(b"\0").decode()
        if command == _ERASE:
            done = prepared and self._erase(given, enhanced=bool(data[0] & _ENHANCED))
        else:
            orders = {_SET_PASSWORD: self._set_password, _UNLOCK: self._unlock, _DISABLE: self._disable}
            done = orders[command](given)
        return b"" if done else None

    def _erase(self, given: str, *, enhanced: bool) -> bool:
        """It takes its time, and what was on the drive is gone."""
        done = super()._erase(given, enhanced=enhanced)
        if done:
            self._media.madvise(mmap.MADV_DONTNEED)
        return done

    def work(self) -> None:
        """For as long as an erasure takes. Raises PowerLostError."""
        if self._power_lost.wait(self.erase_s):
            raise PowerLostError

    def _registers(self, *, failed: bool) -> bytes:
        error, status = (0x04, 0x51) if failed else (0x00, 0x50)
        key = 0x0B if failed else 0x01
        if self.manners.descriptor_sense:
            return bytes((0x72, key, 0x00, 0x1D, 0, 0, 0, 14, 0x09, 12, 0, error, *[0] * 9, status))
        # as recorded of libata of Linux 6.1
        return bytes((0x70, 0, key, 0, 0, 0, 0, 10, error, status, 0x40, 0x01, *[0] * 6))

    def _scsi(self, cdb: bytes, take: Callable[[], bytes]) -> Reply:
        match cdb[0]:
            case 0x00 | 0x1B | 0x35 | 0x91:  # test unit ready, start stop unit, synchronize cache
                return Reply()
            case 0x12:
                return self._inquiry(cdb)
            case 0x1A:  # mode sense (6): a write cache that is on
                page = bytes((0x08, 18, 0x04, *[0] * 17))
                return Reply(bytes((3 + len(page), 0, 0, 0)) + page)
            case 0x25:
                return Reply((self.sectors - 1).to_bytes(4) + SECTOR_BYTES.to_bytes(4))
            case 0x9E if cdb[1] & 0x1F == 0x10:
                return Reply((self.sectors - 1).to_bytes(8) + SECTOR_BYTES.to_bytes(4) + bytes(20))
            case 0x28 | 0x2A:
                return self._access(cdb, take, int.from_bytes(cdb[2:6]), int.from_bytes(cdb[7:9]))
            case 0x88 | 0x8A:
                return self._access(cdb, take, int.from_bytes(cdb[2:10]), int.from_bytes(cdb[10:14]))
        return Reply(sense=_sense(_INVALID_OPERATION))

    def _access(self, cdb: bytes, take: Callable[[], bytes], first: int, count: int) -> Reply:
        if self.locked:
            return Reply(sense=_sense(_NOT_PERMITTED))
        begin, end = first * SECTOR_BYTES, (first + count) * SECTOR_BYTES
        if cdb[0] in {0x2A, 0x8A}:
            self._media[begin:end] = take()
            return Reply()
        return Reply(self._media[begin:end])

    def _inquiry(self, cdb: bytes) -> Reply:
        if not cdb[1] & 1:
            words = bytes((0, 0, 5, 2, 31, 0, 0, 2)) + b"ATA     "
            return Reply(words + self.model[:16] + self.firmware[:4])
        pages = {
            0x00: bytes((0x00, 0x80, 0x83, 0x89, 0xB1)),
            0x80: self.serial,
            0x83: bytes((2, 1, 0, 68)) + b"ATA     " + self.model + self.serial,
            0x89: IDENTIFY_PAGE.read_bytes()[4:_SIGNATURE_BYTES]
            + b"".join(word.to_bytes(2, "little") for word in self.identify_words()),
            0xB1: (1).to_bytes(2) + bytes(58),  # nothing turns
        }
        if cdb[2] not in pages:
            return Reply(sense=_sense(_INVALID_FIELD))
        page = pages[cdb[2]]
        return Reply(bytes((0, cdb[2])) + len(page).to_bytes(2) + page)


def _text(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(2) for word in words)


def _sense(key_and_code: tuple[int, int]) -> bytes:
    key, code = key_and_code
    return bytes((0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, code, 0, 0, 0, 0, 0))
