"""Who uses which block device, as far as the kernel tells: mounts, swap, loop devices, exports, open nodes.

Read once and then asked for any number of devices, so that the guard's rules are plain questions. Mounts are
those of this mount namespace and of others, such as containers. The kernel's NVMe target opens a drive
without a claim on it: nothing but its own configuration shows that use.
"""

import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.guard.claims import Claim, ClaimKind, NamedFile, claim_of_path, kernel_name, local_path
from openpts.device.guard.open_nodes import OpenNodes, find_open_nodes
from openpts.device.guard.overlay import inodes_of
from openpts.device.kernel_calls import loop_backing, node_status
from openpts.device.nvme.nvme_subsystem import namespaces_of
from openpts.errors import RefusedError
from openpts.ownership import file_name
from openpts.system_files import (
    Mount,
    SystemRoots,
    other_roots,
    printable,
    read_lines,
    read_mounts,
    read_text,
    unescape_octal,
    view_of,
)

# iBlock device: sdb  UDEV PATH: /dev/disk/by-id/x  readonly: 0
_IBLOCK_DEVICE: Final = re.compile(r"iBlock device: (\S+)")
# TCM FILEIO ID: 0        File: /srv/disk.img  Size: 1073741824  Mode: O_DSYNC
_FILEIO_FILE: Final = re.compile(r"TCM FILEIO ID: .*?File: (/.*?)\s+Size: ")


def _exported(roots: SystemRoots) -> Iterator[Claim]:
    """A claim for each drive and each file that is served."""
    for subsystem in sorted((roots.sys / "kernel/config/nvmet/subsystems").glob("*")):
        text = f"is served to others by the NVMe target {printable(subsystem.name)}"
        for place in (*sorted(subsystem.glob("namespaces/*")), subsystem / "passthru"):
            path = read_text(place / "device_path")
            if path is not None and path.startswith("/") and read_text(place / "enable") == "1":
                yield from _claims_of_export(path, text, roots)
    for store in sorted((roots.sys / "kernel/config/target/core").glob("*/*")):
        yield from _of_scsi_target(store, roots)


def _of_scsi_target(store: Path, roots: SystemRoots) -> Iterator[Claim]:
    text = f"is served to others by the SCSI target {printable(store.name)}"
    if (path := read_text(store / "udev_path")) is not None and path.startswith("/"):
        yield from _claims_of_export(path, text, roots)
    for line in read_lines(store / "info"):
        if found := _IBLOCK_DEVICE.search(line):
            yield Claim(ClaimKind.EXPORT, text, name=found[1])
        if found := _FILEIO_FILE.search(line):
            yield from _claims_of_export(found[1], text, roots)


def _claims_of_export(path: str, text: str, roots: SystemRoots) -> Iterator[Claim]:
    """Claims on an exported file or device, or on all namespaces of an exported controller."""
    yield claim_of_path(ClaimKind.EXPORT, path, text, roots)
    if not path.startswith("/dev/"):
        return
    name = kernel_name(path, roots)
    yield Claim(ClaimKind.EXPORT, text, name=name)
    for namespace in namespaces_of(roots.sys / "class/nvme" / name):
        yield Claim(ClaimKind.EXPORT, text, name=namespace, node=path)


def _mounted(roots: SystemRoots) -> Iterator[Claim]:
    """A claim for each mount of a device.

    Raises OSError if the kernel's list of a process that lives can't be read, and ValueError if a line of it
    makes no sense.
    """
    own = read_mounts(roots)
    yield from _claims(own, "", None, roots)
    yield from _of_others(roots)
    yield from _members_of_btrfs(roots)


def _claims(mounts: tuple[Mount, ...], where: str, root: Path | None, roots: SystemRoots) -> Iterator[Claim]:
    for mount in mounts:
        # btrfs and others mount under a number of their own: there only the source names the device
        name = kernel_name(mount.source, roots) if mount.source.startswith("/dev/") else None
        text = f"is mounted at {printable(mount.mount_point)}{where}"
        yield Claim(ClaimKind.MOUNT, text, number=mount.device, name=name)
        if mount.source.startswith("/"):
            yield from _of_source(mount.source, text, root, roots)


