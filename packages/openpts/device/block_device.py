"""A block device as sysfs shows it, and the file system below a scratch file."""

import os
import re
import stat
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from openpts.errors import TargetError, failing_as
from openpts.system_files import Mount, SystemRoots, read_mounts, read_text
from openpts.vocabulary.facts import Partition

# sysfs counts sizes in this unit, whatever the device's own sectors are
_SYSFS_SECTOR_BYTES: Final = 512


class DeviceKind(StrEnum):
    """The command set or driver that a device is reached by."""

    NVME = "NVMe"
    ATA = "ATA"
    SCSI = "SCSI"
    MMC = "MMC"
    VIRTIO = "virtio"
    LOOP = "loop"
    OTHER = "device of unknown kind"


class BlockDevice(Struct, frozen=True):
    """A disk or partition. ``folder`` is its own directory in sysfs, symbolic links resolved."""

    folder: Path
    roots: SystemRoots

    @classmethod
    def of_name(cls, name: str, roots: SystemRoots) -> Self:
        """The disk or partition with the kernel's name, such as ``nvme0n1``. Raises TargetError if none."""
        return cls._at(roots.sys / "class/block" / name, name, roots)

    @classmethod
    def of_number(cls, number: str, roots: SystemRoots) -> Self:
        """The device with the number ``major:minor``. Raises TargetError if there is none."""
        return cls._at(roots.sys / "dev/block" / number, f"block device {number}", roots)

    @classmethod
    def of_node(cls, path: Path, roots: SystemRoots) -> Self:
        """The device behind a node below /dev, symbolic links followed. Raises TargetError."""
        with failing_as(TargetError, f"can't access {path}", "`openpts devices` lists the drives"):
            status = path.stat()
        if not stat.S_ISBLK(status.st_mode):
            raise TargetError(f"{path} is not a block device")
        return cls.of_number(number_text(status.st_rdev), roots)

    @classmethod
    def _at(cls, link: Path, what: str, roots: SystemRoots) -> Self:
        if not link.exists():
            raise TargetError(f"{what} is not known to the kernel: {link} doesn't exist")
        return cls(link.resolve(), roots)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.folder.name

    @property
    def node(self) -> Path:
        """The device's node below /dev; the kernel writes a slash in a name as ``!``."""
        return self.roots.dev / self.name.replace("!", "/")

    @property
    def number(self) -> str | None:
        """Device number as ``major:minor``; None if sysfs has none."""
        return self.text("dev")

    @property
    def is_partition(self) -> bool:
        """Whether it is a part of a disk."""
        return (self.folder / "partition").exists()

    @property
    def whole(self) -> "BlockDevice":
        """The disk of a partition; of a disk, itself."""
        return BlockDevice(self.folder.parent, self.roots) if self.is_partition else self

    @property
    def partitions(self) -> tuple["BlockDevice", ...]:
        """Partitions that the kernel knows, sorted by name."""
        return tuple(BlockDevice(part.parent, self.roots) for part in sorted(self.folder.glob("*/partition")))

    @property
    def places_of_partitions(self) -> tuple[Partition, ...]:
        """Where on the disk each of its partitions is."""
        return tuple(
            Partition(str(one.node), start * _SYSFS_SECTOR_BYTES, one.capacity_bytes)
            for one in self.partitions
            if (start := one.integer("start")) is not None
        )

    @property
    def holders(self) -> tuple[str, ...]:
        """Names of devices built on this one, with the volume's or array's own name if it has one."""
        named = ((holder.name, holder.text("dm/name")) for holder in self.holder_devices)
        return tuple(f"{name} ({volume})" if volume else name for name, volume in named)

    @property
    def holder_devices(self) -> tuple["BlockDevice", ...]:
        """The devices built on this one."""
        return self._linked("holders")

    @property
    def parts(self) -> tuple["BlockDevice", ...]:
        """The disks and partitions that a mapped device or array is built from; none for a disk."""
        return self._linked("slaves")

    def _linked(self, folder: str) -> tuple["BlockDevice", ...]:
        links = sorted((self.folder / folder).glob("*"))
        return tuple(BlockDevice(link.resolve(), self.roots) for link in links)

    @property
    def beneath(self) -> tuple["BlockDevice", ...]:
        """Whole disks that a mapped device or array is built from, all the way down; a disk is its own."""
        disks = [disk for part in self.parts for disk in part.beneath]
        return tuple(dict.fromkeys(disks)) or (self.whole,)

    @property
    def wwid(self) -> str | None:
        """The name that is the same on every path to it; None where the driver has none."""
        return self.text("wwid") or self.text("device/wwid")

    @property
    def capacity_bytes(self) -> int:
        """Size as sysfs has it; 0 without a medium."""
        return (self.integer("size") or 0) * _SYSFS_SECTOR_BYTES

    @property
    def read_only(self) -> bool:
        """Whether the kernel refuses writes to it."""
        return self.text("ro") == "1"

    @property
    def zones_model(self) -> str | None:
        """``host-managed`` or ``host-aware``; None for a device without zones."""
        model = self.whole.text("queue/zoned")
        return None if model == "none" else model

    @property
    def is_made_of_others(self) -> bool:
        """Whether the kernel makes it of a file, of memory or of other disks: loop, zram, a mapped one."""
        return self.whole.folder.parts[-3:-1] == ("virtual", "block")

    @property
    def kind(self) -> DeviceKind:
        """How the device is reached, judged from its place in sysfs."""
        prefixes = {"nvme": DeviceKind.NVME, "loop": DeviceKind.LOOP, "mmcblk": DeviceKind.MMC}
        for prefix, kind in prefixes.items():
            if self.name.startswith(prefix):
                return kind
        if (self.folder / "device/scsi_level").exists():
            return DeviceKind.ATA if self.text("device/vendor") == "ATA" else DeviceKind.SCSI
        if self.name.startswith("vd"):
            return DeviceKind.VIRTIO
        return DeviceKind.OTHER

    def text(self, attribute: str) -> str | None:
        """An attribute such as ``queue/rotational``; None if sysfs doesn't have it."""
        return read_text(self.folder / attribute)

    def place(self, attribute: str) -> str:
        """The path of an attribute, in its short form."""
        return str(self.roots.sys / "block" / self.name / attribute)

    def integer(self, attribute: str) -> int | None:
        """An attribute that is a decimal number; None if it is missing or no number."""
        text = self.text(attribute)
        return int(text) if text is not None and text.isdecimal() else None


