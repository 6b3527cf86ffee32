"""What all ways to block events have in common."""

import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from openpts.errors import EngineUnavailableError, OpenptsError
from openpts.system_files import SystemRoots, read_lines, read_mounts, read_text

_CAP_SYS_ADMIN: Final = 21

Feed = Callable[[int, bytes], None]
"""Takes the number of a processor and what its buffer held."""


class MissingError(OpenptsError):
    """A way is not available here; the text says what is missing and how to get it."""


class CaptureUnavailableError(EngineUnavailableError):
    """No way is available."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(f"cannot capture block I/O: {'; '.join(missing)}")
        self._missing = tuple(missing)

    @property
    def complaints(self) -> tuple[str, ...]:
        """A line for each way."""
        return ("cannot capture block I/O, no way to the kernel's events is available:", *self._missing)


class OpenBackend(Protocol):
    """Events as they come."""

    def start(self) -> None:
        """Record from now on. Raises OpenptsError."""

    def stop(self) -> None:
        """Record no more; what is in the buffers stays."""

    def drain(self, feed: Feed) -> None:
        """Hand out what the buffers hold."""

    def lost(self) -> int:
        """How many events the kernel had no room for so far."""

    def close(self) -> None:
        """Leave the kernel as it was."""


def mounted(fs_type: str, roots: SystemRoots) -> Path | None:
    """Where a file system of the kernel is mounted; None if it isn't."""
    try:
        mounts = read_mounts(roots)
    except (OSError, ValueError):
        return None
    return next((Path(mount.mount_point) for mount in mounts if mount.fs_type == fs_type), None)


def check_rights(roots: SystemRoots) -> None:
    """Raises MissingError if this process may not look at the kernel's events."""
    lines = read_lines(roots.proc / "self/status")
    effective = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    if not int(effective, 16) >> _CAP_SYS_ADMIN & 1:
        raise MissingError("CAP_SYS_ADMIN is missing: run as root, and in no container without it")


def why_not_permitted(roots: SystemRoots) -> str:
    """The likely reason for which the kernel does not permit what root may do otherwise."""
    lockdown = read_text(roots.sys / "kernel/security/lockdown") or ""
    if "[integrity]" in lockdown or "[confidentiality]" in lockdown:
        return f"the kernel is locked down ({lockdown}): boot without lockdown, or without Secure Boot"
    if lockdown:
        return "the kernel does not permit it: a container, or a security module, is in the way"
    return (
        "the kernel does not permit it: it is locked down (boot without lockdown, or without Secure Boot), "
        "or a container or a security module is in the way"
    )


def kernel_without_events() -> str:
    """What to say where the kernel has no block events."""
    return f"Linux {platform.release()} was built without CONFIG_BLK_DEV_IO_TRACE: use a kernel that has it"
