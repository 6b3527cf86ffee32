"""A made-up drive with a queue: response times are those of M/M/1, in closed form."""

import math
from typing import Final

from openpts.analysis.latency import encode_counts
from openpts.units import KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import NOTHING, OperationSample, Phase, Sample, StreamSample
from openpts.vocabulary.stimulus import Duration, Step
from tests.support.interval_samples import sample_of
from tests.support.player import Drive

_PIECES: Final = 40
_DECADES: Final = 5


class QueueingDrive(Drive, frozen=True):
    """Serves reads and writes one after the other: so many of either each second, if it does nothing else."""

    reads_per_s: float = 100_000
    writes_per_s: float = 25_000

    def sample(self, phase: Phase, number: int, step: Step) -> Sample:
        """What a load gives; anything but a load is that of the plain drive."""
        rates = [stimulus.planned_ios_per_s for stimulus in step.stimuli]
        if None in rates or not rates:
            return super().sample(phase, number, step)
        assert isinstance(step.stop, Duration)
        elapsed_ns = step.stop.duration_ns
        offered = {
            bool(one.operations.read): rate or 0.0 for one, rate in zip(step.stimuli, rates, strict=True)
        }
        busy = offered.get(True, 0.0) / self.reads_per_s + offered.get(False, 0.0) / self.writes_per_s
        done = min(1.0, 1 / busy)
        mean_ns = (
            NS_PER_S / self.reads_per_s / (1 - busy)
            if busy < 0.999
            else elapsed_ns * (1 - done) / 2 + NS_PER_MS
        )
        parts = {
            name: _operation(round(done * offered[reads] * elapsed_ns / NS_PER_S), mean_ns)
            for name, reads in (("read", True), ("write", False))
            if reads in offered
        }
        planned = sum(round(rate * elapsed_ns / NS_PER_S) for rate in offered.values())
        streams = tuple(
            StreamSample(
                read=parts["read"] if reads else NOTHING,
                write=NOTHING if reads else parts["write"],
                elapsed_ns=elapsed_ns,
                cpu=None,
                ended_by=None,
                started_ns=0,
            )
            for reads in offered
        )
        return sample_of(
            step,
            elapsed_ns=elapsed_ns,
            gap_ns=None,
            read=parts.get("read", NOTHING),
            write=parts.get("write", NOTHING),
            unissued=planned - sum(part.ios for part in parts.values()),
            streams=streams if len(streams) > 1 else (),
        )


def _operation(ios: int, mean_ns: float) -> OperationSample:
    """Exponential response times: the k-th piece holds those from its share of the I/Os to the next one's."""
    ends = [1 - 10 ** (-_DECADES * k / _PIECES) for k in range(_PIECES)] + [1.0]
    counts, before = [], 0
    for end in ends[1:]:
        until = round(end * ios)
        slow = max(1 - end, 10**-_DECADES)
        if until > before:
            counts.append((round(-mean_ns * math.log(slow)), until - before))
        before = until
    if not counts:
        return NOTHING
    total_ns = sum(latency_ns * count for latency_ns, count in counts)
    return OperationSample(ios, ios * 4 * KIB, total_ns, counts[0][0], counts[-1][0], encode_counts(counts))
