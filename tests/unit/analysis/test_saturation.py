from collections.abc import Sequence

import pytest
from msgspec.structs import replace as with_changes

from openpts.analysis.minutes import minutes_of, pieces_of
from openpts.analysis.saturation import (
    analyze_saturation,
    is_whole_minute,
    spread_of,
    steady_round_of,
    tracked_iops,
    tracked_steps,
    zones_of,
)
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Sample, StepState
from tests.support.interval_samples import step_of

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
    assert found.verdict is not None
    assert (found.verdict.rounds, found.verdict.average, found.steady) == ((3, 4, 5, 6, 7), 10, True)
    last = analyze_saturation(steps, [], MINUTE_NS, None)
    assert last.verdict is not None
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
    assert zones is not None
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


def test_a_plateau_that_is_never_left_has_no_other_zone() -> None:
    sample = course(*[50] * 12)
    zones = zones_of(minutes_of([sample], MINUTE_NS), pieces_of([sample]))
    assert zones is not None
    assert (zones.plateau_minutes, zones.settled_from, zones.end_zone_iops, zones.ratio) == (
        12,
        None,
        None,
        None,
    )
    short = course(*[50] * 9)
    assert zones_of(minutes_of([short], MINUTE_NS), pieces_of([short])) is None


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
    assert zones is not None
    assert (zones.plateau_iops, zones.plateau_minutes, zones.settled_from) == (89, 2, 4)
