"""The core's own ways to empty or overwrite a target: discard, blocks of a file, random data."""

import errno
import os
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.kernel_calls import deallocate, discard
from openpts.device.purge.methods import Capability, Progress
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.reading import aligned_buffer
from openpts.device.targets.scratch_file import allocate_fully
from openpts.errors import PurgeError, TargetError, failing_as
from openpts.units import GIB, MB, MIB
from openpts.vocabulary.facts import FILE_PURGE, Facts

# small enough that Ctrl-C between two of them is handled
_CHUNK_BYTES: Final = GIB


class Discard(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod for whatever has a queue with discard."""

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
        unit_bytes = (device.integer("queue/discard_granularity") if device else None) or 1
        chunk_bytes = max(_CHUNK_BYTES // unit_bytes, 1) * unit_bytes
        for offset_bytes in range(0, capacity_bytes, chunk_bytes):
            progress(offset_bytes / capacity_bytes, "discarding")
            try:
                discard(target.fd, offset_bytes, min(chunk_bytes, capacity_bytes - offset_bytes))
            except OSError as error:
                why = "it has no discard" if error.errno == errno.EOPNOTSUPP else error.strerror
                raise PurgeError(f"{self.title} of {target.facts.path} failed: {why}") from error
        return f"bytes 0 to {capacity_bytes - 1:,}, in pieces of up to {chunk_bytes:,} bytes"

    def status(self, target: OpenTarget) -> Facts:  # noqa: ARG002 no drive keeps a log of discards
        """Nothing reports a discard afterwards."""
        return {}


DISCARD: Final = Discard()


FILE_METHOD: Final = "deallocate and re-allocate (fallocate)"


class FileBlocks(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod for files, which have no other."""

    name: str = FILE_PURGE
    title: str = FILE_METHOD
    is_purge: bool = True

    def capability(self, device: BlockDevice) -> Capability:
        return Capability(False, f"{device.node} is no file")

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        size_bytes = target.facts.user_capacity_bytes
        progress(None, "new blocks")
        try:
            deallocate(target.fd, size_bytes)
            allocate_fully(target.fd, size_bytes, Path(target.facts.path))
        except (OSError, TargetError) as error:
            raise PurgeError(f"{FILE_METHOD} of {target.facts.path} failed: {error}") from error
        return f"all {size_bytes:,} bytes of the file; the drive below it was not purged"

    def status(self, target: OpenTarget) -> Facts:  # noqa: ARG002 a file keeps no log
        return {}


_RANDOM_BYTES: Final = 4 * MIB


class Overwrite(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod for whatever takes writes."""

    name: str = "overwrite"
    title: str = "one sequential pass of random data (NO PURGE)"
    is_purge: bool = False

    def capability(self, device: BlockDevice) -> Capability:
        return Capability.of_writing(device)

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        capacity_bytes = target.facts.user_capacity_bytes
        chunk_bytes = min(_RANDOM_BYTES, capacity_bytes)
        started_s = time.monotonic()
        with aligned_buffer(chunk_bytes) as buffer:
            for offset_bytes in range(0, capacity_bytes, chunk_bytes):
                length_bytes = min(chunk_bytes, capacity_bytes - offset_bytes)
                failed = f"overwriting {target.facts.path} failed"
                with buffer[:length_bytes] as chunk:
                    chunk[:] = os.urandom(length_bytes)
                    with failing_as(PurgeError, f"{failed} at byte {offset_bytes:,}"):
                        written_bytes = os.pwritev(target.fd, [chunk], offset_bytes)
                if written_bytes != length_bytes:
                    text = f"{written_bytes} of {length_bytes} bytes taken at byte {offset_bytes:,}"
                    raise PurgeError(f"{failed}: {text}")
                elapsed_s = time.monotonic() - started_s
                rate = (offset_bytes + length_bytes) / MB / elapsed_s if elapsed_s else 0.0
                progress((offset_bytes + length_bytes) / capacity_bytes, f"overwriting, {rate:.0f} MB/s")
        with failing_as(PurgeError, f"overwriting {target.facts.path} failed"):
            os.fsync(target.fd)
        return f"bytes 0 to {capacity_bytes - 1:,} written once in sequence: the drive is full, not purged"

    def status(self, target: OpenTarget) -> Facts:  # noqa: ARG002 no drive keeps a log of writes
        return {}


OVERWRITE: Final = Overwrite()
