"""The IOPS script against section 7.2, written down here a second time from the specification."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from openpts.pts import iops
from openpts.pts.standard import deviations, without_impossible_sizes
from openpts.vocabulary.conditions import Profile, TestConditions
from openpts.vocabulary.requests import (
    Outcome,
    Precondition,
    Purge,
    Request,
    Round,
    SetWriteCache,
    SteadyStateChecked,
)
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration

CAPACITY = 1_920_383_410_176

# 7.2, 3.2.1 and 3.2.1.1: R/W mix outside, block size in KiB inside.
MIXES = ["100/0", "95/5", "65/35", "50/50", "35/65", "5/95", "0/100"]
SIZES_KIB = [1024, 128, 64, 32, 16, 8, 4, 0.5]

IopsModel = Callable[[int, Step], float]


def stimulus_of(step: Step) -> Stimulus:
    assert step.stimulus is not None
    return step.stimulus


def measured(step: Step, iops_value: float) -> Sample:
    ios = round(iops_value)
    reads = OperationSample(ios, ios * stimulus_of(step).block_size_bytes, ios, 1, 1, b"")
    return Sample(
        step=step,
        state=StepState.COMPLETE,
        ended_by="duration",
        started_ns=0,
        elapsed_ns=10**9,
        gap_ns=0,
        read=reads,
        write=NOTHING,
        interval_ns=10**9,
        intervals=(),
        cpu=None,
        failure=None,
    )


def play(conditions: TestConditions, model: IopsModel) -> tuple[list[Request], Outcome]:
    """Drive the script to its end; ``model`` gives the IOPS of a step in a round."""
    script = iops.iops_test(conditions, CAPACITY)
    requests: list[Request] = []
    answer: Any = None
    try:
        while True:
            request = script.send(answer)
            requests.append(request)
            answer = None
            if isinstance(request, Precondition):
                answer = measured(request.step, 1000)
            elif isinstance(request, Round):
                answer = tuple(measured(step, model(request.number, step)) for step in request.steps)
    except StopIteration as end:
        return requests, end.value


def constant(_round: int, _step: Step) -> float:
    return 100_000


def conditions(profile: Profile = Profile.ENTERPRISE, **changes: Any) -> TestConditions:
    return replace(iops.standard_conditions(profile, seed=1), **changes)


@pytest.mark.parametrize(
    ("profile", "cache_enabled", "range_end_pct", "tc", "qd"),
    [(Profile.ENTERPRISE, False, 100, 4, 32), (Profile.CLIENT, True, 75, 2, 16)],
)
def test_the_sequence_is_that_of_the_specification(
    profile: Profile, cache_enabled: bool, range_end_pct: int, tc: int, qd: int
) -> None:
    requests, outcome = play(conditions(profile), constant)

    assert requests[0] == Purge()
    assert requests[1] == SetWriteCache(cache_enabled)
    wipc = requests[2]
    assert isinstance(wipc, Precondition)
    assert wipc.step.stop == ByteAmount(2 * CAPACITY)
    assert str(wipc.step.stimulus) == "SEQ 128 KiB 0/100"

    rounds = [request for request in requests if isinstance(request, Round)]
    assert [request.number for request in rounds] == [1, 2, 3, 4, 5]
    for request in rounds:
        assert [
            (stimulus_of(step).rw_mix, stimulus_of(step).block_size_bytes / 1024) for step in request.steps
        ] == [(mix, size) for mix in MIXES for size in SIZES_KIB]
    for step in (wipc.step, *rounds[0].steps):
        assert (stimulus_of(step).tc, stimulus_of(step).qd) == (tc, qd)
        assert stimulus_of(step).active_range == ActiveRange(0, range_end_pct)
    for step in rounds[0].steps:
        assert step.stop == Duration.seconds(60)
        assert stimulus_of(step).access_pattern is AccessPattern.RANDOM
    assert outcome == Outcome(steady_round=5, last_round=5)


def test_a_round_lasts_56_minutes() -> None:
    assert conditions().round_duration_ns == 56 * 60 * 10**9


def test_all_three_tracking_variables_must_be_steady_in_the_same_window() -> None:
    def one_settles_late(number: int, step: Step) -> float:
        late = stimulus_of(step).block_size_bytes == 64 * 1024 and stimulus_of(step).read_pct == 65
        return 100_000 * (0.5**number if late and number < 4 else 1)

    requests, outcome = play(conditions(), one_settles_late)
    assert outcome == Outcome(steady_round=8, last_round=8)
    verdicts = [
        [report.steady for report in request.reports]
        for request in requests
        if isinstance(request, SteadyStateChecked)
    ]
    assert verdicts == [[True, False, True]] * 3 + [[True, True, True]]


@pytest.mark.parametrize(
    ("size", "read_pct"), [(4 * 1024, 0), (64 * 1024, 65), (1024 * 1024, 100)], ids=["4K", "64K", "1024K"]
)
def test_each_of_the_tracking_variables_alone_can_hold_the_test_up(size: int, read_pct: int) -> None:
    def restless(number: int, step: Step) -> float:
        tracked = (stimulus_of(step).block_size_bytes, stimulus_of(step).read_pct) == (size, read_pct)
        return 100_000 * (1 + number % 2 if tracked else 1)

    _, outcome = play(conditions(max_rounds=6), restless)
    assert outcome == Outcome(steady_round=None, last_round=6)


def test_other_cells_may_wander() -> None:
    tracked = {(4 * 1024, 0), (64 * 1024, 65), (1024 * 1024, 100)}

    def wandering(number: int, step: Step) -> float:
        inside = (stimulus_of(step).block_size_bytes, stimulus_of(step).read_pct) in tracked
        return 100_000 if inside else 1000 * number

    assert play(conditions(), wandering)[1].steady_round == 5


def test_without_steady_state_it_ends_after_25_rounds() -> None:
    requests, outcome = play(conditions(), lambda number, _: 1000 * 2**number)
    assert sum(isinstance(request, Round) for request in requests) == 25
    assert outcome == Outcome(steady_round=None, last_round=25)


def test_no_preconditioning_is_asked_for_where_the_operator_wants_none() -> None:
    requests, _ = play(conditions(precondition_passes=0), constant)
    assert not any(isinstance(request, Precondition) for request in requests)


def test_the_standard_has_no_deviation() -> None:
    for profile in Profile:
        standard = iops.standard_conditions(profile, seed=1)
        assert deviations(standard, standard, iops.RULES) == ()


@pytest.mark.parametrize(
    ("change", "rule_id", "required", "used"),
    [
        ({"step_duration_ns": 10**9}, "PTS-IOPS-14", "1 min 0 s per step", "1.00 s per step"),
        ({"max_rounds": 7}, "PTS-IOPS-11", "up to 25 rounds", "up to 7 rounds"),
        ({"precondition_passes": 0.5}, "PTS-IOPS-07", "2 x user capacity", "0.5 x user capacity"),
        ({"tc": 1}, "PTS-IOPS-05", "TC 4", "TC 1"),
        ({"qd": 1}, "PTS-IOPS-04", "QD 32", "QD 1"),
        ({"active_range": ActiveRange(0, 50)}, "PTS-IOPS-01", "AR 0-100 %", "AR 0-50 %"),
    ],
)
def test_every_shortening_is_an_entry_with_both_values(
    change: dict[str, Any], rule_id: str, required: str, used: str
) -> None:
    (entry,) = deviations(conditions(**change), conditions(), iops.RULES)
    assert (entry.rule_id, entry.required, entry.used) == (rule_id, required, used)
    assert entry.clause.startswith("7.2")


def test_going_on_beyond_round_25_is_allowed() -> None:
    assert deviations(conditions(max_rounds=40), conditions(), iops.RULES) == ()


def test_sizes_smaller_than_a_sector_are_left_out_and_entered() -> None:
    on_4k_sectors = without_impossible_sizes(conditions(), sector_bytes=4096)
    assert on_4k_sectors.skipped_block_sizes_bytes == (512,)
    requests, _ = play(on_4k_sectors, constant)
    (first, *_) = [request for request in requests if isinstance(request, Round)]
    assert len(first.steps) == 49
    (entry,) = deviations(on_4k_sectors, conditions(), iops.RULES)
    assert entry.rule_id == "PTS-IOPS-13"
    assert entry.used == "1024, 128, 64, 32, 16, 8, 4 KiB"
