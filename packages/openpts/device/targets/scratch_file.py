"""A file as the target: whose it is, its mark, its blocks.

A file is opened for writing locked, not in use, and never because it happens to be there: openpts takes one
that it made itself, one that holds no data, or one that the operator gave up. All its blocks are allocated
before the first I/O, so that no write of a test is an allocation and the file system can't fill up.
"""

import errno
import fcntl
import os
import stat
import struct
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.block_device import check_file_system
from openpts.device.guard.claims import NamedFile, Usage
from openpts.device.guard.rules import (
    Refusal,
    SignatureSearchError,
    find_signatures,
    named_file,
    refuse,
    unseen_use,
    uses,
)
from openpts.device.guard.usage import inode_name, read_usage, stored_at, with_twins
from openpts.device.kernel_calls import allocate, born_ns
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.reading import file_sector_bytes, switch_to_direct_io
from openpts.device.targets.target import FileTarget
from openpts.errors import RefusedError, TargetError, failing_as
from openpts.path_owners import link_of_another
from openpts.run_folder_files import folder_without_links
from openpts.system_files import SystemRoots, closed_at_end
from openpts.units import MIB, format_capacity
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.purge import Consent

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
    status = os.fstatvfs(fd)
    free_bytes = status.f_bavail * status.f_frsize
    no_space = TargetError(
        f"{path} needs {format_capacity(missing_bytes)} more, but its file system has "
        f"{format_capacity(free_bytes)} free: choose a smaller size or another file system"
    )
    if missing_bytes > free_bytes:
        raise no_space
    try:
        allocate(fd, size_bytes)
        os.fsync(fd)
    except OSError as error:
        if os.fstat(fd).st_size > old_size_bytes:
            os.ftruncate(fd, old_size_bytes)
        if error.errno == errno.ENOSPC:
            raise no_space from error
        if error.errno == errno.EOPNOTSUPP:
            raise TargetError(
                f"the file system of {path} can't allocate ahead (fallocate): choose another, such as ext4 "
                "or xfs"
            ) from error
        raise TargetError(f"can't allocate {path}: {error.strerror}") from error
    if _allocated_bytes(fd) < size_bytes:
        raise TargetError(
            f"the file system of {path} allocated {format_capacity(_allocated_bytes(fd))} of "
            f"{format_capacity(size_bytes)}: choose a file system without compression, such as ext4 or xfs"
        )


def _allocated_bytes(fd: int) -> int:
    return os.fstat(fd).st_blocks * _STAT_BLOCK_BYTES


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
        # a file system without extended attributes: the next one to use the file is refused again
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
    """Whether any byte was ever written; a file system without holes reports all of it as data."""
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


class OwnFile(Struct, frozen=True):
    """``made_here``: it is new. ``given_away``: it held other data, which the operator gave up.

    ``folder_fd`` is its folder, which may be another's: by the path, that one could name any file.
    """

    fd: int
    folder_fd: int
    path: Path
    made_here: bool
    given_away: bool


def file_refusals(path: Path, use: FileUse, usage: Usage, roots: SystemRoots) -> tuple[Refusal, ...]:
    """Reasons not to write to this file; empty if it is free to use or doesn't exist yet.

    Opens it for reading. ``usage`` must know who has it open. Raises TargetError if it can't be read.
    """
    file = with_twins(NamedFile.at(path), roots)
    in_use = _uses_before(file, usage, roots)
    try:
        fd = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return uses(file, usage)
    except OSError as error:
        raise TargetError(f"can't read {file.path}: {error.strerror}") from error
    with closed_at_end(fd):
        in_use = in_use or _uses_now(fd, file, usage, roots)
        foreign = foreign_data(fd, file.path, use)
        return in_use if foreign is None else (*in_use, _not_ours(foreign))


def take_file(
    path: Path, use: FileUse, consent: Consent, roots: SystemRoots, folder_fd: int | None = None
) -> OwnFile:
    """Open, or create, a file for writing; it must not be in use.

    Raises RefusedError if the file holds other data or is in use, and TargetError where it can't be opened
    or is no regular file. A file that was made here is removed again if anything fails.
    """
    file = with_twins(NamedFile.at(path), roots)
    refuse(_uses_before(file, read_usage(roots), roots))
    fd, folder, made_here = _open_or_create(file.path, folder_fd)
    try:
        _lock(fd, file.path, roots)
        opened = named_file(fd, file.path)
        if not made_here:  # what is new has no other use, wherever it is stored
            opened = with_twins(opened, roots)
        refuse(_uses_now(fd, opened, read_usage(roots, opened), roots))
        foreign = foreign_data(fd, file.path, use)
        if foreign is not None and not consent.overwrite_file:
            refuse([_not_ours(foreign)])
    except BaseException:
        unused = OwnFile(fd, folder, file.path, made_here, given_away=False)
        remove_if_unused(unused)
        close_file(unused)
        raise
    return OwnFile(fd, folder, file.path, made_here, foreign is not None)


def close_file(file: OwnFile | OpenTarget) -> None:
    """Close it and its folder."""
    os.close(file.fd)
    os.close(file.folder_fd)


