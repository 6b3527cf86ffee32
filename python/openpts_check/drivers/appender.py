"""Appends to an open file and makes each append durable, as a database commits: the program of a process.

A process of its own, which imports nothing of openpts but how to end with its parent: in that of the runner,
threads of Python would stand between a completion and the clock. Reads a deadline per line (monotonic, ns),
and answers each with the number of commits, their starts, and the times of write and fdatasync, all in ns.
"""

import gc
import os
import sys
import time
from array import array
from typing import Final

from openpts.parent_process import end_with_parent

READY: Final = b"ready\n"
_POOL_BYTES: Final = 1 << 20
_KIND: Final = "q"


def main() -> None:
    """``fd append_bytes segment_bytes parent`` are the arguments."""
    fd, append_bytes, segment_bytes, parent = map(int, sys.argv[1:])
    end_with_parent(parent)
    pool = os.urandom(_POOL_BYTES + append_bytes)
    gc.disable()
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        columns = _append_until(int(line), fd, append_bytes, segment_bytes, pool)
        sys.stdout.buffer.write(b"%d\n" % len(columns[0]))
        for column in columns:
            sys.stdout.buffer.write(column.tobytes())
        sys.stdout.buffer.flush()


def _append_until(
    deadline_ns: int, fd: int, append_bytes: int, segment_bytes: int, pool: bytes
) -> tuple["array[int]", "array[int]", "array[int]"]:
    """Commit after commit; a segment that is full is made anew, ahead of its first commit."""
    now, write, sync = time.monotonic_ns, os.pwrite, os.fdatasync
    starts, writes, syncs = array(_KIND), array(_KIND), array(_KIND)
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
    return starts, writes, syncs


def _new_segment(fd: int, segment_bytes: int) -> int:
    """Blocks that were never written, as at the head of a log that grows; all of the one before is gone."""
    os.ftruncate(fd, 0)
    os.posix_fallocate(fd, 0, segment_bytes)
    os.fsync(fd)
    return 0


if __name__ == "__main__":
    main()
