"""Write amplification with one handle and with two, and what it says of the drive."""

from collections.abc import Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.reader import Run
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.phase import Phase
from openpts_nvme.fdp import APART, TOGETHER, FdpConditions

LEAST_COST: Final = 0.1
"""What one handle must cost beyond an amplification of 1, so that there is something to save."""
FOLLOWED_FROM: Final = 0.8
IGNORED_BELOW: Final = 0.25
"""Shares of that cost that a handle each saves."""


class Placement(Enum):
    """What the drive does with handles, in words."""

    FOLLOWED = "followed"
    IN_PART = "followed in part"
    IGNORED = "ignored"
    NOTHING_TO_SAVE = "no verdict: the streams cost nothing with one handle either"


class Written(Struct, frozen=True):
    """What was written in one load: by the drive's log of placement, and by its other counters."""

    host_bytes: float
    media_bytes: float
    other_media_bytes: float | None
    streams_bytes: int

    @property
    def amplification(self) -> float | None:
        """Bytes of the media for each of the host, by log 22h."""
        return self.media_bytes / self.host_bytes if self.host_bytes else None

    @property
    def other_amplification(self) -> float | None:
        """The same by the drive's other counter of its media, over what openpts wrote."""
        if self.other_media_bytes is None or not self.streams_bytes:
            return None
        return self.other_media_bytes / self.streams_bytes

    @property
    def others_bytes(self) -> float:
        """What the group was written beside openpts' streams: other namespaces, other hosts."""
        return self.host_bytes - self.streams_bytes


class FdpRun(Struct, frozen=True):
    """The two loads, as far as they were measured."""

    run: Run
    asked: FdpConditions
    together: Written | None
    apart: Written | None
    namespaces: int | None

    @property
    def saved_share(self) -> float | None:
        """The share of what one handle costs beyond 1 that a handle each saves."""
        one, two = (None if load is None else load.amplification for load in (self.together, self.apart))
        if one is None or two is None or one - 1 < LEAST_COST:
            return None
        return (one - two) / (one - 1)

    @property
    def placement(self) -> Placement | None:
        """What the drive does with handles; None where a load was not measured."""
        if self.together is None or self.apart is None:
            return None
        share = self.saved_share
        if share is None:
            return Placement.NOTHING_TO_SAVE
        if share >= FOLLOWED_FROM:
            return Placement.FOLLOWED
        return Placement.IGNORED if share < IGNORED_BELOW else Placement.IN_PART


def fdp_run(run: Run) -> FdpRun:
    """The loads of a run."""
    namespaces = run.health[0].reading.values.get("placement_namespaces") if run.health else None
    return FdpRun(
        run,
        run.conditions(FdpConditions),
        _written(run, TOGETHER),
        _written(run, APART),
        None if namespaces is None else round(namespaces),
    )


def _written(run: Run, number: int) -> Written | None:
    steps = run.phase(Phase.LOAD, number=number)
    if not steps:
        return None
    sample = steps[0].sample
    before, after = _around(run.health, sample.started_ns, sample.started_ns + sample.elapsed_ns)
    host = _growth(before, after, "placement_host_write_bytes")
    media = _growth(before, after, "placement_media_write_bytes")
    if host is None or media is None:
        return None
    return Written(host, media, _growth(before, after, "nand_write_bytes"), sample.write.bytes)


def _around(
    records: Sequence[HealthRecord], started_ns: int, ended_ns: int
) -> tuple[HealthReading | None, HealthReading | None]:
    """The last reading before a step, and the first after it."""
    timed = [
        (record.t_ns, record.reading)
        for record in records
        if record.t_ns is not None and record.occasion is not ReadingPoint.SET_ASIDE
    ]
    before = [reading for t_ns, reading in timed if t_ns <= started_ns]
    after = [reading for t_ns, reading in timed if t_ns >= ended_ns]
    return (before[-1] if before else None), (after[0] if after else None)


def _growth(before: HealthReading | None, after: HealthReading | None, name: str) -> float | None:
    values = [None if reading is None else reading.values.get(name) for reading in (before, after)]
    first, last = values
    return None if first is None or last is None else last - first
