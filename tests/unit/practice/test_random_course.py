"""A course of random writes whose every step is known."""

from typing import Any

import pytest

from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf
from openpts_practice.rows.precon.states import analyze_course, reached_at, rounds_of
from tests.support.interval_samples import in_turn

MINUTE_NS = 60 * NS_PER_S
STIMULUS = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 4, 32, ActiveRange())
MINUTE = Step.of(STIMULUS, Duration(MINUTE_NS))
BETWEEN = Step.of(STIMULUS, FirstOf((Duration(2 * MINUTE_NS), ByteAmount(10**12))))


def sample(step: Step, iops: int, seconds: int, **changes: Any) -> Sample:
    ios = iops * seconds
    write = OperationSample(ios, ios * 4 * KIB, ios * 10**6, 10**6, 10**6, b"")
    return Sample(
        step=step,
        state=changes.get("state", StepState.COMPLETE),
        ended_by="duration",
        started_ns=0,
        elapsed_ns=seconds * NS_PER_S,
        gap_ns=0,
        read=NOTHING,
        write=write,
        interval_ns=NS_PER_S,
        intervals=(),
        cpu=None,
        failure=None,
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
    assert results.verdict is not None
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
    assert found is not None
    assert found.end_ns == MINUTE_NS
    later = reached_at(minutes, first_minute + 1)
    assert later is not None
    assert later.end_ns > MINUTE_NS
    assert reached_at(minutes, 10**15) is None
