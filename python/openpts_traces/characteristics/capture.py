"""A capture as conditions hold it: the streams that a test applies, as a whole and in each step."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from openpts.errors import UsageError
from openpts.escaped_text import visible_line
from openpts.units import KIB, per_second
from openpts_traces.characteristics.applied_workload import CountedStream, applied_workload
from openpts_traces.characteristics.look_alikes import LIKE, steps_like
from openpts_traces.characteristics.shipped import shipped_hint

MOST_STEPS: Final = 10_000
_LETTERS: Final = {"read": "R", "write": "W"}
_PAGE_BYTES: Final = 4 * KIB
_SECTOR_BYTES: Final = 512


class StreamKind(StrEnum):
    """What the accesses of a stream do, of those that a stimulus can have."""

    READ = "read"
    WRITE = "write"
    TRIM = "trim"
    FLUSH = "flush"


class StreamPattern(StrEnum):
    """In which order: random, sequential, or neither."""

    RANDOM = "rnd"
    SEQUENTIAL = "seq"
    NONE = "na"


_APPLICABLE: Final = frozenset(StreamKind)


class CaptureStream(Struct, frozen=True, array_like=True):
    """A kind of access with its I/Os."""

    kind: StreamKind
    pattern: StreamPattern
    size_bytes: int
    ios: int
    bytes: int

    @property
    def name(self) -> str:
        """``RND 4K W``, ``SEQ 128K R``, ``TRIM 64M``, ``FLUSH``."""
        if self.kind == "flush":
            return "FLUSH"
        if self.kind == "trim":
            return f"TRIM {_size_text(self.size_bytes)}"
        return f"{self.pattern.upper()} {_size_text(self.size_bytes)} {_LETTERS[self.kind]}"


class CaptureStep(Struct, frozen=True, array_like=True):
    """What the captured system did in a step, and the streams of it that a test applies.

    ``depth`` is the mean queue depth over time. It and the response times are None where the capture has no
    completions. ``cpu_busy`` is the share of the host's processors that worked, None where it was not
    captured.
    """

    length_ns: int
    ios: int
    bytes: int
    depth: float | None
    art_ns: float | None
    p99_ns: int | None
    mrt_ns: int | None
    streams: tuple[CaptureStream, ...]
    cpu_busy: float | None = None

    @property
    def iops(self) -> float:
        """I/Os per second."""
        return per_second(self.ios, self.length_ns)

    @property
    def bytes_per_s(self) -> float:
        """Throughput."""
        return per_second(self.bytes, self.length_ns)


class Capture(Struct, frozen=True):
    """A capture by name, version and hash, with the workload that a test applies.

    ``streams`` are those that are applied of ``kinds`` in all. ``read_ios`` of ``moved_ios`` reads and writes
    are reads. ``unapplied_ios`` are of kinds that no stimulus has. ``binned_ios`` are of streams that the
    capture keeps by ranges of sizes: they are applied at their mean size. ``max_depth`` is None without
    completions. ``lost`` events are missing in it.
    """

    name: str
    version: str
    sha256: str
    level: str
    storage: str
    tool: str
    rule: str
    step_length_ns: int
    is_step_table: bool
    kinds: int
    ios: int
    bytes: int
    read_ios: int
    moved_ios: int
    unapplied_ios: int
    binned_ios: int
    lost: int
    max_depth: int | None
    streams: tuple[CaptureStream, ...]
    steps: tuple[CaptureStep, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.version}, SHA-256 {self.sha256[:16]}"

    @property
    def duration_ns(self) -> int:
        """Of all steps."""
        return sum(step.length_ns for step in self.steps)

    @property
    def depth(self) -> float | None:
        """Mean queue depth over time; None where the capture has no completions."""
        depths = [(step.depth, step.length_ns) for step in self.steps if step.depth is not None]
        if len(depths) < len(self.steps):
            return None
        return sum(depth * length_ns for depth, length_ns in depths) / (self.duration_ns or 1)

    @property
    def cover(self) -> Fraction:
        """Share of the I/Os that the applied streams stand for."""
        return Fraction(sum(stream.ios for stream in self.streams), self.ios or 1)


def capture_of(path: Path) -> Capture:
    """The capture in a file or a folder, or of ``recipe:NAME`` or ``like:NAME``.

    Raises UsageError if it is none, has no I/O, or has too many steps.
    """
    from openpts_traces.characteristics.native import steps_of  # noqa: PLC0415 opens a file

    word = str(path)
    if not path.exists() and (hint := shipped_hint(word, takes_captures=True)):
        raise UsageError(f"cannot apply the capture {word}: there is no such file; {hint}")
    found = steps_like(word.removeprefix(LIKE)) if word.startswith(LIKE) else steps_of(path)
    header, rows = found["header"], found["steps"]
    if len(rows) > MOST_STEPS:
        raise UsageError(
            f"cannot apply the capture {path}: it has {len(rows):,} steps, the limit is {MOST_STEPS:,}; "
            "make a table of longer steps"
        )
    counted = _sums(stream for row in rows for stream in row["streams"])
    applicable = [stream for stream in counted if stream.kind in _APPLICABLE]
    if not any(stream.ios for stream in applicable):
        raise UsageError(f"cannot apply the capture {path}: it has no read, write, trim or flush")
    depths = [row["max_depth"] for row in rows if row["max_depth"] is not None]
    streams = [stream for row in rows for stream in row["streams"]]
    notes = header["notes"]
    return Capture(
        name=visible_line(notes.get("name", path.name)),
        version=visible_line(notes.get("version", "without version")),
        sha256=found["sha256"],
        level=visible_line(header["level"]) or "unknown",
        storage=visible_line(", ".join(header["devices"])) or "unknown",
        tool=visible_line(notes.get("tool", "unknown")),
        rule=visible_line(header["sequential_rule"]),
        step_length_ns=header["step_length_ns"],
        is_step_table=found["is_step_table"],
        kinds=len(counted),
        ios=sum(stream.ios for stream in counted),
        bytes=sum(stream.bytes for stream in counted),
        read_ios=sum(stream.ios for stream in counted if stream.kind == "read"),
        moved_ios=sum(stream.ios for stream in counted if stream.kind in _LETTERS),
        unapplied_ios=sum(stream.ios for stream in counted if stream.kind not in _APPLICABLE),
        binned_ios=sum(stream["ios"] for stream in streams if stream["is_binned"]),
        lost=sum(row["lost"] for row in rows),
        max_depth=max(depths, default=None),
        streams=_applied(applicable),
        steps=tuple(map(_step, rows)),
    )


def _step(row: Mapping[str, Any]) -> CaptureStep:
    latencies, depth_ns, length_ns = row["latencies"] or {}, row["depth_ns"], row["length_ns"]
    return CaptureStep(
        length_ns=length_ns,
        ios=row["ios"],
        bytes=row["bytes"],
        depth=None if depth_ns is None else depth_ns / (length_ns or 1),
        art_ns=latencies.get("mean_ns"),
        p99_ns=latencies.get("p99_ns"),
        mrt_ns=latencies.get("max_ns"),
        streams=_applied([stream for stream in _sums(row["streams"]) if stream.kind in _APPLICABLE]),
        cpu_busy=row["cpu_busy"],
    )


def _sums(found: Iterable[Mapping[str, Any]]) -> list[CountedStream]:
    """I/Os by kind of access; those of several sizes have their mean size, in whole pages if they can."""
    sums: dict[tuple[str, str, int], tuple[int, int]] = {}
    for stream in found:
        key = (stream["kind"], stream["pattern"], _size(stream))
        ios, size = sums.get(key, (0, 0))
        sums[key] = (ios + stream["ios"], size + stream["bytes"])
    return [
        CountedStream(" ".join(map(str, key)), *key, ios, size) for key, (ios, size) in sums.items() if ios
    ]


def _size(stream: Mapping[str, Any]) -> int:
    if not stream["is_binned"] or not stream["ios"]:
        return int(stream["size_bytes"])
    mean = stream["bytes"] / stream["ios"]
    unit = _PAGE_BYTES if mean >= _PAGE_BYTES else _SECTOR_BYTES
    return int(max(unit, round(mean / unit) * unit))


def _applied(counted: list[CountedStream]) -> tuple[CaptureStream, ...]:
    chosen = (one.stream for one in applied_workload(counted).streams)
    return tuple(
        CaptureStream(StreamKind(s.kind), StreamPattern(s.pattern), s.size_bytes, s.ios, s.bytes)
        for s in chosen
    )


def _size_text(size_bytes: int) -> str:
    for unit, letter in ((KIB * KIB, "M"), (KIB, "K")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit}{letter}"
    return f"{size_bytes / KIB:g}K"
