"""Targets of a suite held against samples: pass, fail, or why neither can be said."""

from collections.abc import Sequence

from msgspec.structs import replace

from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.units import per_second
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.sample import OperationSample, Sample, StepState
from openpts_fio.workload.suite import Limit, LimitedFigure


def judge_limit(limit: Limit, of: str, samples: Sequence[Sample], note: str = "") -> JudgedLimit:
    """Hold all steps of the workload ``of`` together against a limit, the streams of each merged."""
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
    if reason := _unjudged(limit, samples):
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


def _unjudged(limit: Limit, samples: Sequence[Sample]) -> str:
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


def _rate(limit: Limit, done: Sequence[OperationSample], elapsed_ns: int) -> float:
    amounts = [one.ios if limit.figure is LimitedFigure.IOPS else one.bytes for one in done]
    return per_second(sum(amounts), elapsed_ns)


def _latency_ns(limit: Limit, done: Sequence[OperationSample], distribution: LatencyDistribution) -> float:
    slowest_ns = max(one.latency_max_ns for one in done if one.latency_max_ns is not None)
    match limit.figure:
        case LimitedFigure.MEAN_LATENCY:
            return sum(one.latency_sum_ns for one in done) / sum(one.ios for one in done)
        case LimitedFigure.MAX_LATENCY:
            return slowest_ns
        case _:
            found_ns = distribution.percentile_ns(limit.percentile)
            return slowest_ns if found_ns is None else min(found_ns, slowest_ns)
