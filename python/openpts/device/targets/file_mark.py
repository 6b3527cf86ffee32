"""What openpts notes at a file that it writes to, to know its own again.

The note is an extended attribute, and says of which file and in which state it was written: it counts for no copy,
and not for data that came into the file afterwards. A stamp inside the file would not do, for a test writes over
all of it.
"""

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

import msgspec

from openpts.device.guard.signatures import SignatureSearchError, find_signatures
from openpts.device.kernel_calls import born_ns


class FileUse(StrEnum):
    """What a file is to openpts; the value is the attribute's name."""

    SCRATCH = "user.openpts.scratch"
    CONTENTS = "user.openpts.contents"


class MarkState(StrEnum):
    """Whether openpts is still at the file, unless it was killed there."""

    TAKEN = "taken"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class FileMark:
    """``inode`` and ``born_ns`` are the file's own, which no copy has.

    ``written_ns`` is the time of its last change when the mark was made. ``given_away``: its data were
    somebody's, who gave them up.
    """

    inode: int
    born_ns: int | None
    size_bytes: int
    written_ns: int
    state: MarkState
    given_away: bool

    @classmethod
    def of_now(cls, fd: int, state: MarkState, *, given_away: bool) -> Self:
        """The mark of a file as it is."""
        status = os.fstat(fd)
        return cls(status.st_ino, born_ns(fd), status.st_size, status.st_mtime_ns, state, given_away)

    @classmethod
    def read(cls, fd: int, use: FileUse) -> Self | None:
        """That of an open file; None without one, and of one that says nothing, as older versions made."""
        try:
            return msgspec.json.decode(os.getxattr(fd, use), type=cls)
        except (OSError, msgspec.DecodeError):
            return None


def mark_taken(fd: int, use: FileUse, *, given_away: bool) -> None:
    """Note that openpts is about to write to the file; ``given_away``: over data that were not its own."""
    for other in FileUse:
        if other is not use:
            _unmark(fd, other)
    _write(fd, use, FileMark.of_now(fd, MarkState.TAKEN, given_away=given_away))


def mark_left(fd: int, use: FileUse) -> None:
    """Note that openpts has ended writing. Data that were given away and are still there stay somebody's."""
    mark = FileMark.read(fd, use)
    if mark is None:
        return  # a file system without extended attributes
    if mark.given_away and mark.written_ns == os.fstat(fd).st_mtime_ns:
        _unmark(fd, use)
    else:
        _write(fd, use, FileMark.of_now(fd, MarkState.LEFT, given_away=False))


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
        return f"{path} holds data that openpts did not write, or does not know again"
    if (mark.inode, mark.born_ns) != (status.st_ino, born_ns(fd)):
        return f"{path} is a copy of a file of openpts, and not the one that was marked"
    if mark.state is MarkState.LEFT:
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
        return f"{path} was given another size since a run on it was cut off"
    try:
        found = find_signatures(path)
    except SignatureSearchError as error:
        return f"a run on {path} was cut off, and what lies there now can't be told: {error}"
    return f"{path} holds {', '.join(found)}, and a run on it was cut off before" if found else None


def _write(fd: int, use: FileUse, mark: FileMark) -> None:
    # a file system without extended attributes: the next one to use the file is asked again
    with suppress(OSError):
        os.setxattr(fd, use, msgspec.json.encode(mark))


def _unmark(fd: int, use: FileUse) -> None:
    with suppress(OSError):
        os.removexattr(fd, use)
