"""What is worked out of a run while it goes on: rates, shares, and the time that is left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openpts.cli.log_lines import now_line, time_text
from openpts.engine.contract import EngineProgress
from openpts.runner.events import StepsStarted, Ticked
from openpts.runner.progress import RunProgress, StepCounts, done_fraction, longest_left_s
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.stimulus import (
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Steady,
    SteadyFigure,
    Step,
    StopRule,
)
from tests.support.told_run import (
    POINT,
    SIMULATED,
    STARTED,
    WIPC,
    begun,
    clock,
    ended,
    planned,
    round_of,
    ticked,
    wipc,
)
from tests.support.vocabulary_values import values_of

__all__ = ["clock"]


def ios_after(elapsed_s: float) -> int:
    """A drive that does 1000 I/Os per second, and after three seconds 5000."""
    return round(min(3, elapsed_s) * 1000 + max(0, elapsed_s - 3) * 5000)


# in 0.1 s of ours a drive does what it does in 0.1 s; a simulated one lives for as long as was computed
@pytest.mark.parametrize("tick_s", [0.1, 0.5, 7.0])
def test_rates_are_those_of_the_last_second_of_the_engine(tick_s) -> None:
    progress = RunProgress()
    progress.on_event(STARTED)
    progress.on_event(begun(1, *(POINT,) * 56))
    for number in range(60):
        elapsed_s = tick_s * number
        ios = ios_after(elapsed_s)
        progress.on_event(
            ticked(1, 0, POINT, step_elapsed_ns=round(elapsed_s * NS_PER_S), ios=ios, bytes=ios * 4096)
        )
    assert progress.iops_now == pytest.approx(5000)
    assert progress.bytes_per_s_now == pytest.approx(5000 * 4096)


def test_the_next_step_does_not_inherit_a_rate() -> None:
    progress = RunProgress()
    progress.on_event(STARTED)
    progress.on_event(begun(1, *(POINT,) * 56))
    progress.on_event(ticked(1, 0, POINT, step_elapsed_ns=0, ios=0))
    progress.on_event(ticked(1, 0, POINT, step_elapsed_ns=9 * NS_PER_S // 10, ios=90_000))
    # the engine has gone on to the next step, whose predecessor's sample is not here yet
    progress.on_event(ticked(1, 0, POINT, step_elapsed_ns=NS_PER_S // 10, ios=100_000))
    progress.on_event(ticked(1, 0, POINT, step_elapsed_ns=NS_PER_S // 5, ios=100_200))
    assert progress.iops_now == pytest.approx(2000)


def test_steps_that_are_over_at_once_show_the_rate_that_they_had() -> None:
    progress = RunProgress()
    progress.on_event(STARTED)
    progress.on_event(begun(1, POINT, POINT))
    progress.on_event(ended(1, 0, POINT))
    assert progress.iops_now == pytest.approx(1000)
    assert progress.bytes_per_s_now == pytest.approx(1000 * 4 * KIB)


def test_a_simulated_run_tells_the_time_of_the_drive_and_ours(clock) -> None:
    progress = RunProgress()
    progress.on_event(SIMULATED)
    progress.on_event(begun(3, *(POINT,) * 56))
    for position in range(28):
        progress.on_event(ended(3, position, POINT))
    clock.now_s += 0.285
    progress.on_event(ticked(3, 28, POINT, step_elapsed_ns=NS_PER_S // 2))
    # 28.5 s of the drive in 0.285 s: what is left takes a hundredth of its time
    assert time_text(progress) == "simulated 28.50 s in 0.28 s, at most 4 min 12 s left (in 2.52 s)"


def seconds_left(progress: RunProgress) -> tuple[str, float] | None:
    left = progress.time_left()
    return None if left is None else (left.words, round(left.seconds, 3))


def test_the_longest_time_left_is_the_rest_of_the_plan() -> None:
    progress = RunProgress()
    progress.on_event(STARTED)
    assert progress.time_left() is None  # nothing runs yet
    progress.on_event(begun(None, WIPC))
    progress.on_event(ticked(None, 0, WIPC))
    assert progress.time_left() is None  # the speed of preconditioning is not known yet
    progress.on_event(ticked(None, 0, WIPC, step_elapsed_ns=NS_PER_S, bytes=250_000_000))
    # the rate of now and not the planned 4 s: a drive may become slower, so it is no bound
    assert seconds_left(progress) == ("about", 3 + 7 * 56)
    progress.on_event(begun(3, *(POINT,) * 56))
    for position in range(28):
        progress.on_event(ended(3, position, POINT))
    progress.on_event(ticked(3, 28, POINT, step_elapsed_ns=NS_PER_S // 2))
    assert seconds_left(progress) == ("at most", 5 * 56 - 28.5)


def test_what_the_plan_does_not_have_has_no_time_left() -> None:
    progress = RunProgress()
    progress.on_event(STARTED)
    progress.on_event(StepsStarted(2, round_of(1, POINT)))
    progress.on_event(Ticked(StepPlace(2, Phase.ROUND, 1, 0), POINT, EngineProgress(1, NS_PER_S // 2, 1, 1)))
    assert progress.time_left() is None
    assert now_line(progress).startswith("cycle 2, round 1 of at most 7, step 1 of 1, RND 4 KiB 0/100: ")


def test_a_saturation_whose_end_depends_on_the_drive_is_no_bound() -> None:
    saturation = Apply(Phase.SATURATION, 1, (POINT,), 2)
    follow = Apply(Phase.SATURATION, 2, (POINT, POINT), 2)
    histogram = Apply(Phase.HISTOGRAM, 1, (POINT,))
    progress = RunProgress()
    progress.on_event(
        replace(STARTED, plan=tuple(planned(apply) for apply in (saturation, follow, histogram)))
    )
    progress.on_event(StepsStarted(1, saturation))
    assert seconds_left(progress) == ("about", 4)
    progress.on_event(StepsStarted(1, histogram))
    assert seconds_left(progress) == ("at most", 1)


def test_preconditioning_by_drive_fills_ends_when_the_capacity_is_full() -> None:
    by_fills = Step.of(WIPC.stimulus, DriveFills(1))
    progress = RunProgress()
    progress.on_event(STARTED)
    progress.on_event(begun(None, by_fills))
    progress.on_event(ticked(None, 0, by_fills))
    progress.on_event(ticked(None, 0, by_fills, step_elapsed_ns=NS_PER_S, bytes=250_000_000))
    assert progress.step_fraction == pytest.approx(0.25)  # the target holds 1 GB
    assert seconds_left(progress) == ("about", 3 + 7 * 56)


def test_a_step_until_steady_shows_no_end_that_is_not_known(clock) -> None:
    until_steady = Step.of(WIPC.stimulus, Steady(SteadyFigure.THROUGHPUT, NS_PER_S))
    progress = RunProgress()
    progress.on_event(STARTED)
    progress.on_event(begun(None, until_steady))
    progress.on_event(ticked(None, 0, until_steady))
    clock.now_s += 1
    progress.on_event(ticked(None, 0, until_steady, bytes=250_000_000))
    assert (progress.step_fraction, progress.run_fraction) == (None, 0)
    assert progress.time_left() is None
    assert time_text(progress) == "1.00 s elapsed"


def test_the_counts_of_a_step_begin_behind_its_ramp_and_the_step_before(clock) -> None:
    ramped = Step.of(WIPC.stimulus, ByteAmount(4_000_000), ramp_ns=NS_PER_S)
    progress = RunProgress()
    progress.on_event(STARTED)
    progress.on_event(begun(None, ramped, ramped))
    progress.on_event(ticked(None, 0, ramped, step_elapsed_ns=NS_PER_S // 2, bytes=7_000_000))
    assert progress.step_fraction == 0
    clock.now_s += 1
    progress.on_event(ticked(None, 0, ramped, step_elapsed_ns=NS_PER_S * 3 // 2, bytes=8_000_000))
    assert progress.step_fraction == pytest.approx(0.25)
    progress.on_event(ended(None, 0, ramped))
    clock.now_s += 1
    progress.on_event(ticked(None, 1, ramped, step_elapsed_ns=NS_PER_S * 2, bytes=10_000_000))
    assert progress.step_fraction == pytest.approx(0.5)


def test_an_idle_gap_is_named_as_what_it_is(clock) -> None:
    gap = Step.of(None, Duration.seconds(10))
    progress = RunProgress()
    for event in (STARTED, begun(1, gap, POINT), ticked(1, 0, gap, step_elapsed_ns=NS_PER_S)):
        progress.on_event(event)
    assert progress.step_fraction == pytest.approx(0.1)
    assert now_line(progress).startswith("round 1 of at most 7, step 1 of 2, idle: ")


CAPACITY = 10**12
# A minute in: 6,000,000 I/Os and 24 GB, at 100,000 IOPS and 400 MB/s.
DONE = StepCounts(60 * NS_PER_S, 6_000_000, 24 * 10**9, 100_000, 400e6)
STEADY = Steady(SteadyFigure.IOPS, NS_PER_S)
SECONDS = Duration.seconds


@pytest.mark.parametrize(
    ("stop", "fraction", "left_s"),
    [
        (SECONDS(240), 0.25, 180),
        (SECONDS(30), 1, 0),
        (ByteAmount(96 * 10**9), 0.25, 180),
        (DriveFills(0.24), 0.1, 540),
        (IoCount(24_000_000), 0.25, 180),
        (STEADY, None, None),
        (FirstOf((STEADY, SECONDS(240))), 0.25, 180),
        (FirstOf((STEADY,)), None, None),
        (FirstOf((SECONDS(600), ByteAmount(96 * 10**9))), 0.25, 180),
        (FirstOf((ByteAmount(1),), at_least_ns=240 * NS_PER_S), 0.25, 180),
        (FirstOf((ByteAmount(96 * 10**9),), at_least_ns=61 * NS_PER_S), 0.25, 180),
        (FirstOf((STEADY, SECONDS(90)), at_least_ns=120 * NS_PER_S), 0.5, 60),
    ],
)
def test_the_end_is_foreseen_as_far_as_the_rule_allows(stop, fraction, left_s) -> None:
    assert done_fraction(stop, DONE, CAPACITY) == pytest.approx(fraction)
    assert longest_left_s(stop, DONE, CAPACITY) == pytest.approx(left_s)


def test_a_ramp_lies_before_all_that_counts() -> None:
    in_ramp = StepCounts(-5 * NS_PER_S, 0, 0, 100_000, 400e6)
    assert done_fraction(SECONDS(10), in_ramp, CAPACITY) == 0
    assert longest_left_s(SECONDS(10), in_ramp, CAPACITY) == 15
    assert longest_left_s(ByteAmount(4 * 10**9), in_ramp, CAPACITY) == 15


@pytest.mark.parametrize("stop", [ByteAmount(10**12), DriveFills(1), IoCount(10**12)])
def test_an_amount_has_no_bound_while_nothing_moves(stop) -> None:
    standing = StepCounts(60 * NS_PER_S, 10, 10, 0, 0)
    assert longest_left_s(stop, standing, CAPACITY) is None


@given(values_of(StopRule), st.integers(-(10**12), 10**15), st.integers(0, 10**12), st.integers(0, 10**15))
def test_any_rule_gives_a_share_and_no_negative_time(stop, elapsed_ns, ios, amount_bytes) -> None:
    done = StepCounts(elapsed_ns, ios, amount_bytes, ios / 60, amount_bytes / 60)
    fraction, left_s = done_fraction(stop, done, CAPACITY), longest_left_s(stop, done, CAPACITY)
    assert fraction is None or 0 <= fraction <= 1
    assert left_s is None or left_s >= 0


def test_the_time_left_of_amounts_is_corrected_by_what_amounts_took() -> None:
    """Three fills of 4 s each: the first took 12 s, the second takes 4, so the third is to take 8."""
    fill = Step.of(WIPC.stimulus, DriveFills(1))
    fills = (fill, fill, fill)
    plan = (planned(wipc(*fills), 4.0), *(planned(round_of(number, POINT), 60.0) for number in range(1, 8)))
    progress = RunProgress()
    progress.on_event(replace(STARTED, plan=plan))
    progress.on_event(begun(None, *fills))
    first = ended(None, 0, fill)
    progress.on_event(replace(first, sample=replace(first.sample, elapsed_ns=12 * NS_PER_S)))
    shares = [progress.run_fraction]
    for second in range(4):
        elapsed_ns, amount_bytes = second * NS_PER_S, second * 250_000_000
        progress.on_event(ticked(None, 1, fill, step_elapsed_ns=elapsed_ns, bytes=amount_bytes))
        shares.append(progress.run_fraction)
    assert seconds_left(progress) == ("about", 1 + 8 + 7 * 60)
    assert shares == sorted(shares)  # one bar for all of the run, which never goes back
    assert shares[-1] == pytest.approx(15 / (15 + 429))
