"""Which devices are mounted, in this mount namespace and in those of others, such as containers."""

from collections.abc import Iterator
from pathlib import Path

from openpts.device.guard.claims import Claim, ClaimKind, kernel_name
from openpts.system_files import Mount, SystemRoots, printable, read_mounts, read_text


def mounted(roots: SystemRoots) -> Iterator[Claim]:
    """A claim for each mount of a device.

    Raises OSError if the kernel's list of a process that lives can't be read, and ValueError if a line of it
    makes no sense.
    """
    own = read_mounts(roots)
    yield from _claims(own, "", roots)
    yield from _of_others(roots)
    yield from _members_of_btrfs(roots)


def _claims(mounts: tuple[Mount, ...], where: str, roots: SystemRoots) -> Iterator[Claim]:
    for mount in mounts:
        # btrfs and others mount under a number of their own: there only the source names the device
        name = kernel_name(mount.source, roots) if mount.source.startswith("/dev/") else None
        text = f"is mounted at {printable(mount.mount_point)}{where}"
        yield Claim(ClaimKind.MOUNT, text, number=mount.device, name=name)


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
        yield from _claims(mounts, f" in the mount namespace of {who}", roots)


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
