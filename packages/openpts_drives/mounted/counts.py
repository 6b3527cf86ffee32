"""What a block device did, by the kernel's counters of it."""

from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.units import NS_PER_MS
from openpts.vocabulary.command_run import DeviceCounts

_SECTOR_BYTES: Final = 512  # the kernel's unit here, whatever the device's own is
# Documentation/admin-guide/iostats.rst; discards since Linux 4.18, flushes since 5.5
_FIELDS: Final = 17


def device_counts(device: BlockDevice) -> DeviceCounts:
    """Since the machine started; zeros for a device that is gone."""
    fields = (device.text("stat") or "").split()
    numbers = [int(word) for word in fields if word.isdecimal()]
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
