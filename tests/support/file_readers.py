"""Which processes read a file, and when, by the kernel's own account of it (fanotify)."""

import ctypes
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# linux/fanotify.h
_CLOEXEC, _NONBLOCK, _ADD, _ACCESS = 0x1, 0x2, 0x1, 0x1
_EVENT = struct.Struct("=IBBHQii")
_AT_FDCWD = -100
_EACH_S = 0.002


@contextmanager
def readers_of(path: Path) -> Iterator[list[tuple[int, int]]]:
    """The monotonic time in ns, and the process, of each reading of it in the block, as they come."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.fanotify_init(_CLOEXEC | _NONBLOCK, os.O_RDONLY | os.O_CLOEXEC)
    if fd < 0:
        pytest.skip(f"the kernel does not tell which process reads a file: {os.strerror(ctypes.get_errno())}")
    name = os.fsencode(path)
    assert libc.fanotify_mark(fd, _ADD, ctypes.c_uint64(_ACCESS), _AT_FDCWD, name) == 0
    found: list[tuple[int, int]] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_EACH_S):
            try:
                content = os.read(fd, 65536)
            except BlockingIOError:
                continue
            now_ns = time.monotonic_ns()
            for length, *_, opened, pid in _EVENT.iter_unpack(content):
                assert length == _EVENT.size
                os.close(opened)
                found.append((now_ns, pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
        os.close(fd)
