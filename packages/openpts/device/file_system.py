"""The file system below a scratch file, as mountinfo describes it."""

from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.errors import TargetError
from openpts.system_files import Mount, SystemRoots, read_mounts

IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})


def find_mount(path: Path, roots: SystemRoots) -> Mount | None:
    """The mount of a path (links resolved): the deepest one, and of those the last made.

    None if mountinfo can't be read.
    """
    try:
        mounts = read_mounts(roots)
    except (OSError, ValueError):
        return None
    covering = [mount for mount in mounts if path.is_relative_to(mount.mount_point)]
    deepest = max((len(Path(mount.mount_point).parts) for mount in covering), default=0)
    return next((m for m in reversed(covering) if len(Path(m.mount_point).parts) == deepest), None)


def check_file_system(path: Path, roots: SystemRoots) -> None:
    """Raise TargetError for a file in memory: since Linux 6.6 it takes O_DIRECT, but no drive is below."""
    mount = find_mount(path, roots)
    if mount is not None and mount.fs_type in IN_MEMORY:
        raise TargetError(
            f"{path} is on {mount.fs_type}, which is memory, not a drive: "
            "choose a file on another file system, such as ext4 or xfs"
        )


def device_below(path: Path, roots: SystemRoots) -> BlockDevice | None:
    """The block device below the file system of a path (links resolved); see device_of_mount."""
    mount = find_mount(path, roots)
    return None if mount is None else device_of_mount(mount, roots)


def device_of_mount(mount: Mount, roots: SystemRoots) -> BlockDevice | None:
    """The block device of a file system; None for one without, or with several of its own."""
    numbered = roots.sys / "dev/block" / mount.device
    if numbered.exists():
        return BlockDevice.of_number(mount.device, roots)
    # btrfs mounts under a number of its own; its source names one of its devices
    named = roots.sys / "class/block" / Path(mount.source).name
    if mount.source.startswith("/dev/") and named.exists():
        return BlockDevice.of_name(named.name, roots)
    return None
