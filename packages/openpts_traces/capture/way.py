"""What all ways to block events have in common."""

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct

from openpts.device.block_device import BlockDevice, device_below
from openpts.errors import EngineUnavailableError, OpenptsError, TargetError, UsageError
from openpts.system_files import SystemRoots, read_lines, read_mounts, read_text

_CAP_SYS_ADMIN: Final = 21

Feed = Callable[[int, bytes], None]
"""Takes the number of a processor and what its buffer held."""


class MissingError(OpenptsError):
    """A way is not available here; the text says what is missing and how to get it."""


class CaptureUnavailableError(EngineUnavailableError):
    """No way is available."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(f"cannot capture block I/O: {'; '.join(missing)}")
        self._missing = tuple(missing)

    @property
    def complaints(self) -> tuple[str, ...]:
        """A line for each way."""
        return ("cannot capture block I/O, no way to the kernel's events is available:", *self._missing)


class OpenBackend(Protocol):
    """Events as they come."""

    def start(self) -> None:
        """Record from now on. Raises OpenptsError."""

    def stop(self) -> None:
        """Record no more; what is in the buffers stays."""

    def drain(self, feed: Feed) -> None:
        """Hand out what the buffers hold."""

    def lost(self) -> int:
        """How many events the kernel had no room for so far."""

    def close(self) -> None:
        """Leave the kernel as it was."""


def mounted(fs_type: str, roots: SystemRoots) -> Path | None:
    """Where a file system of the kernel is mounted; None if it isn't."""
    try:
        mounts = read_mounts(roots)
    except (OSError, ValueError):
        return None
    return next((Path(mount.mount_point) for mount in mounts if mount.fs_type == fs_type), None)


def check_rights(roots: SystemRoots) -> None:
    """Raises MissingError if this process may not look at the kernel's events."""
    lines = read_lines(roots.proc / "self/status")
    effective = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    if not int(effective, 16) >> _CAP_SYS_ADMIN & 1:
        raise MissingError("CAP_SYS_ADMIN is missing: run as root, and in no container without it")


def why_not_permitted(roots: SystemRoots) -> str:
    """The likely reason for which the kernel does not permit what root may do otherwise."""
    lockdown = read_text(roots.sys / "kernel/security/lockdown") or ""
    if "[integrity]" in lockdown or "[confidentiality]" in lockdown:
        return f"the kernel is locked down ({lockdown}): boot without lockdown, or without Secure Boot"
    if lockdown:
        return "the kernel does not permit it: a container, or a security module, is in the way"
    return (
        "the kernel does not permit it: it is locked down (boot without lockdown, or without Secure Boot), "
        "or a container or a security module is in the way"
    )


def kernel_without_events() -> str:
    """What to say where the kernel has no block events."""
    return f"Linux {platform.release()} was built without CONFIG_BLK_DEV_IO_TRACE: use a kernel that has it"


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
