"""Limits held against samples: pass, fail, or why neither can be said."""

import math
from collections.abc import Sequence

from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.units import per_second
from openpts.vocabulary.limit import Judgement, Limit, LimitedFigure, LimitVerdict
from openpts.vocabulary.sample import OperationSample, Sample, StepState


def judge_limit(limit: Limit, samples: Sequence[Sample]) -> LimitVerdict:
    """Hold all steps of a measurement together against a limit, the streams of each merged."""
    if reason := _unjudged(limit, samples):
        return LimitVerdict(limit, None, Judgement.NO_VERDICT, reason)
    done = [sample.operations[limit.operation] for sample in samples]
    if limit.is_rate:
        value = _rate(limit, done, sum(sample.elapsed_ns for sample in samples))
        return LimitVerdict(limit, value, Judgement.PASS if value >= limit.value else Judgement.FAIL)
    distribution = LatencyDistribution.merged(one.histogram for one in done if one.histogram)
    if limit.figure is LimitedFigure.PERCENTILE and not distribution.supports(limit.percentile):
        reason = f"{distribution.count:,} I/Os, the percentile needs {ios_needed(limit.percentile):,}"
        return LimitVerdict(limit, None, Judgement.NO_VERDICT, reason)
    value = _latency_ns(limit, done, distribution)
    if value > limit.value:
        return LimitVerdict(limit, value, Judgement.FAIL)
    if unissued := sum(sample.unissued for sample in samples):
        reason = f"{unissued:,} planned I/Os were never issued: their wait is not in the figure"
        return LimitVerdict(limit, value, Judgement.NO_VERDICT, reason)
    return LimitVerdict(limit, value, Judgement.PASS)


def worst(verdicts: Sequence[LimitVerdict]) -> LimitVerdict:
    """The verdict on what was measured several times: a failure, then a doubt, then the least room."""
    order = (Judgement.FAIL, Judgement.NO_VERDICT, Judgement.PASS)

    def rank(verdict: LimitVerdict) -> tuple[int, float]:
        value = math.inf if verdict.value is None else verdict.value
        return order.index(verdict.judgement), value if verdict.limit.is_rate else -value

    return min(verdicts, key=rank)


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
