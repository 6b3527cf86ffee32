"""What purges a file: the file system takes its blocks back and gives it new ones."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.kernel_calls import deallocate
from openpts.device.purge.method import Capability, Progress
from openpts.device.targets.allocation import allocate_fully
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, TargetError
from openpts.vocabulary.facts import FILE_PURGE, Facts

FILE_METHOD: Final = "deallocate and re-allocate (fallocate)"


class FileBlocks(Struct, frozen=True):
    """Implements openpts.device.purge.method.PurgeMethod for files, which have no other."""

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
