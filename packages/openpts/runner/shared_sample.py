"""What one run reads of the host for all runs on it: the last sample is in a file in memory.

The periods of all runs begin at the same moments of the host's monotonic clock. The first run of a period
reads the host's files, the others take its sample with its times. No run is the reader for good: when it is
killed or stands still, the next one reads.
"""

import fcntl
import os
import struct
import time
import zlib
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Struct

# Longer than it takes to read, unless that process was stopped.
_TIMEOUT_S: Final = 0.05
_LOOKS: Final = 5
# a checksum of the rest, and when the first of its files was read
_HEADER: Final = struct.Struct("<Iq")


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """Contents of files in their order, on the monotonic clock; ``values``, if they are those of all runs."""

    at_ns: int
    contents: tuple[bytes, ...]
    values: dict[str, float] | None = None


Readings = Mapping[str, Reading]
_DECODER: Final = msgspec.msgpack.Decoder(dict[str, Reading])


class SharedSample(Struct):
    """Where the runs of a user on this host leave it; ``led``: the last one is this run's own."""

    fd: int
    led: bool = False

    @classmethod
    def opened(cls, folder: Path | None) -> Self | None:
        """None without a folder, where it can't be made, or if what is there is another user's."""
        if folder is None:
            return None
        with suppress(OSError):
            folder.mkdir(mode=0o755, exist_ok=True)
            fd = os.open(folder / "host.sample", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            if os.fstat(fd).st_uid == os.geteuid():
                return cls(fd)
            os.close(fd)
        return None

    def since(self, earliest_ns: int, reads: Mapping[str, Callable[[], Reading]]) -> Readings:
        """All that is wanted, read then or later by some run, or now by this one."""
        self.led = False
        for _ in range(_LOOKS):
            if (found := self._left(earliest_ns, reads.keys())) is not None:
                return found
            with suppress(BlockingIOError):
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                try:
                    # another may have left it since we looked
                    found = self._left(earliest_ns, reads.keys())
                    return (
                        self._leave({key: read() for key, read in reads.items()}) if found is None else found
                    )
                finally:
                    fcntl.flock(self.fd, fcntl.LOCK_UN)
            time.sleep(_TIMEOUT_S / _LOOKS)
        return {key: read() for key, read in reads.items()}

    def _left(self, earliest_ns: int, keys: Set[str]) -> Readings | None:
        content = memoryview(os.pread(self.fd, os.fstat(self.fd).st_size, 0))
        with suppress(struct.error, msgspec.MsgspecError):  # it is new, or another version's
            checksum, at_ns = _HEADER.unpack_from(content)
            packed = content[_HEADER.size :]
            # else its run writes, or was killed while it did
            is_whole = earliest_ns <= at_ns <= time.monotonic_ns() and zlib.crc32(packed) == checksum
            if is_whole and (found := _DECODER.decode(packed)).keys() >= keys:
                return found
        return None

    def _leave(self, readings: Readings) -> Readings:
        packed = msgspec.msgpack.encode(readings)
        with suppress(OSError):  # no room: each reads for itself
            at_ns = min(reading.at_ns for reading in readings.values())
            os.pwrite(self.fd, _HEADER.pack(zlib.crc32(packed), at_ns) + packed, 0)
            os.ftruncate(self.fd, _HEADER.size + len(packed))
            self.led = True
        return readings
