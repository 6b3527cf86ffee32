"""An NVMe namespace's generic character device: commands go through it past the block layer."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind, number_text
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError, failing_as
from openpts.system_files import read_text

# <linux/nvme_ioctl.h>: the namespace's number is the call's own answer
_NVME_IOCTL_ID: Final = 0x4E40


@contextmanager
def open_nvme_generic(target: OpenTarget) -> Iterator[int]:
    """The generic device of the namespace that ``target`` holds, with the same rights and no more.

    The guard's claim on the block device stays the protection: this one is open only while that is.
    Raises TargetError where the target is no NVMe namespace, has no generic device (Linux 5.13), or the
    device that bears its name is another namespace.
    """
    device = target.device
    if device is None or device.kind is not DeviceKind.NVME or device.is_partition:
        raise TargetError(
            f"{target.facts.name} is not an NVMe namespace, so it takes no passthrough commands"
        )
    descriptor = _open_like(target.fd, device)
    try:
        _check_same_namespace(descriptor, device)
        yield descriptor
    finally:
        os.close(descriptor)


def _generic_name(device: BlockDevice) -> str:
    return "ng" + device.name.removeprefix("nvme")


def _open_like(held: int, device: BlockDevice) -> int:
    rights = fcntl.fcntl(held, fcntl.F_GETFL) & os.O_ACCMODE
    node = device.roots.dev / _generic_name(device)
    with failing_as(TargetError, f"{node} can't be opened", "--io-path io_uring needs no such device"):
        return os.open(node, rights | os.O_CLOEXEC)


def _check_same_namespace(descriptor: int, device: BlockDevice) -> None:
    name = _generic_name(device)
    folder = (device.roots.sys / "class/nvme-generic" / name).resolve()
    same_node = read_text(folder / "dev") == number_text(os.fstat(descriptor).st_rdev)
    same_parent = folder.parent == device.folder.parent
    with failing_as(TargetError, f"can't read the namespace ID of {name}"):
        same_number = fcntl.ioctl(descriptor, _NVME_IOCTL_ID) == device.integer("nsid")
    if not (same_node and same_parent and same_number):
        raise TargetError(f"{name} is not the namespace of {device.name}")
