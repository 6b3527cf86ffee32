"""Results of the Rust module as the vocabulary has them."""

from typing import Any

from openpts import _native
from openpts.engine.options import CaptureSummary
from openpts.vocabulary.sample import (
    NOTHING,
    CpuShares,
    Interval,
    IoErrors,
    IoFailure,
    OperationSample,
    Sample,
    Standstill,
    StepState,
)
from openpts.vocabulary.stimulus import Step


def sample_of(
    step: Step, result: _native.StepResult, interval_ns: int, intervals: tuple[Interval, ...]
) -> Sample:
    """The sample of a step, with the intervals that came before its result."""
    return Sample(
        step=step,
        state=StepState(result.state),
        ended_by=result.ended_by,
        started_ns=result.started_ns,
        elapsed_ns=result.elapsed_ns,
        gap_ns=result.gap_ns,
        interval_ns=interval_ns,
        intervals=intervals,
        cpu=_cpu(result.cpu),
        failure=IoFailure(*result.failure[0], result.failure[1]) if result.failure else None,
        errors=tuple(
            IoErrors(operation, reason, count, tuple(offsets))
            for operation, reason, count, offsets in result.errors
        ),
        unissued=result.unissued,
        ios_by_block_size=tuple(result.ios_by_block_size),
        ios_by_zone=tuple(result.ios_by_zone),
        standstills=tuple(Standstill(*standstill) for standstill in result.standstills),
        **_operations(result.operations),
    )


def interval_of(result: _native.IntervalResult) -> Interval:
    """One interval of the step that runs."""
    return Interval(
        index=result.index,
        elapsed_ns=result.elapsed_ns,
        in_flight=result.in_flight,
        errors=result.errors,
        cpu=_cpu(result.cpu),
        temperature_c=result.temperature_c,
        throttled=result.throttled,
        **_operations(result.operations),
    )


def _operations(results: dict[str, _native.OperationResult]) -> dict[str, Any]:
    samples = {
        name: OperationSample(
            ios=result.ios,
            bytes=result.bytes,
            latency_sum_ns=result.latency_sum_ns,
            latency_min_ns=result.latency_min_ns,
            latency_max_ns=result.latency_max_ns,
            histogram=result.histogram,
        )
        for name, result in results.items()
    }
    return {"read": NOTHING, "write": NOTHING} | samples


def _cpu(shares: tuple[float, float, float, int] | None) -> CpuShares | None:
    return CpuShares(*shares) if shares else None


def capture_summary_of(summary: _native.CaptureSummary) -> CaptureSummary:
    """What a finished capture holds."""
    return CaptureSummary(
        ios=summary.ios,
        discarded_ios=summary.discarded_ios,
        bytes_written=summary.bytes_written,
        files=summary.files,
        blocked_times=summary.blocked_times,
        blocked_ns=summary.blocked_ns,
    )
