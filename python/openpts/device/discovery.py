"""All drives of this machine, and whether one could be tested."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.drive_listing import DeviceListing, Verdict
from openpts.device.link import NegotiatedLink
from openpts.device.look import look
from openpts.device.media import Media
from openpts.device.patience import Reply, ask_each
from openpts.device.usage import Usage, read_usage
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots

# no drives: RAM disks, optical drives and floppies (to open one may pull in its tray)
_NO_DRIVE: Final = re.compile(r"(ram|sr|fd)[0-9]+")
_DIGITS: Final = re.compile(r"([0-9]+)")
_PATIENCE_S: Final = 10.0


def whole_drives(roots: SystemRoots) -> list[BlockDevice]:
    """Every whole drive with a capacity, sorted by name, numbers in it by their value."""
    disks = (BlockDevice(folder.resolve(), roots) for folder in (roots.sys / "block").glob("*"))
    return sorted(filter(_is_drive, disks), key=lambda disk: _natural(disk.name))


def list_devices(roots: SystemRoots, patience_s: float = _PATIENCE_S) -> list[DeviceListing]:
    """Every whole drive, as far as it answers within ``patience_s``; none is woken, and none written to."""
    return _look_at(whole_drives(roots), roots, patience_s, may_wake=False)


def list_device(device: BlockDevice, roots: SystemRoots, patience_s: float = _PATIENCE_S) -> DeviceListing:
    """One drive, its first sectors looked into as before a test."""
    return _look_at([device], roots, patience_s, may_wake=True)[0]


def _look_at(
    disks: list[BlockDevice], roots: SystemRoots, patience_s: float, *, may_wake: bool
) -> list[DeviceListing]:
    usage = _usage(roots)
    replies = ask_each(disks, partial(_answers, usage=usage, may_wake=may_wake), patience_s)
    silent = f"no answer within {patience_s:g} s: see dmesg"
    return [_heard(disk, reply, silent) for disk, reply in zip(disks, replies, strict=True)]


def _heard(disk: BlockDevice, reply: Reply[DeviceListing], silent: str) -> DeviceListing:
    if reply.answer is not None:
        return reply.answer if reply.complete else replace(reply.answer, silent=silent)
    unknown = NegotiatedLink(None, None, (), silent)
    return DeviceListing(
        path=str(disk.node),
        facts={},
        capacity_bytes=disk.capacity_bytes,
        sector_bytes=None,
        physical_sector_bytes=None,
        media=Media(None, None, silent),
        link=unknown,
        verdict=Verdict(unknown=silent),
        silent=silent,
    )


def _answers(disk: BlockDevice, usage: Usage | RefusedError, *, may_wake: bool) -> Iterator[DeviceListing]:
    yield from look(disk, usage, may_wake=may_wake)


def _is_drive(disk: BlockDevice) -> bool:
    hidden = disk.text("hidden") == "1"  # one path of a multipath namespace
    return disk.capacity_bytes > 0 and not hidden and not _NO_DRIVE.fullmatch(disk.name)


def _usage(roots: SystemRoots) -> Usage | RefusedError:
    try:
        return read_usage(roots)
    except RefusedError as error:
        return error


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that puts nvme2n1 before nvme10n1."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _DIGITS.split(name)]
