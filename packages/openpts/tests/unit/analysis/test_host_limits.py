"""Whether the host limited a step: late I/Os that are known exactly, encoded by another library."""

from base64 import b64decode

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from openpts.analysis.host_limits import (
    RULES,
    HostLimit,
    late_streams,
    lateness,
    limited_by_host,
    limits_of,
    marks_of,
    processors_full,
    rule_of,
    threads_busy_pct,
)
from openpts.record.health import TelemetrySeries
from openpts.runner.step_faults import disturbance_deviations, host_texts
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import CpuShares, OperationSample, Phase, Sample, StepPlace, StreamSample
from openpts.vocabulary.stimulus import Duration, Step, Stream
from tests.support.interval_samples import sample_of
from tests.support.streams import READER, WRITER

PLACE = StepPlace(1, Phase.ROUND, 1, 0)


def slips_of(*slips_ns: int) -> bytes:
    histogram = HdrHistogram(1, 3600 * NS_PER_S, 3)
    for slip_ns in slips_ns:
        histogram.record_value(slip_ns)
    return b64decode(histogram.encode())


def sample(
    mean_ns: int, slips: bytes, *, streams: tuple[bytes, ...] = (), cpu: CpuShares | None = None
) -> Sample:
    """1,000 reads of that latency in one second; of so many streams, each with slips of its own."""
    read = OperationSample(1000, 4096_000, 1000 * mean_ns, mean_ns, mean_ns, b"")
    nothing = OperationSample(0, 0, 0, None, None, b"")
    single = Step.of(READER, Duration(NS_PER_S))
    several = Step((Stream(READER, "reader"), Stream(WRITER)), Duration(NS_PER_S))
    parts = tuple(
        StreamSample(
            read=read, write=nothing, elapsed_ns=NS_PER_S, cpu=None, ended_by=None, started_ns=0, slips=one
        )
        for one in streams
    )
    return sample_of(
        several if streams else single,
        gap_ns=None,
        read=read,
        write=nothing,
        cpu=cpu,
        slips=slips,
        streams=parts,
    )


