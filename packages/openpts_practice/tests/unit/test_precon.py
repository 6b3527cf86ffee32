"""What the preconditioning comparison asks of a drive: three states, and rows that harm them last."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.units import GB, GIB, KIB, MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, SetWriteCache
from openpts.vocabulary.sample import OperationSample, Phase, Sample, StepState
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    DataPattern,
    Duration,
    FirstOf,
    ReducibleData,
    Step,
    Stimulus,
    ZeroData,
)
from openpts_practice.rows.conditions import FreeSpace
from openpts_practice.rows.precon import DriveState, PreconConditions
from openpts_practice.rows.precon.script import script as precon_test
from openpts_practice.rows.precon.script import standard_conditions, supported_on
from openpts_practice.rows.precon.states import analyze_course, reached_at, rounds_of
from openpts_practice.rows.profiles import BENCHMARKS, SHORT
from tests.support.findings import findings
from tests.support.interval_samples import in_turn, sample_of
from tests.support.made_up_run import made_up_run
from tests.support.player import Drive, Played

CAPACITY_BYTES = 1000 * GB
MINUTE_NS = 60 * NS_PER_S


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


@pytest.mark.proves("LSI-PRE-02", "LSI-PRE-03", "LSI-PROC-01", "LSI-PROC-06")
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


@pytest.mark.proves("LSI-PROC-03", "LSI-PROC-04")
def test_benchmarks_follow_one_another_and_only_what_disturbed_the_state_restores_it() -> None:
    """Random mixes leave the random state alone, and the sequential rows of the second one come last."""
    both = (BENCHMARKS["solidigm-mixed"], BENCHMARKS["crystaldiskmark-demo"], BENCHMARKS["solidigm-mixed"])
    third = replace(both[2], title="Again")
    asked = told(conditions(benchmarks=(*both[:2], third), recondition_passes=0.5))
    demo = [row.title for row in both[1].rows]
    mixes = [row.title for row in both[0].rows]
    assert [word for word in asked if word.startswith(("FOB", "conditioning"))][:8] == [
        "conditioning 1: SEQ 128 KiB 0/100 0.00859",
        *(f"FOB: {row}" for row in mixes),
        "conditioning 2: SEQ 128 KiB 0/100 0.00107",
        *(f"FOB: {row}" for row in demo),
        "conditioning 3: SEQ 128 KiB 0/100 0.00859",
        f"FOB: {mixes[0]}",
    ]
    assert asked[asked.index("course 3") + 1 :] == [
        *(f"after RND: {row}" for row in mixes),
        *(f"after RND: {row}" for row in demo),
        "conditioning 9: RND 4 KiB 0/100 0.5",
        *(f"after RND: {row}" for row in mixes),
        "end of after RND",
    ]
    after = asked[asked.index("end of FOB") + 1 : asked.index("course 2")]
    assert after[2:] == [
        "conditioning 4: SEQ 128 KiB 0/100 2",
        f"after SEQ: {mixes[0]}",
        "conditioning 5: SEQ 128 KiB 0/100 0.5",
        f"after SEQ: {mixes[1]}",
        "conditioning 6: SEQ 128 KiB 0/100 0.5",
        *(f"after SEQ: {row}" for row in demo),
        f"after SEQ: {mixes[0]}",
        "conditioning 7: SEQ 128 KiB 0/100 0.5",
        f"after SEQ: {mixes[1]}",
        "conditioning 8: SEQ 128 KiB 0/100 0.5",
    ]


@pytest.mark.proves("LSI-PROC-02", "SOL-BMK-04")
@pytest.mark.parametrize("sector_bytes", [512, 4096])
def test_the_drive_is_full_but_for_10_gb_in_which_the_test_files_are(sector_bytes) -> None:
    """1 TB less 10 GB, up to the next MiB: 944,138 MiB is the first not below 990,000,000,000 bytes."""
    used = supported_on(conditions(leave_free=FreeSpace(1, 10 * GB)), sector_bytes)
    end = 944_138 * MIB
    assert end - MIB < CAPACITY_BYTES - 10 * GB <= end
    found: dict[tuple[Phase, bool], set[tuple[int, int]]] = {}
    amounts = []
    for request in played(used).requests:
        if not isinstance(request, Apply):
            continue
        for step in request.steps:
            where = step.stimulus.active_range.bytes_of(CAPACITY_BYTES, sector_bytes)
            reads = request.phase is Phase.PROFILE and step.stimulus.read_pct > 0
            found.setdefault((request.phase, reads), set()).add(where)
            if request.phase is Phase.CONDITIONING and where[0] == 0:
                assert isinstance(step.stop, ByteAmount)
                amounts.append(step.stop.amount_bytes)
    file = (end, end + 8 * GIB)
    assert found == {
        (Phase.CONDITIONING, False): {(0, end), file},
        (Phase.LOAD, False): {(0, end)},
        (Phase.PROFILE, True): {file},
        (Phase.PROFILE, False): {(0, end)},
    }
    assert amounts == [end] * 5  # twice for the state, three times to restore it


def test_a_free_place_is_no_larger_than_the_range() -> None:
    with pytest.raises(UsageError, match=r"1,500 GB left free of 1,000 GB"):
        played(conditions(leave_free=FreeSpace(1, 1500 * GB)))
    given = conditions(leave_free=FreeSpace(2, 10 * GB))
    assert [names for names, _ in given.contradictions({"leave_free"})] == [("leave_free",)]


@pytest.mark.proves("LSI-ENT-01")
def test_each_entropy_has_its_states_and_rows_keep_data_of_their_own() -> None:
    own = replace(SHORT, rows=(SHORT.rows[-1], replace(SHORT.rows[1], data=ZeroData())))
    used = conditions(benchmarks=(own,), entropies_pct=(0.0, 46.0))
    requests = played(used).requests
    assert [r.title for r in requests if isinstance(r, CycleFinished)] == [
        f"{state}, entropy {level} %" for level in (0, 46) for state in DriveState
    ]
    written: dict[float, set[DataPattern]] = {}
    numbers: dict[Phase, list[int]] = {}
    cycle = 0
    for request in requests:
        cycle += isinstance(request, Purge)
        if isinstance(request, Apply):
            data = {step.stimulus.data for step in request.steps if step.stimulus is not None}
            written.setdefault(0 if cycle <= 3 else 46, set()).update(data)
            numbers.setdefault(request.phase, []).append(request.number)
    assert written == {level: {ReducibleData(level), ZeroData()} for level in (0, 46)}
    assert sorted(numbers[Phase.PROFILE]) == list(range(1, 13))
    assert sorted(set(numbers[Phase.LOAD])) == list(range(1, 7))
    names = {used.row_of(number)[0] for number in range(1, 13)}
    assert "after RND, entropy 46 %" in names


def test_without_reconditioning_rows_follow_one_another() -> None:
    asked = told(conditions(recondition_passes=0))
    assert [word for word in asked if word.startswith("conditioning")] == [
        "conditioning 1: SEQ 128 KiB 0/100 0.00859",
        "conditioning 2: SEQ 128 KiB 0/100 2",
    ]


@pytest.mark.proves("LSI-PRE-01")
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
    assert (stimulus.random_pct, stimulus.block_size_bytes, stimulus.read_pct) == (100, 4 * KIB, 0)
    assert (stimulus.tc, stimulus.qd) == (4, 32)


def outcomes(played_test: Played) -> list[Outcome]:
    return played_test.outcomes


@pytest.mark.proves("LSI-PRE-05")
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


def test_courses_that_never_got_steady_are_entered(golden) -> None:
    draws = Random(1)

    def wild(_stimulus: Stimulus, phase: Phase, _number: int) -> float:
        return 20_000 * draws.uniform(1, 3) if phase is Phase.LOAD else 20_000.0

    entries = findings(made_up_run("precon", rate=wild))
    assert [entry.required for entry in entries] == [
        f"random writes until steady, from {state}" for state in ("FOB", "after SEQ", "after RND")
    ]
    assert [entry.used for entry in entries] == golden


def test_a_level_drive_has_no_entry() -> None:
    assert findings(made_up_run("precon")) == ()


STIMULUS = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 4, 32, ActiveRange())
MINUTE = Step.of(STIMULUS, Duration(MINUTE_NS))
BETWEEN = Step.of(STIMULUS, FirstOf((Duration(2 * MINUTE_NS), ByteAmount(10**12))))


def sample(step: Step, iops: int, seconds: int, **changes: Any) -> Sample:
    ios = iops * seconds
    write = OperationSample(ios, ios * 4 * KIB, ios * 10**6, 10**6, 10**6, b"")
    return sample_of(
        step, state=changes.get("state", StepState.COMPLETE), elapsed_ns=seconds * NS_PER_S, write=write
    )


def course(*minutes: int) -> list[Sample]:
    """Tracked minutes of these IOPS, two minutes of 1,000 IOPS between them."""
    steps = [sample(MINUTE, minutes[0], 60)]
    for iops in minutes[1:]:
        steps += [sample(BETWEEN, 1000, 120), sample(MINUTE, iops, 60)]
    return in_turn(*steps)


def test_what_lies_between_tracked_minutes_belongs_to_the_later_one() -> None:
    found = rounds_of(course(9000, 5000, 3000))
    assert [(step.number, step.tracked) for step in found] == [
        (1, True), (2, False), (2, True), (3, False), (3, True),
    ]  # fmt: skip


def test_a_course_that_settles() -> None:
    # rounds 3 to 7: 2900 .. 3100 around 3000; the window before still has 5000 in it
    results = analyze_course(course(9000, 5000, 3000, 3100, 2900, 3000, 3000), MINUTE_NS, 0)
    assert results.tracked_iops == (9000, 5000, 3000, 3100, 2900, 3000, 3000)
    assert (results.first_iops, results.steady_round) == (9000, 7)
    assert results.steady_iops == pytest.approx(3000)
    assert results.factor == pytest.approx(3)
    assert results.steady_after_ns == (7 + 2 * 6) * MINUTE_NS
    written = 60 * (9000 + 5000 + 3000 + 3100 + 2900 + 3000 + 3000) + 6 * 120 * 1000
    assert results.steady_after_bytes == results.written_bytes == written * 4 * KIB
    assert results.elapsed_ns == 19 * MINUTE_NS


def test_steady_state_waits_for_its_amount() -> None:
    steps = course(*[3000] * 8)
    after_minute_7 = (7 * 60 * 3000 + 6 * 120 * 1000) * 4 * KIB
    assert analyze_course(steps, MINUTE_NS, 0).steady_round == 5
    assert analyze_course(steps, MINUTE_NS, after_minute_7).steady_round == 7
    assert analyze_course(steps, MINUTE_NS, after_minute_7 + 1).steady_round == 8


def test_a_course_that_never_settles_has_its_last_window() -> None:
    results = analyze_course(course(3000, 6000, 3000, 6000, 3000, 6000), MINUTE_NS, 0)
    assert (results.steady_round, results.steady_iops, results.factor) == (None, None, None)
    assert (results.steady_after_ns, results.steady_after_bytes) == (None, None)
    assert results.verdict.rounds == (2, 3, 4, 5, 6)


def test_a_course_cut_short_and_one_that_never_began() -> None:
    steps = course(3000, 3000)
    steps[-1] = sample(MINUTE, 3000, 20, state=StepState.INTERRUPTED)
    results = analyze_course(steps, MINUTE_NS, 0)
    assert results.tracked_iops == (3000,)
    assert results.verdict is None
    nothing = analyze_course([], MINUTE_NS, 0)
    assert (nothing.first_iops, nothing.elapsed_ns, nothing.written_bytes) == (None, 0, 0)


def test_where_the_drive_was_full() -> None:
    minutes = analyze_course(course(3000, 3000, 3000), MINUTE_NS, 0).minutes
    first_minute = 60 * 3000 * 4 * KIB
    found = reached_at(minutes, first_minute)
    assert found.end_ns == MINUTE_NS
    later = reached_at(minutes, first_minute + 1)
    assert later.end_ns > MINUTE_NS
    assert reached_at(minutes, 10**15) is None
