"""The few calls to the Linux kernel that Python's library lacks: block and loop ioctls, fallocate, statx.

And how a drive is opened for a query: for reading, without a claim, and without waiting for a medium.
"""

import ctypes
import errno
import fcntl
import os
import struct
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TypeGuard

from msgspec import Struct

from openpts.device.block_device import BlockDevice, number_text
from openpts.system_files import closed_at_end

# <linux/fs.h>, the same on all 64-bit platforms with the generic ioctl numbers (x86-64, arm64, riscv64)
_BLKROGET: Final = 0x125E
_BLKSSZGET: Final = 0x1268
_BLKDISCARD: Final = 0x1277
_BLKZEROOUT: Final = 0x127F
_BLKGETSIZE64: Final = 0x80081272

# <linux/sed-opal.h>: _IOR('p', 236, struct opal_status), _IOW('p', 232, struct opal_key)
_IOC_OPAL_GET_STATUS: Final = 0x800870EC
_IOC_OPAL_PSID_REVERT_TPR: Final = 0x410870E8
_OPAL_KEY: Final = struct.Struct("=BB6x256s")
_SECTOR_BYTES: Final = 512

# <linux/loop.h>
_LOOP_GET_STATUS64: Final = 0x4C05
_LOOP_INFO64_BYTES: Final = 232

# <linux/falloc.h>
_FALLOC_FL_KEEP_SIZE: Final = 1
_FALLOC_FL_PUNCH_HOLE: Final = 2

# <linux/stat.h>
_AT_FDCWD: Final = -100
_AT_EMPTY_PATH: Final = 0x1000
_AT_STATX_DONT_SYNC: Final = 0x4000
_STATX_BASIC_STATS: Final = 0x7FF
_STATX_BTIME: Final = 0x800
_STATX_MODE_AT: Final = 28  # and the inode behind it
_STATX_BTIME_AT: Final = 80
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


def device_is_read_only(fd: int) -> bool:
    """Whether the kernel refuses writes to a block device (BLKROGET). Raises OSError."""
    return int.from_bytes(fcntl.ioctl(fd, _BLKROGET, bytes(4)), "little") != 0


def discard(fd: int, offset_bytes: int, length_bytes: int) -> None:
    """Tell a block device that a range holds no data any more (BLKDISCARD). Raises OSError."""
    fcntl.ioctl(fd, _BLKDISCARD, struct.pack("=QQ", offset_bytes, length_bytes))


def zero_out(fd: int, offset_bytes: int, length_bytes: int) -> None:
    """Write zeros to a range of a block device, by a command without data if it has one. Raises OSError."""
    fcntl.ioctl(fd, _BLKZEROOUT, struct.pack("=QQ", offset_bytes, length_bytes))


def opal_flags(fd: int) -> int:
    """What the kernel's driver for self-encrypting drives knows of one (IOC_OPAL_GET_STATUS, Linux 6.1).

    Raises OSError: ENOTTY, EOPNOTSUPP, and 524 of the kernel's own where it has found no such drive.
    """
    return int.from_bytes(fcntl.ioctl(fd, _IOC_OPAL_GET_STATUS, bytes(8))[:4], "little")


def opal_psid_revert(fd: int, psid: bytes) -> int:
    """Have the kernel revert a drive by its PSID, which ERASES it; the drive's method status, 0: done.

    ``fd`` is a target that the guard has opened. Raises OSError.
    """
    # what can't be changed would come back as the result, PSID and all
    key = bytearray(_OPAL_KEY.pack(0, len(psid), psid))
    try:
        status: int = fcntl.ioctl(fd, _IOC_OPAL_PSID_REVERT_TPR, key, True)
        return status
    finally:
        key[:] = bytes(len(key))


def allocate(fd: int, length_bytes: int) -> None:
    """Give a file real blocks from its start to ``length_bytes``. Raises OSError.

    This is fallocate(2) itself: the C library's posix_fallocate writes zeros where the file system
    can't allocate, and would wear the drive before the test.
    """
    _fallocate(fd, 0, length_bytes)


def deallocate(fd: int, length_bytes: int, offset_bytes: int = 0) -> None:
    """Take a file's blocks away and leave its size as it is. Raises OSError."""
    _fallocate(fd, _FALLOC_FL_PUNCH_HOLE | _FALLOC_FL_KEEP_SIZE, length_bytes, offset_bytes)


