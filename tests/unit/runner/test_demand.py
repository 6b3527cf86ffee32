"""How long the intervals of a run are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.runner.resource_check import interval_ns

SECOND_NS = 10**9


@pytest.mark.parametrize(
    ("minute_s", "interval_s"), [(60, 1), (10, 1), (4, 1), (3, 0.75), (0.4, 0.1), (2.5, 0.625), (4.5, 0.9)]
)
def test_an_interval_is_a_second_or_a_part_of_the_minute(minute_s: float, interval_s: float) -> None:
    assert interval_ns(round(minute_s * SECOND_NS)) == round(interval_s * SECOND_NS)


@given(minute_ns=st.integers(10**6, 3600 * SECOND_NS))
def test_a_minute_is_whole_intervals_but_for_what_no_clock_shows(minute_ns: int) -> None:
    length_ns = interval_ns(minute_ns)
    number = round(minute_ns / length_ns)
    assert number >= 4
    assert 0 < length_ns <= SECOND_NS
    assert 0 <= minute_ns - number * length_ns < number
