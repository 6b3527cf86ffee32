"""What is on a disk whose cache is lost: the log of dm-log-writes, replayed on the image from before it.

The log has a write when a later flush has completed, or at once if it was forced to the medium.
"""

import struct
from pathlib import Path
from typing import Final

_MAGIC: Final = 0x6A736677736872
_ENTRY: Final = struct.Struct("<QQQQ")
_DISCARD, _MARK = 4, 8


def replay(log: Path, disk: Path) -> int:
    """Carry out the writes of a log that was all zeros before; returns how many there were."""
    with log.open("rb") as read, disk.open("r+b") as write:
        magic, _version, _entries, sector_bytes = struct.unpack("<QQQI", read.read(28))
        assert magic == _MAGIC
        at, count = sector_bytes, 0
        while True:
            # the number of entries in the superblock is updated later than the log itself
            read.seek(at)
            sector, sectors, flags, _ = entry = _ENTRY.unpack(read.read(_ENTRY.size))
            if not any(entry):
                return count
            at += sector_bytes
            if not flags & (_DISCARD | _MARK):
                read.seek(at)
                write.seek(sector * sector_bytes)
                write.write(read.read(sectors * sector_bytes))
                at += sectors * sector_bytes
            count += 1
