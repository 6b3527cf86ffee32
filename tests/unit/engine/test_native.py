"""The native engine's Python side, on a real file."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from openpts.analysis.latency import LatencyDistribution
from openpts.engine.contract import EngineStoppedError
from openpts.engine.native import Demand, NativeEngine
from openpts.errors import UsageError
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    Duration,
    Step,
    Stimulus,
    StopRule,
)

CAPACITY = 8 * MIB
BRIEF = Duration.seconds(0.05)


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "scratch", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, CAPACITY)
    yield fd
    os.close(fd)


@pytest.fixture
def engine(descriptor: int) -> Iterator[NativeEngine]:
    facts = TargetFacts(TargetKind.FILE, "file:scratch", "scratch", CAPACITY, 512)
    engine = NativeEngine(descriptor, facts, Demand(tc=2, qd=8, block_size_bytes=MIB), seed=7)
    yield engine
    engine.stop()


def step(
    pattern: AccessPattern = AccessPattern.RANDOM,
    block_size_bytes: int = 4 * KIB,
    read_pct: int = 65,
    stop: StopRule = BRIEF,
    end_pct: float = 100,
) -> Step:
    return Step(Stimulus(pattern, block_size_bytes, read_pct, 2, 8, ActiveRange(0, end_pct)), stop)


def wait(engine: NativeEngine) -> Sample:
    sample = engine.poll(20)
    assert sample is not None
    return sample


def test_a_sample_carries_its_step_and_agrees_with_itself(engine: NativeEngine) -> None:
    steps = [step(), step(block_size_bytes=64 * KIB, read_pct=0)]
    engine.submit(steps)
    samples = [wait(engine), wait(engine)]
    assert [sample.step for sample in samples] == steps
    for sample in samples:
        assert sample.state is StepState.COMPLETE
        assert sample.elapsed_ns >= 50_000_000
        assert sample.bytes == sample.ios * sample.step.stimulus.block_size_bytes
        assert sample.ios == sum(i.read_ios + i.write_ios for i in sample.intervals)
        merged = LatencyDistribution.merged([sample.read.histogram, sample.write.histogram])
        assert merged.count == sample.ios
        assert sample.mean_latency_ns is not None
        assert sample.max_latency_ns is not None
        assert sample.mean_latency_ns <= sample.max_latency_ns
    assert samples[0].gap_ns is None
    assert samples[1].gap_ns is not None
    assert samples[1].read.latency_max_ns is None


def test_only_the_active_range_is_written(engine: NativeEngine, descriptor: int) -> None:
    engine.submit(
        [step(AccessPattern.SEQUENTIAL, 128 * KIB, 0, ByteAmount(2 * CAPACITY), end_pct=50), step(end_pct=50)]
    )
    assert wait(engine).write.bytes == 2 * CAPACITY
    wait(engine)
    contents = os.pread(descriptor, CAPACITY, 0)
    half = CAPACITY // 2
    assert contents[half:] == bytes(half)
    assert all(contents[at : at + 512].strip(b"\0") for at in range(0, half, 512))


def test_steps_of_a_later_program_go_to_other_places(engine: NativeEngine, descriptor: int) -> None:
    # A generator that begins anew with each step would write the same blocks twice.
    one_write = step(block_size_bytes=512, read_pct=0, stop=ByteAmount(64 * 512))
    for _ in range(2):
        engine.submit([one_write])
        wait(engine)
    contents = os.pread(descriptor, CAPACITY, 0)
    written = sum(any(contents[at : at + 512]) for at in range(0, CAPACITY, 512))
    # 128 draws from 16,384 places meet twice about every other time; a repeat would leave 64.
    assert 118 <= written <= 128


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (step(block_size_bytes=1000), "no multiple of the sector size 512 B"),
        (step(block_size_bytes=2 * MIB), "exceeds the buffers"),
        (step(stop=Duration(0)), "does nothing"),
        (step(read_pct=101), "more than all"),
        (step(block_size_bytes=MIB, end_pct=1), "has no block"),
    ],
)
def test_a_step_that_makes_no_sense_is_refused(engine: NativeEngine, bad: Step, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        engine.submit([step(), bad])
    assert engine.progress().steps_begun == 0


def test_a_stopped_engine_hands_over_the_step_that_ran_and_takes_no_more(engine: NativeEngine) -> None:
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


def test_a_short_transfer_is_a_failure_with_its_place(engine: NativeEngine, descriptor: int) -> None:
    os.ftruncate(descriptor, CAPACITY // 2)
    engine.submit([step(read_pct=100)])
    sample = wait(engine)
    assert sample.state is StepState.FAILED
    assert sample.failure is not None
    assert sample.failure.direction == "read"
    assert sample.failure.offset_bytes >= CAPACITY // 2
    assert "short transfer" in sample.failure.reason


def test_the_engine_tells_what_it_is(engine: NativeEngine) -> None:
    assert engine.facts["engine"].value == "native io_uring"
    assert {"registered_buffers", "deferred_completion", "registered_ring"} <= set(engine.facts)


def test_a_closed_descriptor_is_no_target() -> None:
    facts = TargetFacts(TargetKind.FILE, "file:x", "x", CAPACITY, 512)
    with pytest.raises(OSError, match="Bad file descriptor"):
        NativeEngine(9999, facts, Demand(1, 1, 4096), seed=1)
