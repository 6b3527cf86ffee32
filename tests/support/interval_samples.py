"""Steps of writes with intervals, I/O by I/O as given."""

from collections.abc import Sequence

from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.sample import NOTHING, CpuShares, Interval, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus

SIZE_BYTES = 4 * KIB


def writes(latencies_ns: Sequence[int], *, histogram: bool = True) -> OperationSample:
    """Writes of 4 KiB that took so long."""
    if not latencies_ns:
        return NOTHING
    return OperationSample(
        ios=len(latencies_ns),
        bytes=len(latencies_ns) * SIZE_BYTES,
        latency_sum_ns=sum(latencies_ns),
        latency_min_ns=min(latencies_ns),
        latency_max_ns=max(latencies_ns),
        histogram=encode_counts((latency_ns, 1) for latency_ns in latencies_ns) if histogram else b"",
    )


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
    return Sample(
        step=Step.of(
            Stimulus.of(AccessPattern.RANDOM, SIZE_BYTES, 0, 1, 1, ActiveRange()), Duration(sum(lengths))
        ),
        state=StepState.COMPLETE,
        ended_by="duration",
        started_ns=0,
        elapsed_ns=sum(lengths),
        gap_ns=gap_ns,
        read=NOTHING,
        write=writes([latency for second in seconds for latency in second]),
        interval_ns=NS_PER_S,
        intervals=tuple(
            Interval(
                index=index,
                elapsed_ns=length_ns,
                read=NOTHING,
                write=writes(latencies, histogram=histograms),
                in_flight=1,
                errors=0,
                cpu=cpu,
            )
            for index, (latencies, length_ns) in enumerate(zip(seconds, lengths, strict=True))
        ),
        cpu=cpu,
        failure=None,
    )


def in_turn(*samples: Sample) -> list[Sample]:
    """The steps one after another on one clock, each behind its gap."""
    placed: list[Sample] = []
    for sample in samples:
        end_ns = placed[-1].started_ns + placed[-1].elapsed_ns if placed else 0
        placed.append(replace(sample, started_ns=end_ns + (sample.gap_ns or 0)))
    return placed
