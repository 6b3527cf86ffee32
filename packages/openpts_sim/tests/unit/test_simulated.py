"""The engine of simulated drives keeps the contract that all engines keep."""

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.analysis.latency import LatencyDistribution
from openpts.engine.contract import EngineStoppedError
from openpts.engine.options import CaptureSettings, CompletionWait, Demand, IoPath, NativeOptions
from openpts.errors import UsageError
from openpts.units import GB, KIB, MIB, NS_PER_S
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.sample import Interval, Sample, StepState
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    Duration,
    IoCount,
    Step,
    Stimulus,
    StopRule,
)
from openpts_sim.presets import load_preset
from openpts_sim.simulated_engine import SimulatedDrive, SimulatedEngine
from tests.support.endurance_presets import write_hot_drive
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle
from tests.support.refusals import refusal

IOPS = 1000.0
DEMAND = Demand(tc=2, qd=8, block_size_bytes=MIB)


def drive_of(folder: Path, *, scale: int = 1, iops: float = IOPS) -> SimulatedDrive:
    preset = write_oracle(folder, [iops], by="seconds", oracle="purge_s = 12.5")
    return SimulatedDrive(
        load_preset(str(preset)), path=f"sim:{preset}", capacity_bytes=CAPACITY_BYTES, scale=scale, seed=3
    )


@pytest.fixture
def drive(tmp_path) -> SimulatedDrive:
    return drive_of(tmp_path)


@pytest.fixture
def engine(drive: SimulatedDrive) -> Iterator[SimulatedEngine]:
    engine = drive.engine(DEMAND, 7, NativeOptions())
    yield engine
    engine.stop()


def step(stop: StopRule, read_pct: int = 65, block_size_bytes: int = 4 * KIB) -> Step:
    return Step.of(Stimulus.of(AccessPattern.RANDOM, block_size_bytes, read_pct, 2, 8, ActiveRange()), stop)


def wait(engine: SimulatedEngine) -> Sample:
    sample = engine.poll(20)
    assert sample is not None
    return sample


