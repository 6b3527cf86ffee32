"""Rounds of a job with the figure that is tracked, and targets of a suite held against samples."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.analysis.rounds import consecutive_rounds, measurement_window
from openpts.analysis.steady_state import disturbed_rounds, window_ending_at
from openpts.units import MB, NS_PER_MS, per_second
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.sample import Measured, OperationSample, Sample, StepPlace, StepState
from openpts_fio.workload import FIGURES, RoundFigure, WorkloadConditions
from openpts_fio.workload.job import ALL_STREAMS, LimitedFigure, SuiteLimit, parts_named
from openpts_pts.shared.window_results import WindowResults

Round = tuple[Sample, ...]


def tracked_name(conditions: WorkloadConditions) -> str:
    """What steady state is judged by, in words: ``IOPS``, or ``P99 response time of reader``."""
    of = "" if conditions.stream == ALL_STREAMS else f" of {conditions.stream}"
    return f"{FIGURES[conditions.figure]}{of}"


def tracked_value(conditions: WorkloadConditions, samples: Round) -> float:
    """The figure of a round: IOPS, MB/s or ms; 0 where the stream did no I/O."""
    parts = parts_named(samples, conditions.stream)
    ios, elapsed_ns = (sum(getattr(part, name) for part in parts) for name in ("ios", "elapsed_ns"))
    match conditions.figure:
        case RoundFigure.IOPS:
            return per_second(ios, elapsed_ns)
        case RoundFigure.THROUGHPUT:
            moved_bytes = sum(part.bytes for part in parts)
            return per_second(moved_bytes, elapsed_ns) / MB
        case RoundFigure.MEAN_LATENCY:
            return _mean_ms(parts, ios)
        case RoundFigure.P99_LATENCY:
            encoded = [one.histogram for part in parts for one in part.transfers if one.histogram]
            p99_ns = LatencyDistribution.merged(encoded).percentile_ns(99)
            return _mean_ms(parts, ios) if p99_ns is None else p99_ns / NS_PER_MS  # a plan has means alone


def _mean_ms(parts: Sequence[Measured], ios: int) -> float:
    return (
        sum(one.latency_sum_ns for part in parts for one in part.transfers) / ios / NS_PER_MS if ios else 0.0
    )


class WorkloadResults(WindowResults, frozen=True, kw_only=True):
    """Whole rounds, with the tracked figure of each."""

    conditions: WorkloadConditions
    rounds: tuple[Round, ...]
    values: tuple[float, ...]

    @property
    def of_window(self) -> tuple[Round, ...]:
        """The rounds that results are of."""
        return tuple(self.rounds[number - 1] for number in self.window.rounds)


def analyze(
    conditions: WorkloadConditions,
    placed: Iterable[tuple[StepPlace, Sample]],
    steps_per_round: int,
    steady_round: int | None,
) -> WorkloadResults:
    """The results of all steps of rounds; ``steady_round`` places the window, which is judged again."""
    keyed = ((place.number, place.position, sample) for place, sample in placed)
    found = consecutive_rounds(keyed, range(steps_per_round))
    rounds = tuple(tuple(samples[at] for at in range(steps_per_round)) for samples in found)
    values = tuple(tracked_value(conditions, samples) for samples in rounds)
    window = measurement_window(len(rounds), steady_round)
    verdict = (
        window_ending_at(values, window.rounds[-1], disturbed_rounds(rounds)) if window.is_full else None
    )
    return WorkloadResults(
        window=window, verdicts=(verdict,), conditions=conditions, rounds=rounds, values=values
    )


def judge_limit(
    limit: SuiteLimit, of: str, samples: Sequence[Sample], note: str = "", left_out: str = ""
) -> JudgedLimit:
    """Hold all steps of the workload ``of`` together against a limit, the streams of each merged.

    ``left_out`` is why it was not run.
    """
    bound = limit.in_unit(limit.value)
    unjudged = JudgedLimit(
        name=f"{of}: {limit.name}",
        limit=limit.bound_text,
        judgement=Judgement.NO_VERDICT,
        unit=limit.unit,
        at_least=bound if limit.is_rate else None,
        at_most=None if limit.is_rate else bound,
        runs=1,
        note=note,
    )
    if reason := left_out or _unjudged(limit, samples):
        return replace(unjudged, reason=reason)
    done = [sample.operations[limit.operation] for sample in samples]
    distribution = LatencyDistribution.merged(one.histogram for one in done if one.histogram)
    if limit.figure is LimitedFigure.PERCENTILE and not distribution.supports(limit.percentile):
        reason = f"{distribution.count:,} I/Os, the percentile needs {ios_needed(limit.percentile):,}"
        return replace(unjudged, reason=reason)
    if limit.is_rate:
        value = _rate(limit, done, sum(sample.elapsed_ns for sample in samples))
        kept = value >= limit.value
    else:
        value = _latency_ns(limit, done, distribution)
        kept = value <= limit.value
    judged = replace(unjudged, value=limit.in_unit(value))
    if not kept:
        return replace(judged, judgement=Judgement.FAIL)
    unissued = 0 if limit.is_rate else sum(sample.unissued for sample in samples)
    if unissued:
        reason = f"{unissued:,} planned I/Os were never issued: their wait is not in the figure"
        return replace(judged, reason=reason)
    return replace(judged, judgement=Judgement.PASS)


def _unjudged(limit: SuiteLimit, samples: Sequence[Sample]) -> str:
    """Why nothing can be said, in words; empty if something can."""
    if not samples:
        return "not measured"
    if any(sample.state is not StepState.COMPLETE for sample in samples):
        return "the measurement did not come to its end"
    if any(sample.standstills for sample in samples):
        return "openpts itself stood still while it was measured"
    asked = any(
        getattr(stimulus.operations, limit.operation)
        for sample in samples
        for stimulus in sample.step.stimuli
    )
    done = any(sample.operations[limit.operation].ios for sample in samples)
    if limit.is_rate:
        return "" if asked or not limit.value else f"the workload issues no {limit.operation}s"
    return "" if done else f"no {limit.operation} was measured"


def _rate(limit: SuiteLimit, done: Sequence[OperationSample], elapsed_ns: int) -> float:
    amounts = [one.ios if limit.figure is LimitedFigure.IOPS else one.bytes for one in done]
    return per_second(sum(amounts), elapsed_ns)


def _latency_ns(
    limit: SuiteLimit, done: Sequence[OperationSample], distribution: LatencyDistribution
) -> float:
    slowest_ns = max(one.latency_max_ns for one in done if one.latency_max_ns is not None)
    match limit.figure:
        case LimitedFigure.MEAN_LATENCY:
            return sum(one.latency_sum_ns for one in done) / sum(one.ios for one in done)
        case LimitedFigure.MAX_LATENCY:
            return slowest_ns
        case _:
            found_ns = distribution.percentile_ns(limit.percentile)
            return slowest_ns if found_ns is None else min(found_ns, slowest_ns)
