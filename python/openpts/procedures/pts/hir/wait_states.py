"""A whole HIR test from its samples: segments on one time axis, and the baseline they are held against."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from openpts.analysis.comparison import gain_pct
from openpts.procedures.pts.hir.conditions import IdleRecoveryConditions, WaitState
from openpts.procedures.pts.hir.results import Access, SegmentSummary, accesses, summarize_segment
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample

SamplesOf = Callable[[Phase, int], Sequence[Sample]]


@dataclass(frozen=True, slots=True)
class Segment:
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


@dataclass(frozen=True, slots=True)
class IdleRecoveryResults:
    """``baseline`` sums up the tracked minutes of the window of steady state (openpts' reading of 11.2).

    Its IOPS are their average, which is the tracking variable's average in the window (2.1.24).
    """

    baseline: SegmentSummary | None
    segments: tuple[Segment, ...]

    def gain_pct(self, segment: Segment) -> float | None:
        """IOPS of the wait state above the baseline, in per cent of it."""
        if self.baseline is None or segment.active_summary is None:
            return None
        return gain_pct(self.baseline.iops, segment.active_summary.iops)


def analyze_idle_recovery(
    conditions: IdleRecoveryConditions, window: Sequence[Sample], samples_of: SamplesOf, scale: int = 1
) -> IdleRecoveryResults:
    """Sum up the test; ``window`` are the tracked minutes in which it was steady, none without that.

    ``scale`` is that of a simulated drive.
    """
    parts = [
        (
            state,
            samples_of(Phase.WAIT_STATE, state.number),
            samples_of(Phase.RETURN_TO_BASELINE, state.number),
        )
        for state in conditions.wait_states
    ]
    begun = [(state, waits, returns) for state, waits, returns in parts if waits]
    origin_ns = begun[0][1][0].started_ns if begun else 0
    planned_ns = conditions.access_ns
    return IdleRecoveryResults(
        baseline=_baseline(window, conditions.minute_ns, scale),
        segments=tuple(
            Segment(
                state=state,
                began_ns=waits[0].started_ns - origin_ns,
                ended_ns=_end_ns([*waits, *returns]) - origin_ns,
                active=accesses(waits, planned_ns, origin_ns, scale),
                returned=accesses(returns, planned_ns, origin_ns, scale),
                active_summary=summarize_segment(waits, planned_ns, scale),
                returned_summary=summarize_segment(returns, planned_ns, scale),
            )
            for state, waits, returns in begun
        ),
    )


def _baseline(window: Sequence[Sample], minute_ns: int, scale: int) -> SegmentSummary | None:
    summary = summarize_segment(window, minute_ns, scale)
    return replace(summary, iops=fmean(minute.iops for minute in window)) if summary else None


def _end_ns(samples: Sequence[Sample]) -> int:
    return samples[-1].started_ns + samples[-1].elapsed_ns