def _of_source(source: str, text: str, root: Path | None, roots: SystemRoots) -> Iterator[Claim]:
    """Claim on a mounted node, or on a mounted file: some file systems need no loop device."""
    place = local_path(source, roots) if root is None else root / source.lstrip("/")
    status = node_status(place)
    if status is not None and stat.S_ISBLK(status.mode):
        yield Claim(ClaimKind.MOUNT, text, number=status.number)
    elif status is not None and stat.S_ISREG(status.mode):
        yield Claim(ClaimKind.MOUNT, text, inode=status.inode, path=Path(source))


def _of_others(roots: SystemRoots) -> Iterator[Claim]:
    """Claims by mounts of other namespaces, by each root directory in them: a chroot sees a part only."""
    seen = {view_of(roots.proc / "self")}
    for process in sorted(roots.proc.glob("[0-9]*")):
        view = view_of(process)
        if view is None or view in seen:
            continue
        command = read_text(process / "comm") or "unknown"
        who = f"process {process.name} ({command})"
        try:
            mounts = read_mounts(roots, process.name)
        except (OSError, ValueError) as error:
            if view_of(process) is None:
                continue  # it has ended: the next one with this view is asked
            raise ValueError(f"{who}: {error}") from error
        seen.add(view)
        yield from _claims(mounts, f" in the mount namespace of {who}", process / "root", roots)


def _members_of_btrfs(roots: SystemRoots) -> Iterator[Claim]:
    """Of a file system over several drives, mounts name one; the module lists all while it is mounted."""
    for member in sorted((roots.sys / "fs/btrfs").glob("*/devices/*")):
        text = f"is part of the btrfs file system {member.parents[1].name}, which is mounted"
        yield Claim(ClaimKind.MOUNT, text, name=member.name)


class Usage(Struct, frozen=True):
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

    def owner_of(self, name: str) -> str | None:
        """The run that has claimed a target by this name, as the end of a sentence; None if there is none."""
        texts = [claim.text for claim in self.claims if claim.owned == file_name(name)]
        return min(texts, key=len, default=None)  # the owner itself before programs that it has started


def read_usage(roots: SystemRoots, file: NamedFile | None = None) -> Usage:
    """What the kernel says at this moment; who has files open, for those below loop devices and ``file``.

    Raises RefusedError where its list of mounts can't be read: what can't be seen may be in use.
    """
    try:
        mounts = tuple(_mounted(roots))
    except (OSError, ValueError) as error:
        raise RefusedError(
            f"refused [usage]: can't check whether a device is mounted, {printable(str(error))}; "
            f"see {roots.proc}/[0-9]*/mountinfo"
        ) from error
    loops = tuple(_by_all_inodes(_loops(roots), roots))
    files = frozenset(claim.inode for claim in loops if claim.inode is not None)
    opened: OpenNodes = find_open_nodes(roots, files if file is None else files | file.inodes)
    others = _by_all_inodes((*mounts, *_swaps(roots), *_exported(roots)), roots)
    return Usage((*others, *loops, *opened.claims), opened.secretive)


def _by_all_inodes(claims: Iterable[Claim], roots: SystemRoots) -> Iterator[Claim]:
    """Each claim, and one more for each further inode by which overlays show its file.

    Where the file below an overlay can't be found, the further claim is of any file.
    """
    for claim in claims:
        yield claim
        status = None if claim.path is None or claim.inode is None else node_status(claim.path)
        if claim.path is None or status is None or status.inode != claim.inode:
            continue  # no file, or one whose path leads elsewhere by now
        try:
            inodes = inodes_of(claim.path, roots)
        except RefusedError:
            yield replace(claim, inode=None)
        else:
            yield from (replace(claim, inode=inode) for inode in inodes - {claim.inode})


def _swaps(roots: SystemRoots) -> Iterator[Claim]:
    text = "is in use as swap space"
    for line in read_lines(roots.proc / "swaps")[1:]:
        path, kind, *_ = (*line.split(), "", "")
        if kind == "file":
            yield from _of_swap_file(unescape_octal(path), text, roots)
        elif path:
            yield claim_of_path(ClaimKind.SWAP, unescape_octal(path), text, roots)


def _of_swap_file(path: str, text: str, roots: SystemRoots) -> Iterator[Claim]:
    """Claims on a swap path in every mount namespace: the kernel doesn't say which one it means."""
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
            elif read_text(attribute) is None:
                continue  # detached meanwhile
            yield replace(claim, loop=name)
