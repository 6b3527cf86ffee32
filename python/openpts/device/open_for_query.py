"""Opens a drive for a query: for reading, without a claim, and without waiting for a medium."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from openpts.device.block_device import BlockDevice


@contextmanager
def open_to_ask(device: BlockDevice) -> Iterator[int]:
    """A descriptor on which commands may be sent that ask. Raises OSError if it can't be had."""
    fd = os.open(device.node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)
