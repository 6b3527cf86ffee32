"""What can be read off a course of write saturation, on courses that are known beforehand."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace as with_changes

from openpts.analysis.minutes import minutes_of, pieces_of
from openpts.record.reader import StepRecord
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.sample import OperationSample, Phase, Sample, StepPlace, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_pts.shared.saturation import (
    SaturationZones,
    analyze_saturation,
    is_whole_minute,
    spread_of,
    steady_round_of,
    tracked_iops,
    tracked_steps,
    zones_of,
)
from openpts_pts.shared.tracking import TrackingResults, analyze_tracking
from tests.support.interval_samples import in_turn, sample_of, step_of
from tests.support.player import Drive

MINUTE_NS = 60 * NS_PER_S
PERIOD_NS = 30 * MINUTE_NS


def steady(per_s: int, seconds: int) -> Sample:
    return step_of([[5000] * per_s] * seconds)


def course(*minutes: Sequence[int] | int) -> Sample:
    """Writes per second of each second of each minute; one number is the same for all of it."""
    seconds = [rate for minute in minutes for rate in ([minute] * 60 if isinstance(minute, int) else minute)]
    return step_of([[5000] * rate for rate in seconds])


@pytest.mark.proves("PTS-WSAT-09")
def test_tracked_minutes_are_those_at_the_ends_of_tracking_rounds_however_they_were_applied() -> None:
    whole = [(1, steady(9, 60)), (2, steady(5, 1740)), (2, steady(8, 60)), (3, steady(5, 1740))]
    cut = [
        (3, steady(7, 60)),
        (4, steady(4, 60)),
        (4, steady(4, 60)),
        (4, steady(6, 1620)),
        (4, steady(3, 60)),
    ]
    steps = tracked_steps([*whole, *cut], MINUTE_NS, PERIOD_NS)
    assert [step.tracked for step in steps] == [True, False, True, False, True, False, False, False, True]
    assert tracked_iops(steps, MINUTE_NS) == (9, 8, 7, 3)


def test_a_minute_that_was_cut_short_is_not_tracked() -> None:
    short = steady(9, 59)
    assert not is_whole_minute(short, MINUTE_NS)
    assert not is_whole_minute(with_changes(steady(9, 60), state=StepState.INTERRUPTED), MINUTE_NS)
    steps = tracked_steps([(1, steady(9, 60)), (2, steady(5, 1740)), (2, short)], MINUTE_NS, PERIOD_NS)
    assert tracked_iops(steps, MINUTE_NS) == (9,)


def test_the_window_ends_at_the_steady_round_or_else_at_the_last_one() -> None:
    rates = (30, 20, 10, 10, 10, 10, 10, 12)
    numbered = [(1, steady(rates[0], 60))]
    for number, rate in enumerate(rates[1:], start=2):
        numbered += [(number, steady(1, 1740)), (number, steady(rate, 60))]
    steps = tracked_steps(numbered, MINUTE_NS, PERIOD_NS)
    found = analyze_saturation(steps, [], MINUTE_NS, 7)
    assert (found.verdict.rounds, found.verdict.average, found.steady) == ((3, 4, 5, 6, 7), 10, True)
    last = analyze_saturation(steps, [], MINUTE_NS, None)
    assert (last.verdict.rounds, last.steady) == ((4, 5, 6, 7, 8), False)
    few = analyze_saturation(steps[:5], [], MINUTE_NS, None)
    assert (few.verdict, few.histogram, few.tracked_iops) == (None, None, (30, 20, 10))
    assert few.written_bytes == (60 * 60 + 2 * 1740) * 4096


def test_a_stimulus_that_was_cut_short_is_steady_where_the_test_would_have_found_it() -> None:
    rates = (30, 20, 10, 10, 10, 10, 10, 10)
    numbered = [(1, steady(rates[0], 60))]
    for number, rate in enumerate(rates[1:], start=2):
        numbered += [(number, steady(1, 1740)), (number, steady(rate, 60))]
    steps = tracked_steps(numbered, MINUTE_NS, PERIOD_NS)
    assert steady_round_of(steps, MINUTE_NS, 0) == 7
    # the seventh round ends with 60 x (30 + 20 + 5 x 10) + 6 x 1740 writes, the eighth with 2,340 more
    written = (6000 + 6 * 1740) * 4096
    assert steady_round_of(steps, MINUTE_NS, written) == 7
    assert steady_round_of(steps, MINUTE_NS, written + 1) == 8
    assert steady_round_of(steps, MINUTE_NS, written + 2340 * 4096 + 1) is None
    assert steady_round_of(steps[:12], MINUTE_NS, 0) is None


@pytest.mark.proves("PTS-WSAT-34")
def test_zones_follow_their_rule() -> None:
    """Ten minutes of 100, two between, then 40: with one second of none and two of 15 in the last minute."""
    tail = [40] * 57 + [0, 15, 15]
    sample = course(*[100] * 10, 80, 60, *[40] * 27, tail)
    zones = zones_of(minutes_of([sample], MINUTE_NS), pieces_of([sample]))
    assert (zones.plateau_iops, zones.plateau_minutes, zones.settled_from) == (100, 10, 13)
    zone_seconds = [40] * 27 * 60 + tail
    mean = sum(zone_seconds) / len(zone_seconds)
    assert zones.end_zone_iops == pytest.approx(mean)
    assert zones.final_iops == pytest.approx((40 * 9 * 60 + sum(tail)) / 600)
    assert zones.lowest_iops == 0
    assert zones.below_half_ns == 3 * NS_PER_S
    variance = sum((rate - mean) ** 2 for rate in zone_seconds) / len(zone_seconds)
    assert zones.variation_pct == pytest.approx(100 * variance**0.5 / mean)
    assert zones.ratio == pytest.approx(100 / mean)


def test_the_spread_of_a_minute_is_of_whole_intervals() -> None:
    samples = [
        step_of([[5000] * rate for rate in [3, 9, *[5] * 118]]),
        step_of([[5000]], last_ns=NS_PER_S // 100),
    ]
    minutes = minutes_of(samples, MINUTE_NS)
    assert spread_of(minutes, pieces_of(samples)) == ((3, 9), (5, 5), None)


def test_a_plateau_shorter_than_five_minutes_is_measured_by_its_first() -> None:
    sample = course(90, 88, 20, *[10] * 12)
    zones = zones_of(minutes_of([sample], MINUTE_NS), pieces_of([sample]))
    assert (zones.plateau_iops, zones.plateau_minutes, zones.settled_from) == (89, 2, 4)


STEP = Step.of(Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 4, 32, ActiveRange()), Duration(MINUTE_NS))


def zones(course: list[float]) -> SaturationZones | None:
    """The zones of a course with so many IOPS in each minute."""
    drive = Drive(2**40, lambda stimulus, phase, number: course[number])
    samples = in_turn(*(drive.sample(Phase.SATURATION, number, STEP) for number in range(len(course))))
    return zones_of(minutes_of(samples, MINUTE_NS), pieces_of(samples))


@pytest.mark.proves("PTS-WSAT-34")
def test_plateau_transition_and_settled_level() -> None:
    transition = [60_000 - 2_000 * minute for minute in range(20)]
    found = zones([60_000] * 30 + transition + [20_000, 22_000] * 35)
    # within 10 % of the first five minutes are 60,000, 58,000, 56,000 and 54,000: its figure is of all of it
    assert found.plateau_minutes == 34
    assert found.plateau_iops == pytest.approx((31 * 60_000 + 58_000 + 56_000 + 54_000) / 34)
    assert found.final_iops == 21_000
    # the first within 10 % of 21,000 is 22,000, the last of the transition
    assert found.settled_from == 50
    assert found.end_zone_iops == pytest.approx((22_000 + 35 * 42_000) / 71)
    assert found.lowest_iops == 20_000
    assert found.below_half_ns == 0
    assert found.ratio == pytest.approx(found.plateau_iops / found.end_zone_iops)


@pytest.mark.proves("PTS-WSAT-34")
def test_a_fall_within_the_first_minute_leaves_no_plateau() -> None:
    """600,000 of a cache for 12 seconds, then 40,000: their mean over the minute is the rate of no second."""
    sample = course([600] * 12 + [40] * 48, *[40] * 30)
    found = zones_of(minutes_of([sample], MINUTE_NS), pieces_of([sample]))
    assert (found.plateau_iops, found.plateau_minutes, found.ratio) == (None, 0, None)
    assert (found.cache_iops, found.behind_iops, found.end_zone_iops) == (600, 40, 40)
    assert found.fresh_bytes == 12 * 600 * 4096


@pytest.mark.proves("PTS-WSAT-34")
def test_a_plateau_ends_with_the_fall_of_its_intervals() -> None:
    """A level that rests for a second now and then is one, and no fall within the first minute."""
    level = [100] * 29 + [20] + [100] * 30
    sample = course(*[level] * 10, [*level[:45], *[40] * 15], *[40] * 30)
    found = zones_of(minutes_of([sample], MINUTE_NS), pieces_of([sample]))
    written = 10 * sum(level) + sum(level[:45])
    assert found.fresh_bytes == written * 4096
    assert found.plateau_iops == pytest.approx(written / 645)
    assert (found.cache_iops, found.behind_iops) == (None, 40)


@pytest.mark.parametrize("seconds", [[100, 60] * 30, [*[100] * 30, *[95] * 30]], ids=["restless", "by 5 %"])
def test_neither_scatter_nor_a_small_step_is_a_fall(seconds) -> None:
    sample = course(*[seconds] * 20)
    found = zones_of(minutes_of([sample], MINUTE_NS), pieces_of([sample]))
    assert (found.plateau_minutes, found.fresh_bytes, found.behind_iops) == (20, None, None)


@pytest.mark.proves("PTS-WSAT-34")
def test_oscillation_and_stalls_are_told() -> None:
    found = zones([50_000] * 10 + [30_000] * 130 + [5_000, 30_000] * 3)
    assert found.settled_from == 11
    share = 3 / 136
    expected = 25_000 * (share * (1 - share)) ** 0.5 / (30_000 - 25_000 * share)
    assert found.variation_pct == pytest.approx(100 * expected)
    assert found.lowest_iops == 5_000
    assert found.below_half_ns == 3 * MINUTE_NS


def test_a_plateau_that_is_never_left_has_no_end_zone() -> None:
    found = zones([50_000] * 40)
    assert (found.plateau_minutes, found.settled_from, found.end_zone_iops) == (40, None, None)


def test_too_few_minutes_are_not_divided() -> None:
    assert zones([50_000] * 9) is None


STIMULUS = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 32, 32, ActiveRange())


def measured(iops: int, length_ns: int, state: StepState = StepState.COMPLETE) -> Sample:
    ios = iops * length_ns // NS_PER_S
    return sample_of(
        Step.of(STIMULUS, Duration(length_ns)),
        state=state,
        elapsed_ns=length_ns,
        write=OperationSample(ios, ios * 4096, ios, 1, 1, b""),
    )


def tracked(number: int, position: int, sample: Sample) -> StepRecord:
    return StepRecord(StepPlace(1, Phase.WDPC, number, position), sample)


def steps_of(tracked_iops: list[int], between_iops: int = 7) -> list[StepRecord]:
    """Minute 1, then 29 minutes and a minute for each further tracking round."""
    steps = [tracked(1, 0, measured(tracked_iops[0], MINUTE_NS))]
    for number, iops in enumerate(tracked_iops[1:], start=2):
        steps.append(tracked(number, 0, measured(between_iops, PERIOD_NS - MINUTE_NS)))
        steps.append(tracked(number, 1, measured(iops, MINUTE_NS)))
    return steps


def analyzed(steps: list[StepRecord]) -> TrackingResults:
    placed = in_turn(*(step.sample for step in steps))
    steps = [StepRecord(step.place, sample) for step, sample in zip(steps, placed, strict=True)]
    return analyze_tracking(steps, minute_ns=MINUTE_NS, period_ns=PERIOD_NS)


@pytest.mark.proves("PTS-CBW-18", "PTS-DIRTH-10", "PTS-HIR-09")
def test_tracked_are_minute_1_and_those_30_minutes_apart() -> None:
    results = analyzed(steps_of([500, 300, 200]))
    assert list(results.iops) == [500, 300, 200]
    assert [start_ns // MINUTE_NS for start_ns in results.starts_ns] == [0, 30, 60]
    assert [end_ns // MINUTE_NS for end_ns in results.ends_ns] == [1, 31, 61]
    assert results.verdict is None
    assert not results.steady
    assert results.window.rounds == (1, 2, 3)


def test_the_window_ends_with_the_first_steady_round() -> None:
    results = analyzed(steps_of([500, 300, 100, 100, 101, 100, 100]))
    assert results.window.rounds == (3, 4, 5, 6, 7)
    assert results.steady
    assert [minute.iops for minute in results.window_minutes] == [100, 100, 101, 100, 100]
    later = analyzed(steps_of([100, 100, 100, 100, 100, 900]))
    assert later.window.rounds == (1, 2, 3, 4, 5)
    assert later.steady


def test_without_steady_state_the_window_is_the_last_one() -> None:
    results = analyzed(steps_of([100, 200] * 4))
    assert results.window.rounds == (4, 5, 6, 7, 8)
    assert results.verdict is not None
    assert not results.steady


def test_a_round_without_its_complete_minute_ends_the_series() -> None:
    steps = steps_of([100, 100, 100])
    cut_short = [*steps[:-1], tracked(3, 1, measured(100, MINUTE_NS // 3, StepState.INTERRUPTED))]
    results = analyzed(cut_short)
    assert (results.begun, len(results.minutes)) == (3, 2)
    # what lies between two tracked minutes is none, however long a minute is
    filling = tracked(2, 0, measured(100, MINUTE_NS))
    doubled = analyze_tracking(
        [tracked(1, 0, measured(100, MINUTE_NS)), filling], minute_ns=MINUTE_NS, period_ns=2 * MINUTE_NS
    )
    assert len(doubled.minutes) == 1


def test_minutes_without_time_between_them_are_all_tracked() -> None:
    steps = [tracked(number, 0, measured(100, MINUTE_NS)) for number in range(1, 7)]
    results = analyze_tracking(steps, minute_ns=MINUTE_NS, period_ns=MINUTE_NS)
    assert len(results.minutes) == 6
    assert results.window.rounds == (1, 2, 3, 4, 5)


def test_nothing_is_nothing() -> None:
    results = analyzed([])
    assert (results.begun, results.minutes, results.window.rounds) == (0, (), ())
