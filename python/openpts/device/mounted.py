"""Which devices are mounted, in this mount namespace and in those of others, such as containers."""

from collections.abc import Iterator
from pathlib import Path

from openpts.device.claims import Claim, ClaimKind, kernel_name
from openpts.system_files import Mount, SystemRoots, printable, read_mounts, read_text


def mounted(roots: SystemRoots) -> Iterator[Claim]:
    """A claim for each mount of a device.

    Raises OSError if the kernel's list of our own can't be read and ValueError if a line makes no sense.
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
    """Once for each other mount namespace; what can't be read there shows as a claim that has no name."""
    seen = {_namespace(roots.proc / "self")}
    for process in sorted(roots.proc.glob("[0-9]*")):
        namespace = _namespace(process)
        if namespace is None or namespace in seen:
            continue
        seen.add(namespace)
        try:
            mounts = read_mounts(roots, process.name)
        except (OSError, ValueError):
            continue  # it has ended
        command = read_text(process / "comm") or "unknown"
        where = f" in the mount namespace of process {process.name} ({command})"
        yield from _claims(mounts, where, roots)


def _namespace(process: Path) -> str | None:
    try:
        return str((process / "ns/mnt").readlink())
    except OSError:
        return None


def _members_of_btrfs(roots: SystemRoots) -> Iterator[Claim]:
    """Of a file system over several drives, mounts name one; the module lists all while it is mounted."""
    for member in sorted((roots.sys / "fs/btrfs").glob("*/devices/*")):
        text = f"is part of the btrfs file system {member.parents[1].name}, which is mounted"
        yield Claim(ClaimKind.MOUNT, text, name=member.name)
