"""Traces are read once, and checked, or written in another form, or in part, or several as one."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from openpts import _native
from openpts.errors import TraceError, failing_as
from openpts.run_folder_files import new_file
from openpts.trace_schedules import refuse_without_traces
from openpts.units import NS_PER_S

refuse_without_traces()

STDIN: Final = "-"
OPERATIONS: Final = ("read", "write", "trim", "flush", "write_zeroes", "zone_append", "zone_reset", "other")
MOST_LOOPS: Final = 1_000_000
_HIGHEST_U32: Final = 2**32 - 1

Heard = Callable[[int], object]


class Poisson(msgspec.Struct, frozen=True):
    """I/Os of one coarse moment are put at random within its tick, by this seed."""

    seed: int


class RandomSpread(msgspec.Struct, frozen=True):
    """As Rust has it."""

    poisson: Poisson


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


class Span(msgspec.Struct, frozen=True):
    """From, and to before."""

    start: int
    end: int


ALL_TIME: Final = Span(0, 2**63 - 1)


class Filter(msgspec.Struct, frozen=True):
    """Which I/Os stay: those that are all of this, or with ``inverted`` the others."""

    time_ns: Span | None = None
    operations: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    bytes: Span | None = None
    inverted: bool = False


class MergePlace(msgspec.Struct, frozen=True):
    """Where a trace goes among others.

    Start, speed as ratio of traced to taken time, repetitions, and what is put before names of its devices.
    """

    start_ns: int
    traced: int
    taken: int
    loops: int
    prefix: str

    @classmethod
    def of(cls, start_s: Fraction, speed: Fraction, loops: int, prefix: str) -> "MergePlace":
        """Raises TraceError for a speed that Rust can't hold."""
        if not 0 < speed.numerator <= _HIGHEST_U32 or speed.denominator > _HIGHEST_U32:
            raise TraceError(f"can't run a trace at speed {speed}: use a ratio of numbers below 2^32")
        return cls(int(start_s * NS_PER_S), speed.numerator, speed.denominator, loops, prefix)


class Input(msgspec.Struct, frozen=True):
    """The files of a trace, how they are opened, and where it goes if it is one of several."""

    paths: tuple[str, ...]
    options: OpenOptions = OpenOptions()
    place: MergePlace | None = None


class _Order(msgspec.Struct, frozen=True):
    traces: tuple[Input, ...]
    filter: Filter | None
    to: str | None


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


class Change(msgspec.Struct, frozen=True):
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


class Header(msgspec.Struct, frozen=True):
    """What a trace says about itself; see docs/traces.md."""

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
    changes: tuple[Change, ...]


class Treated(msgspec.Struct, frozen=True):
    """What came of traces: I/Os that were kept, and what a format had no place for."""

    ios: Count
    losses: dict[str, Count]
    damages: tuple[Damage, ...]
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]
    meaning: str
    header: Header

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


def check(trace: Input, heard: Heard) -> Treated:
    """Read a trace and write nothing. Raises TraceError."""
    return _treat(_Order((trace,), None, None), None, heard)


def write(
    traces: Sequence[Input], to: str, out: Path, heard: Heard, *, filtered: Filter | None = None
) -> Treated:
    """Write a trace, or what is left of it, or several as one, as a new file. Raises TraceError.

    Where an error ends it there is no file.
    """
    order = _Order(tuple(traces), filtered, to)
    with failing_as(TraceError, f"can't write {out}"), new_file(out.parent, out.name) as descriptor:
        return _treat(order, descriptor, heard)


def _treat(order: _Order, descriptor: int | None, heard: Heard) -> Treated:
    words: Any = msgspec.json.encode(order).decode()
    try:
        result = _native.treat_traces(words, descriptor=descriptor, heard=heard)
    except ValueError as error:
        raise TraceError(str(error)) from error
    return msgspec.json.decode(result, type=Treated)
