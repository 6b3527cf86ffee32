"""One use of a device or a file: how it is known, and what is said of it."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots


class ClaimKind(StrEnum):
    """How a device is used."""

    MOUNT = "mounted"
    SWAP = "swap"
    LOOP = "loop"
    EXPORT = "exported"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Claim:
    """One use of something, known by device number, kernel name or path; ``text`` continues its name.

    ``node`` is what was used where that is another door to the same drive, such as ``/dev/ng0n1``;
    ``program`` the name of a process that has it open.
    """

    kind: ClaimKind
    text: str
    number: str | None = None
    name: str | None = None
    path: Path | None = None
    node: str | None = None
    program: str | None = None

    def concerns(self, device: BlockDevice) -> bool:
        """Whether it is this very device that is used; partitions are devices of their own."""
        return self.name == device.name or (self.number is not None and self.number == device.number)


def kernel_name(node: str, roots: SystemRoots) -> str:
    """The kernel's name for a node such as /dev/disk/by-id/x, links followed."""
    local = Path(os.path.realpath(local_path(node, roots)))
    root = Path(os.path.realpath(roots.dev))
    return str(local.relative_to(root)).replace("/", "!") if local.is_relative_to(root) else local.name


def local_path(path: str, roots: SystemRoots) -> Path:
    """A path below /dev, below the roots' own."""
    return roots.dev / path.removeprefix("/dev/") if path.startswith("/dev/") else Path(path)
