"""Several streams by fio and by the native engine on the same drive: what was asked for, and what arrived."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openpts.analysis.latency import LatencyDistribution
from openpts.engine.contract import Engine
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand
from openpts.errors import EngineUnavailableError
from openpts.units import MIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    ActiveRange,
    Batches,
    Capped,
    CapUnit,
    Duration,
    IoCount,
    IoPriority,
    PriorityClass,
    Step,
    Stream,
)
from openpts_fio.engine.engine import FioEngine, find_fio
from openpts_fio.tests.unit.engine.steps import stimulus
from tests.support.block_trace import BlockEvent, BlockTrace, of_event
from tests.support.traced_engine import SECTOR

CAPACITY = 64 * MIB
QUARTERS = [ActiveRange(25 * quarter, 25 * quarter + 24.999) for quarter in range(4)]


@pytest.fixture(autouse=True, scope="module")
def fio() -> None:
    try:
        find_fio()
    except EngineUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def drive(attach_memory: Callable[[int], Path]) -> Path:
    return attach_memory(CAPACITY)


@contextmanager
def engine_on(drive: Path, name: str) -> Iterator[Engine]:
    fd = os.open(drive, os.O_RDWR | os.O_DIRECT | os.O_EXCL)
    target = TargetFacts(TargetKind.BLOCK, drive.name, str(drive), CAPACITY, SECTOR)
    engine: Engine = (
        FioEngine(fd, target, 7) if name == "fio" else NativeEngine(fd, target, Demand(8, 8, 65536), 7)
    )
    os.close(fd)
    try:
        yield engine
    finally:
        engine.stop()


def ended(engine: Engine, step: Step) -> Sample:
    engine.submit([step])
    sample = engine.poll(30)
    assert sample is not None
    assert (sample.state, sample.failure) == (StepState.COMPLETE, None)
    return sample


def sums_to_the_whole(sample: Sample) -> None:
    for name, whole in sample.operations.items():
        parts = [stream.operations[name] for stream in sample.streams]
        for figure in ("ios", "bytes", "latency_sum_ns"):
            assert getattr(whole, figure) == sum(getattr(part, figure) for part in parts), (name, figure)
        histograms = [part.histogram for part in parts if part.histogram]
        if histograms:
            merged, all_of_it = map(LatencyDistribution.merged, (histograms, [whole.histogram]))
            assert merged.buckets() == all_of_it.buckets()
            assert whole.latency_max_ns == max(part.latency_max_ns or 0 for part in parts)


RATED = Step(
    (
        Stream(stimulus(tc=2, qd=4, pacing=Capped(600, CapUnit.IOS)), "reader"),
        Stream(
            stimulus(sizes=65536, random_pct=0, write=1, pacing=Capped(200 * 65536, CapUnit.BYTES)),
            "log writer",
            priority=IoPriority(PriorityClass.BEST_EFFORT, 0),
        ),
        Stream(
            stimulus(sizes={4096: 50, 8192: 50}, qd=2, read=70, write=30, pacing=Capped(800, CapUnit.IOS)),
            "mix",
            delay_ns=NS_PER_S // 2,
            stop=Duration.seconds(1),
        ),
        Stream(stimulus(sizes=65536, pacing=Capped(300, CapUnit.IOS)), "scanner"),
    ),
    Duration.seconds(2),
)
RATED_IOS = {"reader": 1200, "log writer": 400, "mix": 800, "scanner": 600}
RATED_BYTES = {"reader": 1200 * 4096, "log writer": 400 * 65536, "mix": 800 * 6144, "scanner": 600 * 65536}
MOST_TRIES = 5


@pytest.mark.parametrize("name", ["native", pytest.param("fio", marks=pytest.mark.slow)])
def test_streams_with_rates_do_as_much_as_was_asked_for(drive: Path, name: str) -> None:
    """A busy machine that stalls at a stream's end costs some I/Os: no stream may be off in every try."""
    off = set(RATED_IOS)
    with engine_on(drive, name) as engine:
        for _ in range(MOST_TRIES):
            sample = ended(engine, RATED)
            sums_to_the_whole(sample)
            for stream, of_stream in zip(RATED.streams, sample.streams, strict=True):
                assert of_stream.ended_by == "duration"
                # bytes of drawn sizes vary by chance: 1.2 % is one standard deviation of the mix
                of_bytes = pytest.approx(RATED_BYTES[stream.name], rel=0.06 if stream.name == "mix" else 0.01)
                of_ios = pytest.approx(RATED_IOS[stream.name], rel=0.01)
                if of_stream.ios == of_ios and of_stream.bytes == of_bytes:
                    off.discard(stream.name)
            if not off:
                break
    assert not off
    mix = sample.streams[2]
    assert mix.read.ios / mix.ios == pytest.approx(0.7, abs=0.01)
    assert mix.started_ns - sample.started_ns == pytest.approx(NS_PER_S // 2, rel=0.05)


@pytest.mark.parametrize(
    ("name", "tries"), [("native", 1), pytest.param("fio", MOST_TRIES, marks=pytest.mark.slow)]
)
def test_shares_hold_the_faster_stream_back(drive: Path, name: str, tries: int) -> None:
    """fio's threads hold each other up for long at times, where processors are busy."""
    fast, slow = stimulus(tc=2, qd=4), stimulus(sizes=65536, write=1, pacing=Capped(400, CapUnit.IOS))
    streams = (Stream(fast, "fast", share=75), Stream(slow, "slow", share=25), Stream(stimulus(), "free"))
    ratios = []
    with engine_on(drive, name) as engine:
        for _ in range(tries):
            sample = ended(engine, Step(streams, Duration.seconds(2)))
            sums_to_the_whole(sample)
            held, partner, _ = (stream.ios for stream in sample.streams)
            ratios.append(held / partner)
            if ratios[-1] == pytest.approx(3, rel=0.01):
                return
    pytest.fail(f"not 3: {ratios}")


@pytest.mark.usefixtures("traceable")
def test_the_drive_sees_the_ios_of_each_stream(drive: Path) -> None:
    wanted = [
        stimulus(qd=4, tc=2, active_range=QUARTERS[0]),
        stimulus(sizes=65536, random_pct=0, tc=3, write=1, active_range=QUARTERS[1]),
        stimulus(qd=8, pacing=Batches(4, 2 * NS_PER_MS), active_range=QUARTERS[2]),
        stimulus(sizes=8192, active_range=QUARTERS[3]),
    ]
    counts = [500, 301, 100, 50]
    streams = zip(wanted, "abcd", counts, strict=True)
    step = Step(tuple(Stream(one, name, stop=IoCount(ios)) for one, name, ios in streams), STREAMS_END)
    with engine_on(drive, "fio") as engine, BlockTrace(drive) as trace:
        sample = ended(engine, step)
    sums_to_the_whole(sample)
    assert [stream.ios for stream in sample.streams] == counts
    assert {stream.ended_by for stream in sample.streams} == {"amount"}
    queued = of_event(trace.events, BlockEvent.QUEUE)
    ranges = [one.active_range.bytes_of(CAPACITY, SECTOR) for one in wanted]
    starts = queued["sector"] * SECTOR
    assert [int(((first <= starts) & (starts < end)).sum()) for first, end in ranges] == counts
    # nothing is issued while a batch's answers are awaited, or in the rest after them
    assert sample.streams[2].elapsed_ns >= 24 * 2 * NS_PER_MS
