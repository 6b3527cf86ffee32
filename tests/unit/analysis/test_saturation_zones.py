"""What can be read off a course of write saturation, on courses that are known beforehand."""

import pytest

from openpts.analysis.minutes import minutes_of, pieces_of
from openpts.analysis.saturation import Zones, zones_of
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration
from tests.support.interval_samples import in_turn
from tests.unit.procedures.pts.trace.player import Drive

MINUTE_NS = 60 * NS_PER_S
STEP = Step.of(Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 4, 32, ActiveRange()), Duration(MINUTE_NS))


def zones(course: list[float]) -> Zones | None:
    """The zones of a course with so many IOPS in each minute."""
    drive = Drive(2**40, lambda stimulus, phase, number: course[number])
    samples = in_turn(*(drive.sample(Phase.SATURATION, number, STEP) for number in range(len(course))))
    return zones_of(minutes_of(samples, MINUTE_NS), pieces_of(samples))


@pytest.mark.proves("PTS-WSAT-34")
def test_plateau_transition_and_settled_level() -> None:
    transition = [60_000 - 2_000 * minute for minute in range(20)]
    found = zones([60_000] * 30 + transition + [20_000, 22_000] * 35)
    assert found is not None
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
def test_oscillation_and_stalls_are_told() -> None:
    found = zones([50_000] * 10 + [30_000] * 130 + [5_000, 30_000] * 3)
    assert found is not None
    assert found.settled_from == 11
    share = 3 / 136
    expected = 25_000 * (share * (1 - share)) ** 0.5 / (30_000 - 25_000 * share)
    assert found.variation_pct == pytest.approx(100 * expected)
    assert found.lowest_iops == 5_000
    assert found.below_half_ns == 3 * MINUTE_NS


def test_a_plateau_that_is_never_left_has_no_end_zone() -> None:
    found = zones([50_000] * 40)
    assert found is not None
    assert (found.plateau_minutes, found.settled_from, found.end_zone_iops) == (40, None, None)


def test_too_few_minutes_are_not_divided() -> None:
    assert zones([50_000] * 9) is None
