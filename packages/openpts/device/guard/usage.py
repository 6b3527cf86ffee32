"""Who uses a block device or a file: mounts, swap, loops, exports, overlays, and the claim of a run.

Read once for any number of devices, so that the guard's rules are plain functions. Mounts are
those of this mount namespace and of others, such as containers. The kernel's NVMe target opens a drive
without a claim on it: nothing but its own configuration shows that use.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from openpts.device.ata_identify import model, serial_number
from openpts.device.block_device import BlockDevice, DeviceKind, find_mount
from openpts.device.guard.claims import (
    Claim,
    ClaimKind,
    NamedFile,
    Usage,
    claim_of_path,
    find_open_nodes,
    kernel_name,
    local_path,
)
from openpts.device.kernel_calls import Inode, loop_backing, node_status
from openpts.device.nvme_subsystem import NvmeSubsystem, namespaces_of
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import RefusedError, TargetError
from openpts.ownership import RunOwner, holder_of, new_run_id, owned
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

_OVERLAY: Final = "overlay"
_LAYERS: Final = frozenset({"upperdir", "lowerdir", "lowerdir+", "datadir+"})


def stored_at(path: Path, roots: SystemRoots) -> Path:
    """Where the data of a file (links resolved) are: ``path``, or the file in a layer of its overlay.

    Raises RefusedError where no layer of the overlay has it, as in a container, whose layers are the host's.
    """
    mount = find_mount(path, roots)
    if mount is None or mount.fs_type != _OVERLAY or not path.exists():
        return path
    inside = Path(mount.root.lstrip("/")) / path.relative_to(mount.mount_point)
    for layer in _layers(mount):
        # a layer that the overlay covers, as lowerdir=/ below the root, leads back to the file itself
        if _is_same(own := layer / inside, path) and (below := Path(os.path.realpath(own))) != path:
            return stored_at(below, roots)
        for root in other_roots(roots):
            found = root / str(own).lstrip("/")
            # an overlay of that namespace has a number without a block device, as other file systems may
            if _is_same(found, path) and os.major(found.stat().st_dev) != 0:
                return found
    raise RefusedError(
        f"refused [overlay]: {path} is on the overlay mounted at {mount.mount_point}, and the file below it "
        "can't be found. It may be in use there. Remove the file, so that openpts makes a new one, or name "
        "one on another file system."
    )


def inodes_of(path: Path, roots: SystemRoots) -> frozenset[Inode]:
    """A file (links resolved) by all of its inodes: where it is stored, and in each overlay that shows it.

    Raises RefusedError as ``stored_at`` does.
    """
    stored = stored_at(path, roots)
    statuses = map(node_status, (path, stored, *_views(stored, roots)))
    return frozenset(status.inode for status in statuses if status is not None)


def with_twins(file: NamedFile, roots: SystemRoots) -> NamedFile:
    """The file by all of its inodes. Raises RefusedError as ``stored_at`` does."""
    return replace(file, twins=inodes_of(file.path, roots))


def _views(stored: Path, roots: SystemRoots) -> Iterator[Path]:
    """The same file in the overlays of this mount namespace, also in those over overlays.

    A layer is one of the folders above the file. Which one is tried: the kernel lists layers as they were
    named, relative to a folder that it does not list, or by links.
    """
    overlays = [mount for mount in read_mounts(roots) if mount.fs_type == _OVERLAY]
    found, unread = {stored}, [stored]
    while unread:
        file = unread.pop()
        for mount, layer in product(overlays, file.parents):
            inside = Path("/") / file.relative_to(layer)
            view = Path(mount.mount_point)
            if inside.is_relative_to(mount.root):
                view /= inside.relative_to(mount.root)
            if view not in found and _is_same(view, file):
                found.add(view)
                unread.append(view)
                yield view


def _layers(mount: Mount) -> Iterator[Path]:
    """The folders of which an overlay is made, that which is written to first."""
    options = (option.partition("=") for option in mount.super_options.split(","))
    named = [(name, unescape_octal(value)) for name, _, value in options if name in _LAYERS]
    for name, value in sorted(named, key=lambda one: one[0] != "upperdir"):
        yield from map(Path, [value] if name == "upperdir" else value.split(":"))


def _is_same(one: Path, other: Path) -> bool:
    """An overlay shows a file's times, size and owner as its layer has them; changes are timed in ns."""
    try:
        first, second = one.stat(), other.stat()
    except OSError:
        return False
    return all(
        getattr(first, name) == getattr(second, name)
        for name in ("st_ctime_ns", "st_mtime_ns", "st_size", "st_mode", "st_uid", "st_blocks")
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


def _claims(mounts: tuple[Mount, ...], where: str, root: Path | None, roots: SystemRoots) -> Iterator[Claim]:
    for mount in mounts:
        # btrfs and others mount under a number of their own: there only the source names the device
        name = kernel_name(mount.source, roots) if mount.source.startswith("/dev/") else None
        text = f"is mounted at {printable(mount.mount_point)}{where}"
        yield Claim(ClaimKind.MOUNT, text, number=mount.device, name=name)
        if mount.source.startswith("/"):
            place = local_path(mount.source, roots) if root is None else root / mount.source.lstrip("/")
            status = node_status(place)
            if status is not None and stat.S_ISBLK(status.mode):
                yield Claim(ClaimKind.MOUNT, text, number=status.number)
            elif status is not None and stat.S_ISREG(status.mode):
                yield Claim(ClaimKind.MOUNT, text, inode=status.inode, path=Path(mount.source))


def _of_others(roots: SystemRoots) -> Iterator[Claim]:
    """Claims by mounts of other namespaces, by each root directory in them: a chroot sees a part only.

    Raises OSError if the list of a process that lives can't be read, and ValueError if a line makes no sense.
    """
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
                continue  # it has ended: the next one with this view is read
            raise ValueError(f"{who}: {error}") from error
        seen.add(view)
        yield from _claims(mounts, f" in the mount namespace of {who}", process / "root", roots)


def _members_of_btrfs(roots: SystemRoots) -> Iterator[Claim]:
    """Of a file system over several drives, mounts name one; the module lists all while it is mounted."""
    for member in sorted((roots.sys / "fs/btrfs").glob("*/devices/*")):
        text = f"is part of the btrfs file system {member.parents[1].name}, which is mounted"
        yield Claim(ClaimKind.MOUNT, text, name=member.name)


def read_usage(roots: SystemRoots, file: NamedFile | None = None) -> Usage:
    """What the kernel says at this moment; who has files open, for those below loop devices and ``file``.

    Raises RefusedError where its list of mounts can't be read: what can't be seen may be in use.
    """
    try:
        mounts = (
            *_claims(read_mounts(roots), "", None, roots),
            *_of_others(roots),
            *_members_of_btrfs(roots),
        )
    except (OSError, ValueError) as error:
        raise RefusedError(
            f"refused [usage]: can't check whether a device is mounted, {printable(str(error))}; "
            f"see {roots.proc}/[0-9]*/mountinfo"
        ) from error
    loops = tuple(_by_all_inodes(_loops(roots), roots))
    files = frozenset(claim.inode for claim in loops if claim.inode is not None)
    opened = find_open_nodes(roots, files if file is None else files | file.inodes)
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


OWNED_REMEDY: Final = "see fuser -v /dev/openpts/*; wait until it ends, or stop it"


def drive_names(device: BlockDevice) -> tuple[str, ...]:
    """What a drive is known by on every path; of a mapped device or an array, what its members are known by.

    An NVMe drive is known by its subsystem as well, so that all namespaces of it are one drive. Where nothing
    else is reported, by model and serial number, and a device without these by the kernel's number.
    """
    return tuple(dict.fromkeys(name for disk in device.beneath for name in _names(disk)))


def _names(disk: BlockDevice) -> tuple[str, ...]:
    if disk.kind is DeviceKind.LOOP and (backing := loop_backing(disk.node)) is not None:
        return (inode_name(backing.inode),)
    reported = tuple(name for name in (disk.text("device/subsysnqn"), disk.wwid) if name is not None)
    if reported:
        return reported
    if (serial := serial_number(disk).value) is not None:
        return (f"{model(disk).value or disk.kind} {serial}",)
    return (f"block device {disk.number}",)


def inode_name(inode: Inode) -> str:
    """What a regular file is known by, whatever its path."""
    return f"file {inode[0]} {inode[1]}"


def owner_of_drive(device: BlockDevice, usage: Usage) -> str | None:
    """The run that has claimed a drive, as a sentence; None if there is none, and if it is our own."""
    folder = _folder(device.roots)
    for name in drive_names(device):
        found = usage.owner_of(name)
        if found is None and (holder := holder_of(name, folder)) is not None:
            found = f"belongs to {holder}"
        if found is not None:
            return f"{device.node} {found}"
    return None


@contextmanager
def drive_claimed(device: BlockDevice, run_id: str | None, roots: SystemRoots) -> Iterator[RunOwner]:
    """Claim a drive for a run as long as the block lasts; with None, for one that has no record.

    What this process has claimed already is shared. Raises RefusedError where another process has it, and
    TargetError if nothing can be written below /dev.
    """
    names, folder = drive_names(device), _folder(roots)
    serial = serial_number(device).value
    target = f"{device.node} ({model(device).value or device.kind}, serial number {serial or 'none'})"
    owner = RunOwner.this_process(run_id or new_run_id(), target, names, roots)
    with ExitStack() as held:
        for name in sorted(names):
            try:
                held.enter_context(owned(name, owner, folder))
            except BlockingIOError:
                holder = holder_of(name, folder) or "another openpts"
                raise RefusedError(
                    f"refused [owned]: {device.node} belongs to {holder}; {OWNED_REMEDY}"
                ) from None
            except OSError as error:
                raise TargetError(f"can't claim {device.node} in {folder}: {error.strerror}") from error
        yield owner


@contextmanager
def file_claimed(file: NamedFile, run_id: str | None, roots: SystemRoots) -> Iterator[RunOwner]:
    """Say whose a file is that this process has locked, as long as the block lasts."""
    assert file.inode is not None  # noqa: S101 it is open
    name = inode_name(file.inode)
    owner = RunOwner.this_process(run_id or new_run_id(), str(file.path), (name,), roots)
    with owned(name, owner, None):
        yield owner


def owner_note(target: OpenTarget) -> tuple[str, ...]:
    """Note for each run that has claimed a drive which is opened for reading: each slows the other down."""
    if target.device is None or target.owner is not None:
        return ()
    folder = _folder(target.device.roots)
    holders = (holder_of(name, folder) for name in drive_names(target.device))
    return tuple(
        f"{target.facts.path} belongs to {holder}: reads slow its I/O down, and it slows them down"
        for holder in dict.fromkeys(filter(None, holders))
    )


def _folder(roots: SystemRoots) -> Path:
    """Containers that share the nodes of drives share this as well, and it is empty after a restart."""
    return roots.dev / "openpts"


_PROGRAMS: Final = frozenset({"nvme", "hdparm", "openpts"})
_SG3_UTILS: Final = "sg_"


def at_work(device: BlockDevice, usage: Usage) -> str | None:
    """The process that has a drive or another namespace of it open, as a sentence; None: no process."""
    whole = device.whole
    for each in (whole, *NvmeSubsystem.of(whole).besides(whole)):
        for claim in usage.claims:
            program = claim.program or ""
            if claim.kind is not ClaimKind.OPEN or not claim.concerns(each):
                continue
            if program in _PROGRAMS or program.startswith(_SG3_UTILS):
                return f"{claim.node or each.node} {claim.text}, which may be at work on it"
    return None
