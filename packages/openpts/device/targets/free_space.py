"""Whether the storage below a target has space for all that a test writes; checked before the purge.

A drive has what it says. A loop device on a sparse file, a volume that is larger than what it is built on, or
a file where overwriting takes new blocks, may run full in the middle of a test.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind, device_below, find_mount
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from openpts.units import format_capacity

# st_blocks counts in this unit on every file system
_STAT_BLOCK_BYTES: Final = 512
_COPY_ON_WRITE: Final = frozenset({"btrfs", "bcachefs", "zfs", "nilfs2"})


class SpaceNeed(Struct, frozen=True):
    """So many bytes have to be free on the file system of an existing file or folder, for ``what``."""

    place: Path
    needed_bytes: int
    what: str


def target_needs(target: OpenTarget, written_bytes: int, roots: SystemRoots) -> tuple[SpaceNeed, ...]:
    """What writing to a range of so many bytes takes from file systems below the target.

    Raises TargetError where the target can't hold the range in any case.
    """
    if target.device is not None:
        return tuple(_of_device(target.device, written_bytes, roots))
    return tuple(_of_file(Path(target.facts.path), written_bytes, roots))


def check_space(needs: Sequence[SpaceNeed]) -> None:
    """Needs on the same file system add up. Raises TargetError with the numbers."""
    by_file_system: dict[int, list[SpaceNeed]] = {}
    for need in needs:
        by_file_system.setdefault(need.place.stat().st_dev, []).append(need)
    for together in by_file_system.values():
        needed_bytes = sum(need.needed_bytes for need in together)
        space = os.statvfs(together[0].place)
        free_bytes = space.f_bavail * space.f_frsize
        if needed_bytes > free_bytes:
            what = " and ".join(f"{format_capacity(n.needed_bytes)} for {n.what}" for n in together)
            raise TargetError(
                f"the file system of {together[0].place} has {format_capacity(free_bytes)} free, and the run "
                f"needs {what}: free space, or use a smaller target or another file system"
            )


def _of_device(device: BlockDevice, written_bytes: int, roots: SystemRoots) -> Iterator[SpaceNeed]:
    if device.kind is DeviceKind.LOOP:
        yield from _of_loop(device, written_bytes, roots)
        return
    below = device.parts
    held_bytes = sum(part.capacity_bytes for part in below)
    if below and device.capacity_bytes > held_bytes and written_bytes > held_bytes:
        names = ", ".join(str(part.node) for part in below)
        raise TargetError(
            f"{device.node} reports a capacity of {format_capacity(device.capacity_bytes)}, but what it is "
            f"built on ({names}) has {format_capacity(held_bytes)}. The test writes to "
            f"{format_capacity(written_bytes)}: it would fill up. Use a smaller --active-range"
        )
    for part in below:
        yield from _of_device(part, min(written_bytes, part.capacity_bytes), roots)


def _of_loop(device: BlockDevice, written_bytes: int, roots: SystemRoots) -> Iterator[SpaceNeed]:
    """The purge gives the file's blocks back, so they count as free."""
    text = device.text("loop/backing_file")
    backing = None if text is None else Path(text)
    if backing is None or not backing.exists():
        return
    if backing.is_block_device():
        yield from _of_device(BlockDevice.of_node(backing, roots), written_bytes, roots)
        return
    has_bytes = backing.stat().st_blocks * _STAT_BLOCK_BYTES
    if has_bytes < written_bytes:
        what = f"what {device.node} writes into {backing}, which has {format_capacity(has_bytes)}"
        yield SpaceNeed(backing, written_bytes - has_bytes, what)
    yield from _of_file(backing, written_bytes, roots)


def _of_file(path: Path, written_bytes: int, roots: SystemRoots) -> Iterator[SpaceNeed]:
    """Where overwriting takes new blocks before the old ones are free, a whole pass may be outstanding."""
    mount = find_mount(path, roots)
    if mount is not None and mount.fs_type in _COPY_ON_WRITE:
        yield SpaceNeed(path, written_bytes, f"overwriting {path} on {mount.fs_type}, which copies on write")
    device = device_below(path, roots)
    if device is not None:
        yield from _of_device(device.whole, written_bytes, roots)
