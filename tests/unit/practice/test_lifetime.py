"""What the lifetime test asks of a drive, and what ends it."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as with_changes

from openpts.units import GB, KIB, NS_PER_S, TB
from openpts.vocabulary.data import RandomData, VerifiedData, ZeroData
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, CycleFinished, Purge
from openpts.vocabulary.sample import IoFailure, StepState
from openpts.vocabulary.stimulus import ActiveRange, Step
from openpts.vocabulary.stop import ByteAmount, Duration
from openpts_practice.lifetime import Continued, StopOn
from openpts_practice.lifetime.script import A_HANDFUL, standard_conditions, without_data
from openpts_practice.lifetime.script import script as lifetime_test
from tests.unit.procedures.pts.trace.player import Drive, Played

CAPACITY_BYTES = 960 * GB
PIECE_BYTES = 2**38


def play(logs: list[Mapping[str, float]] | None = None, **changes: Any) -> Played:
    """``logs``: what is told before the first cycle, and after each; the last of them from then on."""
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)
    left = list(logs or [{}])

    def health(_phase: Phase, _number: int) -> HealthReading:
        return HealthReading("made up", left.pop(0) if len(left) > 1 else left[0])

    return Drive(CAPACITY_BYTES, lambda *_: 10_000, health).play(lifetime_test(conditions, CAPACITY_BYTES))


def ended(played: Played) -> tuple[int, str]:
    cycles = [r.number for r in played.requests if isinstance(r, Apply)]
    (outcome,) = played.outcomes
    return cycles[-1], outcome.ended_by


@pytest.mark.proves("HYP-LIFE-01")
def test_a_cycle_writes_the_range_once_and_reads_it_once() -> None:
    played = play(drive_cycles=2)
    for number in (1, 2):
        steps = [a.step for a in played.applied if a.number == number]
        amounts = [step.stop.amount_bytes for step in steps if isinstance(step.stop, ByteAmount)]
        assert amounts == [PIECE_BYTES] * 3 + [CAPACITY_BYTES - 3 * PIECE_BYTES] + [PIECE_BYTES] * 3 + [
            CAPACITY_BYTES - 3 * PIECE_BYTES
        ]
        stimuli = [step.stimulus for step in steps if step.stimulus is not None]
        assert [s.read_pct for s in stimuli] == [0] * 4 + [100] * 4
        assert {(s.random_pct, s.block_size_bytes, s.tc, s.qd) for s in stimuli} == {(0, 128 * KIB, 1, 32)}
        assert {s.data for s in stimuli} == {VerifiedData(number)}


def test_the_active_range_bounds_a_cycle() -> None:
    played = play(drive_cycles=1, active_range=ActiveRange(0, 25))
    assert sum(a.step.stop.amount_bytes for a in played.applied) == 2 * CAPACITY_BYTES // 4  # type: ignore[union-attr]


def test_a_drive_that_keeps_no_data_is_not_compared() -> None:
    conditions = without_data(standard_conditions(DriveClass.CLIENT, 1))
    played = Drive(CAPACITY_BYTES, lambda *_: 10_000).play(lifetime_test(conditions, CAPACITY_BYTES))
    assert {a.step.stimulus.data for a in played.applied if a.step.stimulus} == {RandomData()}


def test_other_data_than_random_is_written_as_asked_for_and_not_compared() -> None:
    """Zeros are zeros, whichever cycle wrote them."""
    played = play(drive_cycles=1, data=ZeroData())
    assert {a.step.stimulus.data for a in played.applied if a.step.stimulus} == {ZeroData()}


def test_no_drive_is_used_up_unasked() -> None:
    assert ended(play()) == (A_HANDFUL, "5 cycles, as asked for")


@pytest.mark.proves("HYP-TMP-01")
def test_a_run_that_continues_another_reads_first_what_that_wrote() -> None:
    after = Continued(
        run="EARLIER",
        folder="/earlier",
        cycle=5,
        written_at="2026-01-01T00:00:00+00:00",
        written_ns=0,
        written_c=None,
        compares=True,
        rest_ns=0,
        reads=(),
    )
    played = play(drive_cycles=2, continues=after)
    assert not any(isinstance(request, Purge) for request in played.requests)
    later = [a for a in played.applied if a.phase is Phase.LATER_READ]
    assert {(a.number, a.step.stimulus.data, a.step.stimulus.read_pct) for a in later if a.step.stimulus} == {
        (5, VerifiedData(5), 100)
    }
    assert sum(a.step.stop.amount_bytes for a in later) == CAPACITY_BYTES  # type: ignore[union-attr]
    cycles = dict.fromkeys(a.number for a in played.applied if a.phase is Phase.DRIVE_CYCLE)
    assert (list(cycles), played.applied[: len(later)]) == ([6, 7], later)
    assert ended(played) == (7, "2 cycles, as asked for")
    uncompared = play(drive_cycles=1, continues=replace(after, compares=False))
    assert {a.step.stimulus.data for a in uncompared.applied[: len(later)] if a.step.stimulus} == {
        RandomData()
    }
    rested = play(drive_cycles=1, continues=replace(after, rest_ns=NS_PER_S))
    assert rested.applied[0].step == Step.of(None, Duration(NS_PER_S))


def test_media_errors_do_not_end_a_run_that_waits_for_a_failed_write() -> None:
    logs = [{"media_errors": 0}, {"media_errors": 4}]
    assert ended(play(logs, stop_on=StopOn.FAILED_WRITE)) == (A_HANDFUL, "5 cycles, as asked for")
    assert not standard_conditions(DriveClass.CLIENT, 1).goes_on_over_read_errors
    assert replace(
        standard_conditions(DriveClass.CLIENT, 1), stop_on=StopOn.FAILED_WRITE
    ).goes_on_over_read_errors


def wear(*shares: float) -> list[Mapping[str, float]]:
    return [{"percentage_used_pct": share} for share in shares]


@pytest.mark.parametrize(
    ("logs", "changes", "cycle", "reason"),
    [
        (wear(97, 98, 99.5, 100), {}, 3, "100 % of the rated life used (limit 100 %)"),
        (wear(97, 98, 99.5, 100), {"wear_limit_pct": 98}, 1, "98 % of the rated life used (limit 98 %)"),
        (wear(0), {"write_limit_bytes": 2 * TB}, 3, "2.88 TB written (limit 2 TB)"),
        (
            [{"media_errors": 4}, {"media_errors": 4}, {"media_errors": 6}],
            {},
            2,
            "media errors counted by the drive: 2",
        ),
        ([{"read_only": 0}, {"read_only": 1}], {}, 1, "the drive takes no more writes"),
        (wear(0), {"longest_ns": 1500 * NS_PER_S}, 2, "48 min 50 s elapsed (limit 25 min 0 s)"),
    ],
)
def test_what_ends_it_sooner(
    logs: list[Mapping[str, float]], changes: dict[str, Any], cycle: int, reason: str
) -> None:
    assert ended(play(logs, **changes)) == (cycle, reason)


@pytest.mark.parametrize("operation", ["write", "read"])
def test_the_first_failed_io_ends_it(operation: str) -> None:
    """HYP-LIFE-03: and the log is read once more after it."""
    drive = Drive(CAPACITY_BYTES, lambda *_: 10_000)
    script = lifetime_test(standard_conditions(DriveClass.ENTERPRISE, 1), CAPACITY_BYTES)
    answer: Any = None
    while not isinstance(request := script.send(answer), CycleFinished):
        answer = HealthReading("made up") if not isinstance(request, Apply) else None
        if isinstance(request, Apply):
            assert request.may_fail
            samples = [drive.sample(request.phase, request.number, step) for step in request.steps[:2]]
            bad = with_changes(
                samples[1], state=StepState.FAILED, failure=IoFailure(operation, 0, 512, "gone")
            )
            answer = (samples[0], bad)
    assert request.outcome.ended_by == f"first failed {operation} in cycle 1: gone"
    with pytest.raises(StopIteration):
        next(script)
