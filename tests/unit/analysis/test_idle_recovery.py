"""Bursts, pauses and their sums against numbers worked out by hand."""

import numpy
import pytest
from msgspec.structs import replace as with_changes

from openpts.procedures.pts.hir.results import accesses, late_edges, summarize_segment
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration

WRITES = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 4, 32, ActiveRange())
ON_NS, OFF_NS = 5 * NS_PER_S, 10 * NS_PER_S


def burst(
    started_ns: int, ios: int, *, elapsed_ns: int = ON_NS, mean_ns: int = 1000, mrt_ns: int = 5000
) -> Sample:
    return Sample(
        step=Step.of(WRITES, Duration(ON_NS)),
        state=StepState.COMPLETE,
        ended_by="duration",
        started_ns=started_ns,
        elapsed_ns=elapsed_ns,
        gap_ns=None,
        read=NOTHING,
        write=OperationSample(ios, 4096 * ios, ios * mean_ns, 1, mrt_ns, b""),
        interval_ns=NS_PER_S,
        intervals=(),
        cpu=None,
        failure=None,
    )


def pause(started_ns: int) -> Sample:
    return with_changes(
        burst(started_ns, 0, elapsed_ns=OFF_NS), step=Step.of(None, Duration(OFF_NS)), write=NOTHING
    )


def cycles(counts: list[int], *, late_ns: int = 0, drain_ns: int = 0) -> list[Sample]:
    """Bursts with pauses behind them, which are longer than planned by ``drain_ns`` and ``late_ns``."""
    samples, now_ns = [], 7 * NS_PER_S
    for ios in counts:
        samples.append(burst(now_ns, ios, elapsed_ns=ON_NS + drain_ns))
        now_ns += ON_NS + drain_ns
        samples.append(pause(now_ns))
        now_ns += OFF_NS + late_ns
    return samples


@pytest.mark.proves("PTS-HIR-18")
def test_each_access_is_logged_at_its_end_over_its_active_time() -> None:
    found = accesses(cycles([500, 1000]), ON_NS, 7 * NS_PER_S)
    assert [access.ended_ns for access in found] == [5 * NS_PER_S, 20 * NS_PER_S]
    assert [access.sample.iops for access in found] == [100, 200]
    assert [access.sample.mean_latency_ns for access in found] == [1000, 1000]
    assert [access.sample.max_latency_ns for access in found] == [5000, 5000]


def test_the_pause_is_from_the_last_answer_to_the_next_request() -> None:
    found = accesses(cycles([10, 10, 10], late_ns=2 * NS_PER_MS, drain_ns=3 * NS_PER_MS), ON_NS, 0)
    assert [access.off_error_ns for access in found] == [2 * NS_PER_MS, 2 * NS_PER_MS, None]
    assert [access.on_excess_ns for access in found] == [3 * NS_PER_MS] * 3


def test_a_return_to_baseline_has_no_pauses() -> None:
    steps = [burst(n * ON_NS, 100) for n in range(4)]
    assert [access.off_error_ns for access in accesses(steps, ON_NS, 0)] == [None] * 4
    summary = summarize_segment(steps, ON_NS)
    assert summary is not None
    assert (summary.largest_off_error_ns, summary.mean_off_error_ns) == (None, None)


def test_a_segment_weighs_its_accesses_by_their_ios() -> None:
    few, many = burst(0, 100, mean_ns=9000, mrt_ns=70_000), burst(ON_NS, 900, mean_ns=1000)
    summary = summarize_segment([few, many], ON_NS)
    assert summary is not None
    assert summary.iops == 100
    assert summary.mean_latency_ns == (100 * 9000 + 900 * 1000) / 1000
    assert summary.max_latency_ns == 70_000


def test_percentiles_of_the_accesses_are_those_of_numpy() -> None:
    counts = [100 + (37 * n) % 101 for n in range(60)]
    summary = summarize_segment(cycles(counts), ON_NS)
    assert summary is not None
    low, high = numpy.percentile([ios / 5 for ios in counts], [5, 95])
    assert [summary.low_iops, summary.high_iops] == pytest.approx([low, high])


def test_few_accesses_have_no_percentiles_and_none_have_no_summary() -> None:
    summary = summarize_segment(cycles([5] * 19), ON_NS)
    assert summary is not None
    assert (summary.low_iops, summary.high_iops) == (None, None)
    assert summarize_segment([], ON_NS) is None
    assert summarize_segment([pause(0)], ON_NS) is None
    assert summarize_segment([with_changes(burst(0, 5), state=StepState.INTERRUPTED)], ON_NS) is None


@pytest.mark.proves("PTS-HIR-12")
def test_edges_beyond_the_limit_are_counted_but_not_those_that_the_drive_makes_late() -> None:
    limit_ns = 10 * NS_PER_MS
    assert late_edges(cycles([10] * 4, late_ns=9 * NS_PER_MS), ON_NS, limit_ns) == 0
    assert late_edges(cycles([10] * 4, late_ns=11 * NS_PER_MS), ON_NS, limit_ns) == 3  # the last has no next
    assert late_edges(cycles([10] * 4, drain_ns=11 * NS_PER_MS), ON_NS, limit_ns) == 4
    slow = [
        with_changes(s, write=with_changes(s.write, latency_max_ns=NS_PER_S))
        for s in cycles([10], drain_ns=NS_PER_S)
    ]
    assert late_edges(slow[:1], ON_NS, limit_ns) == 0


def test_a_simulated_drive_is_judged_in_its_own_time() -> None:
    steps = cycles([10] * 3, late_ns=67 * NS_PER_MS, drain_ns=134 * NS_PER_MS)
    found = accesses(steps, ON_NS, 0, scale=67)
    assert [access.on_excess_ns for access in found] == [2 * NS_PER_MS] * 3
    assert [access.off_error_ns for access in found] == [NS_PER_MS, NS_PER_MS, None]
    assert late_edges(steps, ON_NS, 10 * NS_PER_MS, scale=67) == 0
