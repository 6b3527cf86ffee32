"""What the thermal test asks of a drive, and when it goes on."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.units import GB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, ReadHealth
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import ByteAmount, Duration
from openpts_practice.thermal.script import COLD, DUTY_CYCLE, WARM, standard_conditions
from openpts_practice.thermal.script import script as thermal_test
from tests.unit.procedures.pts.trace.player import Drive, Played

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
    assert fill.stimulus is not None
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
def test_the_cold_run_waits_until_the_drive_is_cool(goal_c: float | None, minutes: int) -> None:
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
