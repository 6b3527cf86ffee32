"""A target opened for reading alone; direct I/O.

It may be in use, for it is neither claimed nor locked: what others do to it at the same time is in the
figures.
"""

import errno
import fcntl
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice, check_file_system, number_text
from openpts.device.kernel_calls import direct_io_alignment_bytes
from openpts.device.targets.open_target import OpenTarget, block_facts
from openpts.device.targets.target import FileTarget, Target
from openpts.errors import TargetError, failing_as
from openpts.system_files import SystemRoots, closed_at_end
from openpts.vocabulary.facts import TargetFacts, TargetKind

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

    statx reports it where the kernel can; else it is the first size that a read gets through with.
    Raises TargetError if none does.
    """
    reported_bytes = direct_io_alignment_bytes(fd)
    if reported_bytes is not None and reported_bytes > 0:
        return reported_bytes
    if reported_bytes is None:
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


@contextmanager
def open_for_reading(target: Target, roots: SystemRoots) -> Iterator[OpenTarget]:
    """Open a drive, a partition or an existing file with O_RDONLY and O_DIRECT, and close it at the end.

    Raises TargetError where the target is missing, empty, or can't be read directly.
    """
    if isinstance(target, FileTarget):
        device, path = None, _existing(target, roots)
    else:
        device, path = BlockDevice.of_node(target.path, roots), target.path
    # without O_DIRECT, which a file gets with a better text where its file system has none
    with failing_as(TargetError, f"{path} can't be opened for reading"):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with closed_at_end(fd):
        with failing_as(TargetError, f"can't read {path}"):
            facts = _file_facts(fd, path, target) if device is None else _block_facts(fd, device)
        yield OpenTarget(fd, facts, device)


def has_unwritten_parts(target: OpenTarget) -> bool:
    """Whether a file has parts without data, which the file system reads without asking the drive."""
    if target.device is not None:
        return False
    try:
        return os.lseek(target.fd, 0, os.SEEK_HOLE) < target.facts.user_capacity_bytes
    except OSError:
        return False


def _existing(target: FileTarget, roots: SystemRoots) -> Path:
    path = Path(os.path.realpath(target.path))
    if not path.exists():
        raise TargetError(
            f"{target.path} doesn't exist, so there is nothing to read: "
            "a run makes it, or openpts io with --mix 0/100"
        )
    check_file_system(path, roots)
    return path


def _block_facts(fd: int, device: BlockDevice) -> TargetFacts:
    if number_text(os.fstat(fd).st_rdev) != device.number:
        raise TargetError(f"{device.node} became another device while it was opened: try again")
    switch_to_direct_io(fd, device.node)
    return block_facts(fd, device)


def _file_facts(fd: int, path: Path, target: Target) -> TargetFacts:
    size_bytes = os.fstat(fd).st_size
    if isinstance(target, FileTarget) and target.size_bytes not in {None, size_bytes}:
        raise TargetError(
            f"{path} has {size_bytes:,} bytes and not {target.size_bytes:,}: "
            "reading can't resize it, so remove ?size="
        )
    switch_to_direct_io(fd, path)
    sector_bytes = file_sector_bytes(fd, path)
    whole_sectors_bytes = size_bytes - size_bytes % sector_bytes
    if not whole_sectors_bytes:
        raise TargetError(f"{path} has no whole sector to read: {size_bytes} bytes")
    return TargetFacts(TargetKind.FILE, path.name, str(path), whole_sectors_bytes, sector_bytes)
