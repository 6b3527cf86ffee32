"""A file as the target: whose it is, and how it comes to its blocks.

A file is never overwritten because it happens to be there: openpts takes one that it made itself,
one that holds no data, or one that the operator gave away. All its blocks are allocated before
the first I/O, so that no write of a test is an allocation and the file system can't fill up.
"""

import os
from pathlib import Path
from typing import Final

from openpts.device.file_system import check_file_system
from openpts.device.guard.consent import Consent
from openpts.device.targets.allocation import allocate_fully
from openpts.device.targets.direct_io import file_sector_bytes, switch_to_direct_io
from openpts.device.targets.file_mark import FileUse, mark_left, mark_taken
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.own_file import OwnFile, remove_if_unused, take_file
from openpts.device.targets.target import FileTarget
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind

# the largest transfer of any test (PTS 7.2, 8.2): a file of whole multiples takes every block size
_SIZE_UNIT_BYTES: Final = MIB


def open_scratch_file(target: FileTarget, consent: Consent, roots: SystemRoots) -> OpenTarget:
    """Open, or create, a scratch file: locked, of the size asked for and with all its blocks.

    Raises RefusedError if the file holds other data or is in use, and TargetError where it can't
    serve. A file that was made here is removed again if anything fails.
    """
    path = Path(os.path.realpath(target.path))
    check_file_system(path, roots)
    if not path.exists():
        _whole_size_bytes(target, 0)
    file = take_file(path, FileUse.SCRATCH, consent, roots)
    try:
        facts = _prepare(file, target)
    except BaseException:
        os.close(file.fd)
        if file.made_here:
            path.unlink(missing_ok=True)
        raise
    return OpenTarget(file.fd, facts, None, made_here=file.made_here)


def leave_scratch_file(target: OpenTarget) -> None:
    """Note that openpts has ended writing to it, and close it."""
    mark_left(target.fd, FileUse.SCRATCH)
    os.close(target.fd)


def remove_unused_scratch_file(target: OpenTarget) -> None:
    """Take back a file that was made for a run which never began: nothing was written to it."""
    remove_if_unused(target.fd, Path(target.facts.path), made_here=target.made_here)


def _prepare(file: OwnFile, target: FileTarget) -> TargetFacts:
    fd, path = file.fd, file.path
    try:
        size_bytes = _whole_size_bytes(target, os.fstat(fd).st_size)
        switch_to_direct_io(fd, path)
        allocate_fully(fd, size_bytes, path)
        mark_taken(fd, FileUse.SCRATCH, given_away=file.given_away)
        return TargetFacts(TargetKind.FILE, path.name, str(path), size_bytes, file_sector_bytes(fd, path))
    except OSError as error:
        raise TargetError(f"can't prepare {path}: {error.strerror}") from error


def _whole_size_bytes(target: FileTarget, present_bytes: int) -> int:
    """The size asked for, or else the present one. Raises TargetError unless it is whole units."""
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
