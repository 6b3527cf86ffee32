"""A regular file, opened for writing: locked, not in use, and openpts' own or given up by the operator."""

import fcntl
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from openpts.device.guard.claims import NamedFile
from openpts.device.guard.consent import Consent
from openpts.device.guard.file_use import named_file, unseen_use, uses
from openpts.device.guard.rules import Refusal, refuse
from openpts.device.guard.usage import Usage, read_usage
from openpts.device.targets.file_mark import FileUse, foreign_data, holds_data
from openpts.errors import RefusedError, TargetError
from openpts.system_files import SystemRoots


@dataclass(frozen=True, slots=True)
class OwnFile:
    """``made_here``: it is new. ``given_away``: it held other data, which the operator gave up."""

    fd: int
    path: Path
    made_here: bool
    given_away: bool


def file_refusals(path: Path, use: FileUse, usage: Usage, roots: SystemRoots) -> tuple[Refusal, ...]:
    """Reasons not to write to this file; empty if it is free to use or doesn't exist yet.

    Opens it for reading. ``usage`` must know who has it open. Raises TargetError if it can't be read.
    """
    file = NamedFile.at(path)
    try:
        fd = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return uses(file, usage)
    except OSError as error:
        raise TargetError(f"can't read {file.path}: {error.strerror}") from error
    try:
        in_use = _uses_now(fd, file.path, usage, roots)
        foreign = foreign_data(fd, file.path, use)
        return (*in_use, *(() if foreign is None else (_not_ours(foreign),)))
    finally:
        os.close(fd)


def take_file(path: Path, use: FileUse, consent: Consent, roots: SystemRoots) -> OwnFile:
    """Open, or create, a file for writing; it must not be in use.

    Raises RefusedError if the file holds other data or is in use, and TargetError where it can't be opened
    or is no regular file. A file that was made here is removed again if anything fails.
    """
    file = NamedFile.at(path)
    refuse(uses(file, read_usage(roots)))
    fd, made_here = _open_or_create(file.path)
    try:
        _lock(fd, file.path)
        usage = read_usage(roots, named_file(fd, file.path).inode)
        refuse(_uses_now(fd, file.path, usage, roots))
        foreign = foreign_data(fd, file.path, use)
        if foreign is not None and not consent.overwrite_file:
            refuse([_not_ours(foreign)])
    except BaseException:
        give_up(OwnFile(fd, file.path, made_here, given_away=False))
        raise
    return OwnFile(fd, file.path, made_here, foreign is not None)


def give_up(file: OwnFile) -> None:
    """Close a file that nothing was done with, and take it back if it was made for that."""
    remove_if_unused(file.fd, file.path, made_here=file.made_here)
    os.close(file.fd)


def remove_if_unused(fd: int, path: Path, *, made_here: bool) -> None:
    """Take back a file that was made for something which never began: nothing was written to it."""
    if made_here and not holds_data(fd):
        path.unlink(missing_ok=True)


def _uses_now(fd: int, path: Path, usage: Usage, roots: SystemRoots) -> tuple[Refusal, ...]:
    known = uses(named_file(fd, path), usage)
    unseen = None if known else unseen_use(fd, path, roots)
    return known if unseen is None else (unseen,)


def _not_ours(foreign: str) -> Refusal:
    return Refusal("file-data", foreign, "name another file, or to overwrite it add --overwrite-file")


def _open_or_create(path: Path) -> tuple[int, bool]:
    """A file descriptor, and whether the file was made just now."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        if path.exists():
            fd, made_here = os.open(path, flags), False
        else:
            fd, made_here = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600), True
    except OSError as error:
        raise TargetError(f"can't open {path} for writing: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise TargetError(f"{path} is not a regular file: name another path")
    return fd, made_here


def _lock(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        refusal = Refusal("locked", f"another openpts uses {path}", f"see fuser -v {path}; name another file")
        raise RefusedError(str(refusal)) from error
    except OSError as error:
        raise TargetError(f"can't lock {path}: {error.strerror}") from error
