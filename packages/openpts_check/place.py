"""Where a question is put: a directory on a disk in use, and how large a file may be there."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from openpts.device.block_device import BlockDevice, device_of_mount
from openpts.device.targets.target import FileTarget
from openpts.errors import NoVerdictError, TargetError
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots, printable, read_mounts
from openpts.units import MIB, format_capacity
from openpts_check.drivers.disk_programs import SEGMENT_BYTES
from openpts_check.drivers.own_folder import new_name, remove_left, usable_bytes
from openpts_drives.mounted.directory import DirectoryTarget, is_writable
from openpts_sim.simulated_target import names_simulated

# Of what is free beyond that: others may write meanwhile.
_MOST_SHARE: Final = 0.5
_FOR_USERS: Final = Path("/var/tmp")  # noqa: S108 a directory of the operator's disk, named only where it is on it


class Place(Struct, frozen=True):
    """``target`` is what a run names: a new folder in the directory, or a simulated drive.

    ``disk`` and ``space`` say in words where it is, ``room_bytes`` how large a file may be there.
    """

    target: str
    disk: str
    space: str
    room_bytes: int

    @classmethod
    def of(cls, text: str, roots: SystemRoots) -> Self:
        """What the operator named: a directory, a drive that is mounted, or a simulated drive.

        Raises TargetError where no disk is there.
        """
        if names_simulated(text):
            facts = UnopenedTarget.of(text, roots).facts
            capacity = facts.user_capacity_bytes
            return cls(text, printable(text), f"{format_capacity(capacity)}, simulated", capacity)
        directory = _directory_named(text, roots)
        if not is_writable(directory.path) or not os.access(directory.path, os.W_OK):
            raise TargetError(f"{printable(str(directory.path))} takes no files: name a directory that does")
        status = os.statvfs(directory.path)
        free_bytes, whole_bytes = status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize
        room_bytes = round(_MOST_SHARE * usable_bytes(status)) - SEGMENT_BYTES
        mount = directory.mount
        return cls(
            str(directory.path / new_name()),
            f"{directory.device.node} ({mount.fs_type} at {printable(mount.mount_point)})",
            f"{format_capacity(free_bytes)} of {format_capacity(whole_bytes)} free",
            max(0, room_bytes - room_bytes % MIB),
        )

    @property
    def is_simulated(self) -> bool:
        """Whether nothing exists."""
        return names_simulated(self.target)

    def size_bytes(self, requested_bytes: int, least_bytes: int) -> int:
        """The size of the file. Raises NoVerdictError where there is too little space for an answer."""
        size_bytes = min(requested_bytes, self.room_bytes) // MIB * MIB
        if size_bytes < least_bytes - least_bytes % MIB:
            remedy = "name a larger one" if self.is_simulated else "free space, or name another directory"
            raise NoVerdictError(
                f"can't say: {self.disk} has {self.space}, where a file may have "
                f"{format_capacity(self.room_bytes)}, and it needs {format_capacity(least_bytes)}: "
                f"{remedy if self.room_bytes < least_bytes else 'use a larger --size'}"
            )
        return size_bytes

    def named(self, size_bytes: int) -> str:
        """As a run names it."""
        return self.target if self.is_simulated else str(FileTarget(Path(self.target), size_bytes))

    def tidy(self) -> bool:
        """Take away what a question that was killed has left. Raises RefusedError, TargetError."""
        return not self.is_simulated and remove_left(Path(self.target).parent)


def _directory_named(text: str, roots: SystemRoots) -> DirectoryTarget:
    path = Path(text)
    try:
        is_drive = stat.S_ISBLK(path.stat().st_mode)
    except OSError:
        is_drive = False
    if is_drive:
        return _mounted_on(BlockDevice.of_node(path, roots), text, roots)
    directory = DirectoryTarget.of(text, roots)
    if directory is None:
        raise TargetError(
            f"{printable(text)} is neither a directory nor a drive: name a directory on the disk you mean"
        )
    return directory


def _mounted_on(device: BlockDevice, text: str, roots: SystemRoots) -> DirectoryTarget:
    """A directory on a file system of the drive, or of a partition of it; the drive is never opened."""
    for mount in read_mounts(roots):
        below = device_of_mount(mount, roots)
        if below is None or device.name not in {below.name, *(disk.name for disk in below.whole.beneath)}:
            continue
        for place in (_FOR_USERS, Path(mount.mount_point)):
            found = None
            with suppress(TargetError):  # that one of the two may be elsewhere, in memory even
                found = DirectoryTarget.of(str(place), roots)
            if found is not None and found.device.name == below.name and os.access(place, os.W_OK):
                return found
    raise TargetError(
        f"{printable(text)} has no mounted file system that takes files: mount one and name its directory; "
        "`openpts run` tests a whole drive, and erases it"
    )
