"""The drive's own latency monitor as the second witness: what it counted between readings, beside the host.

A drive counts a command from fetching it to posting its completion, so that the host's time is never the
shorter one: the host must have at least as many I/Os above each threshold. The other way round proves
nothing at a depth of more than one, where I/Os wait for the drive to fetch them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from openpts.analysis.latency import LatencyDistribution
from openpts.record.health import HealthRecord
from openpts.record.reader import StepRecord
from openpts.units import NS_PER_MS
from openpts_nvme.outliers.causes import MARGIN, MonitorInterval

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
