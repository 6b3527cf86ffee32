"""A target that was opened, and what must hold for every one."""

import os

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.kernel_calls import device_capacity_bytes, device_is_read_only, logical_sector_bytes
from openpts.errors import TargetError, failing_as
from openpts.ownership import RunOwner
from openpts.vocabulary.facts import TargetFacts, TargetKind


class OpenTarget(Struct, frozen=True):
    """A target that is open: by the guard for direct reads and writes, ours alone while ``fd`` is open.

    One that was opened for reading isn't ours alone. ``device`` is the drive as sysfs shows it; None for a
    file. ``made_here`` is a file that was not there before, in the folder ``folder_fd``. ``siblings`` are the
    other namespaces that the operator gave up too, each open in the same way as long as this one. ``owner``
    is the run that it is open for; None of one that was opened for reading. ``is_locked``: it was opened to
    be reverted, and keeps its data away.
    """

    fd: int
    facts: TargetFacts
    device: BlockDevice | None
    made_here: bool = False
    folder_fd: int = -1
    siblings: tuple["OpenTarget", ...] = ()
    owner: RunOwner | None = None
    is_locked: bool = False

    @property
    def fault(self) -> str | None:
        """Why no test can continue on it; None while it is as it was opened for writing.

        Only the kernel is queried: that disturbs no I/O, and works while the drive answers nothing.
        """
        path, begun_bytes, device = self.facts.path, self.facts.user_capacity_bytes, self.device
        try:
            size_bytes = os.fstat(self.fd).st_size if device is None else device_capacity_bytes(self.fd)
            if device is not None and not (size_bytes and device.folder.exists()):
                return f"{path} has gone away: see dmesg"
            if size_bytes < begun_bytes or (device is not None and size_bytes > begun_bytes):
                return f"{path} has {size_bytes:,} bytes now, and had {begun_bytes:,} when the test began"
            if device is not None and device_is_read_only(self.fd):
                return f"{path} has become read-only: see dmesg"
        except OSError as error:
            return f"{path} can't be asked for its size any more: {error.strerror}"
        return None


def block_facts(fd: int, device: BlockDevice) -> TargetFacts:
    """What is known of a drive once it is open. Raises TargetError for one without a size."""
    with failing_as(TargetError, f"can't read the size of {device.node}"):
        capacity_bytes, sector_bytes = device_capacity_bytes(fd), logical_sector_bytes(fd)
    if capacity_bytes == 0:
        raise TargetError(f"{device.node} has no capacity: is there a medium in it?")
    return TargetFacts(
        TargetKind.BLOCK,
        device.name,
        str(device.node),
        capacity_bytes,
        sector_bytes,
        partitions=device.places_of_partitions,
    )
