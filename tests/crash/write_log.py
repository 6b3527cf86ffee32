"""What is on a disk whose cache is lost: the log of dm-log-writes, carried out on the image from before it.

The log has a write when a later flush has completed, or at once if it was forced to the medium. A mark in it
is a text that was sent to the device at that point of the log.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

_MAGIC: Final = 0x6A736677736872
_ENTRY: Final = struct.Struct("<QQQQ")
_FLUSH, _FUA, _DISCARD, _MARK = 1, 2, 4, 8


@dataclass(frozen=True)
class Write:
    """An entry of a log; ``data_at`` is where the log has its data, ``mark`` the text of a mark."""

    sector: int
    sectors: int
    flags: int
    data_at: int
    mark: str | None


@dataclass(frozen=True)
class WriteLog:
    """A log that was all zeros before."""

    path: Path
    sector_bytes: int
    writes: Sequence[Write]

    @classmethod
    def of(cls, path: Path) -> "WriteLog":
        with path.open("rb") as log:
            magic, _version, _entries, sector_bytes = struct.unpack("<QQQI", log.read(28))
        assert magic == _MAGIC
        return cls(path, sector_bytes, tuple(_writes(path, sector_bytes)))

    def cut_at(self, count: int, disk: Path, random: Random) -> None:
        """Carry out so many entries on the image ``disk``, as a cut behind them may leave it.

        Of what no later flush covers, each write is on the medium or not, in any order; what was forced is.
        """
        flushes = [at for at, write in enumerate(self.writes[:count]) if write.flags & _FLUSH]
        certain = flushes[-1] + 1 if flushes else 0
        with self.path.open("rb") as log, disk.open("r+b") as image:
            for at, write in enumerate(self.writes[:count]):
                if write.flags & (_DISCARD | _MARK):
                    continue
                if at >= certain and not write.flags & _FUA and random.random() < 0.5:
                    continue
                log.seek(write.data_at)
                image.seek(write.sector * self.sector_bytes)
                image.write(log.read(write.sectors * self.sector_bytes))


def _writes(path: Path, sector_bytes: int) -> Iterator[Write]:
    with path.open("rb") as log:
        at = sector_bytes
        while True:
            # the number of entries in the superblock is updated later than the log itself
            log.seek(at)
            sector, sectors, flags, data_bytes = entry = _ENTRY.unpack(log.read(_ENTRY.size))
            if not any(entry):
                return
            mark = log.read(data_bytes).rstrip(b"\0").decode() if flags & _MARK else None
            yield Write(sector, sectors, flags, at + sector_bytes, mark)
            at += sector_bytes
            if not flags & (_DISCARD | _MARK):
                at += sectors * sector_bytes
