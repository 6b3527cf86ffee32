import math
from collections.abc import Mapping, Sequence
from statistics import fmean, variance

import pytest
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import NOTHING, Sample
from openpts_twin.fingerprint.features import FARTHEST_ALIKE, compared, figures_of
from openpts_twin.fingerprint.script import (
    COLLECTING,
    FALL,
    MOST_WINDOWS,
    PROBES,
    WINDOW,
    cool_rates,
    has_fallen,
)
from tests.support.interval_samples import step_of

NAME = "time of read 4 KiB, QD 1"


def test_the_distance_is_in_standard_deviations_of_the_shrunk_spread() -> None:
    """As for a mean of repeats whose variance has a prior of four degrees of freedom."""
    own, others = [4.0, 4.02, 4.01], [4.05, 4.07]
    found = compared([{NAME: one} for one in own], [{NAME: one} for one in others]).differences[0]
    typical = compared([{NAME: 4.0}], [{NAME: 4.02}]).differences[0].distance
    prior = (0.02 / typical) ** 2 / 2
    pooled = (4 * prior + 2 * variance(own) + 1 * variance(others)) / (4 + 2 + 1)
    change = fmean(own) - fmean(others)
    assert found.ratio == pytest.approx(math.exp(change))
    assert found.distance == pytest.approx(abs(change) / math.sqrt(pooled * (1 / 3 + 1 / 2)))


def test_the_farthest_figure_decides_and_what_one_side_lacks_does_not() -> None:
    own, other = {"a": 0.0, "b": 1.0, "c": 3.0}, {"a": 0.001, "b": 2.0}
    found = compared([own], [other])
    assert not found.same
    assert [one.name for one in found.differences] == ["b", "a"]
    assert found.differences[1].distance < FARTHEST_ALIKE
    assert compared([own], [own]).same


def test_repeats_that_vary_more_find_less() -> None:
    quiet = compared([{NAME: 0.0}, {NAME: 0.001}], [{NAME: 0.03}, {NAME: 0.031}])
    restless = compared([{NAME: -0.1}, {NAME: 0.1}], [{NAME: -0.05}, {NAME: 0.15}])
    assert not quiet.same
    assert restless.same


def test_sides_without_a_figure_of_both_are_refused() -> None:
    with pytest.raises(UsageError):
        compared([{"a": 0.0}], [{"b": 0.0}])


def of_reads(sample: Sample) -> Sample:
    """The same, read instead of written."""
    intervals = tuple(replace(one, read=one.write, write=NOTHING) for one in sample.intervals)
    return replace(sample, read=sample.write, write=NOTHING, intervals=intervals)


def throttled(sample: Sample, *seconds: int) -> Sample:
    """The same, slowed down by heat in these seconds."""
    intervals = (replace(one, throttled=number in seconds) for number, one in enumerate(sample.intervals))
    return replace(sample, intervals=tuple(intervals))


def figures(
    probe: Sequence[Sequence[int]], fill: Sequence[Sequence[int]], windows: Sequence[Sample] = ()
) -> Mapping[str, float]:
    """Of loads and of a pass with I/Os that took so long in each second, and of random writes."""
    loads = [step_of(probe) if "write" in name else of_reads(step_of(probe)) for name in PROBES]
    applied = {Phase.PROFILE: loads, Phase.CONDITIONING: [step_of(fill)], Phase.SWEEP: windows}
    return figures_of({**dict.fromkeys(Phase, ()), **applied}, 1)


@pytest.mark.parametrize(
    "seconds",
    [
        # the load before is still programmed
        [[900_000]] * 6 + [[80_000]] * 44,
        # what a drive does for itself takes some milliseconds now and then
        [[80_000]] * 30 + [[80_000] * 9 + [1_800_000]] + [[80_000]] * 19,
        [[80_000]] * 3 + [[80_000] * 9 + [1_800_000]] + [[80_000]],
    ],
)
def test_some_seconds_that_are_slower_are_no_part_of_a_time(seconds: list[list[int]]) -> None:
    assert math.exp(figures(seconds, [[1]])[NAME]) == pytest.approx(80_000)


def test_the_time_of_a_write_is_that_of_one_that_finds_room_in_the_buffer() -> None:
    """Others wait for the flash, some for long: their mean differs from run to run."""
    found = figures([[11_000, 11_100, 90_000], [11_000, 450_000]] * 15, [[1]])
    assert math.exp(found["time of write 4 KiB, QD 1"]) == pytest.approx(11_000, rel=1e-3)


