"""Real blocks for a scratch file, all of them, before the first I/O."""

import errno
import os
from pathlib import Path
from typing import Final

from openpts.device.kernel_calls import allocate
from openpts.errors import TargetError
from openpts.units import format_capacity

# st_blocks counts in this unit on every file system
_STAT_BLOCK_BYTES: Final = 512


def allocate_fully(fd: int, size_bytes: int, path: Path) -> None:
    """Bring a file to this size with a block behind every byte of it.

    Raises TargetError if the file system lacks the space or can't allocate ahead; an existing file
    is then as large as before. Space that the file system reserves for root is left alone.
    """
    old_size_bytes = os.fstat(fd).st_size
    if old_size_bytes > size_bytes:
        os.ftruncate(fd, size_bytes)
    missing_bytes = size_bytes - _allocated_bytes(fd)
    free_bytes = _free_bytes(fd)
    if missing_bytes > free_bytes:
        raise _no_space(path, missing_bytes, free_bytes)
    try:
        allocate(fd, size_bytes)
        os.fsync(fd)
    except OSError as error:
        if os.fstat(fd).st_size > old_size_bytes:
            os.ftruncate(fd, old_size_bytes)
        raise _as_target_error(error, path, missing_bytes, free_bytes) from error
    if _allocated_bytes(fd) < size_bytes:
        raise TargetError(
            f"the file system of {path} allocated {format_capacity(_allocated_bytes(fd))} of "
            f"{format_capacity(size_bytes)}: choose a file system without compression, such as ext4 or xfs"
        )


def _allocated_bytes(fd: int) -> int:
    return os.fstat(fd).st_blocks * _STAT_BLOCK_BYTES


def _free_bytes(fd: int) -> int:
    status = os.fstatvfs(fd)
    return status.f_bavail * status.f_frsize


def _as_target_error(error: OSError, path: Path, missing_bytes: int, free_bytes: int) -> TargetError:
    if error.errno == errno.ENOSPC:
        return _no_space(path, missing_bytes, free_bytes)
    if error.errno == errno.EOPNOTSUPP:
        return TargetError(
            f"the file system of {path} can't allocate ahead (fallocate): choose another, such as ext4 or xfs"
        )
    return TargetError(f"can't allocate {path}: {error.strerror}")


def _no_space(path: Path, missing_bytes: int, free_bytes: int) -> TargetError:
    return TargetError(
        f"{path} needs {format_capacity(missing_bytes)} more, but its file system has "
        f"{format_capacity(free_bytes)} free: choose a smaller size or another file system"
    )
