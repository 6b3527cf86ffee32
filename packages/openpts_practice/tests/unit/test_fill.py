"""What the fill test asks of a drive: amounts that tile its range, idle times, bursts into what is filled."""

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from msgspec.structs import replace as with_changes

from openpts.fields.conditions import at_time_scale
from openpts.units import GB, KIB, MB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, SetWriteCache
from openpts.vocabulary.sample import Interval, OperationSample, Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, Duration, Step, Stimulus
from openpts_practice.fill.results import Returned, Trajectory, collection_counted, course_of, returned
from openpts_practice.fill.script import REWRITE_STEPS, standard_conditions
from openpts_practice.fill.script import script as fill_test
from openpts_work.dips import LEAST_NOISE, SHORTEST, segments_of
from openpts_work.work import WorkSpan
from tests.support.interval_samples import interval_of, sample_of
from tests.support.player import Drive

CAPACITY_BYTES = 1000 * GB
BLOCK_BYTES = 128 * KIB


def requests(capacity_bytes: int = CAPACITY_BYTES, **changes: Any) -> list[Any]:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)
    drive = Drive(capacity_bytes, lambda _stimulus, _phase, _number: 10_000)
    return drive.play(fill_test(conditions, capacity_bytes)).requests


def cycles(*args: Any, **changes: Any) -> tuple[list[Apply], list[Apply]]:
    """What is applied after each of the two purges."""
    found: list[list[Apply]] = []
    for request in requests(*args, **changes):
        if isinstance(request, Purge):
            found.append([])
        if isinstance(request, Apply):
            found[-1].append(request)
    first, second = found
    return first, second


def amounts(apply: Apply) -> list[int]:
    return [step.stop.amount_bytes for step in apply.steps if isinstance(step.stop, ByteAmount)]


def stimulus(step: Step) -> Stimulus:
    assert step.stimulus is not None
    return step.stimulus


def test_both_cycles_are_purged_and_end() -> None:
    kinds = [type(request) for request in requests() if not isinstance(request, Apply)]
    assert kinds == [Purge, SetWriteCache, CycleFinished] * 2


@pytest.mark.parametrize("capacity_bytes", [CAPACITY_BYTES, 256_060_514_304, 1_920_383_410_176])
def test_the_range_is_written_once_in_a_hundred_steps(capacity_bytes) -> None:
    fill = cycles(capacity_bytes)[0][0]
    assert (fill.phase, fill.number, len(fill.steps)) == (Phase.FILL, 1, 100)
    assert all(amount % BLOCK_BYTES == 0 for amount in amounts(fill))
    # nothing is written twice, and less than an I/O is left out
    assert 0 <= capacity_bytes - sum(amounts(fill)) < BLOCK_BYTES
    assert max(amounts(fill)) - min(amounts(fill)) <= BLOCK_BYTES
    assert {
        (stimulus(s).random_pct, stimulus(s).read_pct, stimulus(s).tc, stimulus(s).qd) for s in fill.steps
    } == {(0, 0, 1, 32)}


def test_steps_of_another_length_end_at_the_same_place() -> None:
    fill = cycles(step_pct=30)[0][0]
    shares = [sum(amounts(fill)[:n]) / CAPACITY_BYTES for n in range(1, 5)]
    assert shares == pytest.approx([0.3, 0.6, 0.9, 1.0], abs=1e-6)


def test_a_tiny_range_has_no_empty_steps() -> None:
    """32 I/Os in 100 steps: those in which no I/O ends are left out."""
    fill = cycles(32 * BLOCK_BYTES)[0][0]
    assert amounts(fill) == [BLOCK_BYTES] * 32


