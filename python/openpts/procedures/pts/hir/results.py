"""Host idle recovery: what each burst of writes reached, and how exact its pauses were (PTS 11).

IOPS of an access count its active time only: IOPS times ART is then the demand (openpts' reading of 11.2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, quantiles

from openpts.analysis.minutes import mean_cpu
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stop import Duration


@dataclass(frozen=True, slots=True)
class Access:
    """One access A or C, logged at its end; times in ns from the start of the first step given.

    ``on_excess_ns``: how much longer than planned it took to the drive's last answer. ``off_error_ns``: how
    much longer than planned no I/O was outstanding after it; None where no pause was planned or no step
    followed.
    """

    ended_ns: int
    iops: float
    art_ns: float | None
    mrt_ns: int | None
    on_excess_ns: int
    off_error_ns: int | None


def accesses(
    samples: Sequence[Sample], planned_ns: int, origin_ns: int, scale: int = 1
) -> tuple[Access, ...]:
    """The accesses among consecutive steps of a wait state or of its return to baseline, idle steps between.

    ``origin_ns`` is the moment on the engine's clock from which ``ended_ns`` counts. Only complete steps
    count. ``scale`` is that of a simulated drive: its clock shows nominal time, so that the microseconds of a
    late answer appear that many times as long in it.
    """
    return tuple(
        Access(
            ended_ns=sample.started_ns + sample.elapsed_ns - origin_ns,
            iops=sample.iops,
            art_ns=sample.mean_latency_ns,
            mrt_ns=sample.max_latency_ns,
            on_excess_ns=round((sample.elapsed_ns - planned_ns) / scale),
            off_error_ns=None if off_error_ns is None else round(off_error_ns / scale),
        )
        for sample, off_error_ns in _with_pauses(samples)
        if sample.state is StepState.COMPLETE
    )


def _with_pauses(samples: Sequence[Sample]) -> Iterator[tuple[Sample, int | None]]:
    """Each burst with the error of the pause behind it."""
    bursts = [(place, sample) for place, sample in enumerate(samples) if not sample.step.is_idle]
    for (place, burst), (next_place, following) in pairwise(bursts):
        pauses = samples[place + 1 : next_place]
        if pauses:
            silent_ns = following.started_ns - (burst.started_ns + burst.elapsed_ns)
            yield burst, silent_ns - sum(_planned_ns(pause) for pause in pauses)
        else:
            yield burst, None
    if bursts:
        yield bursts[-1][1], None


def _planned_ns(pause: Sample) -> int:
    stop = pause.step.stop
    assert isinstance(stop, Duration)  # noqa: S101 nothing else can end an idle gap
    return stop.duration_ns


@dataclass(frozen=True, slots=True)
class SegmentSummary:
    """All accesses of a wait state, of a return to baseline, or of the baseline, together.

    ``iops`` is I/Os per second of active time; ``low_iops`` and ``high_iops`` are the 5th and 95th percentile
    of the accesses, None for fewer than 20 of them. CPU shares are those of active time, in per cent.
    """

    accesses: int
    iops: float
    low_iops: float | None
    high_iops: float | None
    art_ns: float | None
    mrt_ns: int | None
    cpu_sys_pct: float | None
    cpu_iowait_pct: float | None
    longest_on_excess_ns: int
    largest_off_error_ns: int | None
    mean_off_error_ns: float | None


def summarize_segment(samples: Sequence[Sample], planned_ns: int, scale: int = 1) -> SegmentSummary | None:
    """The summary of consecutive steps; None where no access was completed."""
    bursts = [
        sample
        for sample in samples
        if not sample.step.is_idle and sample.state is StepState.COMPLETE and sample.elapsed_ns
    ]
    if not bursts:
        return None
    ios = sum(sample.ios for sample in bursts)
    latency_sum_ns = sum(operation.latency_sum_ns for sample in bursts for operation in sample.transfers)
    each = [sample.iops for sample in bursts]
    low, high = (None, None)
    if len(each) >= 20:
        cuts = quantiles(each, n=20, method="inclusive")
        low, high = cuts[0], cuts[-1]
    offs = [
        access.off_error_ns
        for access in accesses(samples, planned_ns, 0, scale)
        if access.off_error_ns is not None
    ]
    cpu = mean_cpu(bursts)
    return SegmentSummary(
        accesses=len(bursts),
        iops=ios * NS_PER_S / sum(sample.elapsed_ns for sample in bursts),
        low_iops=low,
        high_iops=high,
        art_ns=latency_sum_ns / ios if ios else None,
        mrt_ns=max(
            (sample.max_latency_ns for sample in bursts if sample.max_latency_ns is not None), default=None
        ),
        cpu_sys_pct=cpu.sys_pct if cpu else None,
        cpu_iowait_pct=cpu.iowait_pct if cpu else None,
        longest_on_excess_ns=round(max(sample.elapsed_ns - planned_ns for sample in bursts) / scale),
        largest_off_error_ns=max(offs, key=abs, default=None),
        mean_off_error_ns=fmean(offs) if offs else None,
    )


def late_edges(samples: Sequence[Sample], planned_ns: int, limit_ns: int, scale: int = 1) -> int:
    """How many on or off edges of a wait state were off by more than the limit through no fault of the drive.

    A burst that ends late because the drive answered its last I/Os late, at most its longest response time
    after they were issued, is caused by the drive, and is what the test measures.
    """
    bursts = [sample for sample in samples if not sample.step.is_idle]
    late_ends = sum(
        (sample.elapsed_ns - planned_ns) / scale - (sample.max_latency_ns or 0) > limit_ns
        for sample in bursts
    )
    pauses = (access.off_error_ns for access in accesses(samples, planned_ns, 0, scale))
    return late_ends + sum(error is not None and abs(error) > limit_ns for error in pauses)
