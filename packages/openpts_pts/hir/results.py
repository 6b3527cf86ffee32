"""Host idle recovery: what each burst of writes reached, and how exact its pauses were (PTS 11).

IOPS of an access count its active time only: IOPS times ART is then the demand (openpts' reading of 11.2).
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from statistics import fmean, quantiles

from msgspec import Struct
from msgspec.structs import asdict

from openpts.analysis.minutes import sum_parts
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Measured, Phase, Sample, StepState
from openpts.vocabulary.stimulus import Duration
from openpts_pts.hir import IdleRecoveryConditions, WaitState

SamplesOf = Callable[[Phase, int], Sequence[Sample]]


class Access(Struct, frozen=True):
    """One access A or C, logged at its end; times in ns from the moment ``origin_ns``.

    ``on_excess_ns``: how much longer than planned it took to the drive's last answer. ``off_error_ns``: how
    much longer than planned no I/O was outstanding after it; None where no pause was planned or no step
    followed.
    """

    sample: Sample
    ended_ns: int
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
    bursts = [(place, sample) for place, sample in enumerate(samples) if not sample.step.is_idle]
    found = []
    for (place, burst), following in zip_longest(bursts, bursts[1:]):
        ended_ns, off_error_ns = burst.started_ns + burst.elapsed_ns, None
        if following is not None and (pauses := samples[place + 1 : following[0]]):
            stops = (pause.step.stop for pause in pauses)  # nothing but a duration can end an idle gap
            silent_ns = sum(stop.duration_ns for stop in stops if isinstance(stop, Duration))
            off_error_ns = round((following[1].started_ns - ended_ns - silent_ns) / scale)
        if burst.state is StepState.COMPLETE:
            excess_ns = round((burst.elapsed_ns - planned_ns) / scale)
            found.append(Access(burst, ended_ns - origin_ns, excess_ns, off_error_ns))
    return tuple(found)


class SegmentSummary(Measured, frozen=True, kw_only=True):
    """All accesses of a wait state, of a return to baseline, or of the baseline, together, in active time.

    ``low_iops`` and ``high_iops`` are the 5th and 95th percentile of the accesses, None for fewer than 20 of
    them.
    """

    accesses: int
    low_iops: float | None
    high_iops: float | None
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
    each = [sample.iops for sample in bursts]
    low, high = (None, None)
    if len(each) >= 20:
        cuts = quantiles(each, n=20, method="inclusive")
        low, high = cuts[0], cuts[-1]
    pauses = (access.off_error_ns for access in accesses(samples, planned_ns, 0, scale))
    offs = [error_ns for error_ns in pauses if error_ns is not None]
    return SegmentSummary(
        accesses=len(bursts),
        low_iops=low,
        high_iops=high,
        longest_on_excess_ns=round(max(sample.elapsed_ns - planned_ns for sample in bursts) / scale),
        largest_off_error_ns=max(offs, key=abs, default=None),
        mean_off_error_ns=fmean(offs) if offs else None,
        **sum_parts(bursts),
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


class WaitSegment(Struct, frozen=True):
    """A wait state with its return to baseline; times in ns from the first access of the first one.

    Either is empty, and its summary None, as far as it was not reached.
    """

    state: WaitState
    began_ns: int
    ended_ns: int
    active: tuple[Access, ...]
    returned: tuple[Access, ...]
    active_summary: SegmentSummary | None
    returned_summary: SegmentSummary | None

    @property
    def name(self) -> str:
        """As the specification has it: ``WS 3``."""
        return f"WS {self.state.number}"

    @property
    def idle_s(self) -> float:
        """How long the drive idles after each access."""
        return self.state.idle_ns / NS_PER_S

    @property
    def idle(self) -> str:
        """The same in words: ``5 s``."""
        return f"{self.idle_s:g} s"

    @property
    def iops(self) -> float | None:
        """IOPS of the wait state in its active time."""
        return None if self.active_summary is None else self.active_summary.iops

    @property
    def edges_ns(self) -> tuple[float | None, int | None, int | None]:
        """Mean and largest error of the pauses, and the longest excess of an access."""
        summary = self.active_summary
        if summary is None:
            return None, None, None
        return summary.mean_off_error_ns, summary.largest_off_error_ns, summary.longest_on_excess_ns


class Baseline(SegmentSummary, frozen=True, kw_only=True):
    """The tracked minutes of the window of steady state together (openpts' reading of 11.2)."""

    average_iops: float
    minutes: tuple[Sample, ...] = ()

    @property
    def iops(self) -> float:
        """The tracking variable's average in the window (2.1.24)."""
        return self.average_iops


class IdleRecoveryResults(Struct, frozen=True):
    """The baseline, None without steady state, and the wait states that were begun."""

    baseline: Baseline | None
    segments: tuple[WaitSegment, ...]


def analyze_idle_recovery(
    conditions: IdleRecoveryConditions, window: Sequence[Sample], samples_of: SamplesOf, scale: int = 1
) -> IdleRecoveryResults:
    """Sum up the test; ``window`` are the tracked minutes in which it was steady, none without that.

    ``scale`` is that of a simulated drive.
    """
    segments: list[WaitSegment] = []
    planned_ns, origin_ns = conditions.access_ns, None
    for state in conditions.wait_states:
        waits = samples_of(Phase.WAIT_STATE, state.number)
        returns = samples_of(Phase.RETURN_TO_BASELINE, state.number)
        if not waits:
            continue
        origin_ns = waits[0].started_ns if origin_ns is None else origin_ns
        last = (*waits, *returns)[-1]
        segments.append(
            WaitSegment(
                state=state,
                began_ns=waits[0].started_ns - origin_ns,
                ended_ns=last.started_ns + last.elapsed_ns - origin_ns,
                active=accesses(waits, planned_ns, origin_ns, scale),
                returned=accesses(returns, planned_ns, origin_ns, scale),
                active_summary=summarize_segment(waits, planned_ns, scale),
                returned_summary=summarize_segment(returns, planned_ns, scale),
            )
        )
    summary = summarize_segment(window, conditions.minute_ns, scale)
    if summary is None:
        return IdleRecoveryResults(None, tuple(segments))
    average_iops = fmean(minute.iops for minute in window)
    baseline = Baseline(average_iops=average_iops, minutes=tuple(window), **asdict(summary))
    return IdleRecoveryResults(baseline, tuple(segments))