def _fallocate(fd: int, mode: int, length_bytes: int, offset_bytes: int = 0) -> None:
    while _LIBC.fallocate(fd, mode, ctypes.c_int64(offset_bytes), ctypes.c_int64(length_bytes)) != 0:
        code = ctypes.get_errno()
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code))


def _statx(fd: int, name: bytes, flags: int, mask: int) -> bytes | None:
    """struct statx; None where the kernel refuses, or the C library doesn't have the call."""
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    if not hasattr(_LIBC, "statx") or _LIBC.statx(fd, name, flags, mask, answer) != 0:
        return None
    return answer.raw


def _has(answer: bytes | None, field: int) -> TypeGuard[bytes]:
    return answer is not None and bool(int.from_bytes(answer[:4], "little") & field)


def direct_io_alignment_bytes(fd: int) -> int | None:
    """What offsets of direct I/O on this file must be multiples of, as statx reports; 0 means no direct I/O.

    None where the kernel (before 6.1), the C library or the file system doesn't report it.
    """
    answer = _statx(fd, b"", _AT_EMPTY_PATH, _STATX_DIOALIGN)
    if not _has(answer, _STATX_DIOALIGN):
        return None
    (alignment_bytes,) = struct.unpack_from("=I", answer, _STATX_DIO_OFFSET_ALIGN_AT)
    return int(alignment_bytes)


def born_ns(fd: int) -> int:
    """When a file was made, in ns since the epoch; 0 where the file system doesn't keep that."""
    answer = _statx(fd, b"", _AT_EMPTY_PATH, _STATX_BTIME)
    if not _has(answer, _STATX_BTIME):
        return 0
    seconds, nanoseconds = struct.unpack_from("=qI", answer, _STATX_BTIME_AT)
    return int(seconds) * 10**9 + int(nanoseconds)


# <asm/unistd.h>; <linux/kcmp.h>
_KCMP: Final = {"x86_64": 312}.get(os.uname().machine, 272)
_KCMP_FILES: Final = 2


def share_open_files(pid: int, other: int) -> bool:
    """Whether two threads have one table of open files; False where the kernel does not report it."""
    return bool(_LIBC.syscall(_KCMP, pid, other, _KCMP_FILES, 0, 0) == 0)


Inode = tuple[str, int]
"""What a file is by any name: ``major:minor`` of its file system, as stat has it, and its inode's number."""


class NodeStatus(Struct, frozen=True):
    """What is at a path: ``mode`` as stat has it, ``number`` of a device, and where the inode itself is."""

    mode: int
    number: str
    inode: Inode


def node_status(path: Path | str) -> NodeStatus | None:
    """As os.stat, but from what the kernel has in memory: a server that is gone blocks nothing.

    None where nothing can be seen, or the C library has no statx.
    """
    answer = _statx(_AT_FDCWD, os.fsencode(path), _AT_STATX_DONT_SYNC, _STATX_BASIC_STATS)
    if answer is None:
        return None
    mode, inode = struct.unpack_from("=H2xQ", answer, _STATX_MODE_AT)
    major, minor, on_major, on_minor = struct.unpack_from("=4I", answer, _STATX_DEVICE_NUMBERS_AT)
    return NodeStatus(mode, f"{major}:{minor}", (f"{on_major}:{on_minor}", inode))


class LoopBacking(Struct, frozen=True):
    """What a loop device stores its data in: a file, or a block device with this ``number``."""

    inode: Inode
    number: str | None


def loop_backing(node: Path) -> LoopBacking | None:
    """What the kernel has open below a loop device, whatever its name has become.

    None where the device can't be opened, or has nothing below it.
    """
    try:
        with closed_at_end(os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)) as fd:
            answer = fcntl.ioctl(fd, _LOOP_GET_STATUS64, bytes(_LOOP_INFO64_BYTES))
    except OSError:
        return None
    # the kernel's encoding of a device number is that of the C library
    file_system, inode, device = struct.unpack_from("=QQQ", answer)
    return LoopBacking((number_text(file_system), inode), number_text(device) if device else None)


def open_to_ask(device: BlockDevice) -> AbstractContextManager[int]:
    """A descriptor on which commands may be sent that ask. Raises OSError if it can't be had."""
    return closed_at_end(os.open(device.node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
