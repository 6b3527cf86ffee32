"""What passes of a trace measured."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.run_comparison import RunSet
from openpts.units import NS_PER_S, NS_PER_US
from openpts.vocabulary.better import Better
from openpts.vocabulary.replay import Played, Preparation, Replay, TraceScore, trace_score
from openpts.vocabulary.sample import OperationSample, Sample, StepState, StreamSample

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


@dataclass(frozen=True, slots=True)
class Pass:
    """One trace in one pass: what the drive did, and how true it was to the trace.

    ``stream`` is the place of the trace among those that were replayed at once, and ``name`` its name, empty
    where it was the only one.
    """

    number: int
    sample: Sample
    played: Played
    replay: Replay
    stream: int = 0
    name: str = ""

    @property
    def label(self) -> str:
        """The number of the pass, and the trace if there were several."""
        return f"{self.number}, {self.name}" if self.name else str(self.number)

    @property
    def measured(self) -> Sample | StreamSample:
        """What the drive did for this trace."""
        return self.sample.streams[self.stream] if self.sample.streams else self.sample

    @property
    def failed(self) -> int:
        """Its I/Os that failed."""
        errors = self.measured.errors
        return errors if isinstance(errors, int) else sum(one.count for one in errors)

    @property
    def slips(self) -> LatencyDistribution:
        """How late I/Os were; empty where none has a due moment."""
        return _distribution([self.played.slips])

    @property
    def gap_errors(self) -> LatencyDistribution:
        """By how much gaps between submissions differ from those due."""
        return _distribution([self.played.gap_errors])

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
        """That of its reads and writes, from submission to completion."""
        return _score((self.measured.read, self.measured.write), self.played.busy_ns)

    @property
    def unissued(self) -> int:
        """I/Os of the schedule that the pass did not come to."""
        return self.played.scheduled - self.played.issued - self.played.dropped


@dataclass(frozen=True, slots=True)
class ReplayResults:
    """All passes that came to their ends, of one trace or of several."""

    passes: tuple[Pass, ...]

    @property
    def traces(self) -> "tuple[ReplayResults, ...]":
        """The same of each trace by itself."""
        streams = sorted({one.stream for one in self.passes})
        return tuple(
            ReplayResults(tuple(one for one in self.passes if one.stream == stream)) for stream in streams
        )

    @property
    def preparation(self) -> Preparation | None:
        """What became of the first trace in the first pass."""
        return self.passes[0].replay.preparation if self.passes else None

    @property
    def typical(self) -> Pass | None:
        """The pass with the median score, the lower one of two; the last where there is no score."""
        scored = [one for one in self.passes if one.score is not None]
        if not scored:
            return self.passes[-1] if self.passes else None
        return sorted(scored, key=_score_of)[(len(scored) - 1) // 2]

    @property
    def scores(self) -> RunSet | None:
        """Those of all passes; None where there are none."""
        scores = [float(_score_of(one)) for one in self.passes if one.score is not None]
        return RunSet(tuple(scores), Better.HIGHER) if scores else None

    @property
    def median_score(self) -> float | None:
        """Of all passes of a trace; None where several were replayed at once: each has its own."""
        scores = self.scores
        return median(scores.values) if scores and len(self.traces) == 1 else None

    @property
    def original_score(self) -> TraceScore | None:
        """What the trace itself scores; None where it has no completions."""
        found = self.preparation
        if found is None:
            return None
        times = _distribution(found.latencies.values())
        bounds = times.bounds()
        return trace_score(found.transferred_bytes, times.count, bounds[4], found.busy_ns) if bounds else None


def _score_of(one: Pass) -> int:
    return one.score.score if one.score else 0


def _score(operations: Iterable[OperationSample], busy_ns: int) -> TraceScore | None:
    done = list(operations)
    return trace_score(
        sum(one.bytes for one in done),
        sum(one.ios for one in done),
        sum(one.latency_sum_ns for one in done),
        busy_ns,
    )


def _distribution(encoded: Iterable[bytes]) -> LatencyDistribution:
    return LatencyDistribution.merged(filter(None, encoded))


def analyse(samples: Iterable[Sample]) -> ReplayResults:
    """The passes of these steps."""
    passes = []
    for number, sample in enumerate(samples, start=1):
        streams = sample.step.streams
        for played in sample.played if sample.state is StepState.COMPLETE else ():
            stream = streams[played.stream]
            if stream.replay is not None:
                name = stream.name if len(streams) > 1 else ""
                passes.append(Pass(number, sample, played, stream.replay, played.stream, name))
    return ReplayResults(tuple(passes))


def us(value_ns: float | None) -> float | None:
    """In microseconds."""
    return None if value_ns is None else value_ns / NS_PER_US


def seconds(value_ns: float) -> float:
    """In seconds."""
    return value_ns / NS_PER_S
