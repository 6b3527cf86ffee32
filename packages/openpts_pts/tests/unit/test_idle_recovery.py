"""Bursts, pauses and their sums against numbers worked out by hand."""

from collections.abc import Sequence

import numpy
import pytest
from msgspec.structs import replace as with_changes

from openpts.procedures.kit.steps import THROUGHPUT
from openpts.units import MB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import NOTHING, CpuShares, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_pts.hir.results import accesses, late_edges, summarize_segment
from openpts_pts.xsr.report import KEY_SHARES, GroupSummary, analyze_cross_stimulus
from tests.support.interval_samples import interval_of, sample_of

WRITES = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 4, 32, ActiveRange())
ON_NS, OFF_NS = 5 * NS_PER_S, 10 * NS_PER_S


def burst(
    started_ns: int, ios: int, *, elapsed_ns: int = ON_NS, mean_ns: int = 1000, mrt_ns: int = 5000
) -> Sample:
    return sample_of(
        Step.of(WRITES, Duration(ON_NS)),
        started_ns=started_ns,
        elapsed_ns=elapsed_ns,
        gap_ns=None,
        write=OperationSample(ios, 4096 * ios, ios * mean_ns, 1, mrt_ns, b""),
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
    assert (summary.largest_off_error_ns, summary.mean_off_error_ns) == (None, None)


def test_a_segment_weighs_its_accesses_by_their_ios() -> None:
    few, many = burst(0, 100, mean_ns=9000, mrt_ns=70_000), burst(ON_NS, 900, mean_ns=1000)
    summary = summarize_segment([few, many], ON_NS)
    assert summary.iops == 100
    assert summary.mean_latency_ns == (100 * 9000 + 900 * 1000) / 1000
    assert summary.max_latency_ns == 70_000


def test_percentiles_of_the_accesses_are_those_of_numpy() -> None:
    counts = [100 + (37 * n) % 101 for n in range(60)]
    summary = summarize_segment(cycles(counts), ON_NS)
    low, high = numpy.percentile([ios / 5 for ios in counts], [5, 95])
    assert [summary.low_iops, summary.high_iops] == pytest.approx([low, high])


def test_few_accesses_have_no_percentiles_and_none_have_no_summary() -> None:
    summary = summarize_segment(cycles([5] * 19), ON_NS)
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


MINUTE_NS = 60 * NS_PER_S
STIMULUS = Stimulus.of(AccessPattern.SEQUENTIAL, 1_000_000, 0, 1, 32, ActiveRange())
MB_IO = 1_000_000
MRT_NS = 9000


def _writes(ios: int, mean_ns: int) -> OperationSample:
    return OperationSample(ios, ios * MB_IO, ios * mean_ns, 1, MRT_NS, b"") if ios else NOTHING


def group(start_ns: int, rates_mb_per_s: Sequence[int], mean_ns: int = 1000) -> list[Sample]:
    """One step with an interval of a minute for each rate, in I/Os of 1 MB."""
    intervals = tuple(
        interval_of(index, elapsed_ns=MINUTE_NS, write=_writes(60 * rate, mean_ns))
        for index, rate in enumerate(rates_mb_per_s)
    )
    return [
        sample_of(
            Step.of(STIMULUS, Duration(len(rates_mb_per_s) * MINUTE_NS)),
            started_ns=start_ns,
            elapsed_ns=len(rates_mb_per_s) * MINUTE_NS,
            gap_ns=None,
            write=_writes(sum(60 * rate for rate in rates_mb_per_s), mean_ns),
            interval_ns=MINUTE_NS,
            intervals=intervals,
        )
    ]


def peak(summary: GroupSummary) -> float:
    best = summary.peak(THROUGHPUT)
    return 0 if best is None else best.bandwidth_bytes_per_s


FIRST = [600] * 20 + [500] * 80
THIRD = [100, 250, 400, 450, 474, 480, 499, 500, 510, 505]
START = 5 * NS_PER_S


def three_groups() -> list[list[Sample]]:
    second_ns = START + 100 * MINUTE_NS
    third_ns = second_ns + 50 * MINUTE_NS + 2 * NS_PER_S  # two seconds of gap
    return [group(START, FIRST), group(second_ns, [90] * 50, mean_ns=300), group(third_ns, THIRD)]


@pytest.mark.proves("PTS-XSR-22", "PTS-XSR-24")
def test_groups_have_averages_and_peaks() -> None:
    first, second, third = analyze_cross_stimulus(three_groups(), MINUTE_NS).groups
    assert first.bandwidth_bytes_per_s == pytest.approx(520 * MB)
    assert peak(first) == pytest.approx(600 * MB)
    assert (second.mean_latency_ns, second.max_latency_ns) == (300, 9000)
    assert peak(third) == pytest.approx(510 * MB)
    assert [len(g.minutes) for g in (first, second, third)] == [100, 50, 10]
    assert (first.start_ns, third.start_ns) == (0, 150 * MINUTE_NS + 2 * NS_PER_S)


@pytest.mark.proves("PTS-XSR-22", "PTS-XSR-24")
def test_a_rest_of_a_minute_is_no_peak() -> None:
    """Gaps add up to a few seconds over 8 hours, so that a row of 2 s may follow the last minute."""
    first, second, third = three_groups()
    (step,) = third
    rest = with_changes(step.intervals[0], elapsed_ns=2 * NS_PER_S, write=_writes(2 * 900, 1000))
    follower = with_changes(step, intervals=(rest,), elapsed_ns=2 * NS_PER_S)
    results = analyze_cross_stimulus([first, second, [step, follower]], MINUTE_NS)
    assert len(results.groups[2].minutes) == 11
    assert peak(results.groups[2]) == pytest.approx(510 * MB)
    assert results.peak_recovery_ns == 9 * MINUTE_NS + 2 * NS_PER_S


@pytest.mark.proves("PTS-XSR-25")
def test_processor_use_is_weighed_by_time() -> None:
    """Steps of a group are half an hour long, but for the last one."""
    (long,), (short,) = group(START, [5] * 30), group(START + 30 * MINUTE_NS, [5] * 10)
    cpus = CpuShares(0, 10, 2, 0), CpuShares(0, 50, 6, 0)
    parts = [with_changes(step, cpu=cpu) for step, cpu in zip((long, short), cpus, strict=True)]
    (summary,) = analyze_cross_stimulus([parts], MINUTE_NS).groups
    assert (summary.cpu.sys_pct, summary.cpu.iowait_pct) == (20, 3)
    (without,) = analyze_cross_stimulus([[parts[0], short]], MINUTE_NS).groups
    assert without.cpu is None


@pytest.mark.proves("PTS-XSR-22")
def test_recovery_counts_from_the_end_of_group_2_by_time_stamps() -> None:
    results = analyze_cross_stimulus(three_groups(), MINUTE_NS)
    assert results.peak_recovery_ns == 9 * MINUTE_NS + 2 * NS_PER_S  # minute 9 is the best, with the gap
    # of the last hour's 500 MB/s: 400 in minute 3, 450 in minute 4, 475 in minute 6, 500 in minute 8
    after = {recovery.share: recovery.after_ns for recovery in results.recoveries}
    assert after == {
        share: minute * MINUTE_NS + 2 * NS_PER_S
        for share, minute in ((0.8, 3), (0.9, 4), (0.95, 6), (1.0, 8))
    }
    assert results.to_share(0.95).bandwidth_bytes_per_s == pytest.approx(475 * MB)


def test_a_minute_of_noise_moves_the_peak_and_no_key_value() -> None:
    """Steady from minute 8 on; one of the 24 minutes after it has 1 % more, whichever it is."""
    groups, key_values = three_groups(), set()
    for place in (8, 15, 31):
        rates = [100, 200, 400, 450, 460, 475, 480, 500, *[500] * 24]
        rates[place] *= 1.01
        groups[2] = group(groups[2][0].started_ns, rates)
        results = analyze_cross_stimulus(groups, MINUTE_NS)
        assert results.peak_recovery_ns == (place + 1) * MINUTE_NS + 2 * NS_PER_S
        key_values.add(tuple(results.to_share(share).after_ns for share in KEY_SHARES))
    assert key_values == {(4 * MINUTE_NS + 2 * NS_PER_S, 6 * MINUTE_NS + 2 * NS_PER_S)}


def test_a_drive_that_does_not_recover_has_no_recovery_by_share() -> None:
    groups = three_groups()
    groups[2] = group(groups[2][0].started_ns, [100, 300, 200])
    results = analyze_cross_stimulus(groups, MINUTE_NS)
    assert results.peak_recovery_ns == 2 * MINUTE_NS + 2 * NS_PER_S
    assert [recovery.after_ns for recovery in results.recoveries] == [None] * 4
    assert results.to_share(0.95).after_ns is None


def test_groups_that_were_not_reached_leave_the_others() -> None:
    results = analyze_cross_stimulus([*three_groups()[:2], []], MINUTE_NS)
    assert len(results.groups) == 2
    assert (results.peak_recovery_ns, results.recoveries, results.to_share(0.95)) == (None, (), None)
    assert analyze_cross_stimulus([[], [], []], MINUTE_NS).groups == ()


def test_one_minute_of_noise_makes_no_median_peak() -> None:
    second = group(0, [300] * 5)
    noisy = [100, 900, 400, 450, 474, 480, 499, 500, 510, 505, 490]
    groups = [group(0, FIRST), second, group(second[0].elapsed_ns + START, noisy)]
    peak = analyze_cross_stimulus(groups, MINUTE_NS).median_peak
    # medians of five: 450, 474, 474, 480, 499, 500, 500 - minutes 6 to 10 are the first to have 500
    assert peak.bandwidth_bytes_per_s == pytest.approx(500 * MB)
    assert peak.after_ns == START + 10 * MINUTE_NS


def test_fewer_than_five_minutes_have_no_median_peak() -> None:
    second = group(0, [300] * 5)
    groups = [group(0, FIRST), second, group(second[0].elapsed_ns + START, [100, 200, 300, 400])]
    assert analyze_cross_stimulus(groups, MINUTE_NS).median_peak is None
