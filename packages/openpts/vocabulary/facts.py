"""Facts about device, host, preparation, operator and purpose, each with the place it was read from.

An operator's description of a drive adds to them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import asdict, replace

from openpts.errors import UsageError

_Text = Annotated[str, Meta(min_length=1, max_length=500)]
_Amount = Annotated[float, Meta(gt=0, le=1e9)]
_Percent = Annotated[float, Meta(gt=0, le=100)]

MATTERS: Final = {
    "productivity": "response times at queue depth 1 and what the cache takes count, since bursts are short "
    "and pauses long; peak figures do not",
    "content creation": "the rate behind the cache counts, since large files are read and written in "
    "sequence",
    "gaming": "sequential reads and random reads at a low queue depth count, since games are loaded; writes "
    "come with installations",
    "server": "figures of steady state and the slowest of 100,000 I/Os count, since the load does not pause",
    "industrial": "what a long load leaves, the longest response time and the figures at all rated "
    "temperatures count; fresh figures do not",
}
"""What a use asks of a drive. Any other use may be declared, with a sentence of the operator's own."""


class BiosSetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A setting of the host's BIOS that is not the default, and what that does to the results."""

    setting: _Text
    value: _Text
    effect: _Text
    default: _Text | UnsetType = UNSET

    def __str__(self) -> str:
        default = "" if self.default is UNSET else f" (default: {self.default})"
        return f"{self.setting} {self.value}{default}: {self.effect}"


class LatestFirmware(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest firmware that its maker offers, on which day, and where that was read."""

    version: _Text
    as_of: Annotated[
        str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="Day, such as 2026-11-22.")
    ]
    source: _Text

    def __str__(self) -> str:
        return f"{self.version} as of {self.as_of}, {self.source}"


def _key(label: str, help_text: str, unit: str = "") -> Meta:
    """What a key is called in reports, what it means, and the unit behind its value."""
    return Meta(title=label, description=help_text, extra={"unit": unit})


_UseCase = Annotated[_Text, _key("Use case", f"What it is for: {', '.join(MATTERS)}, or your own words.")]
_Matters = Annotated[
    _Text, _key("What matters", "One sentence on what counts for that use; known for the uses named above.")
]
_Tasking = Annotated[
    Literal["single", "multi"], _key("Tasking", "Whether one task uses the drive at a time, or several.")
]
_Duty = Annotated[
    _Percent, _key("Design target: duty", "Share of time under load that it is made for.", "% of the time")
]
_Class = Annotated[_Text, _key("Design target: temperature class", "Such as commercial, or industrial.")]
_Temperatures = Annotated[
    tuple[float, float], _key("Design target: temperatures", "Lowest and highest that it is made for.", "°C")
]
_Tbw = Annotated[
    _Amount, _key("Design target: writes", "Terabytes that the host may write in the drive's life.", "TBW")
]
_Dwpd = Annotated[
    _Amount, _key("Design target: writes a day", "Drive writes per day over the warranty.", "DWPD")
]
_Firmware = Annotated[
    LatestFirmware, _key("Latest firmware", "The newest one, the day, and where that was read.")
]
_Bios = Annotated[
    tuple[BiosSetting, ...],
    _key("BIOS setting", "Settings of the host that are not the default, and what they do."),
]


class Purpose(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the drive is for and what it was made for, as its operator declares it; nothing of it is measured.

    The title of each key is its label in reports.
    """

    use_case: _UseCase | UnsetType = UNSET
    what_matters: _Matters | UnsetType = UNSET
    tasking: _Tasking | UnsetType = UNSET
    duty_pct: _Duty | UnsetType = UNSET
    temperature_class: _Class | UnsetType = UNSET
    temperature_c: _Temperatures | UnsetType = UNSET
    rated_tbw: _Tbw | UnsetType = UNSET
    rated_dwpd: _Dwpd | UnsetType = UNSET
    firmware: _Firmware | UnsetType = UNSET
    bios: _Bios | UnsetType = UNSET

    def over(self, other: "Purpose") -> "Purpose":
        """Own declarations, and what only ``other`` declares."""
        return replace(other, **self.declared)

    @property
    def declared(self) -> dict[str, Any]:
        """What was declared, by its key."""
        return {key: value for key, value in asdict(self).items() if value is not UNSET}

    @property
    def sentence(self) -> str:
        """What matters for the declared use; empty if nothing was declared that openpts knows."""
        use = "" if self.use_case is UNSET else self.use_case
        matters = MATTERS.get(use.lower(), "") if self.what_matters is UNSET else self.what_matters
        return f"What matters{f' for {use}' * bool(use)}: {matters.rstrip('.')}." if matters else ""


def declared_rows(purpose: Purpose) -> list[tuple[str, str, str]]:
    """Key, label and text of everything declared, a row for each BIOS setting; what matters is then known."""
    rows = []
    known = MATTERS.get(purpose.declared.get("use_case", "").lower())
    matters = {"what_matters": known} if known else {}
    declared = matters | purpose.declared
    for key in (name for name in Purpose.__struct_fields__ if name in declared):
        value = declared[key]
        annotated = get_args(get_type_hints(Purpose, include_extras=True)[key])[0]
        meta = annotated.__metadata__[-1]
        label, unit = meta.title, meta.extra["unit"]
        texts = [str(one) for one in value] if key == "bios" else [_text(value)]
        rows += [(key, label, f"{text} {unit}".rstrip()) for text in texts]
    return rows


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{min(value):g} to {max(value):g}"
    return f"{value:,g}" if isinstance(value, float) else str(value)


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

    @property
    def is_off(self) -> bool:
        """Whether there is one, and it was off as asked for."""
        return self.required == self.actual == "WCD"


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
    """Whether the facts of a drive say that it is a rotational disk, with its speed or without."""
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


class HealthReading(Struct, frozen=True):
    """Counters and states of the device's log, by name with unit; ``source`` is the log that was read.

    ``values`` is empty where the device keeps no log that openpts can read, and ``source`` says why.
    """

    source: str
    values: Mapping[str, float] = field(default_factory=dict)


class Means(StrEnum):
    """How a setting is changed."""

    FILE = "file"
    UNIT = "unit of systemd"
    HELD = "held by openpts"


class Change(Struct, frozen=True):
    """A setting that is to have another value. ``key`` is that of the host audit.

    ``place`` is the path of a file, the name of a unit, or what is held.
    """

    key: str
    means: Means
    place: str
    wanted: str


class ChangeReport(Struct, frozen=True):
    """What became of a change; ``failure`` is empty if it holds.

    ``found`` is None where it could not be read, or where there is nothing to restore.
    """

    key: str
    place: str
    found: str | None
    wanted: str
    failure: str = ""


# SOL-GEN-02
class Scenario(StrEnum):
    """What a run is to show; its value is the word for the command line and the report."""

    REAL_WORLD = "real-world"
    SYNTHETIC = "synthetic"

    @property
    def subject(self) -> str:
        """What is tested: a machine as its users have it, or the drive alone."""
        return "the platform" if self is Scenario.REAL_WORLD else "the drive"


LABEL_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""A regular expression: metrics allow no other names."""


class People(Struct, frozen=True):
    """Who ran, checked and commissioned the test (PTS 5.1); never guessed. ``labels`` are free, by name."""

    operator: str | None = None
    auditor: str | None = None
    sponsor: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