@pytest.mark.parametrize(
    ("mean_ns", "slips_ns", "late", "limits"),
    [
        (80_000, [10_000] * 990 + [150_000] * 10, 10, False),
        (80_000, [10_000] * 989 + [150_000] * 11, 11, True),
        (80_000, [99_000] * 1000, 0, False),
        (5_000_000, [400_000] * 900 + [700_000] * 100, 100, True),  # the bound is a tenth of 5 ms
        (5_000_000, [400_000] * 1000, 0, False),
    ],
)
def test_late_is_what_is_later_than_timers_and_a_tenth_of_the_mean(mean_ns, slips_ns, late, limits) -> None:
    found = lateness(sample(mean_ns, slips_of(*slips_ns)))
    assert (found.ios, found.late, found.limits) == (1000, late, limits)
    assert found.bound_ns == max(100_000, mean_ns // 10)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=60))
def test_the_share_and_the_percentiles_are_those_of_the_slips(slips_ns) -> None:
    """As far as three digits tell them: what is within one bucket of the bound may be on either side."""
    found = lateness(sample(80_000, slips_of(*slips_ns)))
    surely = sum(slip_ns > 100_200 for slip_ns in slips_ns)
    assert surely <= found.late <= sum(slip_ns > 99_800 for slip_ns in slips_ns)
    assert found.slips.percentile_ns(100) == pytest.approx(max(slips_ns), rel=0.001, abs=1)


def test_where_nothing_is_planned_nothing_is_late() -> None:
    assert lateness(sample(80_000, b"")) is None
    assert not limited_by_host(sample(80_000, b""))


def test_each_stream_is_judged_by_its_own_slips() -> None:
    late, early = slips_of(*[2_000_000] * 30), slips_of(*[1_000] * 970)
    step = sample(80_000, b"", streams=(early, late))
    ((number, found),) = late_streams(step)
    assert (number, found.late, found.ios) == (1, 30, 30)
    assert limited_by_host(step)
    assert host_texts(step) == (
        "stream 2: 100 % of the planned I/Os submitted more than 100 us late, 1 % by 2,001 us or more",
    )
    (entry,) = disturbance_deviations(PLACE, step, repeated=False)
    assert host_texts(step)[0] in entry.entry.used


@pytest.mark.parametrize(
    ("cpu", "full"),
    [
        (None, False),
        (CpuShares(60.0, 34.9, 3.0, 0), False),
        (CpuShares(60.0, 35.0, 3.0, 0), True),
        (CpuShares(10.0, 5.0, 0.0, 1_899_999_999), False),  # two threads in a second
        (CpuShares(10.0, 5.0, 0.0, 1_900_000_000), True),
    ],
)
def test_processors_are_full_where_host_or_threads_have_no_time_left(cpu, full) -> None:
    step = sample(80_000, b"", cpu=cpu)
    assert processors_full(step) == limited_by_host(step) == full
    assert threads_busy_pct(step) == (None if cpu is None else pytest.approx(cpu.process_ns / 2e7))
    assert bool(host_texts(step)) == full
    assert disturbance_deviations(PLACE, step, repeated=False) == ()


S = 10**9
MS = 10**6
SECONDS = [(n * S, (n + 1) * S) for n in range(10)]


def series(*points: tuple[float, float]) -> TelemetrySeries:
    return TelemetrySeries(*zip(*((round(at_s * S), value) for at_s, value in points), strict=True))


def marked(name: str, *points: tuple[float, float], polling: bool = False) -> list[bool | None]:
    found = marks_of({name: series(*points)}, SECONDS, S, polling=polling)
    return [None if marks is None else name in marks for marks in found]


@pytest.mark.parametrize("name", [name.replace("path_", "path_7_") for name in RULES])
def test_a_value_marks_from_its_limit_on_and_nothing_below(name) -> None:
    rule = rule_of(name)
    assert marked(name, (0, 0), (10, rule.least_pct)) == [True] * 10
    assert marked(name, (0, 0), (10, rule.least_pct - 0.01)) == [False] * 10
    assert limits_of(frozenset((name,))) == (rule.limit,)


def test_each_value_is_of_the_time_since_the_point_before() -> None:
    # quiet for 4.5 s, then a wait of 50 %: the fifth second has 25 % of it
    assert marked("engine_wait_pct", (0, 0), (4.5, 0), (10, 50)) == [False] * 4 + [True] * 6
    assert marked("engine_wait_pct", (0, 0), (4.9, 0), (10, 50)) == [False] * 5 + [True] * 5


def test_a_second_that_was_not_sampled_is_not_judged() -> None:
    assert marked("engine_wait_pct", (3, 0), (6.5, 0)) == [None, None] + [False] * 5 + [None] * 3
    assert marked("temperature_c", (0, 99), (10, 99)) == [None] * 10


def test_behind_a_gap_a_value_is_of_one_period() -> None:
    found = marks_of(
        {"engine_wait_pct": series((0, 90), (1, 90), (100, 90))},
        [(n * S, (n + 1) * S) for n in (0, 1, 50, 98, 99)],
        S,
        polling=False,
    )
    assert [marks is not None for marks in found] == [True, False, False, False, True]


def test_what_counts_when_it_has_ended_belongs_to_the_time_before() -> None:
    # a wait of 4.2 s that ended in the seventh second; what the samples before it showed was 0
    points = [(float(n), 0.0) for n in range(7)] + [(7.0, 420.0), (8.0, 0.0), (10.0, 0.0)]
    assert marked("engine_wait_pct", *points) == [False, False, True, True, True, True, True] + [False] * 3
    # 20 % of the third second come from it
    assert marked("cpu_quota_pct", *points) == [False] * 6 + [True] + [False] * 3


def test_threads_that_poll_are_always_busy() -> None:
    for name in ("engine_awake_pct", "cpu_engine_busy_pct", "cpu_all_busy_pct"):
        assert marked(name, (0, 0), (10, 100)) == [True] * 10
        assert marked(name, (0, 0), (10, 100), polling=True) == [None] * 10
    assert marked("engine_wait_pct", (0, 0), (10, 100), polling=True) == [True] * 10


def test_several_parts_of_the_host_can_be_the_limit_at_once() -> None:
    sampled = {
        "engine_wait_pct": series((0, 0), (1, 90), (2, 0), (10, 0)),
        "path_0_use_pct": series((0, 0), (1, 99), (10, 0)),
        "path_1_use_pct": series((0, 0), (10, 10)),
    }
    first, second, *_ = marks_of(sampled, SECONDS, S, polling=False)
    assert first == {"engine_wait_pct", "path_0_use_pct"}
    assert limits_of(first or frozenset()) == (HostLimit.PROCESSOR, HostLimit.LINK)
    assert second == frozenset()


@given(
    gaps_ms=st.lists(st.integers(100, 3000), min_size=1, max_size=20),
    values=st.lists(st.floats(0, 99), min_size=20, max_size=20),
    begin_ms=st.integers(0, 5000),
)
@settings(max_examples=60, deadline=None)
def test_the_mean_of_a_second_is_that_of_its_milliseconds(gaps_ms, values, begin_ms) -> None:
    of_ms: dict[int, float] = {}
    points, at_ms = [(0, 0.0)], 0
    for gap_ms, value in zip(gaps_ms, values, strict=False):
        of_ms |= dict.fromkeys(range(at_ms, at_ms + gap_ms), value)
        at_ms += gap_ms
        points.append((at_ms, value))
    sampled = TelemetrySeries(*zip(*((at * MS, value) for at, value in points), strict=True))
    span = (begin_ms * MS, (begin_ms + 1000) * MS)
    (found,) = marks_of({"path_0_use_pct": sampled}, [span], S, polling=False)
    inside = [of_ms[ms] for ms in range(begin_ms, begin_ms + 1000) if ms in of_ms]
    if not inside:
        assert found is None
    elif abs((mean := sum(inside) / len(inside)) - 90) > 1e-6:
        assert found is not None
        assert bool(found) is (mean > 90)
