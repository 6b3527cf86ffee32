"""All drives of this machine, and whether one could be tested."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.drive_name import model
from openpts.device.guard import check_drive
from openpts.device.interface import interface
from openpts.device.serial_number import serial_number
from openpts.device.usage import Usage, read_usage
from openpts.errors import RefusedError, TargetError
from openpts.system_files import SystemRoots

# no drives: RAM disks, optical drives and floppies (to open one may pull in its tray)
_NO_DRIVE: Final = re.compile(r"(ram|sr|fd)[0-9]+")
_DIGITS: Final = re.compile(r"([0-9]+)")


class Safety(StrEnum):
    """Whether the guard would hand out a drive, once it is confirmed."""

    FREE = "free"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DeviceListing:
    """One whole drive. ``reason`` is the first refusal, or why it can't be told; empty for a free one."""

    path: str
    model: str | None
    serial: str | None
    capacity_bytes: int
    interface: str | None
    sector_bytes: int | None
    safety: Safety
    reason: str


def list_devices(roots: SystemRoots) -> list[DeviceListing]:
    """Every whole drive with a capacity, sorted by path, numbers in a name by their value.

    A drive against which nothing is known is opened for reading for a moment.
    """
    disks = (BlockDevice(folder.resolve(), roots) for folder in (roots.sys / "block").glob("*"))
    usage = _usage(roots)
    listed = [_listing(disk, usage) for disk in disks if _is_drive(disk)]
    return sorted(listed, key=lambda listing: _natural(listing.path))


def _is_drive(disk: BlockDevice) -> bool:
    hidden = disk.text("hidden") == "1"  # one path of a multipath namespace
    return disk.capacity_bytes > 0 and not hidden and not _NO_DRIVE.fullmatch(disk.name)


def _usage(roots: SystemRoots) -> Usage | RefusedError:
    try:
        return read_usage(roots)
    except RefusedError as error:
        return error


def _listing(disk: BlockDevice, usage: Usage | RefusedError) -> DeviceListing:
    safety, reason = _safety(disk, usage)
    return DeviceListing(
        path=str(disk.node),
        model=model(disk).value,
        serial=serial_number(disk).value,
        capacity_bytes=disk.capacity_bytes,
        interface=interface(disk, None).value,
        sector_bytes=disk.integer("queue/logical_block_size"),
        safety=safety,
        reason=reason,
    )


def _safety(disk: BlockDevice, usage: Usage | RefusedError) -> tuple[Safety, str]:
    if isinstance(usage, RefusedError):
        return Safety.UNKNOWN, str(usage)
    try:
        refusals = check_drive(disk, usage)
    except TargetError as error:
        return Safety.UNKNOWN, str(error)
    return (Safety.REFUSED, str(refusals[0])) if refusals else (Safety.FREE, "")


def _natural(path: str) -> list[tuple[int, str]]:
    """A key that puts nvme2n1 before nvme10n1."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _DIGITS.split(path)]
