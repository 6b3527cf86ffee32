"""From the streams of a capture to the streams of a step."""

import math
from collections.abc import Sequence
from typing import Final

from openpts.units import MB, NS_PER_MS, NS_PER_S, per_second
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import (
    BlockSize,
    ClosedLoop,
    FixedRate,
    OperationWeights,
    Pacing,
    Step,
    Stimulus,
    Stream,
)
from openpts.vocabulary.stop import Duration
from openpts_traces.captured.streams import apportioned, shares, transfer_bytes
from openpts_traces.characteristics.capture import Capture, CaptureStep, CaptureStream
from openpts_traces.rws import RwsConditions

PASS_FIGURES: Final = ("average response time", "throughput")


def pass_figures(samples: Sequence[Sample]) -> tuple[float, float]:
    """Average response time in ms and MB/s: at given rates, IOPS are steady whatever the drive does."""
    operations = [one for sample in samples for one in sample.operations.values() if one.ios]
    ios = sum(one.ios for one in operations)
    elapsed_ns = sum(sample.elapsed_ns for sample in samples)
    art_ms = sum(one.latency_sum_ns for one in operations) / ios / NS_PER_MS if ios else 0.0
    moved_bytes = sum(sample.bytes for sample in samples)
    return art_ms, per_second(moved_bytes, elapsed_ns) / MB


_PER_THREAD: Final = 32
_CLOSED: Final = ClosedLoop()


def composite(conditions: RwsConditions, applied: Sequence[CaptureStream], toio: int) -> tuple[Stream, ...]:
    """All streams at once in their shares: one that is ahead waits. Each has at least one I/O outstanding."""
    if len(applied) == 1:
        return (alone(conditions, applied[0], toio),)
    counts = [stream.ios for stream in applied]
    return tuple(
        Stream(_stimulus(conditions, stream, depth), stream.name, share=share)
        for stream, depth, share in zip(applied, apportioned(toio, counts), shares(counts), strict=True)
    )


def alone(conditions: RwsConditions, stream: CaptureStream, toio: int) -> Stream:
    """One stream with all outstanding I/Os."""
    return Stream(_stimulus(conditions, stream, toio), stream.name)


def replayed(conditions: RwsConditions, capture: Capture, step: CaptureStep) -> Step:
    """A step of the capture: its own streams at its own depth, or at their rates."""
    stop = Duration(conditions.step_ns(step))
    if not step.streams:
        return Step((), stop)
    # A capture lists them by their share of the step; a record names the same streams in one order.
    rank = {stream.name: place for place, stream in enumerate(capture.streams)}
    streams = sorted(step.streams, key=lambda one: (rank.get(one.name, len(rank)), one.name))
    if conditions.pacing == "depth":
        return Step(composite(conditions, streams, conditions.toio_of(step)), stop)
    counts = [stream.ios for stream in streams]
    depths = apportioned(conditions.toio_of(step), counts)
    # What is left out is part of the rate: the streams that are applied stand for all of the step's I/Os.
    factor = step.ios * NS_PER_S / (sum(counts) * step.length_ns)
    return Step(
        tuple(
            Stream(_stimulus(conditions, stream, depth, FixedRate(stream.ios * factor)), stream.name)
            for stream, depth in zip(streams, depths, strict=True)
        ),
        stop,
    )


def _stimulus(
    conditions: RwsConditions, stream: CaptureStream, toio: int, pacing: Pacing = _CLOSED
) -> Stimulus:
    tc = math.ceil(toio / _PER_THREAD)
    return Stimulus(
        random_pct=0 if stream.pattern == "seq" else 100,
        block_sizes=(BlockSize(transfer_bytes(stream, conditions.sector_bytes)),),
        operations=OperationWeights(**{stream.kind: 1}),
        tc=tc,
        qd=math.ceil(toio / tc),
        active_range=conditions.active_range,
        pacing=pacing,
        data=conditions.data,
    )
