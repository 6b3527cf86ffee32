"""A drive of a made-up machine, held as the guard would: its node is a file, so its number is 0:0."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from openpts.device.block_device import BlockDevice
from openpts.device.targets.open_target import OpenTarget
from openpts.vocabulary.facts import TargetFacts, TargetKind


def give_node(device: BlockDevice) -> BlockDevice:
    """Make the node of a drive that has none, and let sysfs tell its number."""
    (device.folder / "dev").write_text("0:0\n")
    device.node.parent.mkdir(exist_ok=True)
    device.node.touch()
    return device


@contextmanager
def held(device: BlockDevice, capacity_bytes: int = 10**12) -> Iterator[OpenTarget]:
    """The drive, open; its path is told as on a real machine."""
    give_node(device)
    fd = os.open(device.node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        facts = TargetFacts(TargetKind.BLOCK, device.name, f"/dev/{device.name}", capacity_bytes, 512)
        yield OpenTarget(fd, facts, device)
    finally:
        os.close(fd)
