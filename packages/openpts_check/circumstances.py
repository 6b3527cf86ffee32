"""What was not the disk's in the figures of a question: a cache of this host, its processors, heat."""

from collections.abc import Iterator
from typing import Final, Self

from msgspec import Struct

from openpts.analysis.health_change import change
from openpts.analysis.host_limits import limited_by_host
from openpts.procedures.kit.host_limits import limited_times
from openpts.record.health import around
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.phase import Phase
from openpts_check.purpose import PurposeFigure
from openpts_check.witness import DEVICE_READS

# of what the engine has read: a disk that gave out less than that was not asked for the rest
_LEAST_FROM_DISK: Final = 0.9
_THROTTLING: Final = ("throttle_events", "throttled_s", "drive_throttle_events", "critical_temperature_s")


class Circumstances(Struct, frozen=True):
    """``cached`` is the share of the reads that a cache of this host answered, None if small or not known.

    ``limited`` names what of the host was the limit, empty if nothing was. ``throttled``: heat slowed the
    drive down, by its log or in an interval.
    """

    cached: float | None
    limited: str
    throttled: bool

    @classmethod
    def of(cls, run: Run) -> Self:
        """By the record of a run."""
        return cls(_cached_share(run), _limited_words(run), _is_throttled(run))

    def doubt(self, figure: PurposeFigure, *, kept: bool) -> str:
        """Why the figure may be another one than the disk's; empty where it can only be better or is not."""
        if kept:
            return self._cache_words if figure.of_reads and self.cached is not None else ""
        if self.limited:
            return f"this host was the limit ({self.limited})"
        return "the drive was throttled by heat" if self.throttled and figure.needs_repeats else ""

    @property
    def sentences(self) -> Iterator[str]:
        """What the answer has to be taken with."""
        if self.cached is not None:
            yield f"{self._cache_words}: the disk was not asked"
        in_part = f"this host was the limit in part ({self.limited})"
        yield in_part if self.limited else "this host was not the limit"
        if self.throttled:
            yield "the drive was throttled by heat meanwhile"

    @property
    def remedies(self) -> Iterator[str]:
        """What to do so that it can be said."""
        if self.cached is not None:
            yield "name a directory on a file system with direct I/O to the disk, such as ext4 or xfs"
        if self.limited:
            yield "ask again when this machine has nothing else to do"
        if self.throttled:
            yield "cool the drive, and ask again; `openpts run thermal` finds what it does when hot"

    @property
    def _cache_words(self) -> str:
        return f"a cache of this host answered {100 * (self.cached or 0):.0f} % of the reads"


def _measuring(run: Run) -> list[StepRecord]:
    return [step for step in run.steps if step.place.phase is not Phase.CONDITIONING]


def _cached_share(run: Run) -> float | None:
    """The share of the reads that did not come from the disk; None where it is small, or not known."""
    reads = [step.sample for step in _measuring(run) if step.sample.read.bytes]
    series = run.telemetry_series.get(DEVICE_READS)
    if series is None or not reads:
        return None
    at = dict(zip(series.t_ns, series.values, strict=True))
    pairs = [(at.get(one.started_ns), at.get(one.started_ns + one.elapsed_ns)) for one in reads]
    known = [(first, last) for first, last in pairs if first is not None and last is not None]
    if len(known) < len(reads):
        return None
    from_disk = sum(last - first for first, last in known)
    share = from_disk / sum(one.read.bytes for one in reads)
    return None if share >= _LEAST_FROM_DISK else 1 - share


def _limited_words(run: Run) -> str:
    """What of the host was the limit in steps that count; empty if nothing was."""
    steps = _measuring(run)
    found = []
    if run.host_marks is not None:
        marks = dict(zip((step.place for step in run.steps), run.host_marks, strict=True))
        pairs = [(step, marks[step.place]) for step in steps]
        found = [str(one.limit) for one in limited_times(pairs) if one.steps]
    if not found and any(limited_by_host(step.sample) for step in steps):
        found.append("processors full, or I/Os submitted late")
    return ", ".join(dict.fromkeys(found))


def _is_throttled(run: Run) -> bool:
    before, after = around(run.health)
    if before is not None and after is not None:
        first, last = before.reading.values, after.reading.values
        if any(change(first, last, name) for name in _THROTTLING):
            return True
    return any(interval.throttled for step in _measuring(run) for interval in step.sample.intervals)
