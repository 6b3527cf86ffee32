"""Direct I/O: memory for it; on a file, switching it on, and the sector size that it asks for."""

import errno
import fcntl
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from openpts.device.kernel_calls import direct_io_alignment_bytes
from openpts.errors import TargetError

_SECTOR_SIZES_BYTES: Final = (512, 4096)


@contextmanager
def aligned_buffer(length_bytes: int) -> Iterator[memoryview]:
    """Memory that direct I/O accepts: a mapping starts at a page."""
    with mmap.mmap(-1, length_bytes) as memory, memoryview(memory) as whole:
        yield whole


def switch_to_direct_io(fd: int, path: Path) -> None:
    """Set O_DIRECT on an open file. Raises TargetError where the file system has no direct I/O.

    Open itself would create the file before it found out that direct I/O is impossible.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_DIRECT)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise _no_direct_io(path) from error


def file_sector_bytes(fd: int, path: Path) -> int:
    """Alignment of offsets and lengths for direct I/O on a file that has blocks.

    statx tells where the kernel can; else it is the first size that a read gets through with.
    Raises TargetError if none does.
    """
    told_bytes = direct_io_alignment_bytes(fd)
    if told_bytes is not None and told_bytes > 0:
        return told_bytes
    if told_bytes is None:
        if os.fstat(fd).st_size < _SECTOR_SIZES_BYTES[0]:
            return _SECTOR_SIZES_BYTES[0]  # there is nothing to try it with
        for sector_bytes in _SECTOR_SIZES_BYTES:
            if _readable(fd, sector_bytes):
                return sector_bytes
    raise _no_direct_io(path)


def _readable(fd: int, length_bytes: int) -> bool:
    with aligned_buffer(mmap.PAGESIZE) as page, page[:length_bytes] as buffer:
        try:
            return os.preadv(fd, [buffer], length_bytes) == length_bytes
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return False


def _no_direct_io(path: Path) -> TargetError:
    return TargetError(
        f"the file system of {path} has no direct I/O (O_DIRECT): choose another, such as ext4 or xfs"
    )
