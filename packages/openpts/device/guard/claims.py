"""One use of a device or a file: how it is known, and what is said of it."""

import os
import stat
from enum import StrEnum
from pathlib import Path
from typing import Self

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.kernel_calls import Inode, node_status
from openpts.errors import TargetError
from openpts.system_files import SystemRoots


class ClaimKind(StrEnum):
    """How a device is used."""

    MOUNT = "mounted"
    SWAP = "swap"
    LOOP = "loop"
    EXPORT = "exported"
    OPEN = "open"
    OWNED = "owned"


class NamedFile(Struct, frozen=True):
    """A regular file by one of its names (links resolved); ``inode`` is None where nothing is there.

    ``twins`` are the inodes by which overlays show the same file.
    """

    path: Path
    inode: Inode | None
    twins: frozenset[Inode] = frozenset()

    @classmethod
    def at(cls, path: Path) -> Self:
        """The file at a path, links resolved, with its inode if it exists.

        Raises TargetError where names on its way are exchanged meanwhile.
        """
        try:
            resolved = Path(os.path.realpath(path))
        except OSError as error:  # what was a link a moment ago is none
            raise TargetError(
                f"can't open {path}: {error.strerror}; another program changes its names"
            ) from error
        status = node_status(resolved)
        return cls(resolved, None if status is None else status.inode)

    @property
    def inodes(self) -> frozenset[Inode]:
        """All inodes by which the file can be in use."""
        return self.twins if self.inode is None else self.twins | {self.inode}


class Claim(Struct, frozen=True):
    """One use of something, known by device number, kernel name, inode or path; ``text`` continues its name.

    ``path`` is how the kernel names a file, and counts where its inode can't be had. ``node`` is what was
    used where that is another door to the same drive, such as ``/dev/ng0n1``; ``program`` the name of a
    process that has it open, ``loop`` that of the loop device that stores its data in it, ``owned`` what the
    file is named after with which a run says that a target is its own.
    """

    kind: ClaimKind
    text: str
    number: str | None = None
    name: str | None = None
    inode: Inode | None = None
    path: Path | None = None
    node: str | None = None
    program: str | None = None
    loop: str | None = None
    owned: str | None = None

    def concerns(self, device: BlockDevice) -> bool:
        """Whether the claim is on ``device`` itself; partitions are devices of their own."""
        return self.name == device.name or (self.number is not None and self.number == device.number)

    def is_of(self, file: NamedFile) -> bool:
        """Whether the claim is on ``file``, by whatever name."""
        if self.inode is not None and file.inode is not None:
            return self.inode in file.inodes
        return self.path is not None and self.path == file.path

    @property
    def is_of_any_file(self) -> bool:
        """Whether the claim is on a file that can't be identified, so that any file may be meant."""
        return self.path is not None and (self.inode, self.number, self.name) == (None, None, None)


def kernel_name(node: str, roots: SystemRoots) -> str:
    """The kernel's name for a node such as /dev/disk/by-id/x, links followed."""
    local = Path(os.path.realpath(local_path(node, roots)))
    root = Path(os.path.realpath(roots.dev))
    return str(local.relative_to(root)).replace("/", "!") if local.is_relative_to(root) else local.name


def local_path(path: str, roots: SystemRoots) -> Path:
    """A path below /dev, below the roots' own."""
    return roots.dev / path.removeprefix("/dev/") if path.startswith("/dev/") else Path(path)


def claim_of_path(kind: ClaimKind, path: str, text: str, roots: SystemRoots) -> Claim:
    """A claim on what is at a path: a device by its number if the node is readable, or a file."""
    local = local_path(path, roots)
    status = node_status(local)
    if status is None:
        name = kernel_name(path, roots) if path.startswith("/dev/") else None
        return Claim(kind, text, name=name, path=local)
    if stat.S_ISBLK(status.mode):
        return Claim(kind, text, number=status.number, path=local)
    return Claim(kind, text, inode=status.inode, path=Path(os.path.realpath(local)))
