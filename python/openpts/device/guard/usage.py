"""Who uses which block device, as far as the kernel tells: mounts, swap, loop devices, exports, open nodes.

Read once and then asked for any number of devices, so that the guard's rules are plain questions.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openpts.device.block_device import BlockDevice, number_text
from openpts.device.guard.claims import Claim, ClaimKind, kernel_name, local_path
from openpts.device.guard.exports import exported
from openpts.device.guard.mounted import mounted
from openpts.device.guard.open_nodes import OpenNodes, find_open_nodes
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots, printable, read_lines, read_text, unescape_octal


@dataclass(frozen=True, slots=True)
class Usage:
    """All claims at one moment. ``secretive``: processes that don't show what they have open."""

    claims: tuple[Claim, ...]
    secretive: tuple[str, ...] = ()

    def of_device(self, kind: ClaimKind, device: BlockDevice) -> str | None:
        """First use of that kind of the disk or of one of its partitions, as a sentence; None if unused."""
        for part in (device, *device.partitions):
            for claim in self.claims:
                if claim.kind is kind and claim.concerns(part):
                    return f"{claim.node or part.node} {claim.text}"
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
        mounts = tuple(mounted(roots))
    except (OSError, ValueError) as error:
        raise RefusedError(
            f"refused [usage]: whether a device is mounted can't be told, {printable(str(error))}; "
            f"see {roots.proc}/[0-9]*/mountinfo"
        ) from error
    loops = tuple(_loops(roots))
    files = frozenset(claim.path for claim in loops if claim.path is not None)
    opened: OpenNodes = find_open_nodes(roots, files)
    claims = (*mounts, *_swaps(roots), *loops, *exported(roots), *opened.claims)
    return Usage(claims, opened.secretive)


def _swaps(roots: SystemRoots) -> Iterator[Claim]:
    for line in read_lines(roots.proc / "swaps")[1:]:
        if fields := line.split():
            yield _claim_of_path(ClaimKind.SWAP, unescape_octal(fields[0]), "is in use as swap space", roots)


def _loops(roots: SystemRoots) -> Iterator[Claim]:
    for attribute in sorted((roots.sys / "block").glob("loop*/loop/backing_file")):
        if path := read_text(attribute):
            loop_node = roots.dev / attribute.parents[1].name
            yield _claim_of_path(ClaimKind.LOOP, path, f"is the backing store of {loop_node}", roots)


def _claim_of_path(kind: ClaimKind, path: str, text: str, roots: SystemRoots) -> Claim:
    """A claim on whatever lies at a path: a device by its number if the node can be looked at, or a file."""
    local = local_path(path, roots)
    try:
        status = local.stat()
    except OSError:
        return Claim(kind, text, name=kernel_name(path, roots), path=local)
    if stat.S_ISBLK(status.st_mode):
        return Claim(kind, text, number=number_text(status.st_rdev))
    return Claim(kind, text, path=Path(os.path.realpath(local)))
