"""What the fill test asks of a drive: amounts that tile its range, idle times, bursts into what is filled."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.fields.time_scale import at_time_scale
from openpts.units import GB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, SetWriteCache
from openpts.vocabulary.stimulus import ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration
from openpts_practice.fill import IdleTime
from openpts_practice.fill.script import REWRITE_STEPS, standard_conditions
from openpts_practice.fill.script import script as fill_test
from tests.unit.procedures.pts.trace.player import Drive

CAPACITY_BYTES = 1000 * GB
BLOCK_BYTES = 128 * KIB


def requests(capacity_bytes: int = CAPACITY_BYTES, **changes: Any) -> list[Any]:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)
    drive = Drive(capacity_bytes, lambda _stimulus, _phase, _number: 10_000)
    return drive.play(fill_test(conditions, capacity_bytes)).requests


def cycles(*args: Any, **changes: Any) -> tuple[list[Apply], list[Apply]]:
    """What is applied after each of the two purges."""
    found: list[list[Apply]] = []
    for request in requests(*args, **changes):
        if isinstance(request, Purge):
            found.append([])
        if isinstance(request, Apply):
            found[-1].append(request)
    first, second = found
    return first, second


def amounts(apply: Apply) -> list[int]:
    return [step.stop.amount_bytes for step in apply.steps if isinstance(step.stop, ByteAmount)]


def stimulus(step: Step) -> Stimulus:
    assert step.stimulus is not None
    return step.stimulus


def test_both_cycles_are_purged_and_end() -> None:
    kinds = [type(request) for request in requests() if not isinstance(request, Apply)]
    assert kinds == [Purge, SetWriteCache, CycleFinished] * 2


@pytest.mark.parametrize("capacity_bytes", [CAPACITY_BYTES, 256_060_514_304, 1_920_383_410_176])
def test_the_range_is_written_once_in_a_hundred_steps(capacity_bytes: int) -> None:
    fill = cycles(capacity_bytes)[0][0]
    assert (fill.phase, fill.number, len(fill.steps)) == (Phase.FILL, 1, 100)
    assert all(amount % BLOCK_BYTES == 0 for amount in amounts(fill))
    # nothing is written twice, and less than an I/O is left out
    assert 0 <= capacity_bytes - sum(amounts(fill)) < BLOCK_BYTES
    assert max(amounts(fill)) - min(amounts(fill)) <= BLOCK_BYTES
    assert {
        (stimulus(s).random_pct, stimulus(s).read_pct, stimulus(s).tc, stimulus(s).qd) for s in fill.steps
    } == {(0, 0, 1, 32)}


def test_steps_of_another_length_end_at_the_same_place() -> None:
    fill = cycles(step_pct=30)[0][0]
    shares = [sum(amounts(fill)[:n]) / CAPACITY_BYTES for n in range(1, 5)]
    assert shares == pytest.approx([0.3, 0.6, 0.9, 1.0], abs=1e-6)


def test_a_tiny_range_has_no_empty_steps() -> None:
    """32 I/Os in 100 steps: those in which no I/O ends are left out."""
    fill = cycles(32 * BLOCK_BYTES)[0][0]
    assert amounts(fill) == [BLOCK_BYTES] * 32


def test_each_idle_time_is_followed_by_writes_of_five_per_cent() -> None:
    first, _ = cycles()
    assert [(apply.phase, apply.number) for apply in first[1:]] == [
        (Phase.BURST, 1),
        (Phase.REST, 2),
        (Phase.BURST, 2),
        (Phase.REST, 3),
        (Phase.BURST, 3),
        (Phase.REST, 4),
        (Phase.BURST, 4),
    ]
    rests = [apply.steps for apply in first if apply.phase is Phase.REST]
    assert rests == [(Step.of(None, Duration(seconds * NS_PER_S)),) for seconds in (30, 300, 1800)]
    for apply in first:
        if apply.phase is Phase.BURST:
            assert len(apply.steps) == REWRITE_STEPS
            assert sum(amounts(apply)) == pytest.approx(0.05 * CAPACITY_BYTES, abs=BLOCK_BYTES)
            assert {stimulus(step).random_pct for step in apply.steps} == {0}


def test_bursts_go_to_what_is_filled() -> None:
    _, second = cycles()
    found = [
        (apply.phase, apply.number, stimulus(step).active_range, step.stop)
        for apply in second
        for step in apply.steps
    ]
    length = Duration(30 * NS_PER_S)
    quarter = ByteAmount(CAPACITY_BYTES // 4)
    assert found == [
        (Phase.BURST, 1, ActiveRange(0, 25), length),
        (Phase.FILL, 2, ActiveRange(0, 25), quarter),
        (Phase.BURST, 2, ActiveRange(0, 25), length),
        (Phase.FILL, 3, ActiveRange(25, 50), quarter),
        (Phase.BURST, 3, ActiveRange(0, 50), length),
        (Phase.FILL, 4, ActiveRange(50, 75), quarter),
        (Phase.BURST, 4, ActiveRange(0, 75), length),
        (Phase.FILL, 5, ActiveRange(75, 100), quarter),
        (Phase.BURST, 5, ActiveRange(0, 100), length),
    ]
    bursts = [stimulus(apply.steps[0]) for apply in second if apply.phase is Phase.BURST]
    assert {(s.random_pct, s.block_size_bytes, s.read_pct, s.tc, s.qd) for s in bursts} == {
        (100, 4096, 0, 4, 32)
    }


def test_fill_levels_are_shares_of_the_active_range() -> None:
    _, second = cycles(active_range=ActiveRange(20, 60), levels_pct=(50.0,))
    fill, burst = second
    assert (
        stimulus(fill.steps[0]).active_range == stimulus(burst.steps[0]).active_range == ActiveRange(20, 40)
    )
    assert amounts(fill) == [CAPACITY_BYTES // 5]


def test_a_time_scale_shortens_idle_times_and_bursts_but_no_amount() -> None:
    short = at_time_scale(standard_conditions(DriveClass.CLIENT, 1), 1 / 60)
    assert [time.idle_ns for time in short.idle_times] == [0, NS_PER_S // 2, 5 * NS_PER_S, 30 * NS_PER_S]
    assert short.burst_ns == NS_PER_S // 2
    assert short.rewrite_pct == 5


@pytest.mark.parametrize(
    ("idle_s", "text"),
    [(0, "0 s"), (30, "30 s"), (0.5, "0.5 s"), (300, "5 min"), (90, "90 s"), (1800, "30 min")],
)
def test_idle_times_in_words(idle_s: float, text: str) -> None:
    assert str(IdleTime(round(idle_s * NS_PER_S))) == text
