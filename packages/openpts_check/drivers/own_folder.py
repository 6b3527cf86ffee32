"""The folder of a question, in a directory that others may own: made for it, and never taken over.

Only this user may name anything in it, and all that is done there is done by its descriptor: whatever others
put in its place meanwhile is neither written to nor removed.
"""

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import RefusedError, TargetError, failing_as
from openpts.run_folder_files import folder_without_links
from openpts.system_files import printable
from openpts.units import GB, format_capacity

FILE_NAME: Final = "data"
LOG_NAME: Final = "log"
_SMALL_FILES: Final = "files"
_MARK: Final = ".made-by-openpts-check"
_NAME: Final = re.compile(r"\.openpts-check-[0-9a-f]{16}")

# A file system that runs full stops what works on it: so much stays free, whatever a purpose would like.
_LEAST_FREE_BYTES: Final = 1 * GB
_LEAST_FREE_SHARE: Final = 0.02


class OwnFolder(Struct, frozen=True):
    """``path`` is for those who read of it."""

    path: Path
    fd: int
    small_files_fd: int


def new_name() -> str:
    """A name for such a folder, unknown to other users before it is there."""
    return f".openpts-check-{secrets.token_hex(8)}"


def usable_bytes(status: os.statvfs_result) -> int:
    """What of a file system may be used; below zero where more is in use already."""
    free_bytes, whole_bytes = status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize
    return free_bytes - max(_LEAST_FREE_BYTES, round(_LEAST_FREE_SHARE * whole_bytes))


@contextmanager
def own_folder(path: Path, needed_bytes: int) -> Iterator[OwnFolder]:
    """A new folder that only this user may look into, gone at the end with what a question has put there.

    Raises TargetError where there is none to be had, or its disk has no room.
    """
    path = path.absolute()
    with failing_as(TargetError, f"can't make a folder in {printable(str(path.parent))}"):
        parent = folder_without_links(path.parent)
        try:
            os.mkdir(path.name, 0o700, dir_fd=parent)
            fd = _opened(path.name, parent)
        except OSError:
            os.close(parent)
            raise
    with ExitStack() as held:
        held.callback(os.close, parent)
        held.callback(os.close, fd)
        held.callback(_remove_empty, path.name, fd, parent)
        _check(fd, path.parent, needed_bytes)
        held.callback(_remove_contents, fd)
        with failing_as(TargetError, f"can't use a folder in {printable(str(path.parent))}"):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in (_MARK, _SMALL_FILES):
                os.mkdir(name, 0o700, dir_fd=fd)
            small_files = _opened(_SMALL_FILES, fd)
        held.callback(os.close, small_files)
        yield OwnFolder(path, fd, small_files)


def _check(fd: int, directory: Path, needed_bytes: int) -> None:
    """Raise TargetError unless it is the folder that was made, and has room."""
    if not _is_own(fd) or os.listdir(fd):
        raise TargetError(
            f"a folder in {printable(str(directory))} is not ours alone: another process exchanges names "
            "there, or the file system keeps no owners; name another directory"
        )
    if needed_bytes > usable_bytes(os.statvfs(fd)):
        raise TargetError(
            f"{printable(str(directory))} has no room for {format_capacity(needed_bytes)} any more: free "
            "space, or name another directory"
        )


def remove_left(directory: Path) -> bool:
    """Take away what questions that were killed have left in a directory; whether there was anything.

    Only folders of this user, which no one else may look into, with the mark, and not locked. Raises
    RefusedError where a question is at work there, and TargetError.
    """
    removed = False
    with failing_as(TargetError, f"can't look into {printable(str(directory))}"):
        place = folder_without_links(directory)
        parent = _opened(".", place)
        os.close(place)
    try:
        for name in filter(_NAME.fullmatch, os.listdir(parent)):  # noqa: PTH208 a descriptor
            with suppress(OSError):
                removed |= _removed_if_left(name, parent)
    finally:
        os.close(parent)
    return removed


def _removed_if_left(name: str, parent: int) -> bool:
    fd = _opened(name, parent)
    try:
        if not _is_own(fd):
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RefusedError(
                "refused [locked]: another question is at work in this directory: wait until it ends"
            ) from None
        if _MARK in os.listdir(fd):  # noqa: PTH208 a descriptor
            _remove_contents(fd)
        return _remove_empty(name, fd, parent)
    finally:
        os.close(fd)


def _opened(name: str, parent: int) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _is_own(fd: int) -> bool:
    """Whether a folder is this user's, and no one else may even look into it."""
    status = os.fstat(fd)
    return status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & 0o777 == 0o700


def _remove_contents(fd: int) -> None:
    """Remove what a question has made in its folder, the mark last; what else is in it stays."""
    with suppress(FileNotFoundError):
        small_files = _opened(_SMALL_FILES, fd)
        try:
            for number in filter(str.isdecimal, os.listdir(small_files)):  # noqa: PTH208 a descriptor
                os.unlink(number, dir_fd=small_files)
        finally:
            os.close(small_files)
    for file in (FILE_NAME, LOG_NAME):
        with suppress(FileNotFoundError):
            os.unlink(file, dir_fd=fd)
    for folder in (_SMALL_FILES, _MARK):
        with suppress(OSError):
            os.rmdir(folder, dir_fd=fd)


def _remove_empty(name: str, fd: int, parent: int) -> bool:
    with suppress(OSError):  # it has another name now, or holds more
        status = os.fstat(fd)
        if status.st_uid == os.geteuid() and os.path.samestat(os.lstat(name, dir_fd=parent), status):
            os.rmdir(name, dir_fd=parent)
            return True
    return False
