"""The drive that the operating system runs from."""

from pathlib import Path

from openpts.system_files import Mount, SystemRoots, printable, read_mounts, read_text
from openpts.units import format_capacity
from openpts.vocabulary.facts import Fact


def primary_storage_fact(roots: SystemRoots) -> Fact:
    """Such as ``ext4 on SAMSUNG MZVL21T0 (nvme0n1, 1,024 GB)``: what / is mounted from."""
    source = f"{roots.proc}/self/mountinfo"
    try:
        mounts = [mount for mount in read_mounts(roots) if mount.mount_point == "/"]
    except (OSError, ValueError) as error:
        return Fact(None, f"{source} can't be read: {printable(str(error))}")
    if not mounts:
        return Fact(None, f"{source} has no mount at /")
    root = mounts[-1]
    folder = _device_folder(root, roots)
    if folder is None:
        return Fact(f"{root.fs_type} on {printable(root.source)}", source)
    return Fact(f"{root.fs_type} on {' and '.join(_describe(disk) for disk in _disks(folder))}", str(folder))


def _device_folder(root: Mount, roots: SystemRoots) -> Path | None:
    """Place of the device in sysfs; by name for btrfs, which mounts under a number of its own."""
    places = [roots.sys / "dev/block" / root.device]
    if root.source.startswith("/dev/"):
        places.append(roots.sys / "class/block" / Path(root.source).name)
    return next((place.resolve() for place in places if place.exists()), None)


def _disks(folder: Path) -> tuple[Path, ...]:
    """The whole disks below a partition, a volume or an array."""
    parts = sorted((folder / "slaves").glob("*"))
    disks = tuple(disk for part in parts for disk in _disks(part.resolve()))
    whole = folder.parent if (folder / "partition").exists() else folder
    return tuple(dict.fromkeys(disks)) or (whole,)


def _describe(disk: Path) -> str:
    model, sectors = read_text(disk / "device/model"), read_text(disk / "size")
    details = [disk.name] if model else []
    if sectors is not None and sectors.isdecimal():
        details.append(format_capacity(int(sectors) * 512))
    return f"{model or disk.name} ({', '.join(details)})" if details else disk.name
