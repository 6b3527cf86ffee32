"""Traces are read once, and checked with their figures, or written in another format."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import msgspec

from openpts import _native
from openpts.errors import TraceError, failing_as
from openpts.output_files import refuse_run_folder
from openpts.run_folder_files import new_file
from openpts.trace_schedules import refuse_without_traces
from openpts.units import NS_PER_S

refuse_without_traces()

STDIN: Final = "-"
OnProgress = Callable[[int], object]


class PoissonSpread(msgspec.Struct, frozen=True):
    """I/Os of one coarse moment are put at random within its tick, by this seed."""

    seed: int


class RandomSpread(msgspec.Struct, frozen=True):
    """As Rust has it."""

    poisson: PoissonSpread


class Within(msgspec.Struct, frozen=True):
    """I/Os may be so many ns from their place."""

    within: int


class ReadOptions(msgspec.Struct, frozen=True, omit_defaults=True, rename={"level": "from"}):
    """What formats leave open.

    Which events count (queue, issue), I/Os without direction (skip, read, write), logs of several runs
    (refuse, concatenate, merge), waits of fio's version 2, a column map as TOML, and how equal coarse times
    are spread (even, burst, at random).
    """

    level: str | None = None
    unknown_direction: str = "skip"
    segments: str = "refuse"
    iolog2_wait_as_manual: bool = False
    column_map: str | None = None
    spread: str | RandomSpread = "even"


class OpenOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """How traces are opened.

    The format unless it is found by contents, which devices, how far I/Os may be from their place (or
    ``any``), and the share of damaged records above which a trace is refused.
    """

    format: str | None = None
    read: ReadOptions = ReadOptions()
    reorder: Within | str = Within(NS_PER_S)
    devices: tuple[str, ...] = ()
    damaged_limit: float = 0.001


class Input(msgspec.Struct, frozen=True):
    """The files of a trace, and how they are opened."""

    paths: tuple[str, ...]
    options: OpenOptions = OpenOptions()


class Damage(msgspec.Struct, frozen=True):
    """A record that can't be used: its file, its line or byte, and what is wrong."""

    file: str
    place: str
    what: str = msgspec.field(name="class")


class Gap(msgspec.Struct, frozen=True):
    """Records that the source says it has lost: how many, of which processor, between two of its times."""

    cpu: int
    from_ns: int
    to_ns: int
    records: int


class TracedDevice(msgspec.Struct, frozen=True):
    """A device of a trace, with what the trace says of it."""

    name: str
    capacity_bytes: int | None
    sector_bytes: int | None


class SourceFile(msgspec.Struct, frozen=True):
    """A file that a trace was read from."""

    name: str
    bytes: int
    sha256: str


class TraceChange(msgspec.Struct, frozen=True):
    """Something done to a trace as a whole, and the files that it was done to."""

    done: str
    parents: tuple[SourceFile, ...]


Count = Annotated[int, msgspec.Meta(ge=0)]


class Records(msgspec.Struct, frozen=True):
    """What became of the records: read = accepted + skipped + damaged."""

    read: Count
    accepted: Count
    skipped: dict[str, Count]
    damaged: dict[str, Count]
    lost: Count
    notes: dict[str, Count]

    @property
    def skipped_total(self) -> int:
        """All that were left out."""
        return sum(self.skipped.values())

    @property
    def damaged_total(self) -> int:
        """All that could not be used."""
        return sum(self.damaged.values())


class TraceHeader(msgspec.Struct, frozen=True):
    """What a trace says about itself; see traces.md of the manual."""

    format: str
    level: str
    class_: str = msgspec.field(name="class")
    resolution_ns: int
    origin_utc_ns: int | None
    has_completions: bool
    has_issue_times: bool
    devices: tuple[TracedDevice, ...]
    commands: tuple[str, ...]
    sources: tuple[SourceFile, ...]
    records: Records
    changes: tuple[TraceChange, ...]


class Moved(msgspec.Struct, frozen=True):
    """I/Os of an operation, and the sum of their lengths."""

    ios: Count
    bytes: Count


class Depth(msgspec.Struct, frozen=True):
    """I/Os in flight: the mean over time, from the first issue to the last event, and the most."""

    mean: float
    max: Count


class TraceFigures(msgspec.Struct, frozen=True):
    """What a trace is like; see traces.md of the manual.

    ``operations`` are I/Os and bytes of each, ``sizes`` the most frequent lengths of reads and writes with
    their numbers. ``sequential`` are shares of reads and of writes. ``footprint_bytes`` is exact where
    ``footprint_error``, its 95 % bound as a share, is 0. ``hottest_share`` of the accesses to blocks of 4 KiB
    go to the hottest per cent of them. ``depth`` is None without completions.
    """

    operations: dict[str, Moved]
    sizes: tuple[tuple[Count, Count], ...]
    span_ns: Count
    most_in_a_second: Count
    depth: Depth | None
    sequential: dict[str, float]
    footprint_bytes: Count
    footprint_error: float
    hottest_share: float | None


class Treated(msgspec.Struct, frozen=True):
    """What came of a trace: I/Os that were kept, and what a format had no place for.

    ``figures`` are those of a trace that was checked; None of one that was written.
    """

    ios: Count
    losses: dict[str, Count]
    damages: tuple[Damage, ...]
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]
    meaning: str
    figures: TraceFigures | None
    header: TraceHeader

    @property
    def is_clean(self) -> bool:
        """No record was damaged or lost."""
        return not self.header.records.damaged_total and not self.header.records.lost


def formats() -> dict[str, str]:
    """The formats that can be read, by name, with what they are."""
    return dict(_native.trace_formats())


def outputs() -> list[str]:
    """The names of the formats that can be written."""
    return _native.trace_outputs()


def check(trace: Input, on_progress: OnProgress) -> Treated:
    """Read a trace, compute its figures and write nothing. Raises TraceError."""
    return _treat(trace, None, None, on_progress)


def write(trace: Input, to: str, out: Path, on_progress: OnProgress) -> Treated:
    """Write a trace in another format, as a new file. Raises TraceError.

    Where an error ends it there is no file.
    """
    refuse_run_folder(out)
    with failing_as(TraceError, f"can't write {out}"), new_file(out.parent, out.name) as descriptor:
        return _treat(trace, to, descriptor, on_progress)


def _treat(trace: Input, to: str | None, descriptor: int | None, on_progress: OnProgress) -> Treated:
    request = msgspec.json.encode({"paths": trace.paths, "options": trace.options, "to": to}).decode()
    try:
        result = _native.treat_trace(request, descriptor=descriptor, heard=on_progress)
    except ValueError as error:
        raise TraceError(str(error)) from error
    return msgspec.json.decode(result, type=Treated)
