"""Makes sure that a command which names a drive by its node reaches the drive that is meant, and no other.

The kernel gives a drive's name to no other drive while it is open.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from openpts.device.block_device import BlockDevice, number_text
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, TargetError, failing_as


def held_drive(target: OpenTarget, what: str) -> BlockDevice:
    """The drive of a target, to be named in ``what``'s commands as long as it is open.

    Raises PurgeError for a file, and if the name or its node belongs to another drive by now.
    """
    device = target.device
    if device is None:
        raise PurgeError(f"{what} of {target.facts.path} failed: it is a file")
    if not _is_behind_its_node(target.fd, device):
        raise PurgeError(f"{target.facts.path} is no longer the drive that was opened: see dmesg")
    return device


@contextmanager
def held_node(device: BlockDevice, remedy: str, *, alone: bool = False) -> Iterator[None]:
    """Keep a drive's name its own while commands go to it; ``alone``: claim it exclusively.

    Opens for reading. Raises TargetError, ``remedy`` at its end, if it can't be opened, has been claimed, or
    is another drive.
    """
    with failing_as(TargetError, f"{device.node} can't be opened", remedy):
        fd = os.open(device.node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_EXCL if alone else 0))
    try:
        if not _is_behind_its_node(fd, device):
            raise TargetError(f"{device.node} has become another device; {remedy}")
        yield
    finally:
        os.close(fd)


def _is_behind_its_node(fd: int, device: BlockDevice) -> bool:
    try:
        node = number_text(device.node.stat().st_rdev)
    except OSError:
        return False
    return number_text(os.fstat(fd).st_rdev) == device.number == node
