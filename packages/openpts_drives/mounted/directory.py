"""A directory as the target of a program: the file system that it is on, and the drive below."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.block_device import IN_MEMORY, BlockDevice, device_of_mount, find_mount
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import scheme_of
from openpts.errors import TargetError, UsageError, failing_as
from openpts.ownership import RunOwner, new_run_id
from openpts.system_files import Mount, SystemRoots, printable
from openpts.units import NS_PER_MS
from openpts.vocabulary.command_run import DeviceCounts
from openpts.vocabulary.facts import TargetFacts, TargetKind

_OVER_A_NETWORK: Final = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "ceph", "afs", "glusterfs", "fuse.sshfs",
    "lustre",
})  # fmt: skip
_HOW_ELSE: Final = "name a directory on a file system of a local drive, see findmnt --real"
_HOW_TO_NAME: Final = (
    "name a directory on a mounted file system, a drive such as /dev/nvme0n1, or a file as "
    "file:PATH?size=512MiB"
)
_FILE_PREFIX: Final = "file:"
_USUAL_SECTOR_BYTES: Final = 512


def refuse_scheme(text: str) -> None:
    """Raise UsageError for a target of a scheme, such as a simulated drive, which has no node."""
    if (scheme := scheme_of(text)) is not None:
        raise UsageError(
            f"{printable(text)} is {scheme.what}, on which no program can run: name a directory or a drive"
        )


class DirectoryTarget(Struct, frozen=True):
    """A directory (links resolved) with its file system and the block device that this is on."""

    path: Path
    mount: Mount
    device: BlockDevice

    @classmethod
    def of(cls, text: str, roots: SystemRoots) -> "DirectoryTarget | None":
        """What the operator's text names; None if it is no directory. Raises TargetError without a drive."""
        with failing_as(TargetError, f"{printable(text)} can't be looked at"):
            path = Path(os.path.realpath(text))
        if not path.is_dir():
            if not text.startswith(_FILE_PREFIX) and not path.exists():
                raise TargetError(f"{printable(text)} doesn't exist: {_HOW_TO_NAME}")
            return None
        mount = find_mount(path, roots)
        if mount is None:
            raise TargetError(
                f"can't find the file system of {printable(text)} in {roots.proc}/self/mountinfo"
            )
        if mount.fs_type in IN_MEMORY:
            raise TargetError(
                f"{printable(text)} is on {mount.fs_type}, which is memory, not a drive: {_HOW_ELSE}"
            )
        if mount.fs_type in _OVER_A_NETWORK:
            raise TargetError(
                f"{printable(text)} is on {mount.fs_type}, whose drive is in another machine: {_HOW_ELSE}"
            )
        device = device_of_mount(mount, roots)
        if device is None:
            raise TargetError(
                f"{printable(text)} is on {mount.fs_type} of {printable(mount.source)}, below which no drive "
                f"was found: {_HOW_ELSE}"
            )
        return cls(path, mount, device)

    @property
    def facts(self) -> TargetFacts:
        """The device below as an engine would see it, by sysfs."""
        sector_bytes = self.device.whole.integer("queue/logical_block_size") or _USUAL_SECTOR_BYTES
        device = self.device
        return TargetFacts(
            TargetKind.DIRECTORY, device.name, str(device.node), device.capacity_bytes, sector_bytes
        )


@contextmanager
def open_directory(target: DirectoryTarget, roots: SystemRoots, run_id: str | None) -> Iterator[OpenTarget]:
    """Open the device below a directory for reading, or the directory itself without the right to do that.

    Nothing on it is ours: its owner is the run, without a claim. Raises TargetError if neither can be opened.
    """
    try:
        fd = os.open(target.device.node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        with failing_as(TargetError, f"{target.path} can't be opened"):
            fd = os.open(target.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = f"{target.path} on {target.device.node}"
        owner = RunOwner.this_process(run_id or new_run_id(), name, (), roots)
        yield OpenTarget(fd, target.facts, target.device, owner=owner)
    finally:
        os.close(fd)


def is_writable(directory: Path) -> bool:
    """Whether the file system takes writes. Raises OSError if it can't be read."""
    return not os.statvfs(directory).f_flag & os.ST_RDONLY


def file_system_fault(directory: Path, device: BlockDevice, *, was_writable: bool) -> str | None:
    """Why no program can continue on a mounted file system; None while it is fine."""
    if not device.folder.exists():
        return f"{device.node} has gone away: see dmesg"
    try:
        if was_writable and not is_writable(directory):
            return f"{directory} has become read-only: see dmesg"
    except OSError as error:
        return f"{directory} can't be read: {error.strerror}"
    return None


_SECTOR_BYTES: Final = 512  # the kernel's unit here, whatever the device's own is
# Documentation/admin-guide/iostats.rst; discards since Linux 4.18, flushes since 5.5
_FIELDS: Final = 17


def device_counts(device: BlockDevice) -> DeviceCounts:
    """Since the machine started; zeros for a device that is gone."""
    fields = (device.text("stat") or "").split()
    numbers = [int(field) for field in fields if field.isdecimal()]
    numbers += [0] * (_FIELDS - len(numbers))
    return DeviceCounts(
        reads=numbers[0],
        read_bytes=numbers[2] * _SECTOR_BYTES,
        writes=numbers[4],
        written_bytes=numbers[6] * _SECTOR_BYTES,
        discards=numbers[11],
        discarded_bytes=numbers[13] * _SECTOR_BYTES,
        flushes=numbers[15],
        busy_ns=numbers[9] * NS_PER_MS,
        queue_ns=numbers[10] * NS_PER_MS,
    )
