"""Whether the host limited a step: late I/Os that are known exactly, encoded by another library."""

from base64 import b64decode

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from openpts.analysis.host_limits import (
    late_streams,
    lateness,
    limited_by_host,
    processors_full,
    threads_busy_pct,
)
from openpts.runner.step_faults import disturbance_deviations, host_texts
from openpts.units import NS_PER_S
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.sample import CpuShares, OperationSample, Sample, StepState, StreamSample
from openpts.vocabulary.stimulus import Step, Stream
from openpts.vocabulary.stop import Duration
from tests.support.stream_runs import READER, WRITER

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
    return Sample(
        step=several if streams else single,
        state=StepState.COMPLETE,
        ended_by="duration",
        started_ns=0,
        elapsed_ns=NS_PER_S,
        gap_ns=None,
        interval_ns=NS_PER_S,
        intervals=(),
        read=read,
        write=nothing,
        cpu=cpu,
        failure=None,
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
def test_late_is_what_is_later_than_timers_and_a_tenth_of_the_mean(
    mean_ns: int, slips_ns: list[int], late: int, limits: bool
) -> None:
    found = lateness(sample(mean_ns, slips_of(*slips_ns)))
    assert found is not None
    assert (found.ios, found.late, found.limits) == (1000, late, limits)
    assert found.bound_ns == max(100_000, mean_ns // 10)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=60))
def test_the_share_and_the_percentiles_are_those_of_the_slips(slips_ns: list[int]) -> None:
    """As far as three digits tell them: what is within one bucket of the bound may be on either side."""
    found = lateness(sample(80_000, slips_of(*slips_ns)))
    assert found is not None
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
def test_processors_are_full_where_host_or_threads_have_no_time_left(
    cpu: CpuShares | None, full: bool
) -> None:
    step = sample(80_000, b"", cpu=cpu)
    assert processors_full(step) == limited_by_host(step) == full
    assert threads_busy_pct(step) == (None if cpu is None else pytest.approx(cpu.process_ns / 2e7))
    assert bool(host_texts(step)) == full
    assert disturbance_deviations(PLACE, step, repeated=False) == ()
