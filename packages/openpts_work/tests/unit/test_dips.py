"""Dips of throughput: loads whose dips are known."""

import pytest

from openpts_work.dips import Dip, dips_of


def test_a_steady_load_has_none() -> None:
    assert dips_of([100.0, 101, 99] * 100) == ()


@pytest.mark.proves("HYP-BG-01")
def test_a_dip_that_recovers_is_found_where_it_is() -> None:
    rates = [100.0] * 50 + [60.0, 20.0, 69.9] + [100.0] * 50
    assert dips_of(rates) == (Dip(first=50, last=52, median=100, lowest=20, lasts=False),)


def test_what_is_just_at_the_limit_is_none() -> None:
    assert dips_of([100.0] * 50 + [70.0] * 5 + [100.0] * 50) == ()


def test_a_level_that_stays_lower_is_one_dip_that_lasts() -> None:
    """It ends when the lower values are more than half of the 61 before."""
    (dip,) = dips_of([1000.0] * 100 + [300.0] * 200)
    assert (dip.first, dip.last, dip.median, dip.lasts) == (100, 130, 1000, True)


def test_nothing_is_judged_before_there_is_a_median() -> None:
    assert dips_of([100.0] * 9 + [1.0]) == ()


def test_a_dip_at_the_end_of_a_load_lasts_if_it_was_long() -> None:
    (long,) = dips_of([100.0] * 50 + [10.0] * 8)
    assert (long.last, long.lasts) == (57, True)
