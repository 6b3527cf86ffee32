"""Minutes between those that are tracked, against rates that repeat, drift and jump."""

from collections.abc import Callable

import pytest

from openpts.analysis.steady_state import window_ending_at
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_pts.shared.tracking import OtherMinutes, other_minutes
from tests.support.interval_samples import in_turn
from tests.support.player import Drive

MINUTE_NS = 60 * NS_PER_S
PERIOD = 30
STEP = Step.of(Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 4, 32, ActiveRange()), Duration(MINUTE_NS))


def minutes(rate: Callable[[int], float], count: int = 4 * PERIOD + 1) -> list[Sample]:
    """So many steps of a minute; minute 0 is the first."""
    drive = Drive(2**40, lambda _stimulus, _phase, number: rate(number))
    return in_turn(*(drive.sample(Phase.WDPC, number, STEP) for number in range(count)))


def between(rate: Callable[[int], float]) -> OtherMinutes:
    """Tracked minutes are 0, 30, 60, 90 and 120."""
    starts = [number * PERIOD * MINUTE_NS for number in range(5)]
    tracked = [rate(number * PERIOD) for number in range(5)]
    found = other_minutes(
        minutes(rate), window_ending_at(tracked, 5), starts, minute_ns=MINUTE_NS, period_ns=PERIOD * MINUTE_NS
    )
    assert found is not None
    return found


def test_a_period_of_thirty_minutes_is_seen_between() -> None:
    """10 minutes each of 1,000, 2,000 and 4,000: the tracked minutes are all of 1,000, their range is 0."""
    found = between(lambda minute: (1000, 2000, 4000)[minute % PERIOD // 10])
    assert (found.tracked.range_pct, found.tracked.average) == (0, 1000)
    assert (found.rows, found.steady) == (29, 29)
    assert (found.lowest_iops, found.highest_iops) == (1000, 4000)
    assert (found.minimum_iops, found.maximum_iops) == (1000, 4000)
    assert found.elsewhere
    assert not found.agree


def test_a_level_drive_and_a_slow_drift_agree() -> None:
    assert between(lambda minute: 1000 + minute % 7).agree
    # 5 % over the two hours, which the rules allow the tracked minutes as well
    assert between(lambda minute: 1000 - minute * 50 / 120).agree


def test_what_comes_and_goes_once_is_seen_where_it_was() -> None:
    """Minute 45 nearly stands still: the row of minutes 15, 45, 75 and 105 is not steady, its average 775."""
    found = between(lambda minute: 100 if minute == 45 else 1000)
    assert (found.rows, found.steady, found.lowest_iops, found.minimum_iops) == (29, 28, 775, 100)
    assert not found.agree


def test_tracked_minutes_that_are_not_steady_while_all_others_are_disagree() -> None:
    """Every tracked minute, and no other, is twice as fast each time."""
    found = between(lambda minute: 1000 * 2 ** (minute // PERIOD) if minute % PERIOD == 0 else 1000)
    assert not found.tracked.steady
    assert (found.steady, found.agree) == (29, False)
    # and where nothing is steady, nothing says otherwise
    assert between(lambda minute: 10_000 - 75 * minute).agree


@pytest.mark.parametrize("period", [1, PERIOD])
def test_without_minutes_between_there_is_nothing_to_say(period) -> None:
    """Tracked minutes without a pause, or between them one step that has no intervals."""
    verdict = window_ending_at([1000.0] * 5, 5)
    starts = [number * period * MINUTE_NS for number in range(5)]
    long = Step.of(STEP.stimulus, Duration(29 * MINUTE_NS))
    drive = Drive(2**40, lambda _stimulus, _phase, _number: 1000)
    steps = [STEP] * 5 if period == 1 else [STEP, *[long, STEP] * 4]
    samples = [drive.sample(Phase.WDPC, 1, step) for step in steps]
    arguments = {"minute_ns": MINUTE_NS, "period_ns": period * MINUTE_NS}
    assert other_minutes(samples, verdict, starts, **arguments) is None
    assert other_minutes(samples, None, [], **arguments) is None
