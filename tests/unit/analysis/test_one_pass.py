"""The pass against theory: the amplification by Lambert's function, and what it writes."""

import math

import pytest
from scipy.special import lambertw

from openpts.analysis.one_pass import (
    WINDOWS,
    amplification,
    at_rest,
    collection_began,
    pieces,
    unrest,
    warms_up,
)


@pytest.mark.parametrize("flash", [1.02, 1.07, 1.15, 1.28, 1.5, 2.0])
def test_the_amplification_is_that_of_the_oldest_block_first(flash: float) -> None:
    # Desnoyers 2014
    published = flash / (flash + lambertw(-flash * math.exp(-flash)).real)
    assert amplification(flash) == pytest.approx(published, rel=1e-9)


@pytest.mark.parametrize("flash", [1.02, 1.28, 2.0])
def test_a_pass_writes_each_lba_once_in_sequence_and_fills_the_flash(flash: float) -> None:
    found = pieces(flash, 100)
    assert [piece.start for piece in found] == [0, *(piece.end for piece in found[:-1])]
    assert found[-1].end == 1
    assert 1 + sum(piece.overwritten for piece in found) == pytest.approx(flash, rel=1e-6)


@pytest.mark.parametrize("flash", [1.07, 1.28, 2.0])
def test_pages_of_each_age_are_overwritten_as_often_as_in_the_steady_state(flash: float) -> None:
    # what was written survives if no later overwrite, uniform below the end of its piece, hit it
    found = pieces(flash, 1000)
    factor = amplification(flash)
    later = 0.0
    for number in reversed(range(len(found))):
        later += found[number].overwritten / found[number].end
        age = flash * (len(found) - number) / len(found)
        assert math.exp(-later) == pytest.approx(math.exp(-age / factor), rel=1e-2)


def test_collection_begins_where_the_rate_stays_low() -> None:
    assert collection_began([100, 101, 99, 100, 60, 100, 100]) is None
    assert collection_began([100, 101, 99, 100, 60, 55, 50]) == 4
    assert collection_began([100, 101, 99, 100, 60, 55]) is None
    assert collection_began([]) is None


def test_at_rest_is_neither_a_slope_nor_a_beginning() -> None:
    level = [100.0, 104.0] * (WINDOWS // 2)
    assert at_rest(level)
    assert not at_rest(level[1:])
    # where it was not at rest at once, it may only turn about: twice as many windows have to be
    assert not at_rest([300.0, *level])
    assert at_rest([300.0, *level, *level])
    assert not at_rest([100.0 + window for window in range(WINDOWS)])


def test_what_keeps_windows_from_being_at_rest_is_the_slope_or_the_range() -> None:
    assert unrest([100.0 + place for place in range(20)]) == "it still moves by 17 % over 20 windows"
    # up and down about 100: 40 % of it, along a line of 2 %
    assert unrest([120.0, 80.0, 80.0, 120.0] * 5) == "20 windows range over 40 % of their mean"


def test_a_drive_warms_up_where_heat_may_yet_slow_it_down() -> None:
    climbs = [67, 69, 70, 71, 71, 72, 73, 73, 74, 74]
    assert warms_up(climbs, 115)
    assert warms_up([celsius - 10 for celsius in climbs], 115)
    # what drives bear is too far off for the minutes in which they get warm
    assert not warms_up([celsius - 35 for celsius in climbs], 115)
    assert not warms_up([74, 75] * 5, 115)
    # 2 K in 20 s are 30 K in five minutes, and those in an hour are 2 K
    assert warms_up([50, 52], 20)
    assert not warms_up([50, 52], 3600)
    # a drive that tells no temperature
    assert not warms_up([], 115)
