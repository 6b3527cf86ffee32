"""Who uses which block device, as far as the kernel tells: mounts, swap, loop devices, open nodes.

Read once and then asked for any number of devices, so that the guard's rules are plain questions.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from openpts.device.block_device import BlockDevice, number_text
from openpts.errors import RefusedError
from openpts.system_files import (
    SystemRoots,
    printable,
    read_lines,
    read_mounts,
    read_text,
    unescape_octal,
)


class ClaimKind(StrEnum):
    """How a device is used."""

    MOUNT = "mounted"
    SWAP = "swap"
    LOOP = "loop"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Claim:
    """One use of something, known by device number, kernel name or path; ``text`` continues its name."""

    kind: ClaimKind
    number: str | None
    name: str | None
    path: Path | None
    text: str

    def concerns(self, device: BlockDevice) -> bool:
        """Whether it is this very device that is used; partitions are devices of their own."""
        return self.name == device.name or (self.number is not None and self.number == device.number)


@dataclass(frozen=True, slots=True)
class Usage:
    """All claims at one moment."""

    claims: tuple[Claim, ...]

    def of_device(self, kind: ClaimKind, device: BlockDevice) -> str | None:
        """First use of that kind of the disk or of one of its partitions, as a sentence; None if unused."""
        for part in (device, *device.partitions):
            for claim in self.claims:
                if claim.kind is kind and claim.concerns(part):
                    return f"{part.node} {claim.text}"
        return None

    def of_file(self, kind: ClaimKind, path: Path) -> str | None:
        """First use of that kind of a regular file (path resolved), as a sentence; None if unused."""
        for claim in self.claims:
            if claim.kind is kind and claim.path == path:
                return f"{path} {claim.text}"
        return None


def read_usage(roots: SystemRoots) -> Usage:
    """What the kernel says at this moment.

    Raises RefusedError where its list of mounts can't be read: what can't be seen may be in use.
    """
    try:
        mounts = tuple(_mounts(roots))
    except (OSError, ValueError) as error:
        raise RefusedError(
            f"refused [usage]: whether a device is mounted can't be told, {printable(str(error))}; "
            f"see {roots.proc}/self/mountinfo"
        ) from error
    return Usage((*mounts, *_swaps(roots), *_loops(roots), *_open_nodes(roots)))


def _mounts(roots: SystemRoots) -> Iterator[Claim]:
    for mount in read_mounts(roots):
        # btrfs and others mount under a number of their own: there only the source names the device
        node = mount.source.startswith("/dev/")
        name = _kernel_name(mount.source, roots) if node else None
        text = f"is mounted at {printable(mount.mount_point)}"
        yield Claim(ClaimKind.MOUNT, mount.device, name, None, text)


def _swaps(roots: SystemRoots) -> Iterator[Claim]:
    for line in read_lines(roots.proc / "swaps")[1:]:
        if fields := line.split():
            yield _claim_of_path(ClaimKind.SWAP, unescape_octal(fields[0]), "is in use as swap space", roots)


def _loops(roots: SystemRoots) -> Iterator[Claim]:
    for attribute in sorted((roots.sys / "block").glob("loop*/loop/backing_file")):
        if path := read_text(attribute):
            loop_node = roots.dev / attribute.parents[1].name
            yield _claim_of_path(ClaimKind.LOOP, path, f"is the backing store of {loop_node}", roots)


def _open_nodes(roots: SystemRoots) -> Iterator[Claim]:
    """Block devices that another process has open, say the disk of a virtual machine.

    udev looks into every device that was just closed and is gone a moment later: it doesn't count.
    Other users' processes are only visible to root.
    """
    for process in roots.proc.glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        for path in _open_paths(process):
            if not path.startswith("/dev/"):
                continue
            command = read_text(process / "comm") or "unknown"
            if "udev" not in command:
                text = f"is open in process {process.name} ({command})"
                yield Claim(ClaimKind.OPEN, None, _kernel_name(path, roots), None, text)


def _open_paths(process: Path) -> Iterator[str]:
    """What a process has open; nothing where we may not look or where it has just ended."""
    try:
        descriptors = list((process / "fd").iterdir())
    except OSError:
        return
    for descriptor in descriptors:
        with suppress(OSError):
            yield str(descriptor.readlink())


def _claim_of_path(kind: ClaimKind, path: str, text: str, roots: SystemRoots) -> Claim:
    """A claim on whatever lies at a path: a device by its number if the node can be looked at, or a file."""
    local = _below_roots(path, roots)
    try:
        status = local.stat()
    except OSError:
        return Claim(kind, None, _kernel_name(path, roots), local, text)
    if stat.S_ISBLK(status.st_mode):
        return Claim(kind, number_text(status.st_rdev), None, None, text)
    return Claim(kind, None, None, Path(os.path.realpath(local)), text)


def _kernel_name(node: str, roots: SystemRoots) -> str:
    """The kernel's name for a node such as /dev/disk/by-id/x, links followed."""
    local = Path(os.path.realpath(_below_roots(node, roots)))
    root = Path(os.path.realpath(roots.dev))
    return str(local.relative_to(root)).replace("/", "!") if local.is_relative_to(root) else local.name


def _below_roots(path: str, roots: SystemRoots) -> Path:
    return roots.dev / path.removeprefix("/dev/") if path.startswith("/dev/") else Path(path)
