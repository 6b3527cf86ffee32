"""Which whole drives there are, as the kernel lists them."""

import re
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots

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
