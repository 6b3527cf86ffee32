"""The claim of a run on a drive, by names that it has on every path, in every container, and after a reset.

The kernel's own claim (O_EXCL) is on one block device, and ends with that device if the drive drops off the
bus. This one is on what the drive reports of itself.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.guard.claims import NamedFile
from openpts.device.guard.usage import Usage
from openpts.device.identity.drive_name import model, serial_number
from openpts.device.kernel_calls import Inode, loop_backing
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import RefusedError, TargetError
from openpts.ownership import RunOwner, holder_of, new_run_id, owned
from openpts.system_files import SystemRoots

OWNED_REMEDY: Final = "see fuser -v /dev/openpts/*; wait until it ends, or stop it"


def drive_names(device: BlockDevice) -> tuple[str, ...]:
    """What a drive is known by on every path; of a mapped device or an array, what its members are known by.

    An NVMe drive is known by its subsystem as well, so that all namespaces of it are one drive. Where nothing
    else tells, model and serial number do, and for a device without these the kernel's number.
    """
    return tuple(dict.fromkeys(name for disk in device.beneath for name in _names(disk)))


def _names(disk: BlockDevice) -> tuple[str, ...]:
    if disk.kind is DeviceKind.LOOP and (backing := loop_backing(disk.node)) is not None:
        return (inode_name(backing.inode),)
    reported = tuple(name for name in (disk.text("device/subsysnqn"), disk.wwid) if name is not None)
    if reported:
        return reported
    if (serial := serial_number(disk).value) is not None:
        return (f"{model(disk).value or disk.kind} {serial}",)
    return (f"block device {disk.number}",)


def inode_name(inode: Inode) -> str:
    """What a regular file is known by, whatever its path."""
    return f"file {inode[0]} {inode[1]}"


def owner_of_drive(device: BlockDevice, usage: Usage) -> str | None:
    """The run that has claimed a drive, as a sentence; None if there is none, and if it is our own."""
    folder = _folder(device.roots)
    for name in drive_names(device):
        found = usage.owner_of(name)
        if found is None and (holder := holder_of(name, folder)) is not None:
            found = f"belongs to {holder}"
        if found is not None:
            return f"{device.node} {found}"
    return None


@contextmanager
def drive_claimed(device: BlockDevice, run_id: str | None, roots: SystemRoots) -> Iterator[RunOwner]:
    """Claim a drive for a run as long as the block lasts; with None, for one that has no record.

    What this process has claimed already is shared. Raises RefusedError where another process has it, and
    TargetError if nothing can be written below /dev.
    """
    names, folder = drive_names(device), _folder(roots)
    serial = serial_number(device).value
    target = f"{device.node} ({model(device).value or device.kind}, serial number {serial or 'none'})"
    owner = RunOwner.this_process(run_id or new_run_id(), target, names, roots)
    with ExitStack() as held:
        for name in sorted(names):
            try:
                held.enter_context(owned(name, owner, folder))
            except BlockingIOError:
                holder = holder_of(name, folder) or "another openpts"
                raise RefusedError(
                    f"refused [owned]: {device.node} belongs to {holder}; {OWNED_REMEDY}"
                ) from None
            except OSError as error:
                raise TargetError(f"can't claim {device.node} in {folder}: {error.strerror}") from error
        yield owner


@contextmanager
def file_claimed(file: NamedFile, run_id: str | None, roots: SystemRoots) -> Iterator[RunOwner]:
    """Say whose a file is that this process has locked, as long as the block lasts."""
    assert file.inode is not None  # noqa: S101 it is open
    name = inode_name(file.inode)
    owner = RunOwner.this_process(run_id or new_run_id(), str(file.path), (name,), roots)
    with owned(name, owner, None):
        yield owner


def owner_note(target: OpenTarget) -> tuple[str, ...]:
    """Note for each run that has claimed a drive which is opened for reading: each slows the other down."""
    if target.device is None or target.owner is not None:
        return ()
    folder = _folder(target.device.roots)
    holders = (holder_of(name, folder) for name in drive_names(target.device))
    return tuple(
        f"{target.facts.path} belongs to {holder}: reads slow its I/O down, and it slows them down"
        for holder in dict.fromkeys(filter(None, holders))
    )


def _folder(roots: SystemRoots) -> Path:
    """Containers that share the nodes of drives share this as well, and it is empty after a restart."""
    return roots.dev / "openpts"
