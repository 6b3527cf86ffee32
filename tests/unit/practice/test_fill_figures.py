"""The course of a fill and what idle time gives back, from steps whose rates are known."""

import pytest
from msgspec.structs import replace as with_changes

from openpts.units import MB, NS_PER_S
from openpts.vocabulary.sample import NOTHING, Interval, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount
from openpts_practice.fill.results import Returned, Trajectory, course_of, returned

STEP_BYTES = 1000 * MB
STIMULUS = Stimulus.of(AccessPattern.SEQUENTIAL, 131_072, 0, 1, 32, ActiveRange())


def written(amount_bytes: int) -> OperationSample:
    return OperationSample(amount_bytes // 131_072 or 1, amount_bytes, 1, 1, 1, b"")


def step(mb_per_s: float, intervals: tuple[Interval, ...] = ()) -> Sample:
    return Sample(
        step=Step.of(STIMULUS, ByteAmount(STEP_BYTES)),
        state=StepState.COMPLETE,
        ended_by="amount",
        started_ns=0,
        elapsed_ns=round(STEP_BYTES / (mb_per_s * MB) * NS_PER_S),
        gap_ns=0,
        interval_ns=NS_PER_S,
        intervals=intervals,
        failure=None,
        read=NOTHING,
        write=written(STEP_BYTES),
        cpu=None,
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
    assert found.cache_end is not None
    assert found.cache_end.at_bytes == pytest.approx(20.593 * STEP_BYTES, abs=1e-3 * STEP_BYTES)
    assert (found.cache_end.low_bytes, found.cache_end.high_bytes) == (20 * STEP_BYTES, 21 * STEP_BYTES)
    assert found.last_rate_from_bytes == found.cache_end.at_bytes
    assert found.segments[-1].start_bytes == 21 * STEP_BYTES


def intervals_of(*rates_mb_per_s: float) -> Sample:
    """A step of a second at each rate."""
    amounts = [round(rate * MB) for rate in rates_mb_per_s]
    whole = step(sum(amounts) / len(amounts) / MB)
    intervals = tuple(
        Interval(
            index=index,
            elapsed_ns=NS_PER_S,
            read=NOTHING,
            write=written(amount),
            cpu=None,
            in_flight=0,
            errors=0,
        )
        for index, amount in enumerate(amounts)
    )
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
def test_intervals_place_the_end_of_a_cache_within_its_step(mixed: float, share: float) -> None:
    """After 20 GB in steps of 10 s: a step of 4 s at 2,000 MB/s, a second between, 5 s at 500."""
    fast, slow = intervals_of(*[2000] * 10), intervals_of(*[500] * 10)
    found = course_of([*[fast] * 4, intervals_of(*[2000] * 4, mixed, *[500] * 5), *[slow] * 8])
    fall = found.cache_end
    assert fall is not None
    truth = 80_000 * MB + 8_000 * MB + round(share * 2000 * MB)
    assert fall.at_bytes == pytest.approx(truth, abs=1)
    assert fall.low_bytes <= truth <= fall.high_bytes
    # an interval at most, of a step of 10.5 GB or more
    assert fall.high_bytes - fall.low_bytes <= 2000 * MB


def test_a_stall_before_the_end_of_a_cache_is_not_taken_for_it() -> None:
    fast, slow = intervals_of(*[2000] * 10), intervals_of(*[500] * 10)
    stalled = intervals_of(*[2000] * 3, 50, *[2000] * 4, *[500] * 2)
    found = course_of([*[fast] * 4, stalled, *[slow] * 8])
    assert found.cache_end is not None
    assert found.cache_end.at_bytes == pytest.approx((80_000 + 7 * 2000 + 50) * MB, abs=1)


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
        Interval(
            index=index,
            elapsed_ns=length_ns,
            read=NOTHING,
            write=written(amount),
            cpu=None,
            in_flight=0,
            errors=0,
        )
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
def test_what_idle_time_gives_back(rates: list[float], gigabytes: float, at_least: bool) -> None:
    found = returned(course(*rates), USUAL)
    assert found.bytes == pytest.approx(gigabytes * STEP_BYTES, abs=10)
    assert found.at_least == at_least


def test_without_courses_nothing_is_given_back() -> None:
    assert returned(Trajectory((), ()), USUAL) == Returned(0)
    assert returned(USUAL, Trajectory((), ())) == Returned(0)
