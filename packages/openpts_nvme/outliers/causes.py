"""Slow I/Os with their causes, and what the drive counted of them, as they are printed as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.record.health import HealthRecord
from openpts.record.reader import StepRecord
from openpts.units import NS_PER_MS
from openpts.vocabulary.sample import SlowIo

# The host's histogram is right to a thousandth, and its clock starts before the drive fetches.
MARGIN: Final = 1.002
# Of the time of an I/O, the ways to the drive and back take less than a fifth: 1 ms of the lowest threshold.
_SURE: Final = 1.2


class Cause(StrEnum):
    """What made an I/O slow, by the way that it takes. NOT_KNOWN: the record does not tell."""

    ENGINE = "engine"
    PROCESSOR = "processor"
    KERNEL_QUEUE = "kernel queue"
    NEIGHBOUR = "neighbour"
    LINK = "link"
    HEAT = "heat"
    POWER_STATE = "power state"
    DRIVE = "drive"
    NOT_KNOWN = "not known"


class Outlier(Struct, frozen=True, kw_only=True):
    """One slow I/O of a step: what its thread knew (``io``), what made it slow, and the evidence as text."""

    step: str
    io: SlowIo
    cause: Cause
    evidence: str


class MonitorInterval(Struct, frozen=True, kw_only=True):
    """What drive and host counted between two readings of the drive's monitor, on the engine's clock.

    ``thresholds_ns`` ascend; of each operation, ``drive`` and ``host`` have the I/Os at or above each of
    them. ``hidden`` are those that the drive lacks for certain: it had each of them alone.
    """

    from_ns: int
    until_ns: int
    thresholds_ns: tuple[int, ...]
    drive: Mapping[str, tuple[int, ...]]
    host: Mapping[str, tuple[int, ...]]
    hidden: int = 0

    def has(self, slow: SlowIo) -> bool:
        """Whether the I/O is of this time, and of an operation that is counted."""
        return self.from_ns <= slow.submitted_ns < self.until_ns and slow.operation in self.drive

    def denies(self, slow: SlowIo) -> bool | None:
        """Whether the drive has none of this I/O: True if it counted none at all, False if as many as the
        host.

        None for an I/O of another time, one that may have been below the thresholds in the drive, and where
        it counted fewer than the host: it does not say which.
        """
        least_ns = self.thresholds_ns[0]
        if not self.has(slow) or slow.latency_ns < least_ns * MARGIN:
            return None
        drive, host = self.drive[slow.operation][0], self.host[slow.operation][0]
        if drive == 0:
            return True if slow.latency_ns >= least_ns * _SURE else None
        return False if drive >= host else None

    def lacking(self, alone: Iterable[SlowIo]) -> int:
        """How many of these I/Os, each of which the drive had alone in its silence, its counts lack."""
        found = dict.fromkeys(self.drive, 0)
        own = [slow for slow in alone if self.has(slow)]
        for name, counts in self.drive.items():
            silences_ns = [slow.silence_ns for slow in own if slow.operation == name]
            for its, threshold_ns in zip(counts, self.thresholds_ns, strict=True):
                ours = sum(silence_ns >= threshold_ns * _SURE for silence_ns in silences_ns)
                found[name] = max(found[name], ours - its)
        return sum(found.values())


PREFIX: Final = "latency_monitor_"
OPERATIONS: Final = {"read": "reads", "write": "writes", "trim": "deallocates"}
BUCKETS: Final = 4


def comparisons_of(health: Sequence[HealthRecord], steps: Sequence[StepRecord]) -> Iterator[MonitorInterval]:
    """A comparison for each two of these readings between which the monitor continued, over their steps."""
    readings = [one for one in health if f"{PREFIX}threshold_0_ms" in one.reading.values]
    for before, after in pairwise(readings):
        then, now = before.reading.values, after.reading.values
        thresholds = [now[f"{PREFIX}threshold_{bucket}_ms"] for bucket in range(BUCKETS)]
        if thresholds != [then[f"{PREFIX}threshold_{bucket}_ms"] for bucket in range(BUCKETS)]:
            continue
        from_ns, until_ns = before.t_ns or 0, after.t_ns or 0
        between = [step for step in steps if from_ns <= step.sample.started_ns < until_ns]
        thresholds_ns = tuple(round(ms * NS_PER_MS) for ms in thresholds)
        drive = {name: _grown(then, now, words) for name, words in OPERATIONS.items()}
        if not between or None in drive.values():
            continue
        host = {name: _above(between, name, thresholds_ns) for name in OPERATIONS}
        yield MonitorInterval(
            from_ns=from_ns,
            until_ns=until_ns,
            thresholds_ns=thresholds_ns,
            drive={name: counts for name, counts in drive.items() if counts is not None},
            host=host,
        )


def _grown(then: Mapping[str, float], now: Mapping[str, float], words: str) -> tuple[int, ...] | None:
    """Commands in each bucket and those above it; None where the drive began to count again."""
    counts = [
        round(now[f"{PREFIX}{words}_{bucket}"] - then[f"{PREFIX}{words}_{bucket}"])
        for bucket in range(BUCKETS)
    ]
    if min(counts) < 0:
        return None
    return tuple(sum(counts[bucket:]) for bucket in range(BUCKETS))


def _above(steps: Sequence[StepRecord], name: str, thresholds_ns: Sequence[int]) -> tuple[int, ...]:
    """I/Os of the host at or above each threshold, as far down as the histogram's width lets them be."""
    counts = [0] * len(thresholds_ns)
    for step in steps:
        measured = getattr(step.sample, name)
        if not measured.ios or (measured.latency_max_ns or 0) < thresholds_ns[0]:
            continue
        for _, value_ns, count in LatencyDistribution.merged([measured.histogram]).buckets():
            for place, threshold_ns in enumerate(thresholds_ns):
                if value_ns * MARGIN >= threshold_ns:
                    counts[place] += count
    return tuple(counts)
