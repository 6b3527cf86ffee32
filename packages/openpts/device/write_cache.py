"""The volatile write cache as it is set: WCE or WCD (PTS 3.7); write_cache_control.py sets it."""

from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind, device_below
from openpts.device.identity.ata_identify import read_ata_identity
from openpts.device.nvme.nvme_admin import NvmeCommandError, identify_controller, volatile_write_cache_enabled
from openpts.device.targets.open_target import OpenTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import FILE_CACHE, WriteCacheReport

ENABLED: Final = "WCE"
DISABLED: Final = "WCD"
NO_CACHE: Final = "no volatile cache"
UNKNOWN: Final = "unknown"

# what the kernel calls the two states: of sd's cache_type (mode page 08h) and of queue/write_cache
_BY_KERNEL_TEXT: Final = {
    "write back": ENABLED,
    "write back, no read (daft)": ENABLED,
    "write through": DISABLED,
    "none": DISABLED,
}


def read_write_cache(target: OpenTarget, required_enabled: bool, roots: SystemRoots) -> WriteCacheReport:
    """Read the cache's state from the place that knows best, with that place; never raises.

    ``required_enabled`` is what the test asks for; it is only reported.
    """
    if target.device is None:
        actual, source = _of_file(target, roots)
    else:
        actual, source = read_drive_cache(target.fd, target.device)
    return WriteCacheReport(required=ENABLED if required_enabled else DISABLED, actual=actual, source=source)


def _of_file(target: OpenTarget, roots: SystemRoots) -> tuple[str, str]:
    drive = device_below(Path(target.facts.path), roots)
    if drive is None:
        return FILE_CACHE, "no block device can be seen below the file"
    _, source = _as_the_kernel_has_it(drive.whole, "queue/write_cache")
    return FILE_CACHE, f"the cache belongs to {drive.whole.node} below the file, {source}"


def read_drive_cache(fd: int, device: BlockDevice) -> tuple[str, str]:
    """State of the cache of a drive that is open as ``fd``, and its source; never raises."""
    match device.kind:
        case DeviceKind.NVME:
            return _of_nvme(fd)
        case DeviceKind.ATA | DeviceKind.SCSI:
            identity = read_ata_identity(device)
            if identity is not None and not identity.has_volatile_write_cache:
                return NO_CACHE, "ATA IDENTIFY DEVICE, word 82"
            attribute = cache_type_attribute(device)
            if attribute is None:
                return UNKNOWN, f"{device.place('device/scsi_disk')} is missing"
            return _as_the_kernel_has_it(device, attribute)
        case _:
            return _as_the_kernel_has_it(device, "queue/write_cache")


def _of_nvme(fd: int) -> tuple[str, str]:
    """The feature itself: queue/write_cache only says that there is a cache, on or off."""
    try:
        if not identify_controller(fd).has_volatile_write_cache:
            return NO_CACHE, "NVMe Identify Controller, VWC"
        enabled = volatile_write_cache_enabled(fd)
    except NvmeCommandError as error:
        return UNKNOWN, f"NVMe feature 06h could not be read: {error}"
    return ENABLED if enabled else DISABLED, "NVMe Get Features, 06h"


def cache_type_attribute(device: BlockDevice) -> str | None:
    """Where sysfs has the caching mode page of a SCSI or ATA disk; None for one without."""
    disks = sorted((device.folder / "device/scsi_disk").glob("*"))
    return f"device/scsi_disk/{disks[0].name}/cache_type" if disks else None


def _as_the_kernel_has_it(device: BlockDevice, attribute: str) -> tuple[str, str]:
    text = device.text(attribute)
    return _BY_KERNEL_TEXT.get(text or "", UNKNOWN), f"{device.place(attribute)}: {text or 'not there'}"
