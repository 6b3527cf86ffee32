"""What tests need and not every machine has: ``pytest.mark.needs("io_uring")`` skips one with the reason."""

import ctypes
import os
import pty
import shutil
import struct
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from openpts.device.block_device import check_file_system
from openpts.device.guard.usage import stored_at
from openpts.engine import native as native_build
from openpts.errors import RefusedError, TargetError
from openpts.system_files import SystemRoots
from openpts_drives.mounted.directory import DirectoryTarget


def forbid_io_uring() -> None:
    """Install a system-call filter that answers EPERM to io_uring_setup, as container runtimes do."""
    io_uring_setup, eperm = 425, 1
    load, jump_if_equal, give_back = 0x20, 0x15, 0x06
    allow, errno = 0x7FFF0000, 0x00050000
    program = b"".join(
        struct.pack("HBBI", *instruction)
        for instruction in (
            (load, 0, 0, 0),
            (jump_if_equal, 0, 1, io_uring_setup),
            (give_back, 0, 0, errno | eperm),
            (give_back, 0, 0, allow),
        )
    )
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(program)
    filter_program = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    assert libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0
    assert libc.prctl(set_seccomp, filter_mode, filter_program, 0, 0) == 0


@cache
def lacking(need: str) -> str | None:
    """Why a test that needs it can't run here; a need without a probe is a program."""
    if need in _PROBES:
        return _PROBES[need]()
    return None if shutil.which(need) else f"the program {need} is not installed"


def _root() -> str | None:
    return None if os.geteuid() == 0 else "needs root"


def _io_uring() -> str | None:
    answer = native_build.io_uring()
    return None if answer == native_build.AVAILABLE else f"needs io_uring, and here {answer}"


def _terminals() -> str | None:
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        return f"needs terminals (devpts at /dev/pts): {error}"
    os.close(ours)
    os.close(theirs)
    return None


def _files() -> str | None:
    """A file that is there already as a target: of an overlay that hides its layers it is refused."""
    with tempfile.NamedTemporaryFile(prefix="openpts-tests-") as probe:
        path = Path(os.path.realpath(probe.name))
        try:
            check_file_system(path, SystemRoots())
            os.setxattr(path, "user.openpts.scratch", b"1")
            os.close(os.open(path, os.O_RDWR | os.O_DIRECT))
            stored_at(path, SystemRoots())
        except (TargetError, RefusedError, OSError) as error:
            why = str(error).replace(str(path), f"a file of {path.parent}")
            return f"needs a temporary folder (TMPDIR) whose files can be targets: {why}"
    return None


def _directory() -> str | None:
    try:
        DirectoryTarget.of(tempfile.gettempdir(), SystemRoots())
    except TargetError as error:
        return f"needs a temporary folder (TMPDIR) on a drive of this machine: {error}"
    return None


_PROBES: Final[dict[str, Callable[[], str | None]]] = {
    "root": _root,
    "io_uring": _io_uring,
    "terminals": _terminals,
    "files": _files,
    "directory": _directory,
}
