"""What the disk below gave out meanwhile, by the kernel's count: the other reads came from a cache."""

from typing import Final

DEVICE_READS: Final = "device_read_bytes"
"""Bytes that the kernel has read from the whole disk, at a step's start and end."""
