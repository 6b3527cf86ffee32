"""What openpts notes at a file that it writes to, to know its own again.

The note is an extended attribute, and says of which file and in which state it was written: it counts for no
copy, and not for data that came into the file afterwards. A stamp inside the file would not do, for a test
writes over all of it.
"""

import errno
import os
import struct
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from openpts.device.guard.signatures import SignatureSearchError, find_signatures
from openpts.device.kernel_calls import born_ns


class FileUse(StrEnum):
    """What a file is to openpts; the value is the attribute's name."""

    SCRATCH = "user.openpts.scratch"
    CONTENTS = "user.openpts.contents"


# short, so that it has room beside the inode and takes no block: version, flags, and the numbers of a mark
_LAYOUT: Final = struct.Struct("<BBQqQq")
_VERSION: Final = 2
_LEFT: Final = 1
_GIVEN_AWAY: Final = 2


class FileMark(Struct, frozen=True):
    """``inode`` and ``born_ns`` are the file's own, which no copy has.

    ``written_ns`` is the time of its last change when the mark was made. ``is_left``: openpts has ended at
    it, and was not killed there. ``given_away``: it held other data, which the operator gave up.
    """

    inode: int
    born_ns: int
    size_bytes: int
    written_ns: int
    is_left: bool
    given_away: bool

    @classmethod
    def of_now(cls, fd: int, *, is_left: bool, given_away: bool) -> Self:
        """The mark of a file as it is."""
        status = os.fstat(fd)
        return cls(status.st_ino, born_ns(fd), status.st_size, status.st_mtime_ns, is_left, given_away)

    @classmethod
    def read(cls, fd: int, use: FileUse) -> Self | None:
        """The mark of an open file; None without one, or where it is of another version."""
        try:
            version, flags, inode, born, size, written = _LAYOUT.unpack(os.getxattr(fd, use))
        except (OSError, struct.error):
            return None
        if version != _VERSION:
            return None
        return cls(inode, born, size, written, bool(flags & _LEFT), bool(flags & _GIVEN_AWAY))

    def write(self, fd: int, use: FileUse) -> None:
        """Put it at an open file, in place of an older one."""
        flags = (_LEFT if self.is_left else 0) | (_GIVEN_AWAY if self.given_away else 0)
        numbers = (self.inode, self.born_ns, self.size_bytes, self.written_ns)
        # a file system without extended attributes: the next one to use the file is asked again
        with suppress(OSError):
            os.setxattr(fd, use, _LAYOUT.pack(_VERSION, flags, *numbers))


def mark_taken(fd: int, use: FileUse, *, given_away: bool) -> None:
    """Note that openpts is about to write to the file; ``given_away``: over data that were not its own."""
    for other in FileUse:
        if other is not use:
            _unmark(fd, other)
    FileMark.of_now(fd, is_left=False, given_away=given_away).write(fd, use)


def mark_left(fd: int, use: FileUse) -> None:
    """Note that openpts has ended writing. Data given up and not yet overwritten still count as foreign."""
    mark = FileMark.read(fd, use)
    if mark is None:
        return  # a file system without extended attributes
    if mark.given_away and mark.written_ns == os.fstat(fd).st_mtime_ns:
        _unmark(fd, use)
    else:
        FileMark.of_now(fd, is_left=True, given_away=False).write(fd, use)


def holds_data(fd: int) -> bool:
    """Whether any byte was ever written; a file system that can't tell says that all of it is data."""
    try:
        os.lseek(fd, 0, os.SEEK_DATA)
    except OSError as error:
        return error.errno != errno.ENXIO
    return True


def foreign_data(fd: int, path: Path, use: FileUse) -> str | None:
    """Why the data in an open file are not openpts' own for this use, as a sentence; None if they are."""
    if not holds_data(fd):
        return None
    mark = FileMark.read(fd, use)
    status = os.fstat(fd)
    if mark is None:
        return f"{path} holds data and no valid mark of openpts"
    if (mark.inode, mark.born_ns) != (status.st_ino, born_ns(fd)):
        return f"{path} is a copy of a file of openpts, not the marked one"
    if mark.is_left:
        changed = mark.written_ns != status.st_mtime_ns
        return f"{path} was written to after openpts had left it" if changed else None
    return _since_a_kill(mark, fd, path, use)


def _since_a_kill(mark: FileMark, fd: int, path: Path, use: FileUse) -> str | None:
    """Of a file where openpts was killed; what it wrote last, the mark can't say."""
    status = os.fstat(fd)
    if mark.given_away and mark.written_ns == status.st_mtime_ns:
        return f"{path} holds data that openpts did not write"
    if use is FileUse.CONTENTS:
        return None  # hosts may have put anything there
    if mark.size_bytes != status.st_size:
        return f"{path} has another size since a run on it was interrupted"
    try:
        found = find_signatures(path)
    except SignatureSearchError as error:
        return f"a run on {path} was interrupted, and its contents can't be checked: {error}"
    return f"{path} holds {', '.join(found)}, and an earlier run on it was interrupted" if found else None


def _unmark(fd: int, use: FileUse) -> None:
    with suppress(OSError):
        os.removexattr(fd, use)
