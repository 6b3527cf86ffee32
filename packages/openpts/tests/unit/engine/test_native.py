"""The native engine's Python side, on a real file."""

import os
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from openpts import _native
from openpts.analysis.latency import LatencyDistribution
from openpts.engine import native
from openpts.engine.contract import EngineStoppedError
from openpts.engine.native import NativeEngine
from openpts.engine.options import CompletionWait, Demand, IoPath, NativeOptions
from openpts.errors import EngineUnavailableError
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import Fact, TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    BlockSize,
    Burst,
    ByteAmount,
    DataPattern,
    DriveFills,
    Duration,
    DutyCycle,
    FirstOf,
    FixedRate,
    IoCount,
    Normal,
    OperationWeights,
    Pacing,
    Pareto,
    PatternData,
    Placement,
    Poisson,
    RandomOnce,
    ReducibleData,
    Segments,
    Steady,
    SteadyFigure,
    Step,
    Stimulus,
    StopRule,
    Stream,
    ThinkTime,
    UniqueLbas,
    VerifiedData,
    ZeroData,
    Zipf,
    Zone,
    Zones,
)
from tests.support.refusals import refusal

pytestmark = pytest.mark.on_disk

CAPACITY = 8 * MIB
FACTS = TargetFacts(TargetKind.FILE, "file:scratch", "scratch", CAPACITY, 512)
BRIEF = Duration.seconds(0.05)


@pytest.fixture
def descriptor(tmp_path) -> Iterator[int]:
    fd = os.open(tmp_path / "scratch", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, CAPACITY)
    yield fd
    os.close(fd)


@pytest.fixture
def engine(descriptor: int) -> Iterator[NativeEngine]:
    engine = NativeEngine(descriptor, FACTS, Demand(tc=2, qd=8, block_size_bytes=MIB), seed=7)
    yield engine
    engine.stop()


def step(
    pattern: AccessPattern = AccessPattern.RANDOM,
    block_size_bytes: int = 4 * KIB,
    read_pct: int = 65,
    stop: StopRule = BRIEF,
    end_pct: float = 100,
) -> Step:
    return Step.of(Stimulus.of(pattern, block_size_bytes, read_pct, 2, 8, ActiveRange(0, end_pct)), stop)


def wait(engine: NativeEngine) -> Sample:
    sample = engine.poll(20)
    assert sample is not None
    return sample


def test_a_sample_carries_its_step_and_agrees_with_itself(engine) -> None:
    steps = [step(), step(block_size_bytes=64 * KIB, read_pct=0)]
    engine.submit(steps)
    samples = [wait(engine), wait(engine)]
    assert [sample.step for sample in samples] == steps
    for sample in samples:
        assert sample.state is StepState.COMPLETE
        assert sample.elapsed_ns >= 50_000_000
        assert sample.ended_by == "duration"
        assert sample.bytes == sample.ios * sample.step.stimulus.block_size_bytes
        assert sample.ios == sum(interval.ios for interval in sample.intervals)
        merged = LatencyDistribution.merged([o.histogram for o in (sample.read, sample.write) if o.ios])
        assert merged.count == sample.ios
        assert sample.mean_latency_ns <= sample.max_latency_ns
    assert samples[0].gap_ns is None
    assert samples[1].gap_ns is not None
    assert samples[1].read.latency_max_ns is None


@pytest.mark.proves("PTS-DEF-01", "PTS-TOOL-03")
def test_only_the_active_range_is_written(engine, descriptor) -> None:
    engine.submit(
        [step(AccessPattern.SEQUENTIAL, 128 * KIB, 0, ByteAmount(2 * CAPACITY), end_pct=50), step(end_pct=50)]
    )
    assert wait(engine).write.bytes == 2 * CAPACITY
    wait(engine)
    contents = os.pread(descriptor, CAPACITY, 0)
    half = CAPACITY // 2
    assert contents[half:] == bytes(half)
    assert all(contents[at : at + 512].strip(b"\0") for at in range(0, half, 512))


def test_steps_of_a_later_program_go_to_other_places(engine, descriptor) -> None:
    # A generator that begins anew with each step would write the same blocks twice.
    one_write = step(block_size_bytes=512, read_pct=0, stop=ByteAmount(64 * 512))
    for _ in range(2):
        engine.submit([one_write])
        wait(engine)
    contents = os.pread(descriptor, CAPACITY, 0)
    written = sum(any(contents[at : at + 512]) for at in range(0, CAPACITY, 512))
    # 128 draws from 16,384 places meet twice about every other time; a repeat would leave 64.
    assert 118 <= written <= 128


def test_a_step_that_makes_no_sense_is_refused(engine, golden) -> None:
    cases = (
        step(block_size_bytes=1000),
        step(block_size_bytes=2 * MIB),
        step(stop=Duration(0)),
        step(read_pct=101),
        step(block_size_bytes=MIB, end_pct=1),
    )
    assert [refusal(engine.submit, [step(), bad]) for bad in cases] == golden
    assert engine.progress().steps_begun == 0


