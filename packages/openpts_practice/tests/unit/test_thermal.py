"""What the thermal test asks of a drive, and when it goes on."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.units import GB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.requests import Apply, ReadHealth
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import ByteAmount, Duration, Step
from openpts_practice.thermal import COLD, DUTY_CYCLE, WARM
from openpts_practice.thermal.results import (
    HeatPoint,
    ThrottlingEvidence,
    counters_rose,
    has_cooled,
    is_stable,
    merged,
    reference_of,
    throttling_of,
    whole_minutes,
)
from openpts_practice.thermal.script import script as thermal_test
from openpts_practice.thermal.script import standard_conditions
from tests.support.player import Drive, Played

CAPACITY_BYTES = 1000 * GB
MINUTE_NS = 60 * NS_PER_S

Log = Callable[[Phase, int, int], Mapping[str, float]]
"""Values by part, number, and how often the log was read in it before."""


def play(
    log: Log = lambda *_: {}, rate: Callable[[Phase, int], float] = lambda *_: 10_000, **changes: Any
) -> Played:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)
    reads: dict[tuple[Phase, int], int] = {}

    def health(phase: Phase, number: int) -> HealthReading:
        before = reads.get((phase, number), 0)
        reads[phase, number] = before + 1
        return HealthReading("made up", log(phase, number, before))

    drive = Drive(CAPACITY_BYTES, lambda _stimulus, phase, number: rate(phase, number), health)
    return drive.play(thermal_test(conditions, CAPACITY_BYTES))


def steps(played: Played, phase: Phase, number: int) -> list[Step]:
    return [a.step for a in played.applied if (a.phase, a.number) == (phase, number)]


def test_the_parts_in_their_order() -> None:
    played = play()
    order = dict.fromkeys((r.phase, r.number) for r in played.requests if isinstance(r, Apply))
    assert list(order) == [
        (Phase.CONDITIONING, 1),
        (Phase.REST, COLD),
        (Phase.LOAD, COLD),
        (Phase.REST, WARM),
        (Phase.LOAD, WARM),
        (Phase.REST, DUTY_CYCLE),
        (Phase.LOAD, DUTY_CYCLE),
    ]
    (fill,) = steps(played, Phase.CONDITIONING, 1)
    assert fill.stop == ByteAmount(CAPACITY_BYTES)
    assert (fill.stimulus.random_pct, fill.stimulus.block_size_bytes) == (0, 128 * KIB)
    assert (fill.stimulus.read_pct, fill.stimulus.toio) == (0, 32)


def test_a_drive_that_tells_nothing_idles_and_works_for_as_long_as_it_may() -> None:
    played = play()
    assert played.elapsed_s(Phase.REST) == (30 + 5 + 5) * 60
    assert len(steps(played, Phase.LOAD, COLD)) == len(steps(played, Phase.LOAD, WARM)) == 30
    assert all(step.stop == Duration(MINUTE_NS) for step in steps(played, Phase.LOAD, COLD))


def test_the_duty_cycle_takes_turns() -> None:
    turns = steps(
        play(busy_ns=3 * NS_PER_S, idle_ns=7 * NS_PER_S, duty_ns=50 * NS_PER_S), Phase.LOAD, DUTY_CYCLE
    )
    assert [step.stop for step in turns] == [Duration(3 * NS_PER_S), Duration(7 * NS_PER_S)] * 5
    assert [step.stimulus is None for step in turns] == [False, True] * 5


@pytest.mark.parametrize(("goal_c", "minutes"), [(None, 9), (45.0, 3), (20.0, 30)])
def test_the_cold_run_waits_until_the_drive_is_cool(goal_c, minutes) -> None:
    """60, 55, 50, 45, 40 °C and no less, a look each minute: five minutes after the fourth it is settled."""

    def cooling(phase: Phase, number: int, reads: int) -> Mapping[str, float]:
        first = (phase, number) == (Phase.REST, COLD)
        return {"temperature_c": max(40.0, 60.0 - 5 * reads)} if first else {"temperature_c": 40.0}

    assert len(steps(play(cooling, cool_c=goal_c), Phase.REST, COLD)) == minutes


def test_a_run_ends_when_the_throttled_drive_is_stable() -> None:
    """A counter rises in the fourth minute and in each one after it: five minutes later the run may end."""

    def counting(phase: Phase, number: int, reads: int) -> Mapping[str, float]:
        loaded = phase is Phase.LOAD and number in {COLD, WARM}
        return {"temperature_c": 70.0, "throttled_s": float(max(0, reads - 3)) if loaded else 0.0}

    played = play(counting)
    assert len(steps(played, Phase.LOAD, COLD)) == 4 + 5
    assert len(steps(played, Phase.LOAD, WARM)) == 4 + 5
    # the log before the run, and after each minute
    asked = [r for r in played.requests if isinstance(r, ReadHealth) and r == ReadHealth(Phase.LOAD, COLD)]
    assert len(asked) == 1 + 9


def test_without_preconditioning_nothing_is_written_before() -> None:
    assert not steps(play(precondition_passes=0), Phase.CONDITIONING, 1)


MINUTE = 60 * NS_PER_S


def course(
    rates: list[int],
    temperatures: list[float | None],
    words: list[bool | None] | None = None,
    *,
    length_s: int = 60,
) -> list[HeatPoint]:
    """Points of equal length, at so many bytes a second."""
    words = words or [None] * len(rates)
    return [
        HeatPoint((n + 1) * length_s * NS_PER_S, length_s * NS_PER_S, rate * length_s, celsius, word)
        for n, (rate, celsius, word) in enumerate(zip(rates, temperatures, words, strict=True))
    ]


@pytest.mark.proves("HYP-TMP-02")
def test_the_drives_own_word_decides_whatever_its_speed() -> None:
    points = course([100, 100, 90, 100], [30, 30, 30, 30], [False, False, True, True], length_s=1)
    found = throttling_of(points, 100, MINUTE)
    assert found.evidence is ThrottlingEvidence.DRIVE
    assert found.first_ns == 2 * NS_PER_S
    assert found.bytes_before == 200
    assert found.before_bytes_per_s == 100
    assert found.throttled_bytes_per_s == 95
    assert found.share == Fraction(1, 2)


def test_a_drive_that_says_it_did_not_throttle_is_believed() -> None:
    """A cache that is full: slow while warm, and for another reason than heat."""
    points = course([100, 100, 10, 10], [30, 60, 61, 61], [False] * 4)
    found = throttling_of(points, 100, MINUTE)
    assert (found.evidence, found.seen, found.share) == (ThrottlingEvidence.NONE, False, 0)
    assert found.before_bytes_per_s == 55


def test_without_a_word_slow_minutes_count_while_it_is_hot() -> None:
    # slow at 60 °C too, but that is further from the highest than 3 K
    points = course([100, 79, 100, 79, 81, 50], [30, 60, 66, 67, 70, 70])
    found = throttling_of(points, 100, MINUTE)
    assert found.evidence is ThrottlingEvidence.SPEED
    assert found.first_ns == 3 * MINUTE
    assert found.bytes_before == 60 * (100 + 79 + 100)
    assert found.throttled_bytes_per_s == pytest.approx((79 + 50) / 2)
    assert found.share == pytest.approx(2 / 6)


@pytest.mark.parametrize(
    ("temperatures", "evidence"),
    [
        ([41, 50, 50, 50], ThrottlingEvidence.NONE),  # 9 K are no heat to speak of
        ([40, 50, 50, 50], ThrottlingEvidence.SPEED),
        ([None, None, None, None], ThrottlingEvidence.UNKNOWN),
    ],
)
def test_a_run_that_did_not_warm_the_drive_shows_no_throttling(temperatures, evidence) -> None:
    found = throttling_of(course([100, 50, 50, 50], temperatures), 100, MINUTE)
    assert found.evidence is evidence
    assert (found.share is None) is (evidence is ThrottlingEvidence.UNKNOWN)


def test_a_counter_that_rose_is_a_word_and_one_that_stood_still_is_none() -> None:
    before = {"throttle_events": 3.0, "throttled_s": 10.0, "temperature_c": 50.0}
    assert counters_rose(before, before | {"throttle_events": 4.0}) is True
    assert counters_rose(before, before | {"throttled_s": 11.0}) is True
    assert counters_rose(before, before | {"temperature_c": 90.0}) is None
    assert counters_rose({}, {"throttled_s": 11.0}) is None


def test_points_are_put_together_without_losing_a_byte() -> None:
    points = course([10, 20, 30, 40, 50], [1, 2, 3, 4, 5], [False, True, False, None, False], length_s=30)
    minutes = merged(points, MINUTE)
    assert [m.written_bytes for m in minutes] == [900, 2100, 1500]
    assert [m.temperature_c for m in minutes] == [2, 4, 5]
    assert [m.throttled for m in minutes] == [True, None, False]
    assert [m.begin_ns for m in minutes] == [0, MINUTE, 2 * MINUTE]
    assert sum(m.written_bytes for m in minutes) == sum(p.written_bytes for p in points)


def test_the_last_moments_of_a_run_are_no_minute() -> None:
    points = [*course([100, 100], [30, 50]), HeatPoint(2 * MINUTE + 8, 8, 0, 50)]
    assert len(whole_minutes(points, MINUTE)) == 2
    assert throttling_of(points, 100, MINUTE).evidence is ThrottlingEvidence.NONE
    # unless there is nothing else
    assert whole_minutes(points[2:], MINUTE) == tuple(points[2:])


def test_the_reference_is_the_first_minute() -> None:
    assert reference_of(course([10, 30, 500], [1, 1, 1], length_s=30), MINUTE) == 20
    assert reference_of(course([10], [1], length_s=90), MINUTE) == 10
    assert reference_of([], MINUTE) == 0


@pytest.mark.parametrize(
    ("rates", "stable"), [([95, 100, 105], True), ([94, 100, 105], False), ([100, 100], False)]
)
def test_speed_is_stable_within_a_tenth_of_its_mean(rates, stable) -> None:
    assert is_stable(course(rates, [1.0] * len(rates)), 3) is stable


@pytest.mark.parametrize(
    ("temperatures", "goal", "cooled"),
    [
        ([60, 50, 41], 40, False),
        ([60, 50, 40], 40, True),
        ([], 40, False),
        ([50, 45, 44, 44, 44, 44], None, False),  # 6 K over five looks
        ([50, 45, 44, 44, 44, 44, 44], None, False),  # 1 K
        ([50, 45, 44, 44, 44, 44, 44, 44], None, True),
        ([40, 41, 42, 43, 44, 45], None, True),  # it even warms
        ([44, 44, 44, 44, 44], None, False),  # too few looks
    ],
)
def test_a_drive_is_cool_at_its_goal_or_when_it_cools_no_more(temperatures, goal, cooled) -> None:
    assert has_cooled(temperatures, goal) is cooled
