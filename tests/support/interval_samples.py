"""Samples, their intervals and their counts, made of what a test says of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.sample import NOTHING, CpuShares, Interval, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus

SIZE_BYTES = 4 * KIB


def sample_of(step: Step, **changes: Any) -> Sample:
    """A step that was complete after a second, and did no I/O but what ``changes`` says."""
    usual: dict[str, Any] = {"read": NOTHING, "write": NOTHING, "elapsed_ns": NS_PER_S, "cpu": None}
    usual |= {"state": StepState.COMPLETE, "ended_by": "duration", "started_ns": 0, "gap_ns": 0}
    usual |= {"interval_ns": NS_PER_S, "intervals": (), "failure": None}
    return Sample(step=step, **usual | changes)


def interval_of(index: int, **changes: Any) -> Interval:
    """A second in which no I/O ended but what ``changes`` says."""
    usual: dict[str, Any] = {"read": NOTHING, "write": NOTHING, "elapsed_ns": NS_PER_S, "cpu": None}
    return Interval(index=index, **usual | {"in_flight": 0, "errors": 0} | changes)


def operation_of(counts: Iterable[tuple[int, int]], block_bytes: int = SIZE_BYTES) -> OperationSample:
    """I/Os of one size: of each response time so many."""
    counts = list(counts)
    if not counts:
        return NOTHING
    ios = sum(count for _, count in counts)
    return OperationSample(
        ios=ios,
        bytes=ios * block_bytes,
        latency_sum_ns=sum(latency_ns * count for latency_ns, count in counts),
        latency_min_ns=min(latency_ns for latency_ns, _ in counts),
        latency_max_ns=max(latency_ns for latency_ns, _ in counts),
        histogram=encode_counts(counts),
    )


def writes(latencies_ns: Sequence[int], *, histogram: bool = True) -> OperationSample:
    """Writes of 4 KiB that took so long."""
    counted = operation_of(Counter(latencies_ns).items())
    return counted if histogram else replace(counted, histogram=b"")


def step_of(
    seconds: Sequence[Sequence[int]],
    *,
    last_ns: int = NS_PER_S,
    gap_ns: int | None = 0,
    histograms: bool = True,
    sys_pct: float | None = None,
) -> Sample:
    """A step with the latencies of the writes of each second; the last interval is ``last_ns`` long."""
    cpu = None if sys_pct is None else CpuShares(0, sys_pct, 0, 1000)
    lengths = [NS_PER_S] * (len(seconds) - 1) + [last_ns]
    stimulus = Stimulus.of(AccessPattern.RANDOM, SIZE_BYTES, 0, 1, 1, ActiveRange())
    return sample_of(
        Step.of(stimulus, Duration(sum(lengths))),
        elapsed_ns=sum(lengths),
        gap_ns=gap_ns,
        write=writes([latency for second in seconds for latency in second]),
        intervals=tuple(
            interval_of(
                index, elapsed_ns=ns, write=writes(latencies, histogram=histograms), in_flight=1, cpu=cpu
            )
            for index, (latencies, ns) in enumerate(zip(seconds, lengths, strict=True))
        ),
        cpu=cpu,
    )


def in_turn(*samples: Sample) -> list[Sample]:
    """The steps one after another on one clock, each behind its gap."""
    placed: list[Sample] = []
    for sample in samples:
        end_ns = placed[-1].started_ns + placed[-1].elapsed_ns if placed else 0
        placed.append(replace(sample, started_ns=end_ns + (sample.gap_ns or 0)))
    return placed
