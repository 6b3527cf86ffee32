"""The devices of a capture: where each begins on its disk, and what the kernel numbers it by."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.file_system import device_below
from openpts.errors import TargetError, UsageError
from openpts.system_files import SystemRoots, read_text

_MINOR_BITS: Final = 20  # of a device number inside the kernel
_IOS: Final = (0, 4, 11, 15)
"""Where the file ``stat`` has reads, writes, discards and flushes."""


class CapturedDevice(Struct, frozen=True):
    """A disk, a partition, or a device made of others."""

    block: BlockDevice

    @property
    def disk(self) -> BlockDevice:
        """Whose events it has."""
        return self.block.whole

    @property
    def has_requests(self) -> bool:
        """Whether a driver gets requests; one that is made of others passes I/Os on."""
        return (self.disk.folder / "mq").is_dir()

    @property
    def first_sector(self) -> int:
        """Where it begins on its disk, in sectors of 512 bytes."""
        return (self.block.integer("start") or 0) if self.block.is_partition else 0

    @property
    def sectors(self) -> int:
        """The length of the device in sectors of 512 bytes."""
        return self.block.integer("size") or 0

    def ios(self) -> int:
        """How many I/Os it has completed since it is there."""
        words = (read_text(self.block.folder / "stat") or "").split()
        return sum(int(words[place]) for place in _IOS if place < len(words))

    def in_order(self) -> dict[str, Any]:
        """As the native module takes it."""
        numbers = dict.fromkeys(kernel_number(device) for device in (self.disk, self.block))
        return {
            "name": str(self.block.node),
            "capacity_bytes": self.block.capacity_bytes,
            "sector_bytes": self.disk.integer("queue/logical_block_size") or 512,
            "numbers": list(numbers),
            "first_sector": self.first_sector,
        }


def kernel_number(device: BlockDevice) -> int:
    """The device's number as events have it. Raises TargetError."""
    major, colon, minor = (device.number or "").partition(":")
    if not colon:
        raise TargetError(f"{device.node} has no number any more: it was removed")
    return int(major) << _MINOR_BITS | int(minor)


def captured_devices(paths: Sequence[Path], roots: SystemRoots) -> tuple[CapturedDevice, ...]:
    """The devices that the command line names. Raises TargetError, UsageError."""
    devices = tuple(CapturedDevice(BlockDevice.of_node(path, roots)) for path in paths)
    for one in devices:
        for other in devices:
            if one is not other and other.block in {one.block, one.disk}:
                raise UsageError(
                    f"{one.block.node} and {other.block.node} overlap: capture the whole, or other parts"
                )
    return devices


def device_of_file(devices: Iterable[CapturedDevice], path: Path, roots: SystemRoots) -> BlockDevice | None:
    """The captured device to which writes to a new file would go; None if they go elsewhere."""
    below = device_below(path.parent.resolve(), roots)
    reached = set() if below is None else set(_down_from(below))
    return next((one.block for one in devices if one.block in reached), None)


def _down_from(device: BlockDevice) -> Iterator[BlockDevice]:
    yield device
    if device.whole != device:
        yield from _down_from(device.whole)
    for part in device.parts:
        yield from _down_from(part)
