"""Traces prepared for replay: files that live as long as the process, found by the hash of their records."""

import tempfile
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts import _native
from openpts.errors import UsageError
from openpts.units import KIB, MIB
from openpts.vocabulary.replay import Conflicts, PlaceEffects, Preparation, Replay, ReplayMode, TraceSource

_MOST_BYTES: Final = MIB
"""Larger transfers are split: kernels and drives do so as well."""


class Plan(Struct, frozen=True, kw_only=True):
    """How a trace is prepared: see ``_native.prepare_schedule``."""

    paths: tuple[str, ...]
    capacity_bytes: int
    sector_bytes: int
    mapping: str
    granule_bytes: int = 64 * KIB
    speed: Fraction = Fraction(1)
    max_idle_ns: int | None = None
    from_ns: int = 0
    to_ns: int | None = None
    ground: str = "both"
    writes: bool = True
    trims: str = "keep"
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
    preparation: Preparation

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
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Of this process: it is gone with it."""
    return tempfile.TemporaryDirectory(prefix="openpts-schedules-")


def _new_file() -> Path:
    return Path(_folder().name) / f"{next(_NUMBERS)}.schedule"


@cache
def prepared(plan: Plan) -> Prepared:
    """The schedule of that plan. Raises UsageError for a trace that can't be read or does not fit."""
    out = _new_file()
    try:
        made = _native.prepare_schedule(
            list(plan.paths),
            str(out),
            format=None,
            capacity_bytes=plan.capacity_bytes,
            sector_bytes=plan.sector_bytes,
            mapping=plan.mapping,
            granule_bytes=plan.granule_bytes,
            speed=(plan.speed.numerator, plan.speed.denominator),
            max_idle_ns=plan.max_idle_ns,
            from_ns=plan.from_ns,
            to_ns=plan.to_ns,
            ground=plan.ground,
            reads=True,
            writes=plan.writes,
            trims=plan.trims,
            most_bytes=_MOST_BYTES,
            with_parents=plan.with_parents,
        )
    except (ValueError, OSError) as error:
        raise UsageError(f"cannot replay {', '.join(plan.paths)}: {error}") from error
    _FILES[made.hash] = out
    return Prepared(
        schedule=made.hash,
        ios=made.ios,
        span_ns=made.span_ns,
        largest_bytes=made.largest_bytes,
        by_operation=made.by_operation,
        read_ranges=tuple(made.read_ranges),
        touched_ranges=tuple(made.touched_ranges),
        preparation=_preparation(made),
    )


def _preparation(made: _native.MadeSchedule) -> Preparation:
    return Preparation(
        sources=tuple(TraceSource(*source) for source in made.sources),
        format=made.format,
        fidelity=made.fidelity,
        traced=made.traced,
        skipped=made.skipped,
        changed=made.changed,
        rounding_bytes=made.rounding_bytes,
        clipped_bytes=made.clipped_bytes,
        cut_idles=made.cut_idles,
        cut_ns=made.cut_ns,
        before=PlaceEffects(*made.before),
        after=PlaceEffects(*made.after),
        peak_in_flight=made.peak_in_flight,
        by_operation=made.by_operation,
        latencies=made.original_latencies,
        transferred_bytes=made.original_bytes,
        busy_ns=made.original_busy_ns,
        span_ns=made.original_span_ns,
    )


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