def test_each_idle_time_is_followed_by_writes_of_five_per_cent() -> None:
    first, _ = cycles()
    assert [(apply.phase, apply.number) for apply in first[1:]] == [
        (Phase.BURST, 1),
        (Phase.REST, 2),
        (Phase.BURST, 2),
        (Phase.REST, 3),
        (Phase.BURST, 3),
        (Phase.REST, 4),
        (Phase.BURST, 4),
    ]
    rests = [apply.steps for apply in first if apply.phase is Phase.REST]
    assert rests == [(Step.of(None, Duration(seconds * NS_PER_S)),) for seconds in (30, 300, 1800)]
    for apply in first:
        if apply.phase is Phase.BURST:
            assert len(apply.steps) == REWRITE_STEPS
            assert sum(amounts(apply)) == pytest.approx(0.05 * CAPACITY_BYTES, abs=BLOCK_BYTES)
            assert {stimulus(step).random_pct for step in apply.steps} == {0}


def test_bursts_go_to_what_is_filled() -> None:
    _, second = cycles()
    found = [
        (apply.phase, apply.number, stimulus(step).active_range, step.stop)
        for apply in second
        for step in apply.steps
    ]
    length = Duration(30 * NS_PER_S)
    quarter = ByteAmount(CAPACITY_BYTES // 4)
    assert found == [
        (Phase.BURST, 1, ActiveRange(0, 25), length),
        (Phase.FILL, 2, ActiveRange(0, 25), quarter),
        (Phase.BURST, 2, ActiveRange(0, 25), length),
        (Phase.FILL, 3, ActiveRange(25, 50), quarter),
        (Phase.BURST, 3, ActiveRange(0, 50), length),
        (Phase.FILL, 4, ActiveRange(50, 75), quarter),
        (Phase.BURST, 4, ActiveRange(0, 75), length),
        (Phase.FILL, 5, ActiveRange(75, 100), quarter),
        (Phase.BURST, 5, ActiveRange(0, 100), length),
    ]
    bursts = [stimulus(apply.steps[0]) for apply in second if apply.phase is Phase.BURST]
    assert {(s.random_pct, s.block_size_bytes, s.read_pct, s.tc, s.qd) for s in bursts} == {
        (100, 4096, 0, 4, 32)
    }


def test_fill_levels_are_shares_of_the_active_range() -> None:
    _, second = cycles(active_range=ActiveRange(20, 60), levels_pct=(50.0,))
    fill, burst = second
    assert (
        stimulus(fill.steps[0]).active_range == stimulus(burst.steps[0]).active_range == ActiveRange(20, 40)
    )
    assert amounts(fill) == [CAPACITY_BYTES // 5]


def test_a_time_scale_shortens_idle_times_and_bursts_but_no_amount() -> None:
    short = at_time_scale(standard_conditions(DriveClass.CLIENT, 1), 1 / 60)
    assert [time.idle_ns for time in short.idle_times] == [0, NS_PER_S // 2, 5 * NS_PER_S, 30 * NS_PER_S]
    assert short.burst_ns == NS_PER_S // 2
    assert short.rewrite_pct == 5


STEP_BYTES = 1000 * MB
STIMULUS = Stimulus.of(AccessPattern.SEQUENTIAL, 131_072, 0, 1, 32, ActiveRange())


def written(amount_bytes: int) -> OperationSample:
    return OperationSample(amount_bytes // 131_072 or 1, amount_bytes, 1, 1, 1, b"")


def step(mb_per_s: float, intervals: tuple[Interval, ...] = ()) -> Sample:
    return sample_of(
        Step.of(STIMULUS, ByteAmount(STEP_BYTES)),
        ended_by="amount",
        elapsed_ns=round(STEP_BYTES / (mb_per_s * MB) * NS_PER_S),
        intervals=intervals,
        write=written(STEP_BYTES),
    )


def course(*rates_mb_per_s: float) -> Trajectory:
    return course_of([step(rate) for rate in rates_mb_per_s])


def test_break_points_of_a_fill() -> None:
    """2000 MB/s for 20 GB, 500 for 50 GB, 250 for the last 30 GB."""
    found = course(*[2000] * 20, *[500] * 50, *[250] * 30)
    assert [fall.at_bytes for fall in found.falls] == [20 * STEP_BYTES, 70 * STEP_BYTES]
    assert (found.cache_end, found.collection_start) == found.falls
    assert found.last_rate_from_bytes == 70 * STEP_BYTES
    assert found.written_bytes == 100 * STEP_BYTES
    rates = [segment.bandwidth_bytes_per_s / MB for segment in found.segments]
    assert rates == pytest.approx([2000, 500, 250])


def test_the_step_in_which_the_cache_ends_is_in_no_segment() -> None:
    """A GB at 900 MB/s takes 1.111 s: 0.593 GB at 2,000 and the rest at 500 do as well."""
    found = course(*[2000] * 20, 900, *[500] * 50)
    assert found.cache_end.at_bytes == pytest.approx(20.593 * STEP_BYTES, abs=1e-3 * STEP_BYTES)
    assert (found.cache_end.low_bytes, found.cache_end.high_bytes) == (20 * STEP_BYTES, 21 * STEP_BYTES)
    assert found.last_rate_from_bytes == found.cache_end.at_bytes
    assert found.segments[-1].start_bytes == 21 * STEP_BYTES


def intervals_of(*rates_mb_per_s: float) -> Sample:
    """A step of a second at each rate."""
    amounts = [round(rate * MB) for rate in rates_mb_per_s]
    whole = step(sum(amounts) / len(amounts) / MB)
    intervals = tuple(interval_of(index, write=written(amount)) for index, amount in enumerate(amounts))
    return with_changes(
        whole, elapsed_ns=len(amounts) * NS_PER_S, intervals=intervals, write=written(sum(amounts))
    )


@pytest.mark.parametrize(
    ("mixed", "share"),
    [
        pytest.param(2000, 1.0, id="it fell with the interval's end"),
        pytest.param(1250, 0.5, id="in the middle of it"),
        pytest.param(500, 0.0, id="with its start"),
    ],
)
def test_intervals_place_the_end_of_a_cache_within_its_step(mixed, share) -> None:
    """After 20 GB in steps of 10 s: a step of 4 s at 2,000 MB/s, a second between, 5 s at 500."""
    fast, slow = intervals_of(*[2000] * 10), intervals_of(*[500] * 10)
    found = course_of([*[fast] * 4, intervals_of(*[2000] * 4, mixed, *[500] * 5), *[slow] * 8])
    fall = found.cache_end
    truth = 80_000 * MB + 8_000 * MB + round(share * 2000 * MB)
    assert fall.at_bytes == pytest.approx(truth, abs=1)
    assert fall.low_bytes <= truth <= fall.high_bytes
    # an interval at most, of a step of 10.5 GB or more
    assert fall.high_bytes - fall.low_bytes <= 2000 * MB


def test_a_stall_before_the_end_of_a_cache_is_not_taken_for_it() -> None:
    fast, slow = intervals_of(*[2000] * 10), intervals_of(*[500] * 10)
    stalled = intervals_of(*[2000] * 3, 50, *[2000] * 4, *[500] * 2)
    found = course_of([*[fast] * 4, stalled, *[slow] * 8])
    assert found.cache_end.at_bytes == pytest.approx((80_000 + 7 * 2000 + 50) * MB, abs=1)


@pytest.mark.proves("HYP-FILL-02")
def test_steady_state_is_reached_with_five_steps_within_20_per_cent() -> None:
    """2.1.24: from 94 to 106 the line climbs by 12 % of the mean; from 97 on by 9.6 of 102.4."""
    rising = [94, 97, 100, 103, 106, 106, 105]
    found = course(*[400] * 6, *rising, *[106] * 4)
    assert len(found.segments) == 2
    window = next(
        end
        for end in range(5, 12)
        if abs(np.polyfit(range(5), (rates := [*rising, *[106] * 4][end - 5 : end]), 1)[0]) * 4
        < sum(rates) / 50
        and max(rates) - min(rates) < sum(rates) / 25
    )
    assert window > 5
    assert found.steady_from_bytes == found.points[6 + window - 1].end_bytes
    assert course(*[400] * 12).steady_from_bytes is None
    assert course(*[400] * 6, *[100] * 4).steady_from_bytes is None


@pytest.mark.proves("HYP-FILL-02")
def test_collection_is_counted_from_the_step_whose_media_writes_exceed_the_hosts() -> None:
    spans = [WorkSpan((), media, host) for media, host in ((95.0, 100.0), (109.0, 100.0), (120.0, 100.0))]
    assert collection_counted(spans) == 200
    assert collection_counted(spans[:2]) is None


def test_the_mean_of_a_segment_is_bytes_over_time() -> None:
    """A GB at 1000 MB/s and one at 960 MB/s take 1 s and 1.041667 s."""
    (segment,) = course(1000, 960).segments
    assert (segment.start_bytes, segment.end_bytes) == (0, 2 * STEP_BYTES)
    assert segment.bandwidth_bytes_per_s == pytest.approx(2000 * MB / (1 + 1 / 0.96))


def test_a_level_fill_has_no_break_points() -> None:
    found = course(*[700] * 100)
    assert (found.cache_end, found.collection_start, found.last_rate_from_bytes) == (None,) * 3


def test_a_rise_is_no_end_of_a_cache() -> None:
    found = course(*[500] * 50, *[900] * 50)
    assert found.cache_end is None
    assert found.last_rate_from_bytes == 50 * STEP_BYTES


def test_nothing_was_written() -> None:
    assert course_of([]) == Trajectory((), ())
    assert Trajectory((), ()).written_bytes == 0


def test_the_envelope_is_that_of_whole_intervals() -> None:
    lengths = (NS_PER_S, NS_PER_S, NS_PER_S // 2)
    amounts = (450 * MB, 350 * MB, 200 * MB)
    intervals = tuple(
        interval_of(index, elapsed_ns=length_ns, write=written(amount))
        for index, (length_ns, amount) in enumerate(zip(lengths, amounts, strict=True))
    )
    (point,) = course_of([step(400, intervals)]).points
    assert list(point.spread_bytes_per_s or ()) == [350 * MB, 450 * MB]
    (bare,) = course(400).points
    assert bare.spread_bytes_per_s is None
    # a step that ends within its first interval has none that tells more than its mean
    (short,) = course_of([step(4000, intervals[2:])]).points
    assert short.spread_bytes_per_s is None


USUAL = course(*[150, 120] * 10)


@pytest.mark.parametrize(
    ("rates", "gigabytes", "at_least"),
    [
        ([1500] * 4 + [130] * 16, 4, False),
        # a step at 500 MB/s: 0.8022 of it at 1500 and the rest at 135 take as long; sqrt(1500 x 135) is 450
        ([1500] * 4 + [500] + [130] * 15, 4 + (1 / 135 - 1 / 500) / (1 / 135 - 1 / 1500), False),
        ([1500] * 4 + [400] + [130] * 15, 4 + (1 / 135 - 1 / 400) / (1 / 135 - 1 / 1500), False),
        ([1500] * 20, 20, True),
        ([190] * 20, 0, False),  # not 1.5 x 135
        ([150, 120] * 10, 0, False),
        ([130] * 10 + [1500] * 10, 0, False),  # slow from the first step on
    ],
)
def test_what_idle_time_gives_back(rates, gigabytes, at_least) -> None:
    found = returned(course(*rates), USUAL)
    assert found.bytes == pytest.approx(gigabytes * STEP_BYTES, abs=10)
    assert found.at_least == at_least


def test_without_courses_nothing_is_given_back() -> None:
    assert returned(Trajectory((), ()), USUAL) == Returned(0)
    assert returned(USUAL, Trajectory((), ())) == Returned(0)


CACHED_THEN_DIRECT = [2000.0] * 30 + [500.0] * 40 + [250.0] * 30


def spans(rates: Sequence[float]) -> list[tuple[int, int]]:
    return [(segment.start, segment.end) for segment in segments_of(rates)]


@pytest.mark.parametrize("seed", range(20))
def test_noise_moves_no_break(seed) -> None:
    generator = random.Random(seed)
    noisy = [rate * math.exp(generator.gauss(0, 0.04)) for rate in CACHED_THEN_DIRECT]
    assert spans(noisy) == [(0, 30), (30, 70), (70, 100)]


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_no_break(seed) -> None:
    generator = random.Random(seed)
    assert spans([700 * math.exp(generator.gauss(0, 0.1)) for _ in range(100)]) == [(0, 100)]


def test_a_point_in_which_the_rate_changes_belongs_to_no_segment() -> None:
    assert spans([2000.0] * 30 + [900.0] + [500.0] * 40) == [(0, 30), (31, 71)]


@pytest.mark.parametrize("stall", [1.0, 300.0, 9000.0])
def test_a_single_stall_or_peak_is_no_segment(stall) -> None:
    assert spans([2000.0] * 30 + [stall] + [2000.0] * 30) == [(0, 61)]


def test_two_slow_points_are_one() -> None:
    assert spans([2000.0] * 30 + [500.0] * 2 + [2000.0] * 30) == [(0, 30), (30, 32), (32, 62)]


@pytest.mark.parametrize(("after", "breaks"), [(1850.0, 0), (1800.0, 1), (2180.0, 0), (2250.0, 1)])
def test_changes_below_ten_per_cent_count_for_nothing(after, breaks) -> None:
    assert len(spans([2000.0] * 50 + [after] * 50)) == breaks + 1


@pytest.mark.parametrize("rates", [[], [5.0], [5.0, 50.0], [5.0, 50.0, 500.0]])
def test_too_few_points_to_break(rates) -> None:
    assert spans(rates) == ([(0, len(rates))] if rates else [])


def test_a_rate_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        segments_of([5.0, 0.0])


@pytest.mark.parametrize("seed", range(30))
def test_no_other_way_to_cut_is_cheaper(seed) -> None:
    """Levels are far apart, so that nothing is put together afterwards: what is left is the search."""
    generator = random.Random(seed)
    logs: list[float] = []
    while len(logs) < 9:
        logs += [generator.choice([0.0, 1.0, 2.0, 3.0])] * generator.randrange(1, 5)
    logs = logs[:9]
    found = spans([math.exp(value) for value in logs])
    least = min(price(way, logs) for way in ways(0, logs))
    assert price(found, logs) <= least + Fraction(1, 10**6)


def ways(start: int, logs: list[float]) -> Iterator[list[tuple[int, int]]]:
    """All ways to cut the points from ``start`` on, with changes between segments left out or not."""
    for end in range(start + 1, len(logs) + 1):
        if end - start < SHORTEST and (start, end) != (0, len(logs)):
            continue
        if end == len(logs):
            yield [(start, end)]
            continue
        yield from ([(start, end), *rest] for rest in ways(end, logs))
        between = end < len(logs) - 1 and (
            min(logs[end - 1], logs[end + 1]) < logs[end] < max(logs[end - 1], logs[end + 1])
        )
        if between:
            yield from ([(start, end), *rest] for rest in ways(end + 1, logs))


def price(way: list[tuple[int, int]], logs: list[float]) -> Fraction:
    """The rule that the report prints, term by term."""
    differences = [abs(b - a) for a, b in pairwise(logs)]
    noise = max(LEAST_NOISE, median(differences) / math.sqrt(2))
    left_out = len(logs) - sum(end - start for start, end in way)
    total = Fraction(3 * noise * math.log(len(logs))) * (len(way) - 1 + left_out)
    for start, end in way:
        middle = median(logs[start:end])
        total += sum(abs(Fraction(value) - Fraction(middle)) for value in logs[start:end])
    return total
