"""The finders of the x-ray against exact arithmetic: rates and latencies of drives whose inside is known."""

import random
from collections.abc import Callable
from itertools import pairwise, product
from statistics import fmean

import msgspec
import pytest
from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample
from openpts_twin.findings import FINDINGS, Confidence, Finding, cannot_tell, findings_in, told
from openpts_twin.rates import Window, at_higher_rate, first_fall
from openpts_twin.write_buffer import filled_by
from openpts_twin.xray.collection import Victims, began, victims_of
from openpts_twin.xray.geometry import ROWS_PAGES, Geometry, pair_ns, replay, search
from openpts_twin.xray.properties import idle_gains, slowed_at
from openpts_twin.xray.unit import PROBES, SIZES, ratios_of, unit_by, unit_of
from tests.support.synthetic_run import step_sample

READ_NS = 60_000


def windows_at(rates: tuple[float, float], falls_at: float, edges: list[float]) -> list[Window]:
    """A course of writes at the first rate up to a place and at the second from there, cut at the edges."""
    before, after = rates
    found = []
    for start, end in pairwise(edges):
        first = min(max(falls_at - start, 0.0), end - start)
        found.append(Window(start, end - start, 1e9 * (first / before + (end - start - first) / after)))
    return found


def test_a_window_without_a_write_behind_a_fall_leaves_all_of_the_fallen_one_to_the_rate_before() -> None:
    seconds = [100.0] * 20 + [40.0] + [20.0, 0.0] * 20
    windows = [Window(sum(seconds[:place]), one, 1e9) for place, one in enumerate(seconds)]
    fall = first_fall(windows)
    assert fall is not None
    assert fall.at_bytes == 2040


@pytest.mark.parametrize("falls_at", [400.0, 437.5, 455.0, 799.9])
def test_a_fall_is_placed_within_its_window(falls_at: float) -> None:
    edges = [
        100.0,
        150.0,
        200.0,
        260.0,
        330.0,
        400.0,
        475.0,
        560.0,
        650.0,
        760.0,
        870.0,
        980.0,
        1100.0,
        1200.0,
    ]
    fall = first_fall(windows_at((3000.0, 200.0), falls_at, edges))
    assert fall is not None
    assert fall.at_bytes == pytest.approx(falls_at)
    assert (fall.before_bytes_per_s, fall.after_bytes_per_s) == pytest.approx((3000, 200))


@pytest.mark.parametrize("high", [50, 80])
@pytest.mark.parametrize("falls_at", [401.0, 420.0, 439.0])
def test_a_fall_is_placed_by_what_comes_next_not_by_a_cache_that_takes_some_in_again(
    falls_at: float, high: int
) -> None:
    """From the fall on, 100 at the lower rate and some at the higher one by turns, in windows of 40."""

    def takes_ns(done: float) -> float:
        later = max(0.0, done - falls_at)
        rounds, rest = divmod(later, 100 + high)
        low = 100 * rounds + min(rest, 100)
        return 1e9 * ((done - low) / 3000 + low / 200)

    edges = [float(edge) for edge in range(0, 1200, 40)]
    windows = [Window(a, b - a, takes_ns(b) - takes_ns(a)) for a, b in pairwise(edges)]
    fall = first_fall(windows)
    assert fall is not None
    assert fall.at_bytes == pytest.approx(falls_at, rel=0.002)


def test_a_rate_that_does_not_fall_has_no_fall_and_nothing_at_a_higher_rate() -> None:
    assert first_fall(windows_at((500.0, 400.0), 300, [float(n) for n in range(0, 1000, 50)])) is None
    hiccup = windows_at((500.0, 500.0), 0, [0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0])
    hiccup[3] = Window(150, 50, 1e9)
    assert first_fall(hiccup) is None
    assert at_higher_rate(Window(0, 100, 1e9), 100, 100) == 0
    assert at_higher_rate(Window(0, 100, 1e6), 1000, 100) == 100


