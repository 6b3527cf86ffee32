"""Figures of samples that several purposes have: percentiles, rates, the slowest second."""

from collections.abc import Sequence

from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.units import NS_PER_MS, per_second
from openpts.vocabulary.sample import Measured, OperationSample, Sample


def stream_of(sample: Sample, name: str) -> Measured | None:
    """What a stream of that name measured in a step; None if the step has none."""
    for number, stream in enumerate(sample.step.streams):
        if stream.name == name:
            return sample.streams[number] if sample.streams else sample
    return None


def operations_of(samples: Sequence[Sample], stream: str, operation: str) -> list[OperationSample]:
    """What a stream measured of an operation, in each of several steps."""
    found = (stream_of(sample, stream) for sample in samples)
    return [one.operations[operation] for one in found if one is not None]


def percentile_ms(samples: Sequence[Sample], stream: str, operation: str, percentile: float) -> float | None:
    """A percentile of a stream's response times in all these steps; None where too few I/Os support it."""
    merged = LatencyDistribution.merged(
        one.histogram for one in operations_of(samples, stream, operation) if one.histogram
    )
    found_ns = merged.percentile_ns(percentile) if merged.count >= ios_needed(percentile) else None
    return None if found_ns is None else found_ns / NS_PER_MS


def per_s(samples: Sequence[Sample], stream: str, operation: str) -> float | None:
    """I/Os of an operation per second, of a stream, over all these steps."""
    parts = [(one, found) for one in samples if (found := stream_of(one, stream)) is not None]
    if not parts:
        return None
    ios = sum(found.operations[operation].ios for _, found in parts)
    return per_second(ios, sum(one.elapsed_ns for one, _ in parts))
