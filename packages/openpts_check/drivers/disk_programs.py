"""The programs behind streams that no engine has, by the names of these streams."""

import math
import os
import select
import subprocess
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Final, Self

from msgspec import Struct

from openpts.analysis.latency import encode_counts
from openpts.errors import RunFailedError
from openpts.units import MIB
from openpts.vocabulary.sample import NOTHING, OperationSample
from openpts.vocabulary.stimulus import Stimulus
from openpts_check.drivers import appender, filer
from openpts_check.drivers.answering import READY
from openpts_check.purpose import APPEND_BYTES

_COLUMNS: Final = 3
_START_LIMIT_S: Final = 20.0
_ANSWER_LIMIT_S: Final = 60.0


class CallTimes(Struct, frozen=True):
    """What calls of one kind took, in ns, and how much each has moved."""

    latencies_ns: Sequence[int]
    sizes_bytes: Sequence[int]

    @property
    def operation(self) -> OperationSample:
        """As an engine has it."""
        times = self.latencies_ns
        if not times:
            return NOTHING
        histogram = encode_counts((latency_ns, 1) for latency_ns in times)
        return OperationSample(
            len(times), sum(self.sizes_bytes), sum(times), min(times), max(times), histogram
        )


class Timed(Struct, frozen=True):
    """Rounds of calls: when each began on the host's clock, and the calls by what they are to an engine."""

    starts_ns: Sequence[int]
    columns: Mapping[str, CallTimes]

    def part(self, from_ns: float, to_ns: float) -> Self:
        """The rounds that came to their end in [from, to)."""
        chosen = [at for at in range(len(self.starts_ns)) if from_ns <= self._end_ns(at) < to_ns]
        columns = {
            name: CallTimes([one.latencies_ns[at] for at in chosen], [one.sizes_bytes[at] for at in chosen])
            for name, one in self.columns.items()
        }
        return type(self)([self.starts_ns[at] for at in chosen], columns)

    def _end_ns(self, at: int) -> int:
        return self.starts_ns[at] + sum(one.latencies_ns[at] for one in self.columns.values())

    @property
    def ended_ns(self) -> float:
        """When the last round was done; long ago without one."""
        return self._end_ns(len(self.starts_ns) - 1) if self.starts_ns else -math.inf

    @property
    def operations(self) -> dict[str, OperationSample]:
        """As an engine has them."""
        return {name: one.operation for name, one in self.columns.items()}


class Program(Struct, frozen=True):
    """A module that is run with ``arguments``, and gets ``fds`` open; its columns are those of ``timed``."""

    module: str
    arguments: tuple[str, ...]
    fds: tuple[int, ...] = ()
    what: str = ""

    def operation(self, stimulus: Stimulus) -> str:
        """What it is to do, in a word: what the stimulus does most."""
        return "read" if stimulus.operations.read else "write"

    def timed(self, stimulus: Stimulus, columns: Sequence[Sequence[int]]) -> Timed:
        """What its three columns are: starts, and two more."""
        raise NotImplementedError


class Worker:
    """The process of a program; started once, and ended with ``close``. Raises RunFailedError if it fails."""

    def __init__(self, program: Program) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", program.module, *program.arguments, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=program.fds,
            process_group=0,  # Ctrl-C is for the runner
        )
        if self._line(_START_LIMIT_S) != READY:
            raise self._failure()

    def start(self, operation: str, deadline_ns: int) -> None:
        """Work until a moment of the host's monotonic clock."""
        assert self._process.stdin is not None  # noqa: S101 it is a pipe
        try:
            self._process.stdin.write(f"{operation} {deadline_ns}\n".encode())
            self._process.stdin.flush()
        except OSError:
            raise self._failure() from None

    def columns(self) -> list["array[int]"]:
        """What was done since ``start``, each column as long as the others. Raises RunFailedError."""
        assert self._process.stdout is not None  # noqa: S101 it is a pipe
        line = self._line(_ANSWER_LIMIT_S)
        if not line.strip().isdigit():
            raise self._failure()
        found = []
        for _ in range(_COLUMNS):
            column = array("q")
            column.frombytes(self._process.stdout.read(column.itemsize * int(line)))
            found.append(column)
        return found

    def close(self) -> None:
        """End it; what it still does is over then."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _line(self, limit_s: float) -> bytes:
        assert self._process.stdout is not None  # noqa: S101 it is a pipe
        ready, _, _ = select.select([self._process.stdout], [], [], limit_s)
        return self._process.stdout.readline() if ready else b""

    def _failure(self) -> RunFailedError:
        self._process.kill()
        _, errors = self._process.communicate()
        lines = errors.decode(errors="replace").strip().splitlines()
        return RunFailedError(f"a program ended: {lines[-1] if lines else 'it gave no answer'}")


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
        return Timed(starts_ns, {self.operation(stimulus): CallTimes(times_ns, sizes_bytes)})