class Layout:
    """Dies of a drive written in sequence: chunks round a group, rows of a group, groups round the drive."""

    def __init__(self, dies: int, group: int, chunk: int, unit: int) -> None:
        self.dies, self.group, self.chunk, self.unit = dies, group, chunk, unit

    def die(self, page: int) -> int:
        within = page // self.chunk % self.group
        return (page // (self.group * self.unit) * self.group + within) % self.dies

    def pairs_ns(self, distance: int, pairs: int = 128, region: int = 16_384) -> float:
        """Mean latency of pairs of reads: the second of a pair on one die waits for the first."""
        count = max(1, min(pairs, region // (2 * distance)))
        waiting = sum(self.die(2 * n * distance) == self.die((2 * n + 1) * distance) for n in range(count))
        return READ_NS * (1 + waiting / count / 2)


class Apart(Layout):
    """The same drive where a command takes longer than a read: two pages are read by one command.

    Those of one chunk come by one read, those of two chunks of a unit by one after the other, and others by
    two reads at a time, the second of which starts when the bus has passed on the first.
    """

    def pairs_ns(self, distance: int, pairs: int = 128, region: int = 16_384) -> float:
        """Mean latency over half of the pages that lie so far beyond whole rows from their second."""
        apart = ROWS_PAGES + distance
        waits = [self.die(page) == self.die(page + apart) for page in range(apart // 2)]
        return 280_000 + (READ_NS - 20_000) * fmean(waits)


def searched(layout: Layout, noise: Callable[[], float] = lambda: 1.0) -> list[tuple[int, float]]:
    """All distances that the search asks for, with the latency of each, times some noise."""
    asks, measured = search(0 if isinstance(layout, Apart) else 1), []
    distance = next(asks)
    while True:
        measured.append((distance, layout.pairs_ns(distance) * noise()))
        try:
            distance = asks.send(measured[-1][1])
        except StopIteration:
            return measured


@pytest.mark.parametrize("dies", [16, 32, 64, 128])
@pytest.mark.parametrize("group", [4, 8, 16])
@pytest.mark.parametrize(("chunk", "unit"), [(2, 24), (4, 24), (8, 24), (4, 16), (8, 16)])
def test_the_layout_is_found_by_pairs_of_reads(dies: int, group: int, chunk: int, unit: int) -> None:
    found = replay(searched(Layout(dies, group, chunk, unit)))
    assert (found.chunk_pages, found.units) == (chunk, dies)
    if dies > group:
        assert (found.group_units, found.program_pages) == (group, unit)


@pytest.mark.parametrize(
    ("spread", "open_at_least", "open_at_most"), [(0.005, 0, 0), (0.02, 50, 60), (0.1, 60, 60)]
)
def test_noise_makes_no_wrong_layout(spread: float, open_at_least: int, open_at_most: int) -> None:
    """What can't be told from it is left open: the extremes of many readings always differ."""
    chance = random.Random(7)
    found = [
        (
            replay(searched(Layout(dies, group, chunk, 24), lambda: chance.lognormvariate(0, spread))),
            chunk,
            dies,
        )
        for dies, group in product((2, 16, 128), (2, 16))
        for chunk in (2, 4)
        for _ in range(6)
        if group <= dies
    ]
    assert {one.chunk_pages for one, chunk, _ in found if one.chunk_pages != chunk} <= {None}
    assert {one.units for one, _, dies in found if one.units != dies} <= {None}
    assert open_at_least <= sum(one.chunk_pages is None for one, *_ in found) <= open_at_most


@pytest.mark.parametrize(("dies", "group"), [(1, 1), (2, 2), (4, 2), (8, 2), (8, 8), (6, 2), (16, 4)])
@pytest.mark.parametrize("chunk", [1, 2, 4, 8])
@pytest.mark.parametrize("unit", [16, 24])
def test_the_layout_is_found_by_pages_that_were_written_apart(
    dies: int, group: int, chunk: int, unit: int
) -> None:
    found = replay(searched(Apart(dies, group, chunk, unit)))
    told = (found.chunk_pages, found.units)
    if ROWS_PAGES % (dies * unit) and dies > group:
        assert told == (None, None)
    else:
        assert told in ({(None, None)} if dies == 1 else {(chunk, dies)})


@pytest.mark.parametrize(
    ("dies", "group", "unit"), [(5, 5, 16), (10, 2, 16), (7, 7, 24), (4, 2, 18), (6, 3, 20)]
)
@pytest.mark.parametrize("chunk", [1, 2, 4, 8])
def test_where_no_unit_comes_again_after_so_many_pages_no_layout_is_told(
    dies: int, group: int, chunk: int, unit: int
) -> None:
    found = replay(searched(Apart(dies, group, chunk, unit)))
    assert found.units in {None, dies}
    assert found.chunk_pages in {None, chunk}


def test_where_a_chunk_is_all_that_a_unit_programs_groups_do_not_show() -> None:
    found = replay(searched(Layout(16, 4, 16, 16)))
    assert (found.chunk_pages, found.units) == (16, 16)


def test_reads_that_never_wait_tell_nothing() -> None:
    found = replay([(distance, 281_900.0) for distance in range(1, 400)])
    assert (found.chunk_pages, found.units) == (None, None)
    assert found.why
    assert replay([(1, 100.0)]) == Geometry(why="not all distances were measured")


def rates_of(
    unit: int, *, noise: float = 0.0, chance: random.Random | None = None
) -> dict[tuple[int, int], float]:
    """Rates of random writes by the units that they touch, on average over all places at an alignment."""
    chance = chance or random.Random(1)
    found = {}
    for size, alignment in PROBES:
        starts = range(0, max(unit, alignment), alignment)
        touched = [-(-(start + size) // unit) - start // unit for start in starts]
        written = sum(touched) / len(touched) * unit
        found[size, alignment] = chance.uniform(1 - noise, 1 + noise) * size / written
    return found


@pytest.mark.parametrize("unit", SIZES)
def test_the_unit_of_the_map_is_found_by_alignments(unit: int) -> None:
    rates = rates_of(unit)
    assert ratios_of(rates)[unit] == pytest.approx(1.5)
    assert all(ratio == pytest.approx(1) for size, ratio in ratios_of(rates).items() if size > unit)
    assert unit_of([rates] * 5).unit_bytes == unit


def test_a_ratio_that_an_interface_makes_smaller_is_that_of_a_unit_where_larger_writes_have_none() -> None:
    hidden = {place: rate**0.6 for place, rate in rates_of(8192).items()}
    assert ratios_of(hidden)[8192] == pytest.approx(1.5**0.6)
    assert unit_of([hidden] * 5).unit_bytes == 8192


def test_half_of_a_unit_that_an_interface_hides_is_not_told_as_one() -> None:
    """Writes of the unit's size are as fast as the interface on the purged drive, however they lie."""
    rates = rates_of(65_536)
    purged = {place: min(rate, rates[65_536, 32_768]) for place, rate in rates.items()}
    assert unit_of([purged] * 5).unit_bytes == 32_768
    uneven = [
        {place: rate * (1 + n * (place[0] == place[1])) for place, rate in rates.items()} for n in range(5)
    ]
    assert unit_by([purged] * 5, uneven, cached=False).unit_bytes is None
    assert unit_by([rates] * 5, uneven, cached=False).unit_bytes == 65_536
    assert unit_by([], [rates] * 5, cached=True).unit_bytes == 65_536


def test_one_size_that_takes_longer_by_chance_is_no_unit() -> None:
    """Half of a unit takes 1.25 times as long at half of its own alignment."""
    rates = rates_of(4096)
    uneven = {place: rate * (1.38 if place == (65_536, 65_536) else 1) for place, rate in rates.items()}
    assert unit_of([uneven] * 5).unit_bytes is None


@pytest.mark.parametrize("unit", [512, 2048, 128 * 1024, 1024 * 1024])
def test_a_unit_that_no_size_has_is_not_told(unit: int) -> None:
    assert unit_of([rates_of(unit)] * 5).unit_bytes is None


def test_reads_that_wait_for_something_else_are_no_pairs_that_wait() -> None:
    pairs_ns = [(70_000, 96), (130_000, 32)]
    for others in ([], [(1_900_000, 1)]):
        ios = sum(count for _, count in (*pairs_ns, *others))
        total_ns = sum(ns * count for ns, count in (*pairs_ns, *others))
        read = OperationSample(
            ios, ios * 4096, total_ns, 70_000, 1_900_000, encode_counts([*pairs_ns, *others])
        )
        sample = replace(step_sample(4096, 100, 1000, 1), read=read)
        assert pair_ns(sample) == pytest.approx(85_000, rel=0.001)
    assert pair_ns(replace(sample, read=NOTHING)) == 0


def writes(size: int, bytes_per_s: float) -> Sample:
    sample = step_sample(65_536, 0, 1000, 1)
    write = replace(sample.write, bytes=size)
    return replace(sample, write=write, elapsed_ns=round(1e9 * size / bytes_per_s))


def test_a_buffer_that_is_emptied_by_groups_is_full_where_a_burst_first_waits() -> None:
    """3 MB behind 3 GB/s, emptied at 500 MB/s, at 500 KB a time: the short bursts end before that shows."""
    reads = step_sample(4096, 100, 1000, 1)
    long = [
        reads,
        *(writes(size, 3e9) for size in [100_000] * 10),
        *(writes(4_000_000, 5e8) for _ in range(6)),
    ]
    short = [reads, *[writes(250_000, 3e9)] * 12, writes(250_000, 2e8), *[writes(250_000, 3e9)] * 3]
    filled = filled_by([*long, *(short * 6)], scale=1)
    assert filled is not None
    assert filled.taken_bytes == pytest.approx(3e6)
    assert filled.bytes == pytest.approx(3e6 * (1 - 1 / 6 / 2))
    assert filled_by([*long, *([reads, *[writes(250_000, 3e9)] * 16] * 6)], scale=1) is None


def test_noise_makes_no_wrong_unit() -> None:
    chance = random.Random(5)
    for unit in SIZES:
        found = [
            unit_of([rates_of(unit, noise=0.15, chance=chance) for _ in range(5)]).unit_bytes
            for _ in range(200)
        ]
        assert sum(one not in {None, unit} for one in found) <= 0.02 * len(found)
        assert found.count(unit) >= 0.4 * len(found)
    assert unit_of([]).unit_bytes is None
    assert unit_of([{(4096, 4096): 1.0, (4096, 2048): 0.5}]).unit_bytes is None


GREEDY_REFILL, CHOICES_REFILL = [88.0] * 8 + [100.0] * 12, [44.0, 52, 60, 66, 72, 74, 80, 82] + [100.0] * 12


@pytest.mark.parametrize(
    ("before", "after", "refill", "expected"),
    [
        ([100.0] * 20, [100.0, 98, 100, 100, 99], GREEDY_REFILL, Victims.GREEDY),
        ([100.0] * 20, [50.0, 12, 4, 114, 110], [30.0] * 20, Victims.FIFO),
        ([100.0] * 20, [80.0, 100, 56, 90, 100], CHOICES_REFILL, Victims.CHOICES),
        ([100.0, 70, 100, 66, 100], [80.0, 100, 56, 90, 100], CHOICES_REFILL, Victims.CHOICES),
        ([100.0, 70, 100, 66, 100], [80.0, 100, 56, 90, 100], GREEDY_REFILL, None),
        # even where free blocks run out behind an uneven beginning
        ([52.0, 52, 53, 83, 91, 90], [91.0, 92, 90, 86, 93], GREEDY_REFILL, Victims.GREEDY),
        # the rate has risen since, and varies as before
        ([85.0, 60, 75, 66, 66], [86.0, 91, 75, 78, 90, 89, 93, 96], CHOICES_REFILL, Victims.CHOICES),
        ([100.0, 70, 100, 66, 100], [100.0] * 5, CHOICES_REFILL, None),
        ([100.0] * 20, [280.0] * 5, GREEDY_REFILL, None),
        ([100.0] * 20, [91.5] * 5, GREEDY_REFILL, Victims.GREEDY),
        # some spare blocks were not free, and yet each that is taken holds as much as the one before
        ([98.0, 59, 53, 51, 48, 46, 44], [38.0, 37, 38, 39, 38], GREEDY_REFILL, Victims.GREEDY),
        # most draws meet a block that is empty, and some do not
        ([100.0] * 20, [100.0, 99, 78, 100, 100, 99, 100, 79, 100, 100], [50.0] * 20, None),
        # the turn of full blocks comes before that of those which random writes have emptied
        ([100.0, 84, 100, 107, 30, 17, 9, 27, 3], [97.0, 100, 99, 15, 100], [24.0] * 20, Victims.FIFO),
        ([100.0] * 20, [30.0] * 5, GREEDY_REFILL, None),
        ([100.0], [100.0] * 5, GREEDY_REFILL, None),
        ([100.0] * 20, [100.0], GREEDY_REFILL, None),
    ],
)
def test_the_class_of_collection(
    before: list[float], after: list[float], refill: list[float], expected: Victims | None
) -> None:
    assert victims_of(before, after, refill).victims is expected


@pytest.mark.parametrize(
    ("cached", "folding", "expected"), [(False, 70.0, 20), (True, 70.0, 32), (True, 50.0, 32)]
)
def test_a_cache_that_is_folded_is_no_collection(cached: bool, folding: float, expected: int) -> None:
    """Folding takes as much of the flash as the host at most; collection several times as much."""
    rates = [100.0] * 20 + [folding] * 12 + [20.0] * 3
    assert next(n for end in range(36) if (n := began(rates[:end], cached=cached)) is not None) == expected


def test_findings_are_read_as_they_were_written() -> None:
    written = (
        told("page_mapped.geometry.dies", 32, "units", "Plot X-XRAY-2", high=True),
        told("page_mapped.idle.folds", True, "", "Plot X-XRAY-1", high=False),
        cannot_tell("page_mapped.collection.victim", "no rest"),
    )
    read = findings_in(msgspec.json.decode(msgspec.json.encode({FINDINGS: written})))
    assert read == written
    assert [one.is_told for one in read] == [True, True, False]
    values = {one.name: one.value for one in read}
    assert values["page_mapped.geometry.dies"] == 32
    assert values.get("page_mapped.geometry.channels") is None
    assert read[1] == Finding("page_mapped.idle.folds", True, "", Confidence.LOW, "Plot X-XRAY-1")


def test_what_a_rest_gives_back_is_a_share_of_the_way_to_the_full_rate() -> None:
    """A burst of which a share ``g`` goes in at 100 and the rest at 20 takes 1/20 - g (1/20 - 1/100)."""

    def burst(gained: float) -> float:
        return 1 / (1 / 20 - gained * (1 / 20 - 1 / 100))

    before, collecting = [100.0] * 20, [20.0] * 3
    for gained in (0.0, 0.3, 1.0):
        found = idle_gains(before, collecting, [20, burst(gained)] * 5)
        assert found == pytest.approx([gained] * 5)
    # a rest gives back more than a burst takes: what is left is for the one after the short rest
    assert idle_gains(before, collecting, [20.0, *[100.0] * 9]) == pytest.approx([1] * 5)
    # short rests do
    assert idle_gains(before, collecting, [burst(0.8), 100.0] * 5) is None
    assert idle_gains(before, collecting, [100.0] * 10) is None
    assert idle_gains(before, collecting, []) is None


def test_the_temperatures_around_the_first_interval_that_heat_slowed_down() -> None:
    assert slowed_at([(70.0, False), (74.0, False), (75.0, True), (80.0, True), (60.0, False)]) == [
        74,
        75,
        80,
    ]
    assert slowed_at([(75.0, True), (70.0, False), (75.0, True)]) == [70, 75]
    assert slowed_at([(70.0, False), (71.0, False)]) == []
