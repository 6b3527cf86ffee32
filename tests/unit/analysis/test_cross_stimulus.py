"""Access groups and recoveries against numbers worked out by hand."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace as with_changes

from openpts.procedures.kit.steps import THROUGHPUT
from openpts.procedures.pts.xsr.results import GroupSummary, analyze_cross_stimulus
from openpts.units import MB, NS_PER_S
from openpts.vocabulary.sample import NOTHING, CpuShares, Interval, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration

MINUTE_NS = 60 * NS_PER_S
STIMULUS = Stimulus.of(AccessPattern.SEQUENTIAL, 1_000_000, 0, 1, 32, ActiveRange())
MB_IO = 1_000_000
MRT_NS = 9000


def _writes(ios: int, mean_ns: int) -> OperationSample:
    return OperationSample(ios, ios * MB_IO, ios * mean_ns, 1, MRT_NS, b"") if ios else NOTHING


def group(start_ns: int, rates_mb_per_s: Sequence[int], mean_ns: int = 1000) -> list[Sample]:
    """One step with an interval of a minute for each rate, in I/Os of 1 MB."""
    intervals = tuple(
        Interval(
            index=index,
            elapsed_ns=MINUTE_NS,
            read=NOTHING,
            write=_writes(60 * rate, mean_ns),
            in_flight=0,
            errors=0,
            cpu=None,
        )
        for index, rate in enumerate(rates_mb_per_s)
    )
    return [
        Sample(
            step=Step.of(STIMULUS, Duration(len(rates_mb_per_s) * MINUTE_NS)),
            state=StepState.COMPLETE,
            ended_by="duration",
            started_ns=start_ns,
            elapsed_ns=len(rates_mb_per_s) * MINUTE_NS,
            gap_ns=None,
            read=NOTHING,
            write=_writes(sum(60 * rate for rate in rates_mb_per_s), mean_ns),
            interval_ns=MINUTE_NS,
            intervals=intervals,
            cpu=None,
            failure=None,
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
    assert summary.cpu is not None
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
    stable = results.stable_recovery
    assert stable is not None
    # 95 % of the whole group's 520 MB/s is 494: minute 7
    assert stable.bandwidth_bytes_per_s == pytest.approx(494 * MB)
    assert stable.after_ns == 7 * MINUTE_NS + 2 * NS_PER_S


def test_a_drive_that_does_not_recover_has_no_recovery_by_share() -> None:
    groups = three_groups()
    groups[2] = group(groups[2][0].started_ns, [100, 300, 200])
    results = analyze_cross_stimulus(groups, MINUTE_NS)
    assert results.peak_recovery_ns == 2 * MINUTE_NS + 2 * NS_PER_S
    assert [recovery.after_ns for recovery in results.recoveries] == [None] * 4
    assert results.stable_recovery is not None
    assert results.stable_recovery.after_ns is None


def test_groups_that_were_not_reached_leave_the_others() -> None:
    results = analyze_cross_stimulus([*three_groups()[:2], []], MINUTE_NS)
    assert len(results.groups) == 2
    assert (results.peak_recovery_ns, results.recoveries, results.stable_recovery) == (None, (), None)
    assert analyze_cross_stimulus([[], [], []], MINUTE_NS).groups == ()


def test_one_minute_of_noise_makes_no_median_peak() -> None:
    second = group(0, [300] * 5)
    noisy = [100, 900, 400, 450, 474, 480, 499, 500, 510, 505, 490]
    groups = [group(0, FIRST), second, group(second[0].elapsed_ns + START, noisy)]
    peak = analyze_cross_stimulus(groups, MINUTE_NS).median_peak
    assert peak is not None
    # medians of five: 450, 474, 474, 480, 499, 500, 500 - minutes 6 to 10 are the first to have 500
    assert peak.bandwidth_bytes_per_s == pytest.approx(500 * MB)
    assert peak.after_ns == START + 10 * MINUTE_NS


def test_fewer_than_five_minutes_have_no_median_peak() -> None:
    second = group(0, [300] * 5)
    groups = [group(0, FIRST), second, group(second[0].elapsed_ns + START, [100, 200, 300, 400])]
    assert analyze_cross_stimulus(groups, MINUTE_NS).median_peak is None
