"""The fio engine with the real fio: what it says beside what is in the file and what the drive saw."""

import os
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from openpts.analysis.latency import LatencyDistribution
from openpts.engine.contract import EngineStoppedError
from openpts.errors import EngineUnavailableError
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import (
    ActiveRange,
    ByteAmount,
    DataPattern,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Pareto,
    PatternData,
    RandomOnce,
    ReducibleData,
    Step,
    ThinkTime,
    ZeroData,
    Zipf,
    Zone,
    Zones,
)
from openpts_fio.engine.engine import FioEngine, FioProgram, find_fio
from openpts_fio.engine.job import FioPath
from openpts_fio.tests.unit.engine.steps import stimulus
from tests.support.block_trace import BlockTrace
from tests.support.machine import lacking
from tests.support.processes import until
from tests.support.traced_engine import SECTOR, UNLIKELY, TracedRun
from tests.support.transcript import Golden

CAPACITY = 16 * MIB
BRIEF = Duration.seconds(0.3)
UNTOUCHED = b"\xee"
IO_URING = pytest.param(FioPath.IO_URING, marks=pytest.mark.needs("io_uring"))
QUEUED = FioPath.LIBAIO if lacking("io_uring") else FioPath.IO_URING


@pytest.fixture(autouse=True, scope="module")
def fio() -> FioProgram:
    try:
        return find_fio()
    except EngineUnavailableError as error:
        pytest.skip(str(error))


Open = Callable[..., FioEngine]


@pytest.fixture
def open_engine(fio: FioProgram, cleanup: ExitStack) -> Open:
    """An engine on a file or drive, which is stopped and closed at the end."""

    def open_on(path: Path, flags: int = os.O_RDWR, fio_path: FioPath = QUEUED) -> FioEngine:
        try:
            fd = os.open(path, flags | os.O_DIRECT)
        except OSError as error:
            pytest.skip(f"no direct I/O on {path}: {error.strerror}")
        cleanup.callback(os.close, fd)
        kind = TargetKind.BLOCK if path.is_block_device() else TargetKind.FILE
        capacity = os.lseek(fd, 0, os.SEEK_END)
        facts = TargetFacts(kind, path.name, str(path), capacity, SECTOR)
        engine = FioEngine(fd, facts, 7, fio_path, program=fio)
        cleanup.callback(engine.stop)
        return engine

    return open_on


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scratch"
    path.write_bytes(UNTOUCHED * CAPACITY)
    return path


def ended(engine: FioEngine, *steps: Step) -> list[Sample]:
    """All samples of the steps, which must be complete."""
    engine.submit(steps)
    samples = [next_sample(engine) for _ in steps]
    assert [(sample.state, sample.failure) for sample in samples] == [(StepState.COMPLETE, None)] * len(steps)
    return samples


