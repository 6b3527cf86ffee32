"""Who uses which block device, as far as the kernel tells: mounts, swap, loop devices, exports, open nodes.

Read once and then asked for any number of devices, so that the guard's rules are plain questions.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from openpts.device.block_device import BlockDevice
from openpts.device.guard.claims import Claim, ClaimKind, NamedFile, claim_of_path, local_path
from openpts.device.guard.exports import exported
from openpts.device.guard.mounted import mounted, other_roots
from openpts.device.guard.open_nodes import OpenNodes, find_open_nodes
from openpts.device.kernel_calls import Inode, loop_backing, node_status
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

    def of_file(self, kind: ClaimKind, file: NamedFile) -> str | None:
        """First use of that kind of a regular file, by whatever name, as a sentence; None if unused."""
        for claim in self.claims:
            if claim.kind is kind and claim.is_of(file):
                return f"{file.path} {claim.text}"
        return None


def read_usage(roots: SystemRoots, file: Inode | None = None) -> Usage:
    """What the kernel says at this moment; who has files open, for those below loop devices and ``file``.

    Raises RefusedError where its list of mounts can't be read: what can't be seen may be in use.
    """
    try:
        mounts = tuple(mounted(roots))
    except (OSError, ValueError) as error:
        raise RefusedError(
            f"refused [usage]: can't check whether a device is mounted, {printable(str(error))}; "
            f"see {roots.proc}/[0-9]*/mountinfo"
        ) from error
    loops = tuple(_loops(roots))
    files = frozenset(inode for inode in (file, *(claim.inode for claim in loops)) if inode is not None)
    opened: OpenNodes = find_open_nodes(roots, files)
    claims = (*mounts, *_swaps(roots), *loops, *exported(roots), *opened.claims)
    return Usage(claims, opened.secretive)


def _swaps(roots: SystemRoots) -> Iterator[Claim]:
    text = "is in use as swap space"
    for line in read_lines(roots.proc / "swaps")[1:]:
        path, kind, *_ = (*line.split(), "", "")
        if kind == "file":
            yield from _of_swap_file(unescape_octal(path), text, roots)
        elif path:
            yield claim_of_path(ClaimKind.SWAP, unescape_octal(path), text, roots)


def _of_swap_file(path: str, text: str, roots: SystemRoots) -> Iterator[Claim]:
    """On what lies at the path in any mount namespace: the kernel doesn't say which of them it means."""
    places = (local_path(path, roots), *(root / path.lstrip("/") for root in other_roots(roots)))
    found = {status.inode for place in places if (status := node_status(place)) and stat.S_ISREG(status.mode)}
    yield from (Claim(ClaimKind.SWAP, text, inode=inode, path=Path(path)) for inode in sorted(found))
    if not found:
        yield Claim(ClaimKind.SWAP, text, path=Path(path))


def _loops(roots: SystemRoots) -> Iterator[Claim]:
    for attribute in sorted((roots.sys / "block").glob("loop*/loop/backing_file")):
        if path := read_text(attribute):
            name = attribute.parents[1].name
            node = roots.dev / name
            claim = claim_of_path(ClaimKind.LOOP, path, f"is the backing store of {node}", roots)
            if (backing := loop_backing(node)) is not None:
                # a path may lead elsewhere by now, or never have led anywhere in this mount namespace
                claim = Claim(ClaimKind.LOOP, claim.text, number=backing.number, path=Path(path))
                if backing.number is None:
                    claim = replace(claim, inode=backing.inode)
            yield replace(claim, loop=name)
