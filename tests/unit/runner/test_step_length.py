"""How far a step is, for every rule that may end it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.runner.progress import StepCounts, done_fraction, longest_left_s
from openpts.units import NS_PER_S
from openpts.vocabulary.stop import (
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Steady,
    SteadyFigure,
    StopRule,
)
from tests.support.vocabulary_values import values_of

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
def test_the_end_is_foreseen_as_far_as_the_rule_allows(
    stop: StopRule, fraction: float | None, left_s: float | None
) -> None:
    assert done_fraction(stop, DONE, CAPACITY) == pytest.approx(fraction)
    assert longest_left_s(stop, DONE, CAPACITY) == pytest.approx(left_s)


def test_a_ramp_lies_before_all_that_counts() -> None:
    in_ramp = StepCounts(-5 * NS_PER_S, 0, 0, 100_000, 400e6)
    assert done_fraction(SECONDS(10), in_ramp, CAPACITY) == 0
    assert longest_left_s(SECONDS(10), in_ramp, CAPACITY) == 15
    assert longest_left_s(ByteAmount(4 * 10**9), in_ramp, CAPACITY) == 15


@pytest.mark.parametrize("stop", [ByteAmount(10**12), DriveFills(1), IoCount(10**12)])
def test_an_amount_has_no_bound_while_nothing_moves(stop: StopRule) -> None:
    standing = StepCounts(60 * NS_PER_S, 10, 10, 0, 0)
    assert longest_left_s(stop, standing, CAPACITY) is None


@given(values_of(StopRule), st.integers(-(10**12), 10**15), st.integers(0, 10**12), st.integers(0, 10**15))
def test_any_rule_gives_a_share_and_no_negative_time(
    stop: StopRule, elapsed_ns: int, ios: int, amount_bytes: int
) -> None:
    done = StepCounts(elapsed_ns, ios, amount_bytes, ios / 60, amount_bytes / 60)
    fraction, left_s = done_fraction(stop, done, CAPACITY), longest_left_s(stop, done, CAPACITY)
    assert fraction is None or 0 <= fraction <= 1
    assert left_s is None or left_s >= 0
