"""A program of the operator's as a benchmark: where it runs, how often, and what a run of it was."""

import shlex
from enum import StrEnum
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import astuple

from openpts.units import NS_PER_S
from openpts.vocabulary.requests import DriverAnswer, DriverRequest

STOPPED_BY_OPERATOR: Final = "was stopped by the operator"


class RunKind(StrEnum):
    """CONDITIONING fills caches and does not count; COLD begins with an empty page cache, WARM does not."""

    CONDITIONING = "conditioning"
    COLD = "cold"
    WARM = "warm"


class FileSystemType(StrEnum):
    """What a drive is formatted with; NONE: the program gets the raw drive."""

    EXT4 = "ext4"
    XFS = "xfs"
    NONE = "none"


class FileSystemSettings(Struct, frozen=True):
    """How a drive is prepared, None: ext4; a directory is taken as it is. ``fill_pct`` of it are used."""

    wanted: FileSystemType | None
    fill_pct: float
    seed: int

    @property
    def type(self) -> FileSystemType:
        """What a drive is formatted with."""
        return self.wanted or FileSystemType.EXT4


class FileSystemReport(Struct, frozen=True):
    """Where the program runs. ``device`` is the node below, ``directory`` empty for a raw drive.

    ``made_by`` is the command that formatted it, empty where it was found. ``used_pct`` is the fill level as
    the first run began, ``filled_bytes`` what openpts wrote for that. ``trim`` says what fstrim gave back, or
    why nothing.
    """

    device: str
    directory: str
    type: str
    options: str
    made_by: str = ""
    capacity_bytes: int = 0
    used_pct: float = 0.0
    filled_bytes: int = 0
    trim: str = ""


def file_system_text(report: FileSystemReport) -> str:
    """``ext4 on /dev/loop0, made by openpts, 40.0 % used, at /run/openpts-app-x1; trim: 512 MiB trimmed``."""
    if not report.directory:
        return f"{report.device} without a file system"
    made = "made by openpts" if report.made_by else "as it was found"
    return (
        f"{report.type} on {report.device}, {made}, {report.used_pct:.1f} % used, at {report.directory}; "
        f"trim: {report.trim}"
    )


class PrintedFigure(Struct, frozen=True):
    """A figure that the program prints: the number in the one group of ``pattern``, its last match."""

    name: str
    pattern: str
    unit: str

    def __str__(self) -> str:
        """As an operator writes it."""
        return f"{self.name}={self.pattern}{':' if self.unit else ''}{self.unit}"

    @property
    def label(self) -> str:
        """The figure's name, with its unit if it has one."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


class Application(Struct, frozen=True, forbid_unknown_fields=True):
    """One program of a list: what it is called, and its words. The name of one alone is empty."""

    name: str
    command: tuple[str, ...]

    def __str__(self) -> str:
        """``unpack: tar -xf /data/linux.tar``."""
        return f"{self.name}: {shlex.join(self.command)}"


class PrepareFileSystem(DriverRequest, frozen=True):
    """Bring the target into the state in which the program is to find it; only the record has an answer."""

    order: FileSystemSettings

    @property
    def text(self) -> str:
        """See the base."""
        return "the preparation of the file system"


class CommandRequest(DriverRequest, frozen=True):
    """One run of the program. ``arguments`` go to no shell; ``limit_ns`` None: it may take any time.

    ``application`` is its name in a list. The drive is left alone for ``rest_ns`` before it. The answer is a
    CommandRun.
    """

    kind: RunKind
    number: int
    arguments: tuple[str, ...]
    limit_ns: int | None = None
    figure: PrintedFigure | None = None
    application: str = ""
    rest_ns: int = 0

    @property
    def text(self) -> str:
        """See the base."""
        return f"{self.kind} run {self.number} of {self.application or 'the command'}"

    @property
    def planned(self) -> tuple[None, "CommandRun"]:
        """How long it takes is the program's own affair; alike runs are as few as there can be."""
        return None, CommandRun(self.kind, self.number, 1, "", NS_PER_S, 0, application=self.application)


class DeviceCounts(Struct, frozen=True):
    """What a block device did, as the kernel counts it.

    ``busy_ns`` is the time with at least one I/O outstanding, ``queue_ns`` that of all I/Os together.
    """

    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    written_bytes: int = 0
    discards: int = 0
    discarded_bytes: int = 0
    flushes: int = 0
    busy_ns: int = 0
    queue_ns: int = 0

    def since(self, before: Self) -> "DeviceCounts":
        """What was added to ``before``; a counter that was reset has none."""
        return DeviceCounts(
            *(max(0, now - then) for now, then in zip(astuple(self), astuple(before), strict=True))
        )

    def plus(self, other: Self) -> "DeviceCounts":
        """The counts of two devices together."""
        return DeviceCounts(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


class CommandRun(DriverAnswer, frozen=True):
    """A run of the program. ``attempt`` counts preparations of its file system, ``started_at`` ISO 8601, UTC.

    ``elapsed_ns`` is from just before the program is started until it ends. ``status`` is its exit status,
    negative for a signal; ``stopped`` says why openpts ended it, empty otherwise. ``page_cache`` says what
    became of the page cache before it, ``cold`` whether it was dropped. CPU times are of the program and of
    all that it started and waited for; ``process_read_bytes`` and ``process_written_bytes`` are what these
    caused at storage, None where the kernel does not count it. ``io_stall_ns`` and ``cpu_stall_ns`` are the
    times in which some task of the host waited for I/O, or for a processor. ``until_exit`` is what the device
    did while the program ran, ``synced`` what came while its data were written back afterwards, in
    ``sync_ns``. ``disk`` is both of the whole drive, if the device is a part of one. ``left_behind`` counts
    processes that it left and that openpts ended. ``outputs`` are files in the run folder;
    ``left_out_bytes`` of the output are in none. ``figure`` is the program's. ``failure`` says why the run is
    no result. ``application`` is the program's name in a list.
    """

    kind: RunKind
    number: int
    attempt: int
    started_at: str
    elapsed_ns: int
    status: int | None
    stopped: str = ""
    page_cache: str = ""
    cold: bool = False
    user_ns: int = 0
    system_ns: int = 0
    process_read_bytes: int | None = None
    process_written_bytes: int | None = None
    io_stall_ns: int | None = None
    cpu_stall_ns: int | None = None
    until_exit: DeviceCounts = DeviceCounts()
    synced: DeviceCounts = DeviceCounts()
    sync_ns: int = 0
    disk: DeviceCounts | None = None
    left_behind: int = 0
    outputs: tuple[str, ...] = ()
    left_out_bytes: int = 0
    figure: float | None = None
    failure: str = ""
    application: str = ""

    @property
    def stands(self) -> bool:
        """Whether the program came to its end, as it should."""
        return not self.failure

    @property
    def stopped_by_operator(self) -> bool:
        """Whether the operator interrupted it."""
        return self.stopped == STOPPED_BY_OPERATOR

    @property
    def name(self) -> str:
        """``warm run 2``, of a list ``unpack, warm run 2``."""
        return f"{self.application}{', ' if self.application else ''}{self.kind} run {self.number}"