def next_sample(engine: FioEngine) -> Sample:
    sample = engine.poll(30)
    assert sample is not None
    return sample


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("fio_path", [IO_URING, FioPath.LIBAIO, FioPath.PSYNC])
def test_a_sample_agrees_with_itself(file: Path, open_engine: Open, fio_path: FioPath) -> None:
    qd = 1 if fio_path is FioPath.PSYNC else 8
    engine = open_engine(file, fio_path=fio_path)
    steps = [Step.of(stimulus(read=65, write=35, tc=2, qd=qd), BRIEF), Step.of(stimulus(sizes=65536), BRIEF)]
    samples = ended(engine, *steps)
    for step, sample in zip(steps, samples, strict=True):
        assert sample.step == step
        assert sample.ended_by == "duration"
        assert 300_000_000 <= sample.elapsed_ns < 20_000_000_000
        for operation in (sample.read, sample.write):
            assert operation.bytes == operation.ios * step.stimulus.block_size_bytes
            if operation.ios:
                distribution = LatencyDistribution.merged([operation.histogram])
                assert distribution.count == operation.ios
                assert operation.latency_min_ns * operation.ios <= operation.latency_sum_ns
                assert operation.latency_sum_ns <= operation.latency_max_ns * operation.ios
                assert distribution.percentile_ns(100) == pytest.approx(operation.latency_max_ns, rel=0.02)
        assert sample.cpu is not None
        assert sample.cpu.process_ns > 0 or sample.ios < 1000  # counted in ticks of the kernel
    mixed = samples[0]
    # by chance for each I/O: a binomial share
    assert stats.binomtest(mixed.read.ios, mixed.ios, 0.65).pvalue > UNLIKELY
    # Little's law: TC x QD are outstanding, but for the ends and where a thread waits for a processor
    outstanding = mixed.ios * (mixed.mean_latency_ns or 0) / mixed.elapsed_ns
    assert 0 < outstanding <= 2 * qd * 1.05
    assert engine.facts["io_path"].value == fio_path
    progress = engine.progress()
    assert (progress.steps_begun, progress.ios) == (2, sum(sample.ios for sample in samples))


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("tc", [1, 3])
@pytest.mark.parametrize("size", [4096, 128 * KIB, MIB])
def test_one_pass_of_all_threads_writes_every_byte_of_its_range_and_no_other(
    file: Path, open_engine: Open, tc: int, size: int
) -> None:
    wanted = stimulus(sizes=size, random_pct=0, tc=tc, qd=4, write=1, active_range=ActiveRange(25, 74.999))
    wanted_once = Step.of(wanted, ByteAmount(CAPACITY // 2))
    # 25 % of 32,767 is sector 8,191: not where a block begins, so that the range must not be rounded
    (sample,) = ended(open_engine(file), wanted_once)
    assert (sample.write.bytes, sample.ended_by) == (CAPACITY // 2, "amount")
    content = np.frombuffer(file.read_bytes(), np.uint8).reshape(-1, SECTOR)
    changed = np.flatnonzero((content != UNTOUCHED[0]).any(axis=1))
    start, end = ActiveRange(25, 74.999).bytes_of(CAPACITY, SECTOR)
    assert (start // SECTOR, end // SECTOR) == (8191, 24575)
    assert changed.tolist() == list(range(8191, 24575))


def test_a_drive_fill_of_random_writes_transfers_as_many_bytes(file: Path, open_engine: Open) -> None:
    samples = ended(
        open_engine(file),
        Step.of(stimulus(sizes=8192, tc=3, qd=4, write=1), DriveFills(1.5)),
        Step.of(stimulus(tc=3), IoCount(1000)),
        Step.of(stimulus(), FirstOf((Duration.seconds(60), IoCount(77)))),
        Step.of(stimulus(), FirstOf((BRIEF, ByteAmount(10**15)))),
    )
    assert [sample.ios for sample in samples[:3]] == [3072, 1000, 77]
    assert [sample.ended_by for sample in samples] == ["amount", "amount", "amount", "duration"]


@pytest.mark.parametrize(("steps", "tc"), [(2, 1), (1, 2)])
def test_neither_steps_nor_threads_repeat_each_others_places(
    file: Path, open_engine: Open, steps: int, tc: int
) -> None:
    engine = open_engine(file)
    for _ in range(steps):
        ended(engine, Step.of(stimulus(sizes=512, write=1, tc=tc), IoCount(64 * tc)))
    content = np.frombuffer(file.read_bytes(), np.uint8).reshape(-1, SECTOR)
    written = int((content != UNTOUCHED[0]).any(axis=1).sum())
    # 128 draws from 32,768 places; a repeat of the first 64 would leave 64
    assert 120 <= written <= 128


def written(file: Path, engine: FioEngine, data: DataPattern, **others: int) -> bytes:
    """The file after one pass of 4 KiB writes, or after mixed I/O where reads are asked for."""
    wanted = stimulus(write=1, qd=4, random_pct=100 if "read" in others else 0, data=data, **others)
    ended(engine, Step.of(wanted, DriveFills(4 if "read" in others else 1)))
    return file.read_bytes()


def blocks(content: bytes) -> list[bytes]:
    return [content[at : at + 4096] for at in range(0, len(content), 4096)]


def test_zeros_stay_zeros_beside_reads(file: Path, open_engine: Open) -> None:
    content = written(file, open_engine(file), ZeroData(), read=1)
    kinds = {byte: content.count(byte) for byte in (0, UNTOUCHED[0])}
    assert sum(kinds.values()) == CAPACITY
    # 8192 writes to 4096 places leave e^-2 of them out
    assert kinds[0] == pytest.approx((1 - np.exp(-2)) * CAPACITY, rel=0.05)


def test_a_pattern_begins_with_each_write_also_beside_reads(file: Path, open_engine: Open) -> None:
    pattern = bytes(range(1, 8))
    found = set(blocks(written(file, open_engine(file), PatternData(pattern), read=1)))
    assert found == {(pattern * 586)[:4096], UNTOUCHED * 4096}


def test_data_made_once_comes_from_as_many_buffers_as_are_outstanding(file: Path, open_engine: Open) -> None:
    assert len(set(blocks(written(file, open_engine(file), RandomOnce())))) == 4


def test_every_write_has_data_of_its_own(file: Path, open_engine: Open) -> None:
    ended(open_engine(file), Step.of(stimulus(write=1, qd=4, random_pct=0), DriveFills(1)))
    content = file.read_bytes()
    sectors = [content[at : at + SECTOR] for at in range(0, CAPACITY, SECTOR)]
    assert len(set(sectors)) == len(sectors)
    part = content[: CAPACITY // 8]
    assert len(zlib.compress(part)) > 0.99 * len(part)


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize(("entropy_pct", "duplicate_pct"), [(25, 0), (70, 0), (100, 30), (50, 60)])
def test_reducible_data(file: Path, open_engine: Open, entropy_pct: int, duplicate_pct: int) -> None:
    found = blocks(written(file, open_engine(file), ReducibleData(entropy_pct, duplicate_pct)))
    sizes = [len(zlib.compress(block, 9)) / 4096 for block in found[::4]]
    assert np.mean(sizes) == pytest.approx(entropy_pct / 100, abs=0.03)
    duplicates = len(found) - len(set(found))
    assert stats.binomtest(duplicates, len(found), duplicate_pct / 100 or 1e-9).pvalue > UNLIKELY


def test_an_idle_gap_takes_its_time(file: Path, open_engine: Open) -> None:
    before, idle, after = ended(
        open_engine(file),
        Step.of(stimulus(), IoCount(10)),
        Step.of(None, BRIEF),
        Step.of(stimulus(), IoCount(10)),
    )
    assert 300_000_000 <= idle.elapsed_ns < 20_000_000_000
    assert idle.ios == 0
    assert after.started_ns - before.started_ns >= 300_000_000


def test_a_ramp_counts_for_nothing(file: Path, open_engine: Open) -> None:
    (sample,) = ended(open_engine(file), Step.of(stimulus(qd=4), BRIEF, ramp_ns=400_000_000))
    assert 300_000_000 <= sample.elapsed_ns < 20_000_000_000
    outstanding = sample.ios * (sample.mean_latency_ns or 0) / sample.elapsed_ns
    assert outstanding <= 4 * 1.5  # with those of the ramp it would be more than twice as many


def test_think_time_lies_between_completion_and_the_next_io(file: Path, open_engine: Open) -> None:
    (sample,) = ended(open_engine(file), Step.of(stimulus(pacing=ThinkTime(2_000_000)), BRIEF))
    idle_ns = sample.elapsed_ns - sample.read.latency_sum_ns
    assert idle_ns / sample.ios >= 1_950_000


def test_a_stop_keeps_what_was_measured_and_ends_the_engine(file: Path, open_engine: Open) -> None:
    engine = open_engine(file)
    endless = Step.of(stimulus(pacing=ThinkTime(1000)), Duration.seconds(1000))
    engine.submit([endless, endless])
    until(lambda: engine.progress().step_elapsed_ns > 1_000_000_000, "a second of the step")
    assert engine.poll(0) is None
    engine.stop()
    sample = next_sample(engine)
    assert sample.state is StepState.INTERRUPTED
    assert sample.failure is None
    assert sample.ios > 0
    with pytest.raises(EngineStoppedError):
        engine.poll(5)
    with pytest.raises(EngineStoppedError):
        engine.submit([endless])


def test_a_stop_before_fio_is_up_leaves_an_empty_interrupted_step(file: Path, open_engine: Open) -> None:
    engine = open_engine(file)
    engine.submit([Step.of(stimulus(), Duration.seconds(1000))])
    while not engine.progress().steps_begun:
        pass
    engine.stop()
    with suppress(EngineStoppedError):  # so early that there is no step at all
        assert next_sample(engine).state is StepState.INTERRUPTED
    with pytest.raises(EngineStoppedError):
        engine.poll(5)


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("fio_path", [IO_URING, FioPath.PSYNC])
def test_short_transfers_are_a_failure(file: Path, open_engine: Open, fio_path: FioPath) -> None:
    engine = open_engine(file, fio_path=fio_path)
    os.truncate(file, CAPACITY - 2048)  # ends in the middle of a block that fio has been told to use
    engine.submit([Step.of(stimulus(random_pct=0), DriveFills(1)), Step.of(stimulus(), BRIEF)])
    sample = next_sample(engine)
    assert sample.state is StepState.FAILED
    assert sample.failure is not None
    with pytest.raises(EngineStoppedError):
        engine.poll(5)


def test_a_target_open_for_reading_is_read(file: Path, open_engine: Open) -> None:
    (sample,) = ended(open_engine(file, os.O_RDONLY), Step.of(stimulus(qd=4), BRIEF))
    assert sample.read.ios > 0
    assert set(file.read_bytes()) == set(UNTOUCHED)


@pytest.fixture
def claimed(attach_memory: Callable[[int], Path], open_engine: Open) -> tuple[Path, FioEngine]:
    """A loop device that is ours alone, as the guard claims it."""
    drive = attach_memory(CAPACITY)
    return drive, open_engine(drive, os.O_RDWR | os.O_EXCL)


Claimed = tuple[Path, FioEngine]


def traced(claimed: Claimed, *steps: Step) -> TracedRun:
    """Run the steps while the block layer is watched; what arrives besides their I/Os is left out."""
    drive, engine = claimed
    with BlockTrace(drive) as trace:
        samples = ended(engine, *steps)
    return TracedRun(tuple(samples), trace.events)


@pytest.mark.usefixtures("traceable")
class TestFromTheDevicesSide:
    def test_random_ios_stay_in_their_range_on_aligned_places(self, claimed: Claimed) -> None:
        active = ActiveRange(10, 60)
        run = traced(claimed, Step.of(stimulus(sizes=8192, tc=2, qd=4, active_range=active), IoCount(20_000)))
        start, end = active.bytes_of(CAPACITY, SECTOR)
        assert len(run.queued) == 20_000
        assert set(run.lengths) == {8192}
        assert (run.starts % 4096 == 0).all()
        first = -(-start // 4096)
        places = (end - 8192) // 4096 - first + 1
        drawn = run.starts // 4096 - first
        assert (drawn.min(), drawn.max()) == (0, places - 1)
        _, p = stats.chisquare(np.bincount(drawn, minlength=places))
        assert p > UNLIKELY

    def test_zones_get_their_shares(self, claimed: Claimed) -> None:
        zones = Zones((Zone(50, 5), Zone(30, 15), Zone(20, 80)))
        run = traced(claimed, Step.of(stimulus(qd=8, placement=zones), IoCount(20_000)))
        edges = np.array([0, 0.05, 0.2, 1]) * CAPACITY
        counts, _ = np.histogram(run.starts, edges)
        # fio's zones begin at whole blocks: one of 4096 may lie on the other side
        shares = counts / counts.sum()
        assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.02)

    def test_sizes_get_their_shares(self, claimed: Claimed) -> None:
        parts = {4096: 50, 8192: 30, 65536: 20}
        run = traced(claimed, Step.of(stimulus(sizes=parts, qd=4), IoCount(10_000)))
        counts = Counter(run.lengths.tolist())
        # a large block does not fit at the last places and is drawn again: 15 of 4096
        shares = {size: counts[size] / 100 for size in parts}
        assert shares == pytest.approx({size: float(part) for size, part in parts.items()}, abs=2.5)
        assert (run.starts + run.lengths).max() <= CAPACITY

    @pytest.mark.full_matrix(most=1)
    @pytest.mark.parametrize(("theta", "tolerance"), [(0.9, 0.1), (1.2, 0.1)])
    def test_zipf_places_are_as_hot_as_it_says(
        self, claimed: Claimed, theta: float, tolerance: float
    ) -> None:
        run = traced(claimed, Step.of(stimulus(qd=8, placement=Zipf(theta)), IoCount(40_000)))
        found = -np.sort(-np.bincount(run.starts // 4096, minlength=4096)) / 40_000
        ranks = np.arange(1, 4097) ** -theta
        expected = ranks / ranks.sum()
        for hottest in (1, 10, 100, 1000):
            assert found[:hottest].sum() == pytest.approx(expected[:hottest].sum(), rel=tolerance)

    def test_pareto_places_are_as_hot_as_it_says(self, claimed: Claimed) -> None:
        run = traced(claimed, Step.of(stimulus(qd=8, placement=Pareto(0.2)), IoCount(40_000)))
        found = -np.sort(-np.bincount(run.starts // 4096, minlength=4096)) / 40_000
        # self-similar: 20 % of the places have 80 % of the accesses, 4 % have 64 %
        assert found[: int(0.2 * 4096)].sum() == pytest.approx(0.8, rel=0.05)
        assert found[: int(0.04 * 4096)].sum() == pytest.approx(0.64, rel=0.05)

    @pytest.mark.parametrize("tc", [1, 3])
    def test_sequences_of_threads_tile_the_range(self, claimed: Claimed, tc: int) -> None:
        run = traced(claimed, Step.of(stimulus(sizes=65536, random_pct=0, tc=tc, write=1), DriveFills(2)))
        assert Counter(run.starts.tolist()) == dict.fromkeys(range(0, CAPACITY, 65536), 2)
        for thread in run.by_task():
            distances = np.diff(thread.starts)
            assert ((distances == 65536) | (thread.starts[1:] == thread.starts[0])).all()
        assert len(run.by_task()) == tc

    def test_strides(self, claimed: Claimed) -> None:
        wanted = stimulus(random_pct=0, stride_bytes=20_480, active_range=ActiveRange(50, 100))
        run = traced(claimed, Step.of(wanted, IoCount(1000)))
        start, end = ActiveRange(50, 100).bytes_of(CAPACITY, SECTOR)
        once = list(range(start, end - 4095, 20_480))
        assert run.starts.tolist() == (once * 3)[:1000]

    def test_syncs_reach_the_drive_as_flushes(self, claimed: Claimed) -> None:
        (sample,) = traced(claimed, Step.of(stimulus(write=4, fsync=1), IoCount(400))).samples
        assert (sample.write.ios, sample.fsync.ios) == (400, 99)
        assert sample.fsync.latency_sum_ns > 0

    def test_trims(self, claimed: Claimed) -> None:
        (sample,) = traced(
            claimed, Step.of(stimulus(sizes=65536, random_pct=0, trim=1), DriveFills(1))
        ).samples
        assert (sample.trim.ios, sample.trim.bytes) == (CAPACITY // 65536, CAPACITY)


def test_an_error_of_the_drive_has_a_place_and_a_name(
    attach: Callable[..., Path], open_engine: Open, tmp_path: Path
) -> None:
    backing = tmp_path / "backing"
    backing.write_bytes(bytes(CAPACITY))
    engine = open_engine(attach(on=backing), os.O_RDWR | os.O_EXCL)
    os.truncate(backing, CAPACITY // 2)  # the device keeps its size, and its second half is gone
    engine.submit([Step.of(stimulus(qd=4), Duration.seconds(20))])
    sample = next_sample(engine)
    assert sample.state is StepState.FAILED
    assert sample.failure is not None
    assert (sample.failure.operation, sample.failure.length_bytes) == ("read", 4096)
    assert sample.failure.offset_bytes >= CAPACITY // 2
    assert sample.failure.reason == os.strerror(5)
    assert sample.errors[0].first_offsets_bytes[0] == sample.failure.offset_bytes


def test_a_missing_program_fails_the_step(file: Path, open_engine: Open, golden: Golden) -> None:
    engine = open_engine(file)
    engine._program = FioProgram("/nonexistent/fio", "fio-3.33")
    engine.submit([Step.of(stimulus(), BRIEF)])
    sample = next_sample(engine)
    assert sample.state is StepState.FAILED
    assert sample.failure is not None
    assert sample.failure.reason == golden
