"""What the test of sustained performance asks of a drive, and what ends its load."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.procedures.extended.sustained.script import script as sustained_test
from openpts.procedures.extended.sustained.script import span_of, standard_conditions
from openpts.units import GB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, SetWriteCache
from openpts.vocabulary.stimulus import ActiveRange, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration
from openpts.vocabulary.workload import WORKLOADS
from tests.unit.procedures.pts.trace.player import Drive, Played

CAPACITY_BYTES = 1000 * GB
HOUR_S = 3600


def play(iops: float = 100_000, **changes: Any) -> Played:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)
    drive = Drive(CAPACITY_BYTES, lambda _stimulus, _phase, _number: iops)
    return drive.play(sustained_test(conditions, CAPACITY_BYTES))


def applies(played: Played, phase: Phase) -> list[Apply]:
    return [r for r in played.requests if isinstance(r, Apply) and r.phase is phase]


def test_the_same_figures_before_the_load_and_right_after_it() -> None:
    played = play()
    assert isinstance(played.requests[0], Purge)
    assert played.requests[1] == SetWriteCache(enabled=False)
    parts = [r.phase for r in played.requests if isinstance(r, Apply)]
    loads = parts.count(Phase.LOAD)
    assert parts == [
        Phase.CONDITIONING,
        Phase.PROFILE,
        *[Phase.LOAD] * loads,
        Phase.CONDITIONING,
        Phase.PROFILE,
    ]
    before, after = applies(played, Phase.PROFILE)
    assert (before.number, after.number) == (1, 2)
    assert before.steps == after.steps


def test_the_figures_are_those_of_data_sheets() -> None:
    (profile, _) = applies(play(), Phase.PROFILE)
    found = [step.stimulus for step in profile.steps]
    assert [(s.random_pct, s.block_size_bytes, s.read_pct, s.tc, s.qd) for s in found if s] == [
        (0, 128 * KIB, 0, 1, 32),
        (0, 128 * KIB, 100, 1, 32),
        (100, 4 * KIB, 0, 4, 32),
        (100, 4 * KIB, 100, 4, 32),
    ]
    assert {step.stop for step in profile.steps} == {Duration(30 * NS_PER_S)}


def test_what_is_read_was_written_before() -> None:
    laid, profile = applies(play(), Phase.CONDITIONING)[0], applies(play(), Phase.PROFILE)[0]
    (step,) = laid.steps
    assert step.stop == ByteAmount(20 * GB)
    ranges = {s.stimulus.active_range for s in (step, *profile.steps) if s.stimulus}
    assert ranges == {ActiveRange(0, 2)}


def test_the_span_lies_at_the_start_of_the_active_range() -> None:
    conditions = replace(
        standard_conditions(DriveClass.CLIENT, 1), active_range=ActiveRange(25, 75), span_pct=10
    )
    assert span_of(conditions) == ActiveRange(25, 30)


@pytest.mark.parametrize(
    ("iops", "hours", "ended_by"),
    [
        (100_000, 4 * CAPACITY_BYTES / 4096 / 100_000 / HOUR_S, "4 x user capacity written"),
        (100, 72, "72 h 0 min elapsed"),
    ],
)
def test_the_load_ends_by_amount_or_by_time(iops: float, hours: float, ended_by: str) -> None:
    played = play(iops)
    assert played.elapsed_s(Phase.LOAD) / HOUR_S == pytest.approx(hours, rel=1e-6)
    (finished,) = [r for r in played.requests if isinstance(r, CycleFinished)]
    assert (finished.outcome.ended_by, finished.outcome.steady_round) == (ended_by, None)


def test_a_load_that_reads_counts_what_it_writes() -> None:
    """OLTP writes 35 % of 8 KiB accesses: the same amount takes 1 / 0.35 as many bytes."""
    played = play(workload=WORKLOADS["oltp"])
    assert played.elapsed_s(Phase.LOAD) == pytest.approx(4 * CAPACITY_BYTES / 0.35 / 8192 / 100_000, rel=1e-6)


def test_a_load_of_reads_alone_ends_by_time() -> None:
    played = play(workload=WORKLOADS["read_intensive"], longest_ns=2 * HOUR_S * NS_PER_S)
    assert played.elapsed_s(Phase.LOAD) == 2 * HOUR_S


def test_a_sequential_load_keeps_its_sequence() -> None:
    (first, *_) = applies(play(workload=WORKLOADS["vod"]), Phase.LOAD)
    stimulus = first.steps[0].stimulus
    assert isinstance(stimulus, Stimulus)
    assert (stimulus.tc, stimulus.qd) == (1, 32)


def test_no_step_of_the_load_is_longer_than_half_an_hour() -> None:
    longest = max(a.elapsed_ns for a in play(1000).applied if a.phase is Phase.LOAD)
    assert longest == 1800 * NS_PER_S
