"""What the preconditioning comparison asks of a drive: three states, and rows that harm them last."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.procedures.extended.precon.conditions import DriveState, PreconConditions
from openpts.procedures.extended.precon.script import order_of, possible_on, standard_conditions
from openpts.procedures.extended.precon.script import script as precon_test
from openpts.procedures.shared.benchmark.profiles import BENCHMARKS, SHORT
from openpts.units import GB, GIB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, SetWriteCache
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf
from tests.unit.procedures.pts.trace.player import Drive, Played

CAPACITY_BYTES = 1000 * GB
MINUTE_NS = 60 * NS_PER_S
ROWS = [row.title for row in SHORT.rows]


def conditions(**changes: Any) -> PreconConditions:
    return replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)


def played(used: PreconConditions, iops: Callable[[Stimulus, Phase, int], float] | None = None) -> Played:
    drive = Drive(CAPACITY_BYTES, iops or (lambda _stimulus, _phase, _number: 100_000))
    return drive.play(precon_test(used, CAPACITY_BYTES))


def told(used: PreconConditions) -> list[str]:
    """One word per request: what is asked, rows by their titles."""
    found: list[str] = []
    rows = [row.title for _, row in used.rows]
    for request in played(used).requests:
        match request:
            case Purge():
                found.append("purge")
            case SetWriteCache(enabled):
                found.append(f"cache {enabled}")
            case Apply(Phase.PROFILE, number, _steps):
                state = list(DriveState)[(number - 1) // len(rows)]
                found.append(f"{state}: {rows[(number - 1) % len(rows)]}")
            case Apply(Phase.LOAD, number, _steps):
                word = f"course {number}"
                if found[-1] != word:
                    found.append(word)
            case Apply(phase, number, (step,)):
                assert isinstance(step.stop, ByteAmount)
                amount = step.stop.amount_bytes / CAPACITY_BYTES
                found.append(f"{phase} {number}: {step.stimulus} {amount:.3g}")
            case CycleFinished(_outcome, title):
                found.append(f"end of {title}")
    return found


def test_the_whole_test_in_its_order() -> None:
    seq, rnd = "SEQ 128 KiB QD32", "RND 4 KiB QD32"
    assert told(conditions()) == [
        "purge",
        "cache False",
        "conditioning 1: SEQ 128 KiB 0/100 0.00859",  # the test file, 8 GiB
        *(f"FOB: {row}" for row in (f"{seq} Read", f"{rnd} Read", "RND 4 KiB QD1 Read", f"{seq} Write")),
        f"FOB: {rnd} Mix 70/30",
        "FOB: RND 4 KiB QD1 Write",
        f"FOB: {rnd} Write",
        "end of FOB",
        "purge",
        "cache False",
        "conditioning 2: SEQ 128 KiB 0/100 2",
        *(f"after SEQ: {row}" for row in (f"{seq} Read", f"{rnd} Read", "RND 4 KiB QD1 Read")),
        f"after SEQ: {seq} Write",
        f"after SEQ: {rnd} Mix 70/30",
        "conditioning 3: SEQ 128 KiB 0/100 1",
        "after SEQ: RND 4 KiB QD1 Write",
        "conditioning 4: SEQ 128 KiB 0/100 1",
        f"after SEQ: {rnd} Write",
        "conditioning 5: SEQ 128 KiB 0/100 1",
        "course 2",
        "end of after SEQ",
        "purge",
        "cache False",
        "course 1",
        "course 3",
        *(f"after RND: {row}" for row in (f"{seq} Read", f"{rnd} Read", "RND 4 KiB QD1 Read")),
        f"after RND: {rnd} Mix 70/30",
        "after RND: RND 4 KiB QD1 Write",
        f"after RND: {rnd} Write",
        f"after RND: {seq} Write",
        "end of after RND",
    ]


def test_a_state_that_is_disturbed_twice_is_restored_each_time() -> None:
    """CrystalDiskMark writes two sequential rows, which the random state does not survive."""
    asked = told(conditions(benchmarks=(BENCHMARKS["crystaldiskmark"],), recondition_passes=0.5))
    random = asked[asked.index("course 3") + 1 :]
    assert random == [
        *(f"after RND: {row.title}" for row in BENCHMARKS["crystaldiskmark"].rows[:4]),
        "after RND: RND4K Q32T1 Write",
        "after RND: RND4K Q1T1 Write",
        "after RND: SEQ1M Q8T1 Write",
        "conditioning 5: RND 4 KiB 0/100 0.5",
        "after RND: SEQ1M Q1T1 Write",
        "end of after RND",
    ]


def test_without_reconditioning_rows_follow_one_another() -> None:
    asked = told(conditions(recondition_passes=0))
    assert [word for word in asked if word.startswith("conditioning")] == [
        "conditioning 1: SEQ 128 KiB 0/100 0.00859",
        "conditioning 2: SEQ 128 KiB 0/100 2",
    ]


@pytest.mark.parametrize("state", list(DriveState))
def test_reads_come_first_and_no_row_is_lost(state: DriveState) -> None:
    order = order_of(SHORT.rows, state)
    assert sorted(order) == list(range(len(SHORT.rows)))
    mixes = [SHORT.rows[place].read_pct for place in order]
    assert mixes[:3] == [100] * 3
    assert max(mixes[3:]) < 100


def test_a_course_is_a_minute_then_rounds_that_end_by_time_or_amount() -> None:
    steps = [
        step
        for request in played(conditions()).requests
        if isinstance(request, Apply) and (request.phase, request.number) == (Phase.LOAD, 3)
        for step in request.steps
    ]
    between = FirstOf((Duration(29 * MINUTE_NS), ByteAmount(250 * GB)))
    minute = Duration(MINUTE_NS)
    assert [step.stop for step in steps] == [minute, *[between, minute] * 4]
    (stimulus,) = {step.stimulus for step in steps}
    assert stimulus is not None
    assert (stimulus.random_pct, stimulus.block_size_bytes, stimulus.read_pct) == (100, 4 * KIB, 0)
    assert (stimulus.tc, stimulus.qd) == (4, 32)


def outcomes(played_test: Played) -> list[Outcome]:
    return played_test.outcomes


def test_a_fresh_or_filled_drive_is_not_steady_before_its_amount() -> None:
    """409.6 MB/s: a minute writes 24.576 GB, what lies between two of them 250 GB.

    After n tracked minutes that is 24.576 n + 250 (n - 1) GB: 1,122.9 for n = 5, so at once where 1 x
    capacity will do. 2 x capacity take n = 9: 2,221.2 GB, since 8 have 1,946.6.
    """
    first, second, third = outcomes(played(conditions(steady_after_drive_fills=1)))
    assert first == Outcome(None, 0)
    assert (second.steady_round, third.steady_round) == (5, 5)
    asked = played(conditions())
    assert [outcome.steady_round for outcome in asked.outcomes] == [None, 9, 9]
    # the random state was steady before: nothing has to be waited for
    last = [check.round_number for check in asked.checks(Phase.LOAD)][-1]
    assert last == 5


def restless() -> Callable[[Stimulus, Phase, int], float]:
    """Twice as fast in every other step, so that no window is steady."""
    calls = iter(range(10**6))

    def iops(_stimulus: Stimulus, phase: Phase, _number: int) -> float:
        return 100_000 * (1 + next(calls) // 2 % 2) if phase is Phase.LOAD else 100_000

    return iops


def test_writes_that_never_settle_end_with_their_amount() -> None:
    _, second, third = outcomes(played(conditions(drive_fills=3), restless()))
    assert (second.steady_round, third.steady_round) == (None, None)
    assert second.ended_by == third.ended_by == "3 x user capacity written"


def test_writes_that_never_settle_end_with_their_time() -> None:
    _, second, _third = outcomes(played(conditions(longest_ns=3600 * NS_PER_S), restless()))
    assert second.ended_by == "the longest time elapsed"


def test_the_test_file_leaves_a_small_drive_fresh() -> None:
    small = 20 * GB
    requests = Drive(small, lambda _s, _p, _n: 100_000).play(precon_test(conditions(), small)).requests
    laid = next(r for r in requests if isinstance(r, Apply))
    assert laid.steps[0].stop == ByteAmount(2 * GB)
    reads = next(r for r in requests if isinstance(r, Apply) and r.phase is Phase.PROFILE)
    assert reads.steps[0].stimulus.active_range.end_pct == pytest.approx(10)
    assert 8 * GIB > 2 * GB


def test_a_client_drive_has_its_cache_and_a_smaller_demand() -> None:
    used = standard_conditions(DriveClass.CLIENT, 1)
    assert (used.write_cache_enabled, used.tc, used.qd) == (True, 2, 16)


def test_sectors_rule_rows_out() -> None:
    used = possible_on(conditions(benchmarks=(BENCHMARKS["as-ssd"],)), 4096)
    assert len(used.rows) == 7
    assert used.impossible == ("AS SSD, Acc.time Write: 0.5 KiB",)
