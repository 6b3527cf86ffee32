"""Tracked minutes: which steps they are, and where their window lies."""

import pytest

from openpts.procedures.shared.tracking.rounds import TrackedStep, TrackingResults, analyze_tracking
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration
from tests.support.interval_samples import in_turn

MINUTE_NS = 60 * NS_PER_S
PERIOD_NS = 30 * MINUTE_NS
STIMULUS = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 32, 32, ActiveRange())


def measured(iops: int, length_ns: int, state: StepState = StepState.COMPLETE) -> Sample:
    ios = iops * length_ns // NS_PER_S
    return Sample(
        step=Step.of(STIMULUS, Duration(length_ns)),
        state=state,
        ended_by="duration",
        started_ns=0,
        elapsed_ns=length_ns,
        gap_ns=0,
        read=NOTHING,
        write=OperationSample(ios, ios * 4096, ios, 1, 1, b""),
        interval_ns=NS_PER_S,
        intervals=(),
        cpu=None,
        failure=None,
    )


def steps_of(tracked_iops: list[int], between_iops: int = 7) -> list[TrackedStep]:
    """Minute 1, then 29 minutes and a minute for each further tracking round."""
    steps = [TrackedStep(1, 0, measured(tracked_iops[0], MINUTE_NS))]
    for number, iops in enumerate(tracked_iops[1:], start=2):
        steps.append(TrackedStep(number, 0, measured(between_iops, PERIOD_NS - MINUTE_NS)))
        steps.append(TrackedStep(number, 1, measured(iops, MINUTE_NS)))
    return steps


def analyzed(steps: list[TrackedStep]) -> TrackingResults:
    placed = in_turn(*(step.sample for step in steps))
    steps = [step._replace(sample=sample) for step, sample in zip(steps, placed, strict=True)]
    return analyze_tracking(steps, minute_ns=MINUTE_NS, period_ns=PERIOD_NS)


@pytest.mark.proves("PTS-CBW-18", "PTS-DIRTH-10", "PTS-HIR-09")
def test_tracked_are_minute_1_and_those_30_minutes_apart() -> None:
    results = analyzed(steps_of([500, 300, 200]))
    assert list(results.iops) == [500, 300, 200]
    assert [start_ns // MINUTE_NS for start_ns in results.starts_ns] == [0, 30, 60]
    assert [end_ns // MINUTE_NS for end_ns in results.ends_ns] == [1, 31, 61]
    assert results.verdict is None
    assert not results.steady
    assert results.window.rounds == (1, 2, 3)


def test_the_window_ends_with_the_first_steady_round() -> None:
    results = analyzed(steps_of([500, 300, 100, 100, 101, 100, 100]))
    assert results.window.rounds == (3, 4, 5, 6, 7)
    assert results.steady
    assert [minute.iops for minute in results.window_minutes] == [100, 100, 101, 100, 100]
    later = analyzed(steps_of([100, 100, 100, 100, 100, 900]))
    assert later.window.rounds == (1, 2, 3, 4, 5)
    assert later.steady


def test_without_steady_state_the_window_is_the_last_one() -> None:
    results = analyzed(steps_of([100, 200] * 4))
    assert results.window.rounds == (4, 5, 6, 7, 8)
    assert results.verdict is not None
    assert not results.steady


def test_a_round_without_its_complete_minute_ends_the_series() -> None:
    steps = steps_of([100, 100, 100])
    cut_short = [*steps[:-1], TrackedStep(3, 1, measured(100, MINUTE_NS // 3, StepState.INTERRUPTED))]
    results = analyzed(cut_short)
    assert (results.begun, len(results.minutes)) == (3, 2)
    # what lies between two tracked minutes is none, however long a minute is
    filling = TrackedStep(2, 0, measured(100, MINUTE_NS))
    doubled = analyze_tracking(
        [TrackedStep(1, 0, measured(100, MINUTE_NS)), filling], minute_ns=MINUTE_NS, period_ns=2 * MINUTE_NS
    )
    assert len(doubled.minutes) == 1


def test_minutes_without_time_between_them_are_all_tracked() -> None:
    steps = [TrackedStep(number, 0, measured(100, MINUTE_NS)) for number in range(1, 7)]
    results = analyze_tracking(steps, minute_ns=MINUTE_NS, period_ns=MINUTE_NS)
    assert len(results.minutes) == 6
    assert results.window.rounds == (1, 2, 3, 4, 5)


def test_nothing_is_nothing() -> None:
    results = analyzed([])
    assert (results.begun, results.minutes, results.window.rounds) == (0, (), ())
