"""What the tests with programs of the operator leave behind when they are killed."""

from openpts.device.block_device import BlockDevice
from openpts.device.journalled_drive import is_drive
from openpts.device.targets.target import FileTarget, Target
from openpts.hooks import Concern, Healer
from openpts.journal import Entry
from openpts_drives.mounted.prepared_drive import MOUNT, is_mount_of_file, put_back_mount


class Mounts(Concern):
    """A file system on the drive, or on a file by way of a loop device."""

    def healer_of(self, kind: str) -> Healer | None:
        """Unmounts it."""
        return Healer(put_back_mount, bears_on=_is_of) if kind == MOUNT else None


def _is_of(entry: Entry, target: Target, device: BlockDevice | None) -> bool:
    if isinstance(target, FileTarget):
        return is_mount_of_file(entry, target.path)
    return device is not None and is_drive(device, entry.subject)
