"""A program that makes small files and reads them cold, in a folder of its own.

Its columns: starts, the times of a file in ns, the sizes of the files.
"""

import os
import sys
import time
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Final

from openpts_check.drivers.answering import Columns, answer, new_columns

# as in the source of a large program: most files are small, and a few have most of the bytes
SIZES_BYTES: Final = (*(4096,) * 5, *(8192,) * 3, 16384, 65536)
_MOST_FILES: Final = 2000
_POOL_BYTES: Final = 1 << 20


def main() -> None:
    """``folder_fd parent`` are the arguments."""
    folder, parent = map(int, sys.argv[1:])
    pool = os.urandom(_POOL_BYTES + max(SIZES_BYTES))
    answer(partial(_work_until, folder, pool, count()), parent)


def _work_until(folder: int, pool: bytes, numbers: "count[int]", operation: str, deadline_ns: int) -> Columns:
    if operation == "read":
        return _read_until(folder, deadline_ns)
    return _make_until(folder, pool, numbers, deadline_ns)


def _make_until(folder: int, pool: bytes, numbers: "count[int]", deadline_ns: int) -> Columns:
    """File after file, each durable before the next, as package managers do; the oldest ones make room."""
    now = time.monotonic_ns
    starts, times, sizes = columns = new_columns()
    for number in numbers:
        size, at, name = SIZES_BYTES[number % len(SIZES_BYTES)], number * 4096 % _POOL_BYTES, f"{number}"
        if (start := now()) >= deadline_ns:
            break
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
        os.write(fd, pool[at : at + size])
        os.fsync(fd)
        os.close(fd)
        starts.append(start)
        times.append(now() - start)
        sizes.append(size)
        if number >= _MOST_FILES:
            with suppress(FileNotFoundError):  # at a deadline no file has its number
                os.unlink(f"{number - _MOST_FILES}", dir_fd=folder)
    return columns


def _read_until(folder: int, deadline_ns: int) -> Columns:
    """Each file once, not from memory; again from the first where there is time left."""
    now = time.monotonic_ns
    starts, times, sizes = columns = new_columns()
    files = sorted(os.listdir(folder), key=int)
    while files and now() < deadline_ns:
        for name in files:
            _forget(name, folder)
        for name in files:
            if (start := now()) >= deadline_ns:
                break
            fd = os.open(name, os.O_RDONLY, dir_fd=folder)
            size = len(os.read(fd, max(SIZES_BYTES)))
            os.close(fd)
            starts.append(start)
            times.append(now() - start)
            sizes.append(size)
    return columns


def _forget(name: str, folder: int) -> None:
    """Have the kernel drop what it keeps of a file that is durable."""
    fd = os.open(name, os.O_RDONLY, dir_fd=folder)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


if __name__ == "__main__":
    main()