def remove_if_unused(file: OwnFile | OpenTarget) -> None:
    """Remove a file that was made for something which never began: nothing was written to it."""
    if file.made_here and not holds_data(file.fd):
        name = file.path.name if isinstance(file, OwnFile) else file.facts.name
        _remove(name, file.fd, file.folder_fd)


def _remove(name: str, fd: int, folder_fd: int) -> None:
    """Remove the name of an open file, unless another one has it now."""
    with suppress(FileNotFoundError):
        if os.path.samestat(os.lstat(name, dir_fd=folder_fd), os.fstat(fd)):
            os.unlink(name, dir_fd=folder_fd)


def _uses_now(fd: int, file: NamedFile, usage: Usage, roots: SystemRoots) -> tuple[Refusal, ...]:
    known = uses(file, usage)
    unseen = None if known else unseen_use(fd, file.path, roots)
    return known if unseen is None else (unseen,)


def _uses_before(file: NamedFile, usage: Usage, roots: SystemRoots) -> tuple[Refusal, ...]:
    """What can be seen while the file is not open here: an overlay opens the file below it as well."""
    known, stored = uses(file, usage), stored_at(file.path, roots)
    if known or stored == file.path:
        return known
    with failing_as(TargetError, f"can't read {stored}"):
        fd = os.open(stored, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with closed_at_end(fd):
        return _uses_now(fd, replace(file, path=stored), usage, roots)


def _not_ours(foreign: str) -> Refusal:
    return Refusal("file-data", foreign, "name another file, or to overwrite it add --overwrite-file")


def _open_or_create(path: Path, folder_fd: int | None) -> tuple[int, int, bool]:
    """The descriptors of a file and of its folder, and whether the file was made just now."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with failing_as(TargetError, f"can't open {path} for writing"):
        folder = folder_without_links(path.parent) if folder_fd is None else os.dup(folder_fd)
        try:
            try:
                fd, made_here = os.open(path.name, flags, dir_fd=folder), False
            except FileNotFoundError:
                fd = os.open(path.name, flags | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
                made_here = True
        except OSError:
            os.close(folder)
            raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        os.close(folder)
        raise TargetError(f"{path} is not a regular file: name another path")
    return fd, folder, made_here


def _lock(fd: int, path: Path, roots: SystemRoots) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file = named_file(fd, path)
        assert file.inode is not None  # noqa: S101 it is open
        owner = read_usage(roots, file).owner_of(inode_name(file.inode))
        evidence = f"{path} {owner}" if owner else f"another openpts uses {path}"
        refusal = Refusal(
            "locked", evidence, f"see fuser -v {path}; wait until it ends, or name another file"
        )
        raise RefusedError(str(refusal)) from error
    except OSError as error:
        raise TargetError(f"can't lock {path}: {error.strerror}") from error


# the largest transfer of any test (PTS 7.2, 8.2): a file of whole multiples takes every block size
_SIZE_UNIT_BYTES: Final = MIB


def open_scratch_file(target: FileTarget, consent: Consent, roots: SystemRoots) -> OpenTarget:
    """Open, or create, a scratch file: locked, of the requested size and with all its blocks.

    Raises RefusedError if the file holds other data or is in use, and TargetError where it can't
    serve. A file that was made here is removed again if anything fails.
    """
    with failing_as(TargetError, f"can't open {target.path} for writing"):
        path = Path(os.path.realpath(target.path))
        if found := link_of_another(target.path):
            raise TargetError(
                f"can't open {target.path} for writing: {found[0]} is a symbolic link of user {found[1]}, "
                f"who chose the file: write file:{path} if that is the one"
            )
    check_file_system(path, roots)
    if not path.exists():
        _whole_size_bytes(target, 0)
    file = take_file(path, FileUse.SCRATCH, consent, roots, target.folder_fd)
    fd = file.fd
    try:
        with failing_as(TargetError, f"can't prepare {path}"):
            size_bytes = _whole_size_bytes(target, os.fstat(fd).st_size)
            switch_to_direct_io(fd, path)
            allocate_fully(fd, size_bytes, path)
            mark_taken(fd, FileUse.SCRATCH, given_away=file.given_away)
            sector_bytes = file_sector_bytes(fd, path)
    except BaseException:
        if file.made_here:
            _remove(path.name, file.fd, file.folder_fd)
        close_file(file)
        raise
    facts = TargetFacts(TargetKind.FILE, path.name, str(path), size_bytes, sector_bytes)
    return OpenTarget(fd, facts, None, made_here=file.made_here, folder_fd=file.folder_fd)


def _whole_size_bytes(target: FileTarget, present_bytes: int) -> int:
    """The requested size, or else the present one. Raises TargetError unless it is whole units."""
    size_bytes = present_bytes if target.size_bytes is None else target.size_bytes
    if size_bytes == 0:
        raise TargetError(f"{target.path} is empty: give its size, as ?size=512MiB")
    if size_bytes % _SIZE_UNIT_BYTES:
        whole_mib = max(1, size_bytes // _SIZE_UNIT_BYTES)
        raise TargetError(
            f"{size_bytes:,} bytes are not a multiple of 1 MiB, the largest transfer of a test: "
            f"write file:{target.path}?size={whole_mib}MiB"
        )
    return size_bytes
