"""What the entropy test asks of a drive, and in what order."""

from statistics import fmean
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.units import GB, KIB, NS_PER_S
from openpts.vocabulary.data import RandomData, ReducibleData
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, Purge, SetWriteCache
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration
from openpts_practice.entropy.script import script as entropy_test
from openpts_practice.entropy.script import standard_conditions
from tests.unit.procedures.pts.trace.player import Drive

CAPACITY_BYTES = 1000 * GB
MINUTE = Duration(60 * NS_PER_S)


def requests(**changes: Any) -> list[Any]:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)
    drive = Drive(CAPACITY_BYTES, lambda _stimulus, _phase, _number: 10_000)
    return drive.play(entropy_test(conditions, CAPACITY_BYTES)).requests


def applies(**changes: Any) -> list[Apply]:
    return [request for request in requests(**changes) if isinstance(request, Apply)]


def sweep(number: int, **changes: Any) -> tuple[Step, ...]:
    """Its visits are programs of their own: between two of them the log may be read."""
    return tuple(
        step
        for apply in applies(**changes)
        if (apply.phase, apply.number) == (Phase.SWEEP, number)
        for step in apply.steps
    )


def stimuli(steps: tuple[Step, ...]) -> list[Stimulus]:
    return [step.stimulus for step in steps if step.stimulus is not None]


def test_each_sweep_finds_the_drive_in_the_state_that_belongs_to_it() -> None:
    asked = requests()
    assert isinstance(asked[0], Purge)
    assert asked[1] == SetWriteCache(enabled=False)
    assert list(dict.fromkeys((apply.phase, apply.number) for apply in applies())) == [
        (Phase.CONDITIONING, 1),
        (Phase.SWEEP, 1),
        (Phase.CONDITIONING, 2),
        (Phase.SWEEP, 2),
        (Phase.SWEEP, 3),
    ]
    used = [apply for apply in applies() if apply.phase is Phase.CONDITIONING]
    for apply, order, size in zip(used, (0, 100), (128 * KIB, 4 * KIB), strict=True):
        (step,) = apply.steps
        assert step.stop == ByteAmount(2 * CAPACITY_BYTES)
        assert step.stimulus.random_pct == order
        assert step.stimulus.block_size_bytes == size
        assert step.stimulus.read_pct == 0
        assert step.stimulus.data == RandomData()


@pytest.mark.proves("LSI-ENT-01")
@pytest.mark.parametrize(("number", "demand"), [(1, (1, 32)), (2, (4, 32))])
def test_entropy_goes_up_and_comes_down_again(number: int, demand: tuple[int, int]) -> None:
    steps = sweep(number)
    up = [0, 10, 25, 46, 67, 100]
    assert [s.data for s in stimuli(steps)] == [ReducibleData(pct) for pct in (*up, *reversed(up))]
    assert {(s.tc, s.qd) for s in stimuli(steps)} == {demand}
    assert {step.stop for step in steps} == {MINUTE}


@pytest.mark.proves("LSI-MIX-01")
def test_the_share_of_writes_goes_up_and_comes_down_again() -> None:
    up = list(range(0, 101, 5))
    mixes = stimuli(sweep(3))
    assert [s.operations.write for s in mixes] == up + up[::-1]
    assert [s.operations.read + s.operations.write for s in mixes] == [100] * 42
    assert {(s.random_pct, s.block_size_bytes, s.data) for s in mixes} == {(100, 4 * KIB, RandomData())}


def test_the_mean_place_of_each_level_is_the_same() -> None:
    """So whatever grows by the same amount from step to step adds the same to each level."""
    places: dict[float, list[int]] = {}
    for place, stimulus in enumerate(stimuli(sweep(2))):
        assert isinstance(stimulus.data, ReducibleData)
        places.setdefault(stimulus.data.entropy_pct, []).append(place)
    assert {fmean(found) for found in places.values()} == {5.5}


def test_without_passes_nothing_is_written_before_the_sweeps() -> None:
    assert {apply.phase for apply in applies(precondition_passes=0)} == {Phase.SWEEP}


def test_a_client_drive_has_its_cache_and_a_smaller_demand() -> None:
    conditions = standard_conditions(DriveClass.CLIENT, 1)
    assert (conditions.write_cache_enabled, conditions.tc, conditions.qd) == (True, 2, 16)
