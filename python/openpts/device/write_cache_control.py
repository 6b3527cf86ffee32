"""Sets the volatile write cache of a drive that is ours, reads it back, puts it back at the end (PTS 3.7).

NVMe takes feature 06h, SCSI and ATA disks the caching mode page, which sysfs sends to the drive itself.
Others, and files, keep the cache that they have.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.nvme_admin import NvmeCommandError, set_volatile_write_cache
from openpts.device.open_target import OpenTarget
from openpts.device.write_cache import DISABLED, ENABLED, cache_type_attribute, read_write_cache
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import WriteCacheReport

_KERNEL_TEXT = {True: "write back", False: "write through"}


# PTS-CACHE-01
@dataclass(slots=True)
class WriteCacheControl:
    """The cache of one target; ``_put_back`` is what there is to do at the end."""

    target: OpenTarget
    roots: SystemRoots
    _put_back: Callable[[], None] | None = field(default=None)

    def require(self, enabled: bool) -> WriteCacheReport:
        """Set the cache as required if it can be set, and read it back; the source tells what was done."""
        wanted = ENABLED if enabled else DISABLED
        found = read_write_cache(self.target, enabled, self.roots)
        device = self.target.device
        if device is None or found.actual not in {ENABLED, DISABLED} or found.actual == wanted:
            return found
        setter = _setter(self.target.fd, device)
        if setter is None:
            return replace(found, source=f"{found.source}; a {device.kind} can't be told otherwise")
        put_back = _restorer(setter, device, found)
        try:
            setter(enabled)
        except (OSError, NvmeCommandError) as error:
            return replace(found, source=f"{found.source}; setting {wanted} failed: {_reason(error)}")
        if self._put_back is None:
            self._put_back = put_back
        now = read_write_cache(self.target, enabled, self.roots)
        return replace(now, source=f"{now.source}; set by openpts, was {found.actual}")

    def put_back(self) -> None:
        """Leave the cache as it was found. Raises OSError or NvmeCommandError."""
        if self._put_back is not None:
            self._put_back()
            self._put_back = None


@contextmanager
def write_cache_control(target: OpenTarget, roots: SystemRoots) -> Iterator[WriteCacheControl]:
    """Control over the cache of a target that the guard has opened; as it was found at the end.

    Raises TargetError if it can't be put back after a block that ended well; after one that failed, the
    drive may well be gone, and that failure is what counts.
    """
    control = WriteCacheControl(target, roots)
    try:
        yield control
    except BaseException:
        with suppress(OSError, NvmeCommandError):
            control.put_back()
        raise
    try:
        control.put_back()
    except (OSError, NvmeCommandError) as error:
        raise TargetError(
            f"the write cache of {target.facts.path} could not be set back to what it was: {_reason(error)}"
        ) from error


def _setter(fd: int, device: BlockDevice) -> Callable[[bool], None] | None:
    if device.kind is DeviceKind.NVME:
        return lambda enabled: set_volatile_write_cache(fd, enabled=enabled)
    if device.kind in {DeviceKind.ATA, DeviceKind.SCSI} and (attribute := cache_type_attribute(device)):
        return lambda enabled: _write_attribute(device, attribute, _KERNEL_TEXT[enabled])
    return None


def _restorer(
    setter: Callable[[bool], None], device: BlockDevice, found: WriteCacheReport
) -> Callable[[], None]:
    """Disks have four states: the very text that was found comes back."""
    attribute = None if device.kind is DeviceKind.NVME else cache_type_attribute(device)
    text = None if attribute is None else device.text(attribute)
    if attribute is not None and text is not None:
        return partial(_write_attribute, device, attribute, text)
    return partial(setter, found.actual == ENABLED)


def _write_attribute(device: BlockDevice, attribute: str, text: str) -> None:
    """Write to sysfs, which exists already: nothing is created or cut off. Raises OSError."""
    fd = os.open(device.folder / attribute, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