def test_a_stopped_engine_hands_over_the_step_that_ran_and_takes_no_more(engine) -> None:
    engine.submit([step(stop=Duration.seconds(60)), step()])
    while engine.progress().ios == 0:
        pass
    engine.stop()
    sample = wait(engine)
    assert sample.state is StepState.INTERRUPTED
    assert sample.ios > 0
    with pytest.raises(EngineStoppedError):
        engine.poll(5)
    with pytest.raises(EngineStoppedError):
        engine.submit([step()])


def test_a_short_transfer_is_a_failure_with_its_place(engine, descriptor, golden) -> None:
    os.ftruncate(descriptor, CAPACITY // 2)
    engine.submit([step(read_pct=100)])
    sample = wait(engine)
    assert sample.state is StepState.FAILED
    assert sample.failure.operation == "read"
    assert sample.failure.offset_bytes >= CAPACITY // 2
    assert sample.failure.reason == golden


@pytest.mark.needs("io_uring")
def test_the_engine_tells_what_it_is(engine) -> None:
    assert engine.facts["engine"].value == "native"
    assert _native.build_info()["profile"] in (engine.facts["build"].value or "")
    assert {"registered_buffers", "deferred_completion", "registered_ring"} <= set(engine.facts)


def own_latencies_ns(descriptor: int) -> tuple[float, float]:
    """Awake and asleep, as an engine tells them that has measured them itself."""
    native._measured_overhead.cache_clear()
    engine = NativeEngine(descriptor, FACTS, Demand(tc=2, qd=8, block_size_bytes=MIB), seed=7)
    engine.stop()
    awake, asleep = (engine.facts[name].value or "" for name in ("own_latency", "own_latency_asleep"))
    assert awake.endswith("ns of each latency at QD 1 that is answered at once")
    assert asleep.endswith("ns of each latency at QD 1 for which the thread sleeps")
    return float(awake.split()[0]), float(asleep.split()[0])


@pytest.mark.needs("io_uring")
def test_the_engine_tells_its_own_latency_awake_and_asleep(descriptor) -> None:
    # where others have the processor, the one that is awake may happen to wait longer
    assert any(0 < awake < asleep for awake, asleep in (own_latencies_ns(descriptor) for _ in range(5)))


RANDOM = step().stimulus
assert RANDOM is not None


def with_placement(placement: Placement) -> Stimulus:
    return replace(RANDOM, placement=placement)


def with_pacing(pacing: Pacing) -> Stimulus:
    return replace(RANDOM, pacing=pacing)


def with_data(data: DataPattern) -> Stimulus:
    return replace(RANDOM, operations=OperationWeights(write=1), data=data)


@pytest.mark.parametrize(
    "stimulus",
    [
        with_placement(Zones((Zone(50, 5), Zone(30, 15), Zone(20, 80)))),
        with_placement(Zipf(1.2)),
        with_placement(Pareto(0.2)),
        with_placement(Normal(50, 10)),
        with_placement(Segments(10, 64 * KIB)),
        with_placement(UniqueLbas(MIB)),
        with_pacing(FixedRate(10_000)),
        with_pacing(Poisson(10_000)),
        with_pacing(Burst(20, 5_000_000)),
        with_pacing(DutyCycle(5_000_000, 5_000_000)),
        with_pacing(ThinkTime(100_000)),
        with_data(RandomOnce()),
        with_data(ZeroData()),
        with_data(PatternData(b"\xa5\x5a")),
        with_data(ReducibleData(40, 20)),
        with_data(VerifiedData(3)),
        replace(RANDOM, block_sizes=(BlockSize(512, 4), BlockSize(4 * KIB, 67), BlockSize(64 * KIB, 29))),
        replace(RANDOM, random_pct=40),
        replace(RANDOM, alignment_bytes=16 * KIB),
        replace(RANDOM, random_pct=0, stride_bytes=64 * KIB),
        replace(RANDOM, operations=OperationWeights(read=10, write=10, trim=5, flush=2, fsync=1)),
    ],
    ids=str,
)
def test_every_stimulus_is_carried_out(engine, stimulus) -> None:
    engine.submit([Step.of(stimulus, IoCount(200), ramp_ns=5_000_000)])
    sample = wait(engine)
    assert sample.failure is None
    assert sample.state is StepState.COMPLETE
    # an amount, as a time may pass without a processor; the ramp's end finds some I/Os under way
    assert sample.ios == pytest.approx(200, abs=50)


def test_what_was_written_is_verified_and_what_was_not_is_found(engine) -> None:
    write = replace(RANDOM, random_pct=0, operations=OperationWeights(write=1), data=VerifiedData(1))
    read = replace(RANDOM, operations=OperationWeights(read=1), data=VerifiedData(1))
    other = replace(read, data=VerifiedData(2))
    engine.submit([Step.of(write, DriveFills(1)), Step.of(read, BRIEF), Step.of(other, BRIEF)])
    assert wait(engine).write.bytes == CAPACITY
    right = wait(engine)
    assert (right.state, right.errors) == (StepState.COMPLETE, ())
    wrong = wait(engine)
    assert wrong.state is StepState.FAILED
    assert "generation" in wrong.failure.reason


@pytest.mark.parametrize(
    ("stop", "ended_by"),
    [
        (IoCount(500), "amount"),
        (DriveFills(0.5), "amount"),
        (FirstOf((ByteAmount(4 * KIB * 100), Duration.seconds(20))), "amount"),
        (FirstOf((IoCount(10), Duration.seconds(20)), at_least_ns=30_000_000), "amount"),
        (FirstOf((ByteAmount(2**60), BRIEF)), "duration"),
    ],
    ids=str,
)
def test_the_rule_that_comes_first_ends_the_step(engine, stop, ended_by) -> None:
    engine.submit([step(stop=stop)])
    sample = wait(engine)
    assert (sample.state, sample.ended_by) == (StepState.COMPLETE, ended_by)
    if stop == IoCount(500):
        assert sample.ios == 500
    if isinstance(stop, FirstOf) and stop.at_least_ns:
        assert sample.elapsed_ns >= stop.at_least_ns * 0.9


@pytest.mark.needs("io_uring")
def test_a_steady_figure_ends_the_step(descriptor) -> None:
    options = NativeOptions(io_path=IoPath.NOOP, interval_ns=10_000_000)
    engine = NativeEngine(descriptor, FACTS, Demand(1, 8, MIB), 7, options)
    rule = Steady(SteadyFigure.IOPS, 20_000_000, windows=3, excursion_pct=150, slope_pct=150)
    stimulus = replace(RANDOM, tc=1)
    engine.submit([Step.of(stimulus, FirstOf((rule, Duration.seconds(15))))])
    sample = wait(engine)
    assert sample.ended_by == "steady_state"
    assert len(sample.intervals) >= 6


def test_an_idle_gap_is_a_step_without_an_io(engine) -> None:
    engine.submit([step(), Step.of(None, BRIEF), step()])
    wait(engine)
    gap = wait(engine)
    assert (gap.state, gap.ios) == (StepState.COMPLETE, 0)
    assert gap.elapsed_ns >= 50_000_000
    assert wait(engine).gap_ns is None


def test_intervals_can_be_seen_while_the_step_runs(descriptor) -> None:
    options = NativeOptions(interval_ns=10_000_000, completion_wait=CompletionWait.BATCHED)
    engine = NativeEngine(descriptor, FACTS, Demand(2, 8, MIB), 7, options)
    engine.submit([step(stop=Duration.seconds(60))])
    seen = []
    while len(seen) < 10:
        assert engine.poll(0.02) is None
        seen += engine.new_intervals()
    engine.stop()
    sample = wait(engine)
    assert sample.state is StepState.INTERRUPTED
    assert tuple(seen) == sample.intervals[: len(seen)]
    assert [interval.index for interval in sample.intervals] == list(range(len(sample.intervals)))
    for interval in sample.intervals:
        # an interval without an I/O has no histogram
        histograms = filter(None, [interval.read.histogram])
        assert interval.read.ios == LatencyDistribution.merged(histograms).count


def test_errors_within_the_allowed_number_are_counted_and_the_step_goes_on(descriptor) -> None:
    options = NativeOptions(most_errors=10**9)
    engine = NativeEngine(descriptor, FACTS, Demand(2, 8, MIB), 7, options)
    os.ftruncate(descriptor, CAPACITY // 2)
    engine.submit([step(read_pct=100, stop=IoCount(1000))])
    sample = wait(engine)
    assert sample.state is StepState.COMPLETE
    (errors,) = sample.errors
    assert (errors.operation, errors.count + sample.ios) == ("read", 1000)
    assert min(errors.first_offsets_bytes) >= CAPACITY // 2


def test_the_path_is_the_operators_or_the_probes(descriptor) -> None:
    chosen = NativeEngine(descriptor, FACTS, Demand(2, 4, MIB), 7, NativeOptions(io_path=IoPath.SYNC))
    assert chosen.facts["io_path"] == Fact("sync", "--io-path")
    chosen.submit([replace(step(), streams=(Stream(replace(RANDOM, qd=4)),))])
    assert wait(chosen).ios > 0
    with pytest.raises(EngineUnavailableError, match="nvme"):
        NativeEngine(descriptor, FACTS, Demand(1, 1, 4096), 1, NativeOptions(io_path=IoPath.NVME_PASSTHROUGH))


def test_threads_can_be_pinned(descriptor) -> None:
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    engine = NativeEngine(descriptor, FACTS, Demand(2, 8, MIB), 7, NativeOptions(cpus=cpus))
    engine.submit([step()])
    assert wait(engine).ios > 0
    with pytest.raises(EngineUnavailableError, match="processor 1023"):
        NativeEngine(descriptor, FACTS, Demand(2, 8, MIB), 7, NativeOptions(cpus=(1023,)))


def test_a_closed_descriptor_is_no_target() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        NativeEngine(9999, FACTS, Demand(1, 1, 4096), seed=1)
