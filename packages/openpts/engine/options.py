"""How the native engine does its work, apart from what it is asked to issue."""

from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from openpts.units import NS_PER_S


class IoPath(StrEnum):
    """A way to issue I/O."""

    IO_URING = "io_uring"
    IO_URING_POLLED = "io_uring-polled"
    NVME_PASSTHROUGH = "nvme-passthrough"
    SYNC = "sync"
    NOOP = "noop"


class CompletionWait(StrEnum):
    """How a thread waits: until each completion can be seen, or for several of them at once."""

    EACH = "each"
    BATCHED = "batched"


class Demand(Struct, frozen=True):
    """The largest stimulus to come: the engine makes its threads, queues and buffers for it."""

    tc: int
    qd: int
    block_size_bytes: int


class CaptureSettings(Struct, frozen=True):
    """Every single I/O of the steps that ask for it goes into Parquet files in ``folder``.

    The folder is made with the first of them, in one that exists: before, nothing is written there.
    ``lba_bytes``: what all offsets are multiples of; the larger, the smaller the files.
    """

    folder: Path
    lba_bytes: int


class CaptureSummary(Struct, frozen=True):
    """What a capture holds. ``blocked_ns`` is how long the I/O stood still because the files were not fast
    enough, all threads together.
    """

    ios: int
    discarded_ios: int
    bytes_written: int
    files: int
    blocked_times: int
    blocked_ns: int


class Resumed(Struct, frozen=True):
    """What an engine continues from: ``carried`` of the last sample of ``interruptions`` engines before it.

    ``carried`` is empty where none of them finished a step.
    """

    interruptions: int
    carried: str


class NativeOptions(Struct, frozen=True):
    """Choices of the operator; the defaults suit a test.

    ``io_path`` None: what the probe finds to suit the target. ``cpus``: processors that the threads are
    pinned to, in turn; empty: wherever the scheduler puts them. ``most_errors`` I/Os may fail before the
    run does; with ``over_read_errors`` no read is one of them. An I/O that takes ``slow_io_ns`` or longer is
    noted by itself; None: none is.
    """

    io_path: IoPath | None = None
    completion_wait: CompletionWait = CompletionWait.EACH
    cpus: tuple[int, ...] = ()
    most_errors: int = 0
    over_read_errors: bool = False
    slow_io_ns: int | None = None
    interval_ns: int = NS_PER_S
    interval_histograms: bool = True
    capture: CaptureSettings | None = None
    resumed: Resumed | None = None