def test_the_facts_say_what_was_made(tmp_path) -> None:
    facts = drive_of(tmp_path, scale=4).facts
    assert facts.kind is TargetKind.SIMULATED
    assert (facts.name, facts.user_capacity_bytes) == ("sim:oracle-of-a-test", CAPACITY_BYTES)
    assert (facts.scale, facts.simulation.simulated_bytes) == (4, CAPACITY_BYTES // 4)
    assert (facts.simulation.model, facts.simulation.seed) == ("oracle", 3)


def test_an_hour_takes_no_hour_and_is_told_whole(engine) -> None:
    hour = Duration.seconds(3600)
    engine.submit([step(hour)])
    sample = wait(engine)
    assert (sample.state, sample.ended_by) == (StepState.COMPLETE, "duration")
    assert 3600 * NS_PER_S <= sample.elapsed_ns < 3601 * NS_PER_S
    assert sample.iops == pytest.approx(IOPS, rel=1e-6)
    assert len(sample.intervals) in {3600, 3601}
    assert sum(interval.ios for interval in sample.intervals) == sample.ios
    assert sample.cpu is None


def test_a_sample_carries_its_step_and_agrees_with_itself(engine) -> None:
    steps = [step(IoCount(500)), step(ByteAmount(8 * MIB), 0, 64 * KIB), step(Duration.seconds(2), 100)]
    engine.submit(steps)
    samples = [wait(engine) for _ in steps]
    assert [sample.step for sample in samples] == steps
    assert samples[0].ios == 500
    assert samples[1].bytes == 8 * MIB
    assert samples[2].write.ios == 0
    for sample in samples:
        assert sample.state is StepState.COMPLETE
        assert sample.bytes == sample.ios * sample.step.stimulus.block_size_bytes
        merged = LatencyDistribution.merged([o.histogram for o in (sample.read, sample.write) if o.ios])
        assert merged.count == sample.ios
    assert samples[0].gap_ns is None
    for before, after in pairwise(samples):
        assert after.gap_ns == after.started_ns - before.started_ns - before.elapsed_ns


@pytest.mark.proves("PTS-DEF-03", "PTS-TOOL-09")
def test_littles_law_holds_to_the_nanosecond_or_so(engine) -> None:
    engine.submit([step(IoCount(100_000))])
    sample = wait(engine)
    assert sample.mean_latency_ns is not None
    # 16 are outstanding, but while the step begins and ends
    assert sample.mean_latency_ns == pytest.approx(16 / IOPS * NS_PER_S, rel=1e-3)


def test_counts_of_a_scaled_drive_are_those_of_the_whole(tmp_path) -> None:
    engine = drive_of(tmp_path, scale=4).engine(DEMAND, 7, NativeOptions())
    engine.submit([step(IoCount(40_000), 0)])
    sample = wait(engine)
    engine.stop()
    assert sample.ios == 40_000
    assert sample.write.bytes == 40_000 * 4 * KIB
    assert sample.iops == pytest.approx(IOPS, rel=1e-3)
    assert LatencyDistribution.merged([sample.write.histogram]).count == 10_000


def test_a_stop_ends_the_step_that_runs(tmp_path) -> None:
    engine = drive_of(tmp_path, iops=1e6).engine(DEMAND, 7, NativeOptions(interval_histograms=False))
    engine.submit([step(Duration.seconds(10**8)), step(Duration.seconds(1))])
    assert engine.poll(0.05) is None
    progress = engine.progress()
    assert progress.steps_begun == 1
    assert progress.ios > 0
    assert progress.oldest is None
    engine.stop()
    sample = wait(engine)
    assert sample.state is StepState.INTERRUPTED
    assert sample.ios >= progress.ios
    with pytest.raises(EngineStoppedError):
        engine.poll(1)
    with pytest.raises(EngineStoppedError):
        engine.submit([step(Duration.seconds(1))])


def test_intervals_are_shown_while_the_step_runs(tmp_path) -> None:
    engine = drive_of(tmp_path, iops=1e6).engine(DEMAND, 7, NativeOptions(interval_histograms=False))
    engine.submit([step(Duration.seconds(10**8))])

    def shown() -> tuple[Interval, ...]:
        deadline_s = time.monotonic() + 30
        while not (found := engine.new_intervals()):
            assert time.monotonic() < deadline_s
            assert engine.poll(0.2) is None
        return found

    first = shown()
    assert [interval.index for interval in first] == list(range(len(first)))
    second = shown()
    assert second[0].index == len(first)
    engine.stop()
    assert len(wait(engine).intervals) >= len(first) + len(second)


def test_equal_seeds_have_equal_samples(tmp_path) -> None:
    samples = []
    for _ in range(2):
        engine = drive_of(tmp_path).engine(DEMAND, 7, NativeOptions())
        engine.submit([step(IoCount(2000)), step(Duration.seconds(3))])
        samples.append([wait(engine), wait(engine)])
        engine.stop()
    assert samples[0] == samples[1]


def test_a_step_that_makes_no_sense_is_refused(engine) -> None:
    with pytest.raises(UsageError):
        engine.submit([step(IoCount(1), block_size_bytes=2 * MIB)])


def test_a_capture_has_every_simulated_io_of_the_steps_that_ask_for_it(drive, tmp_path) -> None:
    folder = tmp_path / "all"
    engine = drive.engine(DEMAND, 7, NativeOptions(capture=CaptureSettings(folder, 4 * KIB)))
    engine.submit([step(IoCount(500))])
    assert wait(engine).ios == 500
    assert not folder.exists()
    engine.submit([replace(step(IoCount(1234)), capture=True)])
    assert wait(engine).ios == 1234
    summary = engine.finish()
    assert (summary.ios, summary.discarded_ios) == (1234, 0)


def test_what_only_real_hosts_have_is_refused(drive, golden) -> None:
    cases = (
        NativeOptions(io_path=IoPath.IO_URING),
        NativeOptions(cpus=(0, 1)),
        NativeOptions(completion_wait=CompletionWait.BATCHED),
    )
    assert [refusal(drive.engine, DEMAND, 7, options) for options in cases] == golden


def test_a_capacity_that_a_preset_can_not_have_names_the_target() -> None:
    with pytest.raises(UsageError, match="sim:mine: "):
        SimulatedDrive(load_preset("mlc"), path="sim:mine", capacity_bytes=1, scale=1, seed=1)


def test_marks_are_data_until_the_purge(drive) -> None:
    assert drive.pages_with_data() == 0
    marked = drive.mark()
    assert marked == drive.pages_with_data() == 64
    assert drive.purge() == 12.5 * NS_PER_S
    assert drive.pages_with_data() == 0


def test_intervals_tell_what_the_drives_sensor_says(tmp_path) -> None:
    """As its log does at the end, and throttling from 75 °C on by less than the sensor's lag."""
    preset = load_preset(str(write_hot_drive(tmp_path)))
    hot = SimulatedDrive(preset, path="sim:hot", capacity_bytes=100 * GB, scale=5, seed=3)
    engine = hot.engine(Demand(tc=1, qd=32, block_size_bytes=128 * KIB), 7, NativeOptions())
    writes = Stimulus.of(AccessPattern.SEQUENTIAL, 128 * KIB, 0, 1, 32, ActiveRange())
    engine.submit([Step.of(writes, Duration.seconds(400))])
    intervals = wait(engine).intervals
    engine.stop()
    temperatures = [interval.temperature_c for interval in intervals]
    assert temperatures[0] < 35
    assert temperatures == sorted(temperatures, key=lambda celsius: celsius or 0)
    assert temperatures[-1] == hot.smart()["temperature_c"]
    first = next(n for n, interval in enumerate(intervals) if interval.throttled)
    assert temperatures[first] == pytest.approx(75, abs=1)
    assert all(interval.throttled for interval in intervals[first:])
    assert hot.smart()["throttle_events"] == 1


def test_a_drive_without_a_sensor_tells_nothing_of_heat(engine) -> None:
    engine.submit([step(Duration.seconds(3))])
    told = {(interval.temperature_c, interval.throttled) for interval in wait(engine).intervals}
    assert told == {(None, None)}


def test_intervals_end_with_the_step_and_not_with_what_its_ramp_up_has_left(tmp_path) -> None:
    engine = drive_of(tmp_path, iops=1).engine(DEMAND, 7, NativeOptions())
    try:
        engine.submit([replace(step(Duration.seconds(1)), ramp_ns=NS_PER_S // 2)])
        sample = wait(engine)
    finally:
        engine.stop()
    assert sample.elapsed_ns >= NS_PER_S
    assert all(interval.index * NS_PER_S <= sample.elapsed_ns for interval in sample.intervals)


class _InterruptedAfter:
    """The native engine, where a signal arrives as soon as it has the steps."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def submit(self, program: str) -> None:
        """Take the steps, and be interrupted."""
        self._native.submit(program)
        raise KeyboardInterrupt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)


def test_steps_that_a_signal_interrupts_at_their_submission_have_results(engine) -> None:
    native = engine._engine
    engine._engine = _InterruptedAfter(native)  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        engine.submit([step(IoCount(500))])
    assert wait(engine).ios == 500
