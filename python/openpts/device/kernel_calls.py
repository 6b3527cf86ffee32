"""The few calls to the Linux kernel that Python's library lacks: block ioctls, fallocate, statx."""

import ctypes
import errno
import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# <linux/fs.h>, the same on all 64-bit platforms with the generic ioctl numbers (x86-64, arm64, riscv64)
_BLKSSZGET: Final = 0x1268
_BLKDISCARD: Final = 0x1277
_BLKGETSIZE64: Final = 0x80081272

# <linux/falloc.h>
_FALLOC_FL_KEEP_SIZE: Final = 1
_FALLOC_FL_PUNCH_HOLE: Final = 2

# <linux/stat.h>
_AT_FDCWD: Final = -100
_AT_EMPTY_PATH: Final = 0x1000
_AT_STATX_DONT_SYNC: Final = 0x4000
_STATX_BASIC_STATS: Final = 0x7FF
_STATX_MODE_AT: Final = 28
_STATX_INODE_AT: Final = 32
_STATX_DEVICE_NUMBERS_AT: Final = 128
_STATX_DIOALIGN: Final = 0x2000
_STATX_BYTES: Final = 256
_STATX_DIO_OFFSET_ALIGN_AT: Final = 156

_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def logical_sector_bytes(fd: int) -> int:
    """Size of a logical block of a block device (BLKSSZGET). Raises OSError."""
    return int.from_bytes(fcntl.ioctl(fd, _BLKSSZGET, bytes(4)), "little")


def device_capacity_bytes(fd: int) -> int:
    """Size of a block device (BLKGETSIZE64); 0 once it was removed. Raises OSError."""
    return int.from_bytes(fcntl.ioctl(fd, _BLKGETSIZE64, bytes(8)), "little")


def discard(fd: int, offset_bytes: int, length_bytes: int) -> None:
    """Tell a block device that a range holds no data any more (BLKDISCARD). Raises OSError."""
    fcntl.ioctl(fd, _BLKDISCARD, struct.pack("=QQ", offset_bytes, length_bytes))


def allocate(fd: int, length_bytes: int) -> None:
    """Give a file real blocks from its start to ``length_bytes``. Raises OSError.

    This is fallocate(2) itself: the C library's posix_fallocate writes zeros where the file system
    can't allocate, and would wear the drive before the test.
    """
    _fallocate(fd, 0, length_bytes)


def deallocate(fd: int, length_bytes: int) -> None:
    """Take a file's blocks away and leave its size as it is. Raises OSError."""
    _fallocate(fd, _FALLOC_FL_PUNCH_HOLE | _FALLOC_FL_KEEP_SIZE, length_bytes)


def _fallocate(fd: int, mode: int, length_bytes: int) -> None:
    while _LIBC.fallocate(fd, mode, ctypes.c_int64(0), ctypes.c_int64(length_bytes)) != 0:
        code = ctypes.get_errno()
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code))


def direct_io_alignment_bytes(fd: int) -> int | None:
    """What offsets of direct I/O on this file must be multiples of, as statx tells; 0 means no direct I/O.

    None where the kernel (before 6.1), the C library or the file system doesn't tell.
    """
    if not hasattr(_LIBC, "statx"):
        return None
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    if _LIBC.statx(fd, b"", _AT_EMPTY_PATH, _STATX_DIOALIGN, answer) != 0:
        return None
    told = int.from_bytes(answer.raw[:4], "little")
    if not told & _STATX_DIOALIGN:
        return None
    return int.from_bytes(answer.raw[_STATX_DIO_OFFSET_ALIGN_AT : _STATX_DIO_OFFSET_ALIGN_AT + 4], "little")


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """What lies at a path: ``mode`` as of stat, ``number`` of a device, and where the inode itself is."""

    mode: int
    number: str
    inode: tuple[str, int]


def node_status(path: Path) -> NodeStatus | None:
    """As os.stat, but from what the kernel has in memory: a server that is gone blocks nothing.

    None where nothing can be looked at, or the C library has no statx.
    """
    if not hasattr(_LIBC, "statx"):
        return None
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    name = os.fsencode(path)
    if _LIBC.statx(_AT_FDCWD, name, _AT_STATX_DONT_SYNC, _STATX_BASIC_STATS, answer) != 0:
        return None
    (mode,) = struct.unpack_from("=H", answer.raw, _STATX_MODE_AT)
    (inode,) = struct.unpack_from("=Q", answer.raw, _STATX_INODE_AT)
    major, minor, on_major, on_minor = struct.unpack_from("=4I", answer.raw, _STATX_DEVICE_NUMBERS_AT)
    return NodeStatus(mode, f"{major}:{minor}", (f"{on_major}:{on_minor}", inode))
