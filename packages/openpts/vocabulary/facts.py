"""Facts about the device, the host and the preparation, each with the place it was read from.

An operator's description of a drive adds to them.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from openpts.errors import UsageError
from openpts.vocabulary.purpose import Purpose


class Fact(Struct, frozen=True):
    """One fact for the report's header. ``value`` is None where nothing reports it; ``source`` says why."""

    value: str | None
    source: str


Facts = dict[str, Fact]


def fact_of(facts: Facts, key: str) -> str | None:
    """The value of a fact; None where it is not reported."""
    return facts[key].value if key in facts else None


class TargetKind(StrEnum):
    """What stands behind the target's name; DIRECTORY: the block device below one."""

    FILE = "file"
    BLOCK = "block"
    DIRECTORY = "directory"
    SIMULATED = "simulated"


SIMULATED_ENGINE: Final = "simulated drive"
SIMULATED_SOURCE: Final = "the simulated drive"
SIMULATED_LOG: Final = "the simulated drive's own log"
SIMULATED_PURGE: Final = "purge of the simulated drive"
"""What a record has of a simulated drive, and of no other."""
FILE_CACHE: Final = "not controllable (file)"
FILE_PURGE: Final = "file"
"""What a record has of a file, and of nothing else: the state of its cache, and the name of its purge."""


class SimulationFacts(Struct, frozen=True):
    """What a simulated drive is made from.

    ``scale``: each simulated page stands for so many, so that ``simulated_bytes`` times ``scale`` is the
    capacity. ``seed`` is the drive's own. ``assumed`` are the dotted names of the parameters whose values
    nothing published supports.
    """

    preset: str
    summary: str
    model: str
    scale: int
    simulated_bytes: int
    seed: int
    assumed: tuple[str, ...]

    def __str__(self) -> str:
        return f"preset {self.preset}, scale 1:{self.scale}"


class Partition(Struct, frozen=True):
    """A part of a disk that the kernel knows by a node of its own: the bytes [start, start + length)."""

    path: str
    start_bytes: int
    length_bytes: int


class TargetFacts(Struct, frozen=True):
    """The device under test as the engine sees it; ``simulation`` is None for one that exists.

    ``partitions``: as they were before anything was written.
    """

    kind: TargetKind
    name: str
    path: str
    user_capacity_bytes: int
    sector_bytes: int
    simulation: SimulationFacts | None = None
    partitions: tuple[Partition, ...] = ()

    @property
    def scale(self) -> int:
        """How many bytes of the target one byte stands for that can be reached: 1 for a drive that exists."""
        return 1 if self.simulation is None else self.simulation.scale


class PurgeAttempt(Struct, frozen=True):
    """A purge method that was passed over or tried in vain, by the name in an operator's words, and why."""

    method: str
    outcome: str


class PurgeReport(Struct, frozen=True):
    """What the purge was and how it was proven (PTS 3.2, 7.3.1).

    ``ran`` is False where no purge was made, also where ``name`` tells that the drive was written over
    instead. ``changed_samples`` of ``samples`` marked places read back without their mark after the purge; of
    a simulated drive, pages that hold no data any more. ``attempts`` are the methods that were passed over or
    failed before this one. ``status`` is what the drive's own logs said afterwards, ``status_before`` what
    they had said before. ``other_samples`` are places that held older data, all of them changed;
    ``blank_samples`` of both are all zeros or all ones now, None: not looked at.
    """

    ran: bool
    method: str
    detail: str
    started_at: str
    duration_ns: int
    samples: int
    changed_samples: int
    name: str = ""
    attempts: tuple[PurgeAttempt, ...] = ()
    status: Facts = field(default_factory=dict)
    status_before: Facts = field(default_factory=dict)
    other_samples: int = 0
    blank_samples: int | None = None

    def status_was(self, name: str) -> str | None:
        """What a log had said before; None where nothing, or the same as afterwards."""
        before = self.status_before.get(name)
        return None if before is None or before.value == self.status[name].value else before.value


class WriteCacheReport(Struct, frozen=True):
    """The volatile write cache as asked for and as found (PTS 3.7): texts such as ``WCD``."""

    required: str
    actual: str
    source: str


class CaptureReport(Struct, frozen=True):
    """What was kept of single I/Os: Parquet files in ``folder`` of the run folder.

    ``lost`` is empty, or tells why not every I/O of the captured steps is in them. ``blocked_ns``: how long
    the I/O stood still because the files were not fast enough, all threads together.
    """

    folder: str
    files: int = 0
    ios: int = 0
    bytes_written: int = 0
    blocked_times: int = 0
    blocked_ns: int = 0
    lost: str = ""


SOLID_STATE: Final = "solid state"
ROTATIONAL: Final = "rotational"


def media_of(dut: Facts) -> str | None:
    """What the facts of a drive say of its media; None where it is not reported."""
    return fact_of(dut, "media")


def has_platters(dut: Facts) -> bool:
    """Whether the facts of a drive tell of a rotational disk, with its speed or without."""
    return (media_of(dut) or "").startswith(ROTATIONAL)


class DescribedDrive(Struct, frozen=True):
    """A description that was read: its facts, with the line of each as the source; ``raw`` is the file.

    ``purpose`` is what the drive is for.
    """

    path: str = ""
    raw: bytes = b""
    serial: str | None = None
    facts: tuple[tuple[str, Fact], ...] = ()
    purpose: Purpose = field(default_factory=Purpose)

    def added_to(self, reported: Facts) -> Facts:
        """The facts of a drive with the description's: where both say something, both are shown.

        Raises UsageError if the description is of another drive.
        """
        own_serial = reported["serial"].value if "serial" in reported else None
        if self.serial is not None and self.serial != own_serial:
            raise UsageError(
                f"{self.path} describes the drive of serial number {self.serial}, "
                f"and this one has {own_serial or 'none'}"
            )
        return reported | {key: _beside(reported.get(key), fact) for key, fact in self.facts}


def _beside(reported: Fact | None, described: Fact) -> Fact:
    if reported is None or reported.value is None:
        return described
    if reported.value == described.value:
        return reported
    return Fact(
        f"{reported.value} (described as {described.value})", f"{reported.source}; {described.source}"
    )
