"""A trace in place of a generated pattern, and how true its replay was."""

from collections.abc import Mapping
from enum import StrEnum
from math import sqrt

import msgspec

from openpts.units import MB, NS_PER_S, NS_PER_US


class ReplayMode(StrEnum):
    """What decides on the moment of an I/O; the order of the trace is kept in all of them."""

    TIMED = "timed"
    AFAP = "afap"
    DEPENDENT = "dependent"
    LOAD = "load"


class Conflicts(StrEnum):
    """What becomes of an I/O that overlaps one in flight, where one of them changes data."""

    STRICT = "strict"
    PUSH_BACK = "push-back"
    ALLOW = "allow"
    DROP = "drop"


class TraceSource(msgspec.Struct, frozen=True):
    """A file of a trace."""

    name: str
    sha256: str


class PlaceEffects(msgspec.Struct, frozen=True, array_like=True):
    """Figures of places: share of sequential I/Os, pairs of I/Os in flight that overlap, bytes touched."""

    sequential_pct: float
    overlaps: int
    footprint_bytes: int


class ReplayPreparation(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a trace on its way into a schedule for one target.

    ``sources`` are its files. ``skipped`` are I/Os that are not replayed, by reason;
    they keep their time. ``changed`` is what was done to others. ``latencies`` are those of the trace, by
    operation, encoded as all are; ``busy_ns`` is the time in which a read or write was executing in it.
    """

    sources: tuple[TraceSource, ...]
    format: str
    fidelity: str
    traced: int
    skipped: Mapping[str, int]
    changed: Mapping[str, int]
    rounding_bytes: int
    clipped_bytes: int
    cut_idles: int
    cut_ns: int
    before: PlaceEffects
    after: PlaceEffects
    peak_in_flight: int
    by_operation: Mapping[str, int]
    latencies: Mapping[str, bytes]
    transferred_bytes: int
    busy_ns: int
    span_ns: int


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule: what a stream issues in place of its stimulus, which says what that needs.

    ``schedule`` is the SHA-256 of its records, under which the engine finds its file; ``span_ns`` is when the
    last of its ``ios`` is due. ``preparation`` is None for one that was not made of a trace alone, as that
    which writes what will be read.
    """

    schedule: str
    ios: int
    span_ns: int
    mode: ReplayMode = ReplayMode.TIMED
    conflicts: Conflicts = Conflicts.STRICT
    preparation: ReplayPreparation | None = None

    def __hash__(self) -> int:
        # by what is issued: what became of the trace has tables, which have no hash
        return hash((self.schedule, self.ios, self.mode, self.conflicts))


class InFlightFit(msgspec.Struct, frozen=True, array_like=True):
    """Sums over pairs: others in flight at the issue of an I/O, in the trace and in the replay."""

    ios: int
    traced: float
    replayed: float
    difference: float
    traced_squares: float
    replayed_squares: float
    products: float

    @property
    def correlation(self) -> float | None:
        """Pearson's; None where one of the two never changes."""
        if not self.ios:
            return None
        traced = self.traced_squares - self.traced**2 / self.ios
        replayed = self.replayed_squares - self.replayed**2 / self.ios
        if traced <= 0 or replayed <= 0:
            return None
        return float((self.products - self.traced * self.replayed / self.ios) / (traced * replayed) ** 0.5)


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """How true the replay of one stream's schedule was. Times are since the stream's start.

    ``slips`` are how long after their due moments I/Os were submitted, ``gap_errors`` by how much the gaps
    between submissions differ from those that were due, ``due_latencies`` run from due moment to answer. Late
    I/Os have a cause each, and ``waited_ns`` is the time in which an I/O that was due waited, by cause.
    """

    stream: int
    scheduled: int
    issued: int
    dropped: int
    conflicts: int
    reordered: int
    early: int
    slips: bytes
    last_slip_ns: int
    gap_errors: bytes
    due_latencies: Mapping[str, bytes]
    late: Mapping[str, int]
    waited_ns: Mapping[str, int]
    first_submission_ns: int | None
    last_answer_ns: int
    busy_ns: int
    in_flight: InFlightFit


class TraceScore(msgspec.Struct, frozen=True):
    """Reads and writes as trace benchmarks judge them.

    The score is the geometric mean of the bandwidth over busy time, in MB/s, and of the accesses that the
    mean access time would let follow each other in a second, as UL publishes it for PCMark 10 and 3DMark.
    """

    transferred_bytes: int
    busy_ns: int
    access_ns: float

    @property
    def bandwidth_mb_per_s(self) -> float:
        """Bytes over the time in which at least one read or write was executing."""
        return self.transferred_bytes / MB * NS_PER_S / self.busy_ns

    @property
    def access_us(self) -> float:
        """Mean time from submission to completion."""
        return self.access_ns / NS_PER_US

    @property
    def unrounded(self) -> float:
        """What is compared and averaged."""
        return sqrt(self.bandwidth_mb_per_s * NS_PER_S / self.access_ns)

    @property
    def score(self) -> int:
        """Rounded to an integer, as it is printed."""
        return round(self.unrounded)


def trace_score(transferred_bytes: int, ios: int, latency_sum_ns: int, busy_ns: int) -> TraceScore | None:
    """Score of so many reads and writes; None where there were none, or none took any time."""
    if not ios or not busy_ns or not latency_sum_ns:
        return None
    return TraceScore(transferred_bytes, busy_ns, latency_sum_ns / ios)
