"""All drives of this machine, and whether one could be tested."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.disks import whole_drives
from openpts.device.guard.usage import Usage, read_usage
from openpts.device.identity.media import Media
from openpts.device.link.link import NegotiatedLink
from openpts.device.listing.drive_listing import DeviceListing, Verdict
from openpts.device.listing.inspect import look
from openpts.device.listing.query_with_timeout import Reply, ask_each
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots

PATIENCE_S: Final = 10.0


def list_devices(roots: SystemRoots, patience_s: float = PATIENCE_S) -> list[DeviceListing]:
    """Every whole drive, as far as it answers within ``patience_s``; none is woken, and none written to."""
    return _look_at(whole_drives(roots), roots, patience_s, may_wake=False)


def list_device(device: BlockDevice, roots: SystemRoots, patience_s: float = PATIENCE_S) -> DeviceListing:
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


def _usage(roots: SystemRoots) -> Usage | RefusedError:
    try:
        return read_usage(roots)
    except RefusedError as error:
        return error
