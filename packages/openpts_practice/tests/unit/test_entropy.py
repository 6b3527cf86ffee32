"""What the entropy test asks of a drive, and in what order."""

from collections.abc import Mapping
from fractions import Fraction
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from openpts.units import GB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, Purge, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import ByteAmount, Duration, RandomData, ReducibleData, Step, Stimulus
from openpts_practice.entropy.report import (
    EntropyEffect,
    PropertyLevel,
    Reduction,
    entropy_effect,
    levels_of,
    loss_pct,
    sweep_drift_pct,
)
from openpts_practice.entropy.script import script as entropy_test
from openpts_practice.entropy.script import standard_conditions
from tests.support.player import Drive

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
def test_entropy_goes_up_and_comes_down_again(number, demand) -> None:
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


def levels(visits: list[tuple[float, float]]) -> tuple[PropertyLevel, ...]:
    """Levels of (level, figure) in the order in which they were measured."""
    return levels_of(visits, lambda level: level, lambda figure: figure)


def both_ways(figures: dict[float, float], per_step: float = 0.0) -> list[tuple[float, float]]:
    """Visits on the way up and down, on a drive that changes by so much with every step."""
    order = [*figures, *reversed(figures)]
    return [(level, figures[level] + place * per_step) for place, level in enumerate(order)]


def test_visits_are_kept_in_their_order_and_levels_rise() -> None:
    found = levels([(46.0, 5.0), (0.0, 9.0), (0.0, 7.0), (46.0, 3.0)])
    assert found == (PropertyLevel(0.0, (9.0, 7.0)), PropertyLevel(46.0, (5.0, 3.0)))
    assert [level.mean for level in found] == [8.0, 4.0]


def test_a_steady_drift_adds_the_same_to_each_level() -> None:
    figures = {0.0: 800.0, 25.0: 650.0, 46.0: 500.0, 100.0: 400.0}
    still, drifting = (levels(both_ways(figures, step)) for step in (0.0, -16.0))
    shifts = {Fraction(b.mean) - Fraction(a.mean) for a, b in zip(still, drifting, strict=True)}
    assert shifts == {Fraction(-16 * 7, 2)}


def test_drift_is_that_of_the_level_whose_visits_differ_most() -> None:
    found = levels(both_ways({0.0: 800.0, 100.0: 400.0}, -16.0))
    # 800 and 752 at 0 %; 384 and 368 at 100 %
    assert found[0].drift_pct == pytest.approx(-6)
    assert found[1].drift_pct == pytest.approx(100 * (368 / 384 - 1))
    assert sweep_drift_pct(found) == pytest.approx(-6)


def test_a_single_visit_tells_no_drift() -> None:
    found = levels([(0.0, 5.0), (100.0, 4.0)])
    assert sweep_drift_pct(found) is None


# A shared machine under load: SEQ 128 KiB writes of a file, whose storage does not reduce data.
RESTLESS_MB_PER_S: Mapping[float, tuple[float, ...]] = {
    0: (2900.9, 2768.2),
    10: (2722.4, 2396.0),
    25: (2747.0, 2586.4),
    46: (2964.8, 2156.9),
    67: (2904.9, 2016.2),
    100: (1866.4, 2331.1),
}


def effect_of(visits: Mapping[float, tuple[float, ...]]) -> EntropyEffect:
    effect = entropy_effect(tuple(PropertyLevel(level, found) for level, found in visits.items()))
    assert effect is not None
    return effect


def test_scatter_is_no_effect_of_the_data() -> None:
    effect = effect_of(RESTLESS_MB_PER_S)
    assert effect.factor == pytest.approx(1.35, abs=0.005)
    assert effect.reduction is Reduction.UNDECIDED


def test_the_interval_is_that_of_students_t() -> None:
    """By SciPy: differences of two visits scatter by s √2, means of two by s / √2, so both ends by s."""
    effect = effect_of(RESTLESS_MB_PER_S)
    logs = [np.log(b / a) for a, b in RESTLESS_MB_PER_S.values()]
    scatter = np.sqrt(np.sum(np.square(logs)) / 2 / 6)
    reach = np.exp(stats.t.ppf(0.995, 6) * scatter)
    assert effect.factor is not None
    assert effect.interval == pytest.approx((effect.factor / reach, effect.factor * reach), rel=1e-9)


@pytest.mark.parametrize(
    ("least", "verdict"),
    [
        (211.0, Reduction.SEEN),
        (210.0, Reduction.SEEN),  # exactly the limit
        (209.9, Reduction.NONE),
        (150.0, Reduction.NONE),
    ],
)
def test_without_scatter_the_limit_alone_decides(least, verdict) -> None:
    assert effect_of({0: (least, least), 46: (1.0, 1.0), 100: (200.0, 200.0)}).reduction is verdict


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, Reduction.NONE), (1.04, Reduction.UNDECIDED), (1.06, Reduction.UNDECIDED), (1.1, Reduction.SEEN)],
)
def test_near_the_limit_there_is_no_verdict(factor, verdict) -> None:
    """Visits 1 % apart at six levels: the ends differ by 0.7 % x 3.7 = 2.6 % at the most."""
    visits = dict.fromkeys((10, 25, 46, 67), (100.0, 101.0))
    ends = {0: (100 * factor, 101 * factor), 100: (100.0, 101.0)}
    effect = effect_of({0: ends[0], **visits, 100: ends[100]})
    assert effect.reduction is verdict


def test_a_single_visit_has_no_interval_and_no_verdict() -> None:
    effect = effect_of({0: (300.0,), 100: (100.0,)})
    assert effect.interval is None
    assert effect.reduction is Reduction.UNDECIDED


def test_nothing_was_written() -> None:
    assert effect_of({0: (0.0, 0.0), 100: (0.0, 0.0)}).reduction is Reduction.UNDECIDED


def test_one_level_has_no_effect_to_tell() -> None:
    assert entropy_effect((PropertyLevel(0.0, (1.0, 1.0)),)) is None


def test_loss_is_against_reads_alone() -> None:
    found = levels([(0.0, 400.0), (5.0, 120.0), (100.0, 50.0)])
    assert loss_pct(found, 5) == pytest.approx(70)  # the range of 50 to 80 % that LSI tells
    assert loss_pct(found, 10) is None
    assert loss_pct(found[1:], 5) is None