def windows_at(*rates: int) -> list[Sample]:
    """Windows of 1,200 writes each, at so many a second."""
    return [step_of([[1] * rate] * (1200 // rate)) for rate in rates]


@pytest.mark.parametrize("cached", [17, 25, 45])
def test_a_cache_that_ends_before_collection_begins_is_not_in_the_rates(cached: int) -> None:
    rates = [400] + [300] * (cached - 1) + [240] * (50 - cached) + [60] * COLLECTING
    found = figures([[1]], [[1]], windows_at(*rates))
    assert math.exp(found["random writes before collection"]) == pytest.approx(300 * 4096)
    assert math.exp(found["random writes while the drive collects"]) == pytest.approx(60 * 4096)
    assert math.expm1(found["flash over capacity"]) == pytest.approx(50 * WINDOW)


def test_an_interface_that_hides_collection_is_no_faster_while_the_drive_collects() -> None:
    """It is known to be at least so fast, once the course is at its end."""
    name = "random writes while the drive collects"
    hidden = figures([[1]], [[1]], windows_at(*[400] * MOST_WINDOWS))
    assert math.exp(hidden[name]) == pytest.approx(FALL * 400 * 4096)
    assert "flash over capacity" not in hidden
    slower = figures([[1]], [[1]], windows_at(*[400] * 30, *[200] * COLLECTING))
    assert hidden[name] - slower[name] == pytest.approx(math.log(FALL * 400 / 200))
    assert math.exp(hidden[f"{name}, in the end"]) == pytest.approx(400 * 4096)
    hot = [throttled(one, *range(9)) for one in windows_at(*[400] * 40)]
    assert name not in figures([[1]], [[1]], [*windows_at(*[400] * (MOST_WINDOWS - 40)), *hot])
    assert name not in figures([[1]], [[1]], windows_at(*[400] * (MOST_WINDOWS - 1)))


def test_windows_show_the_seconds_that_heat_left_alone() -> None:
    even = step_of([[1] * 300] * 4)
    # 300 a second, 100 in those that are slowed down
    slowed = throttled(step_of([[1] * 300] * 3 + [[1] * 100] * 2), 3, 4)
    mostly_slowed = throttled(step_of([[1] * 300] * 2 + [[1] * 100] * 6), *range(2, 8))
    # an empty buffer takes in what the flash does not
    rested = step_of([[1] * 500, [1] * 100] + [[1] * 300] * 3)
    found = cool_rates([even, slowed, rested, mostly_slowed, rested])
    cool = pytest.approx(300 * 4096)
    assert found == [cool, cool, cool, None, cool]


def passed(fast_seconds: float, *slow: int) -> Mapping[str, float]:
    """So many seconds at 400 writes each, the rest at 100, of which the first are given."""
    whole, share = divmod(fast_seconds, 1)
    middle = round(400 * share + 100 * (1 - share))
    counts = [*[400] * int(whole), middle, *slow, *[100] * (600 - len(slow))]
    return figures([[1]], [[1] * count for count in counts])


def test_a_short_cache_is_as_large_whatever_the_seconds_behind_it_moved() -> None:
    """By these it is placed within its last second; half more of it is another cache."""
    even = passed(3.2)
    for slow in ((60, 130, 90, 120), (130, 70, 110, 90), (100, 40, 160)):
        assert compared([passed(3.2, *slow)], [even]).same
    [*_, end] = [one for one in compared([passed(4.8)], [even]).differences if one.name == "end of the cache"]
    assert end.distance > FARTHEST_ALIKE


def test_a_pass_with_few_writes_a_second_has_the_rate_that_it_has() -> None:
    """21 or 22 writes a second: a median is one of them."""
    found = figures([[1]], [[1] * (21 + (second % 3 == 0)) for second in range(60)])
    assert math.exp(found["pass in sequence"]) == pytest.approx(4096 * (21 + 1 / 3))


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([100.0] * 20 + [30.0] * COLLECTING, True),
        ([100.0] * 20 + [30.0] * (COLLECTING - 1), False),
        # a cache that is full, before free blocks run out
        ([300.0] * 30 + [224.0] * 3 + [215.0] * COLLECTING, False),
        ([100.0, 30.0] * COLLECTING, False),
        ([100.0] * 2 + [30.0] * COLLECTING, False),
        ([], False),
    ],
)
def test_collection_began_where_the_rate_stays_low(rates: list[float], *, expected: bool) -> None:
    assert has_fallen(rates) is expected
