"""Reasons not to write to a regular file, by whatever name it is known."""

import errno
import fcntl
import os
import signal
import time
from pathlib import Path
from typing import Final

from openpts.device.block_device import number_text
from openpts.device.file_system import find_mount
from openpts.device.guard.claims import ClaimKind, NamedFile
from openpts.device.guard.rules import Refusal
from openpts.device.guard.usage import Usage
from openpts.system_files import SystemRoots

_REMEDIES: Final = {
    ClaimKind.MOUNT: "see findmnt; unmount it or name another file",
    ClaimKind.SWAP: "take it out of use with swapoff or name another file",
    ClaimKind.LOOP: "see losetup --list; detach it with losetup -d or name another file",
    ClaimKind.EXPORT: "see nvmetcli ls and targetcli ls; take it out of the target or name another file",
    ClaimKind.OPEN: "see fuser -v {path}; end that process or name another file",
}
# there the server grants leases, and denies them for files that are not open
_SERVED_FILE_SYSTEMS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3"})
_CLOSING_S: Final = 2.0  # what was detached or ended a moment ago
_RETRY_S: Final = 0.05


def named_file(fd: int, path: Path) -> NamedFile:
    """The file that is open, by the name that it was opened by."""
    status = os.fstat(fd)
    return NamedFile(path, (number_text(status.st_dev), status.st_ino))


def uses(file: NamedFile, usage: Usage) -> tuple[Refusal, ...]:
    """What the kernel's own lists have against it, one refusal for each kind of use."""
    found = ((kind, usage.of_file(kind, file), remedy) for kind, remedy in _REMEDIES.items())
    return tuple(
        Refusal(kind, evidence, remedy.format(path=file.path))
        for kind, evidence, remedy in found
        if evidence is not None
    )


def unseen_use(fd: int, path: Path, roots: SystemRoots) -> Refusal | None:
    """The refusal if anyone else has it open or mapped: in a container out of sight, or the kernel itself.

    A lease says so: the kernel grants one on a file that has no other opener, by whatever name and in
    whatever namespace. It is handed back at once. Where there are no leases nothing is said.
    """
    mount = find_mount(path, roots)
    if mount is not None and mount.fs_type in _SERVED_FILE_SYSTEMS:
        return None
    deadline_s = time.monotonic() + _CLOSING_S
    while not _is_ours_alone(fd):
        if time.monotonic() >= deadline_s:
            return Refusal(
                ClaimKind.OPEN,
                f"{path} is open elsewhere: in a process that can't be seen, or in the kernel",
                f"see fuser -v {path}, cat /proc/locks, cat /proc/swaps; end that use or name another file",
            )
        time.sleep(_RETRY_S)
    return None


def _is_ours_alone(fd: int) -> bool:
    """Whether no other descriptor or mapping of the file exists, as far as the kernel tells."""
    try:
        # who opens the file in between has us sent a signal: by default SIGIO, which would end us
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        return error.errno != errno.EAGAIN
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return True
