"""What a pass of a trace measured, and how true it was."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.units import NS_PER_S, NS_PER_US
from openpts.vocabulary.replay import Played, Replay, TraceScore, trace_score
from openpts.vocabulary.sample import Measured, Sample, StepState

OPERATIONS: Final = ("read", "write", "trim", "flush")
LATE_US: Final = (10, 100, 1000)
"""Shares of I/Os that were later than this are printed."""
PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9)
_TOO_LATE_NS: Final = 1_000_000
_TOO_LATE_SHARE: Final = 0.01
CAUSES: Final[Mapping[str, str]] = {
    "host": "host: the thread was busy or not there",
    "reader": "host: the schedule was read too late",
    "depth": "as many as may be outstanding were",
    "order": "waited for a conflicting I/O, or a flush",
    "device": "the submission of those before it took so long",
}


class Pass(Struct, frozen=True):
    """One pass: what the drive did, and how true it was to the trace.

    ``sample`` is that of the whole step; where something else was replayed beside the trace, ``trace`` is its
    own part, ``stream`` its place in the step and ``name`` its name, which is empty where it was alone.
    """

    number: int
    sample: Sample
    played: Played
    replay: Replay
    stream: int = 0
    name: str = ""

    @property
    def label(self) -> str:
        """The number of the pass, and the trace where others were beside it."""
        return f"{self.number}, {self.name}" if self.name else str(self.number)

    @property
    def trace(self) -> Measured:
        """What the trace itself did."""
        return self.sample.streams[self.stream] if self.sample.streams else self.sample

    @property
    def failed(self) -> int:
        """I/Os of the pass that failed."""
        if self.sample.streams:
            return self.sample.streams[self.stream].errors
        return sum(errors.count for errors in self.sample.errors)

    @property
    def slips(self) -> LatencyDistribution:
        """How late I/Os were; empty where none has a due moment."""
        return distribution([self.played.slips])

    @property
    def gap_errors(self) -> LatencyDistribution:
        """By how much gaps between submissions differ from those due."""
        return distribution([self.played.gap_errors])

    @property
    def drift_ns(self) -> int | None:
        """How much later the last I/O was than the median; None where none is due."""
        middle_ns = self.slips.percentile_ns(50)
        return None if middle_ns is None else self.played.last_slip_ns - middle_ns

    def late_share(self, limit_ns: int) -> float | None:
        """Share of I/Os that were later than this."""
        slips = self.slips
        if not slips.count:
            return None
        return sum(ios for low_ns, _, ios in slips.buckets() if low_ns > limit_ns) / slips.count

    @property
    def is_too_late(self) -> bool:
        """Whether so many were so late that it was another workload: no comparison of latencies holds."""
        return (self.late_share(_TOO_LATE_NS) or 0) > _TOO_LATE_SHARE

    @property
    def depth_limited_share(self) -> float:
        """Share of the pass in which an I/O that was due found no room."""
        return (
            self.played.waited_ns.get("depth", 0) / self.played.last_answer_ns
            if self.played.last_answer_ns
            else 0.0
        )

    @property
    def execution_ns(self) -> int:
        """From the first submission to the last answer."""
        return self.played.last_answer_ns - (self.played.first_submission_ns or 0)

    @property
    def score(self) -> TraceScore | None:
        """Score of the pass's reads and writes, from submission to completion."""
        return score_of(self.trace, self.played.busy_ns)

    @property
    def unissued(self) -> int:
        """I/Os of the schedule that the pass did not come to."""
        return self.played.scheduled - self.played.issued - self.played.dropped


def score_of(trace: Measured, busy_ns: int) -> TraceScore | None:
    """The score of what a trace did; None without reads and writes."""
    done = (trace.read, trace.write)
    return trace_score(
        sum(one.bytes for one in done),
        sum(one.ios for one in done),
        sum(one.latency_sum_ns for one in done),
        busy_ns,
    )


def distribution(encoded: Iterable[bytes]) -> LatencyDistribution:
    """The response times of all of these."""
    return LatencyDistribution.merged(filter(None, encoded))


def all_passes_of(samples: Iterable[Sample]) -> tuple[Pass, ...]:
    """Passes of the complete steps, one for each trace that was replayed at once."""
    passes = []
    for number, sample in enumerate(samples, start=1):
        streams = sample.step.streams
        for played in sample.played if sample.state is StepState.COMPLETE else ():
            stream = streams[played.stream]
            if stream.replay is not None:
                name = stream.name if len(streams) > 1 else ""
                passes.append(Pass(number, sample, played, stream.replay, played.stream, name))
    return tuple(passes)


def passes_of(samples: Iterable[Sample]) -> tuple[Pass, ...]:
    """The same of the first trace alone."""
    return tuple(one for one in all_passes_of(samples) if one.stream == 0)


def us(value_ns: float | None) -> float | None:
    """In microseconds."""
    return None if value_ns is None else value_ns / NS_PER_US


def seconds(value_ns: float) -> float:
    """In seconds."""
    return value_ns / NS_PER_S


def pass_figures(one: Pass) -> dict[str, Any]:
    """JSON-ready."""
    score, played = one.score, one.played
    return {
        "issued": played.issued,
        "dropped": played.dropped,
        "conflicts": played.conflicts,
        "reordered": played.reordered,
        "early": played.early,
        "slip_us": {f"p{p:g}": us(one.slips.percentile_ns(p)) for p in PERCENTILES},
        "drift_us": us(one.drift_ns),
        "late_by_cause": dict(played.late),
        "waited_seconds": {cause: seconds(waited_ns) for cause, waited_ns in played.waited_ns.items()},
        "depth_limited_share": one.depth_limited_share,
        "execution_seconds": seconds(one.execution_ns),
        "busy_seconds": seconds(played.busy_ns),
        "score": score.score if score else None,
        "bandwidth_mb_per_s": score.bandwidth_mb_per_s if score else None,
        "access_us": score.access_us if score else None,
    }
