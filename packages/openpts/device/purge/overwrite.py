"""One pass of random data over all LBAs: no purge, for it leaves the drive full (PTS 2.1.11)."""

import os
import time
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.purge.method import Capability, Progress
from openpts.device.targets.direct_io import aligned_buffer
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, failing_as
from openpts.units import MB, MIB
from openpts.vocabulary.facts import Facts

_CHUNK_BYTES: Final = 4 * MIB


class Overwrite(Struct, frozen=True):
    """Implements openpts.device.purge.method.PurgeMethod for whatever takes writes."""

    name: str = "overwrite"
    title: str = "one sequential pass of random data (NO PURGE)"
    is_purge: bool = False

    def capability(self, device: BlockDevice) -> Capability:
        return Capability.of_writing(device)

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        capacity_bytes = target.facts.user_capacity_bytes
        chunk_bytes = min(_CHUNK_BYTES, capacity_bytes)
        started_s = time.monotonic()
        with aligned_buffer(chunk_bytes) as buffer:
            for offset_bytes in range(0, capacity_bytes, chunk_bytes):
                length_bytes = min(chunk_bytes, capacity_bytes - offset_bytes)
                with buffer[:length_bytes] as chunk:
                    chunk[:] = os.urandom(length_bytes)
                    _write(target, chunk, offset_bytes)
                elapsed_s = time.monotonic() - started_s
                rate = (offset_bytes + length_bytes) / MB / elapsed_s if elapsed_s else 0.0
                progress((offset_bytes + length_bytes) / capacity_bytes, f"overwriting, {rate:.0f} MB/s")
        with failing_as(PurgeError, f"overwriting {target.facts.path} failed"):
            os.fsync(target.fd)
        return f"bytes 0 to {capacity_bytes - 1:,} written once in sequence: the drive is full, not purged"

    def status(self, target: OpenTarget) -> Facts:  # noqa: ARG002 no drive keeps a log of writes
        return {}


def _write(target: OpenTarget, chunk: memoryview, offset_bytes: int) -> None:
    with failing_as(PurgeError, f"overwriting {target.facts.path} failed at byte {offset_bytes:,}"):
        written_bytes = os.pwritev(target.fd, [chunk], offset_bytes)
    if written_bytes != len(chunk):
        raise PurgeError(
            f"overwriting {target.facts.path} failed: {written_bytes} of {len(chunk)} bytes taken at byte "
            f"{offset_bytes:,}"
        )


OVERWRITE: Final = Overwrite()
