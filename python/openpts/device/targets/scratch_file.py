"""A file as the target: whose it is, and how it comes to its blocks.

A file is never overwritten because it happens to be there: openpts takes one that it made itself,
one that holds no data, or one that the operator gave away. All its blocks are allocated before
the first I/O, so that no write of a test is an allocation and the file system can't fill up.
"""

import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from openpts.device.file_system import check_file_system
from openpts.device.guard.claims import ClaimKind
from openpts.device.guard.consent import Consent
from openpts.device.guard.rules import Refusal, refuse
from openpts.device.guard.usage import Usage
from openpts.device.targets.allocation import allocate_fully
from openpts.device.targets.direct_io import file_sector_bytes, switch_to_direct_io
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import FileTarget
from openpts.errors import RefusedError, TargetError
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind

# the largest transfer of any test (PTS 7.2, 8.2): a file of whole multiples takes every block size
_SIZE_UNIT_BYTES: Final = MIB

_MARK_NAME: Final = "user.openpts.scratch"
_MARK_VALUE: Final = b"1"


def file_refusals(path: Path, usage: Usage) -> tuple[Refusal, ...]:
    """What speaks against writing to this file; empty if it is free to use or not there yet.

    Raises TargetError if the file can't be read.
    """
    resolved = Path(os.path.realpath(path))
    try:
        fd = os.open(resolved, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return _claims(resolved, usage)
    except OSError as error:
        raise TargetError(f"can't read {resolved}: {error.strerror}") from error
    try:
        return (*_claims(resolved, usage), *_foreign(fd, resolved))
    finally:
        os.close(fd)


def open_scratch_file(target: FileTarget, consent: Consent, usage: Usage, roots: SystemRoots) -> OpenTarget:
    """Open, or create, a scratch file: locked, of the size asked for and with all its blocks.

    Raises RefusedError where the file is somebody else's or in use, and TargetError where it can't
    serve. A file that was made here is removed again if anything fails.
    """
    path = Path(os.path.realpath(target.path))
    check_file_system(path, roots)
    refuse(_claims(path, usage))
    fd, created = _open_or_create(path, target)
    try:
        facts = _prepare(fd, path, target, consent)
    except BaseException:
        os.close(fd)
        if created:
            path.unlink(missing_ok=True)
        raise
    return OpenTarget(fd, facts, None, made_here=created)


def remove_if_unused(target: OpenTarget) -> None:
    """Take back a file that was made for a run which never began: nothing was written to it."""
    if target.made_here and not _holds_data(target.fd):
        Path(target.facts.path).unlink(missing_ok=True)


def _prepare(fd: int, path: Path, target: FileTarget, consent: Consent) -> TargetFacts:
    try:
        _lock(fd, path)
        if not consent.overwrite_file:
            refuse(_foreign(fd, path))
        size_bytes = _whole_size_bytes(target, os.fstat(fd).st_size)
        switch_to_direct_io(fd, path)
        _mark_as_ours(fd)
        allocate_fully(fd, size_bytes, path)
        return TargetFacts(TargetKind.FILE, path.name, str(path), size_bytes, file_sector_bytes(fd, path))
    except OSError as error:
        raise TargetError(f"can't prepare {path}: {error.strerror}") from error


def _claims(path: Path, usage: Usage) -> tuple[Refusal, ...]:
    remedies = {
        ClaimKind.SWAP: "take it out of use with swapoff or name another file",
        ClaimKind.LOOP: "see losetup --list; detach it with losetup -d or name another file",
    }
    found = ((kind, usage.of_file(kind, path), remedy) for kind, remedy in remedies.items())
    return tuple(Refusal(kind, evidence, remedy) for kind, evidence, remedy in found if evidence is not None)


def _foreign(fd: int, path: Path) -> tuple[Refusal, ...]:
    if _is_ours(fd) or not _holds_data(fd):
        return ()
    evidence = f"{path} holds data that openpts did not write"
    return (Refusal("file-data", evidence, "name another file, or if it may be lost add --overwrite-file"),)


def _open_or_create(path: Path, target: FileTarget) -> tuple[int, bool]:
    """A file descriptor, and whether the file was made just now."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        if path.exists():
            fd, created = os.open(path, flags), False
        else:
            _whole_size_bytes(target, 0)
            fd, created = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600), True
    except OSError as error:
        raise TargetError(f"can't open {path} for writing: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise TargetError(f"{target.path} is not a regular file: name another path")
    return fd, created


def _whole_size_bytes(target: FileTarget, present_bytes: int) -> int:
    """The size asked for, or else the present one. Raises TargetError unless it is whole units."""
    size_bytes = present_bytes if target.size_bytes is None else target.size_bytes
    if size_bytes == 0:
        raise TargetError(f"{target.path} is empty: say how large it shall be, with ?size=512MiB")
    if size_bytes % _SIZE_UNIT_BYTES:
        whole_mib = max(1, size_bytes // _SIZE_UNIT_BYTES)
        raise TargetError(
            f"{size_bytes:,} bytes are no multiple of 1 MiB, the largest transfer of a test: "
            f"write file:{target.path}?size={whole_mib}MiB"
        )
    return size_bytes


def _lock(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        refusal = Refusal("locked", f"another run uses {path}", f"see fuser -v {path}; name another file")
        raise RefusedError(str(refusal)) from error


def _mark_as_ours(fd: int) -> None:
    # a file system without extended attributes: the next run asks for --overwrite-file again
    with suppress(OSError):
        os.setxattr(fd, _MARK_NAME, _MARK_VALUE)


def _is_ours(fd: int) -> bool:
    try:
        return os.getxattr(fd, _MARK_NAME) == _MARK_VALUE
    except OSError:
        return False


def _holds_data(fd: int) -> bool:
    """Whether any byte was ever written; a file system that can't tell says that all of it is data."""
    try:
        os.lseek(fd, 0, os.SEEK_DATA)
    except OSError as error:
        return error.errno != errno.ENXIO
    return True
