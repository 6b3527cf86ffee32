"""What a pass of a trace measured, and how true it was."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.run_comparison import Quality, RunSet
from openpts.units import NS_PER_S, NS_PER_US
from openpts.vocabulary.replay import Played, Replay, TraceScore, trace_score
from openpts.vocabulary.sample import Measured, Sample, StepState
from openpts.vocabulary.verdict import Better
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.traces import FULL, Idle, ScoredTrace, ScoreSubject

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


def score_of_sample(sample: Sample) -> float | None:
    """The unrounded score of a pass. A plan knows no busy time: the drive it assumes is never idle."""
    trace = sample.streams[0] if sample.streams else sample
    found = score_of(trace, sample.played[0].busy_ns if sample.played else sample.elapsed_ns)
    return None if found is None else found.unrounded


def _score_set(conditions: ReplayConditions, scores: Iterable[float | None]) -> RunSet | None:
    values = tuple(score for score in scores if score is not None)
    return RunSet(values, Better.HIGHER, conditions.set_rule) if values else None


# SOL-STAT-02, 03, 05, 06, 09
def passes_to_add(conditions: ReplayConditions, scores: Sequence[float | None]) -> int:
    """Warm passes that are still to come before they are judged again; 0: there are enough, or too many."""
    found = _score_set(conditions, scores)
    return found.to_add if conditions.until_rse_pct and found is not None else 0


class Scored(Struct, frozen=True):
    """A trace with its load: the cold pass, which counts for nothing, and the warm ones."""

    case: ScoredTrace
    conditions: ReplayConditions
    cold: Pass
    warm: tuple[Pass, ...]

    @property
    def scores(self) -> RunSet | None:
        """Scores of the warm passes."""
        return _score_set(self.conditions, (one.score.unrounded if one.score else None for one in self.warm))

    @property
    def typical(self) -> Pass | None:
        """The warm pass whose score is the median."""
        scores = self.scores
        if scores is None:
            return None
        return next(one for one in self.warm if one.score and one.score.unrounded == scores.median)

    @property
    def median(self) -> float | None:
        """The unrounded median score of the warm passes."""
        return None if (scores := self.scores) is None else scores.median

    @property
    def is_discarded(self) -> bool:
        """Whether the passes lie too far apart for a score, and there are as many as there may be."""
        return (scores := self.scores) is not None and scores.quality is Quality.DISCARDED


class Overall(Struct, frozen=True):
    """Scores over all traces with this load; ``missing`` are those without a whole warm pass."""

    load: ScoreSubject
    scored: tuple[Scored, ...]
    missing: tuple[str, ...]

    @property
    def medians(self) -> Mapping[str, float]:
        """The unrounded median scores by trace, without those that are discarded."""
        return {
            one.case.trace.name: one.median
            for one in self.scored
            if one.median is not None and not one.is_discarded
        }

    @property
    def unscored(self) -> Mapping[str, Sequence[str]]:
        """Traces that have no score that counts, by the reason."""
        names = [one.case.trace.name for one in self.scored]
        discarded = [one.case.trace.name for one in self.scored if one.is_discarded]
        without = [name for name in names if name not in {*discarded, *self.medians}]
        found = {"not scored": self.missing, "discarded": discarded, "no reads and writes": without}
        return {reason: which for reason, which in found.items() if which}

    @property
    def lacking(self) -> str:
        """Why there is no score over all traces, in words; empty where there is one."""
        return "; ".join(f"{reason}: {', '.join(which)}" for reason, which in self.unscored.items())

    # SCO-AGG-01
    @property
    def balanced(self) -> float | None:
        """Geometric mean of the traces' scores: each counts alike. None where a trace has none."""
        return None if self.lacking else geometric_mean(self.medians.values())

    @property
    def pooled(self) -> TraceScore | None:
        """The score of all I/Os of the median passes together: long traces count for more."""
        if self.lacking:
            return None
        passes = [one.typical for one in self.scored if one.typical is not None]
        done = [part for one in passes for part in (one.trace.read, one.trace.write)]
        return trace_score(
            sum(part.bytes for part in done),
            sum(part.ios for part in done),
            sum(part.latency_sum_ns for part in done),
            sum(one.played.busy_ns for one in passes),
        )


# SCO-AGG-03
class Ratios(Struct, frozen=True):
    """Scores with one load in terms of those with another, of the traces that have both."""

    title: str
    of: ScoreSubject
    to: ScoreSubject
    by_trace: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Geometric, so that it does not matter which of the two is the reference."""
        return geometric_mean(self.by_trace.values())


class ScoreResults(Struct, frozen=True):
    """What was scored, in the order of the test; ``missing`` are cases without a whole warm pass."""

    conditions: ReplayConditions
    scored: tuple[Scored, ...]
    missing: tuple[ScoredTrace, ...]

    @property
    def overall(self) -> tuple[Overall, ...]:
        """For each load that a trace has."""
        found = (
            Overall(
                load,
                tuple(one for one in self.scored if one.case.load == load),
                tuple(case.trace.name for case in self.missing if case.load == load),
            )
            for load in self.conditions.loads
        )
        return tuple(one for one in found if one.scored or one.missing)

    # SCO-IDL-02
    @property
    def ratios(self) -> tuple[Ratios, ...]:
        """What idle times are worth, between both extremes, and what background costs."""
        medians = {one.load: one.medians for one in self.overall}
        pairs = [
            (
                f"Idle benefit, {str(load).removesuffix(f', {FULL}')}",
                load,
                ScoreSubject(load.background, Idle(0)),
            )
            for load in medians
            if load.idle.most_ns is None
        ] + [
            (f"With {load.background} background / alone, {load.idle}", load, ScoreSubject(None, load.idle))
            for load in medians
            if load.background is not None
        ]
        found = (
            Ratios(title, of, to, ratios(medians[of], medians[to]))
            for title, of, to in pairs
            if to in medians
        )
        return tuple(one for one in found if one.by_trace)


def ratios(upper: Mapping[str, float], lower: Mapping[str, float]) -> dict[str, float]:
    """One score in terms of the other, of the traces that have both."""
    return {name: score / lower[name] for name, score in upper.items() if name in lower}


def analyze(conditions: ReplayConditions, steps: Iterable[tuple[int, Sample]]) -> ScoreResults:
    """The scores of a record's steps, each with the number of its case; the first of each is cold."""
    samples: dict[int, list[Sample]] = {}
    for number, sample in steps:
        samples.setdefault(number, []).append(sample)
    scored: list[Scored] = []
    missing: list[ScoredTrace] = []
    for case in conditions.cases():
        passes = passes_of(samples.get(case.number, ()))
        warm = tuple(one for one in passes if one.number > 1)
        if warm and passes[0].number == 1:
            scored.append(Scored(case, conditions, passes[0], warm))
        elif not _lacks_background(case, scored):
            missing.append(case)
    return ScoreResults(conditions, tuple(scored), tuple(missing))


def _lacks_background(case: ScoredTrace, scored: Iterable[Scored]) -> bool:
    """Whether the trace has no background of its own, as it shows alone."""
    if case.load.background is None or case.load.background.trace is not None:
        return False
    found = [one.cold.replay.preparation for one in scored if one.case.trace == case.trace]
    return any(one is not None and "background" not in one.skipped for one in found)
