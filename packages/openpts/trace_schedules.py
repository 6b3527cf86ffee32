"""Traces prepared for replay: files that live as long as the process, found by the hash of their records."""

import atexit
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from openpts import _native
from openpts.errors import UsageError
from openpts.temporary_folder import temporary_folder
from openpts.units import KIB, MIB
from openpts.vocabulary.replay import Conflicts, Replay, ReplayMode, ReplayPreparation


class ZoneMapping(Struct, frozen=True):
    """A mapping by a table: first byte and end in the trace, first byte on the target."""

    zones: tuple[tuple[int, int, int], ...]


class SchedulePlan(Struct, frozen=True, kw_only=True):
    """How a trace is prepared, as the native module takes it.

    The part of the target that it goes to begins at ``base_bytes``, a multiple of the granule, and has
    ``capacity_bytes``; within it all places are moved by ``shift_bytes`` once they are mapped, modulo its
    size. ``mapping`` is identity, clip, wrap, scale, compact or by zones, ``unaligned`` round, rmw or skip,
    ``trims`` keep, write or skip, ``ground`` both, foreground or background. ``speed`` is traced time over
    replayed time, as a fraction. Transfers larger than ``most_bytes`` are split: kernels and drives do so.
    """

    base_bytes: int = 0
    capacity_bytes: int
    shift_bytes: int = 0
    sector_bytes: int
    unaligned: str = "round"
    mapping: str | ZoneMapping
    granule_bytes: int = 64 * KIB
    speed: tuple[int, int] = (1, 1)
    max_idle_ns: int | None = None
    from_ns: int = 0
    to_ns: int | None = None
    ground: str = "both"
    reads: bool = True
    writes: bool = True
    trims: str = "keep"
    most_bytes: int = MIB
    with_parents: bool = False


class Prepared(Struct, frozen=True, kw_only=True):
    """A schedule for one target.

    ``largest_bytes`` is the largest read or write, 0 for none; ranges of bytes are those that it reads, and
    all that it reads or writes.
    """

    schedule: str
    ios: int
    span_ns: int
    largest_bytes: int
    by_operation: dict[str, int]
    read_ranges: tuple[tuple[int, int], ...]
    touched_ranges: tuple[tuple[int, int], ...]
    preparation: ReplayPreparation

    def replay(self, mode: ReplayMode, conflicts: Conflicts) -> Replay:
        """To be played so."""
        return Replay(
            schedule=self.schedule,
            ios=self.ios,
            span_ns=self.span_ns,
            mode=mode,
            conflicts=conflicts,
            preparation=self.preparation,
        )


_FILES: Final[dict[str, Path]] = {}
_NUMBERS: Final = count()


@cache
def _folder() -> Path:
    """Of this process: it is gone with it."""
    held = ExitStack()
    atexit.register(held.close)
    return held.enter_context(temporary_folder("replay"))


def refuse_without_traces() -> None:
    """Raises UsageError where the native module was built without traces."""
    if not hasattr(_native, "prepare_schedule"):
        raise UsageError("this build has no traces: build all of openpts with `make setup`")


def _new_file() -> Path:
    """A name for a schedule. Raises UsageError as ``refuse_without_traces`` does."""
    refuse_without_traces()
    return _folder() / f"{next(_NUMBERS)}.schedule"


@cache
def prepared(path: str, plan: SchedulePlan) -> Prepared:
    """The schedule of a trace. Raises UsageError for one that can't be read or does not fit."""
    out = _new_file()
    try:
        text, latencies = _native.prepare_schedule(path, str(out), plan=msgspec.json.encode(plan).decode())
    except (ValueError, OSError) as error:
        raise UsageError(f"cannot replay {path}: {error}") from error
    made = msgspec.json.decode(text)
    made["preparation"]["latencies"] = latencies
    found = msgspec.convert(made, Prepared)
    _FILES[found.schedule] = out
    return found


@cache
def filling(ranges: tuple[tuple[int, int], ...], sector_bytes: int, block_size_bytes: int) -> Replay:
    """A schedule that writes these ranges in order, as fast as it can, whole blocks where they fit."""
    out = _new_file()
    made_hash, ios = _native.filling_schedule(
        str(out), ranges=list(ranges), sector_bytes=sector_bytes, block_size_bytes=block_size_bytes
    )
    _FILES[made_hash] = out
    return Replay(schedule=made_hash, ios=ios, span_ns=0, mode=ReplayMode.AFAP)


def file_of(schedule: str) -> Path:
    """The file of a schedule. Raises UsageError for one that this process has not prepared."""
    if (path := _FILES.get(schedule)) is None:
        raise UsageError("cannot replay a schedule that is not prepared: replay its trace")
    return path
