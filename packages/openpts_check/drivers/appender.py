"""A program that appends to an open file and makes each append durable, as a database commits.

Its columns: starts, the times of write, the times of fdatasync, all in ns.
"""

import os
import sys
import time
from functools import partial
from typing import Final

from openpts_check.drivers.answering import Columns, answer, new_columns

_POOL_BYTES: Final = 1 << 20


def main() -> None:
    """``fd append_bytes segment_bytes parent`` are the arguments."""
    fd, append_bytes, segment_bytes, parent = map(int, sys.argv[1:])
    pool = os.urandom(_POOL_BYTES + append_bytes)
    answer(partial(_append_until, fd, append_bytes, segment_bytes, pool), parent)


def _append_until(
    fd: int, append_bytes: int, segment_bytes: int, pool: bytes, _operation: str, deadline_ns: int
) -> Columns:
    """Commit after commit; a segment that is full is made again, ahead of its first commit."""
    now, write, sync = time.monotonic_ns, os.pwrite, os.fdatasync
    starts, writes, syncs = columns = new_columns()
    offset = _new_segment(fd, segment_bytes)
    while (start := now()) < deadline_ns:
        at = offset % _POOL_BYTES
        write(fd, pool[at : at + append_bytes], offset)
        written = now()
        sync(fd)
        done = now()
        starts.append(start)
        writes.append(written - start)
        syncs.append(done - written)
        offset += append_bytes
        if offset + append_bytes > segment_bytes:
            offset = _new_segment(fd, segment_bytes)
    return columns


def _new_segment(fd: int, segment_bytes: int) -> int:
    """Blocks that were never written, as at the head of a log that grows; all of the one before is gone."""
    os.ftruncate(fd, 0)
    os.posix_fallocate(fd, 0, segment_bytes)
    os.fsync(fd)
    return 0


if __name__ == "__main__":
    main()
