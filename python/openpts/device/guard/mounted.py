"""Which devices are mounted, in this mount namespace and in those of others, such as containers."""

import stat
from collections.abc import Iterator
from pathlib import Path

from openpts.device.guard.claims import Claim, ClaimKind, kernel_name, local_path
from openpts.device.kernel_calls import node_status
from openpts.system_files import Mount, SystemRoots, printable, read_mounts, read_text


def mounted(roots: SystemRoots) -> Iterator[Claim]:
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
    """On a node by any name, or a file: some file systems need no loop device below them."""
    place = local_path(source, roots) if root is None else root / source.lstrip("/")
    status = node_status(place)
    if status is not None and stat.S_ISBLK(status.mode):
        yield Claim(ClaimKind.MOUNT, text, number=status.number)
    elif status is not None and stat.S_ISREG(status.mode):
        yield Claim(ClaimKind.MOUNT, text, inode=status.inode, path=Path(source))


def other_roots(roots: SystemRoots) -> tuple[Path, ...]:
    """Doors to the root directories of other mount namespaces, one for each view that processes have."""
    views = {_view(process): process / "root" for process in roots.proc.glob("[0-9]*")}
    own = _view(roots.proc / "self")
    return tuple(root for view, root in views.items() if view not in {own, None})


def _of_others(roots: SystemRoots) -> Iterator[Claim]:
    """Those of other mount namespaces, and of each root directory in them: a chroot sees a part only."""
    seen = {_view(roots.proc / "self")}
    for process in sorted(roots.proc.glob("[0-9]*")):
        view = _view(process)
        if view is None or view in seen:
            continue
        command = read_text(process / "comm") or "unknown"
        who = f"process {process.name} ({command})"
        try:
            mounts = read_mounts(roots, process.name)
        except (OSError, ValueError) as error:
            if _view(process) is None:
                continue  # it has ended: the next one with this view is asked
            raise ValueError(f"{who}: {error}") from error
        seen.add(view)
        yield from _claims(mounts, f" in the mount namespace of {who}", process / "root", roots)


def _view(process: Path) -> tuple[str, str] | None:
    """Mount namespace and root directory of a process; None of one that has ended, or won't tell.

    Who won't tell doesn't show what it has open either, and counts against every drive by that.
    """
    try:
        return str((process / "ns/mnt").readlink()), str((process / "root").readlink())
    except OSError:
        return None


def _members_of_btrfs(roots: SystemRoots) -> Iterator[Claim]:
    """Of a file system over several drives, mounts name one; the module lists all while it is mounted."""
    for member in sorted((roots.sys / "fs/btrfs").glob("*/devices/*")):
        text = f"is part of the btrfs file system {member.parents[1].name}, which is mounted"
        yield Claim(ClaimKind.MOUNT, text, name=member.name)
