"""Discard of all LBAs by the kernel: TRIM, UNMAP or Deallocate, whatever the drive has."""

import errno
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.kernel_calls import discard
from openpts.device.purge.method import Capability, Progress
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError
from openpts.units import GIB
from openpts.vocabulary.facts import Facts

# small enough that Ctrl-C between two of them is handled
_CHUNK_BYTES: Final = GIB


class Discard(Struct, frozen=True):
    """Implements openpts.device.purge.method.PurgeMethod for whatever has a queue with discard."""

    name: str = "discard"
    title: str = "discard of all LBAs (BLKDISCARD)"
    is_purge: bool = True

    def capability(self, device: BlockDevice) -> Capability:
        """Whether it takes writes, and the largest discard that the kernel will send."""
        if not (writing := Capability.of_writing(device)).supported:
            return writing
        attribute = "queue/discard_max_bytes"
        most_bytes = device.integer(attribute)
        if most_bytes:
            return Capability(True, f"{device.place(attribute)} is {most_bytes}")
        reported = "is missing" if most_bytes is None else "is 0"
        return Capability(False, f"has no discard: {device.place(attribute)} {reported}")

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        device, capacity_bytes = target.device, target.facts.user_capacity_bytes
        chunk_bytes = _chunk_bytes(device.integer("queue/discard_granularity") if device else None)
        for offset_bytes in range(0, capacity_bytes, chunk_bytes):
            progress(offset_bytes / capacity_bytes, "discarding")
            try:
                discard(target.fd, offset_bytes, min(chunk_bytes, capacity_bytes - offset_bytes))
            except OSError as error:
                said = "it has no discard" if error.errno == errno.EOPNOTSUPP else error.strerror
                raise PurgeError(f"{self.title} of {target.facts.path} failed: {said}") from error
        return f"bytes 0 to {capacity_bytes - 1:,}, in pieces of up to {chunk_bytes:,} bytes"

    def status(self, target: OpenTarget) -> Facts:  # noqa: ARG002 no drive keeps a log of discards
        """Nothing tells of a discard afterwards."""
        return {}


def _chunk_bytes(granularity_bytes: int | None) -> int:
    """The chunk in whole units of what the drive discards: it may leave a broken unit as it is."""
    unit_bytes = granularity_bytes or 1
    return max(_CHUNK_BYTES // unit_bytes, 1) * unit_bytes


DISCARD: Final = Discard()
