"""The programs behind streams that no engine has, by the names of these streams."""

from collections.abc import Sequence
from typing import Final, Self

from openpts.units import MIB
from openpts.vocabulary.stimulus import Stimulus
from openpts_check.drivers import appender, filer
from openpts_check.drivers.worker import CallTimes, Program, Timed
from openpts_check.purpose import APPEND_BYTES

SEGMENT_BYTES: Final = 64 * MIB
"""Of the log: that of etcd's."""


class Commits(Program, frozen=True):
    """Appends with fdatasync; each counts as the page that its step has for it."""

    @classmethod
    def to(cls, fd: int) -> Self:
        """Appends to an open file."""
        arguments = (str(fd), str(APPEND_BYTES), str(SEGMENT_BYTES))
        return cls(appender.__name__, arguments, (fd,), f"appends of {APPEND_BYTES:,} bytes with fdatasync")

    def timed(self, stimulus: Stimulus, columns: Sequence[Sequence[int]]) -> Timed:
        """See the base."""
        starts_ns, writes_ns, syncs_ns = columns
        pages, none = ([size] * len(starts_ns) for size in (stimulus.block_size_bytes, 0))
        return Timed(starts_ns, {"write": CallTimes(writes_ns, pages), "flush": CallTimes(syncs_ns, none)})


class SmallFiles(Program, frozen=True):
    """Files that are made one by one, or read one by one."""

    @classmethod
    def within(cls, folder_fd: int) -> Self:
        """Small files in a folder that is open, and empty."""
        return cls(
            filer.__name__,
            (str(folder_fd),),
            (folder_fd,),
            "files of 4 to 64 KiB, made with fsync and read cold",
        )

    def timed(self, stimulus: Stimulus, columns: Sequence[Sequence[int]]) -> Timed:
        """See the base."""
        starts_ns, times_ns, sizes_bytes = columns
        return Timed(starts_ns, {self.order(stimulus): CallTimes(times_ns, sizes_bytes)})