def number_text(device_number: int) -> str:
    """``major:minor`` of a device number as stat gives it, in sysfs' way of writing."""
    return f"{os.major(device_number)}:{os.minor(device_number)}"


# no drives: RAM disks, optical drives and floppies (to open one may pull in its tray)
_NO_DRIVE: Final = re.compile(r"(ram|sr|fd)[0-9]+")
_DIGITS: Final = re.compile(r"([0-9]+)")


def whole_drives(roots: SystemRoots) -> list[BlockDevice]:
    """Every whole drive with a capacity, sorted by name, numbers in it by their value."""
    return sorted(filter(_is_drive, all_disks(roots)), key=lambda disk: _natural(disk.name))


def all_disks(roots: SystemRoots) -> list[BlockDevice]:
    """Everything that the kernel lists as a disk, also without a capacity or hidden; sorted by name."""
    return [BlockDevice(folder.resolve(), roots) for folder in sorted((roots.sys / "block").glob("*"))]


def _is_drive(disk: BlockDevice) -> bool:
    hidden = disk.text("hidden") == "1"  # one path of a multipath namespace
    return disk.capacity_bytes > 0 and not hidden and not _NO_DRIVE.fullmatch(disk.name)


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that puts nvme2n1 before nvme10n1."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _DIGITS.split(name)]


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
