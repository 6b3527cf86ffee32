"""Sequential coverage, order, strides and the mix of operations, proven from what the block layer saw."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openpts.units import KIB, MIB
from openpts.vocabulary.stimulus import (
    ActiveRange,
    BlockSize,
    ByteAmount,
    DriveFills,
    IoCount,
    OperationWeights,
    Step,
    Stimulus,
)
from tests.support.traced_engine import PAGE, SECTOR, WHOLE, TracedRun, random_reads, run_traced

CAPACITY = 80 * MIB
WRITE = OperationWeights(write=1)
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.fixture
def drive(traceable: None, attach_memory: Callable[[int], Path]) -> Path:
    return attach_memory(CAPACITY)


def _sequential(
    size: int,
    operations: OperationWeights = WRITE,
    tc: int = 1,
    qd: int = 8,
    random_pct: int = 0,
    stride: int | None = None,
    active_range: ActiveRange = WHOLE,
) -> Stimulus:
    return Stimulus(
        random_pct=random_pct,
        block_sizes=(BlockSize(size),),
        operations=operations,
        tc=tc,
        qd=qd,
        active_range=active_range,
        stride_bytes=stride,
    )


def _times_touched(run: TracedRun) -> NDArray[np.int64]:
    """How often each sector of the drive was accessed."""
    edges = np.zeros(CAPACITY // SECTOR + 1, np.int64)
    np.add.at(edges, run.starts // SECTOR, 1)
    np.add.at(edges, (run.starts + run.lengths) // SECTOR, -1)
    return np.cumsum(edges)[:-1]


@pytest.mark.full_matrix(most=4)
@pytest.mark.proves("PTS-TOOL-02", "PTS-TOOL-08")
@pytest.mark.parametrize("tc", [1, 3, 4])
@pytest.mark.parametrize("size", [128 * KIB, 96 * KIB, 97 * SECTOR, 256 * KIB - SECTOR])
def test_preconditioning_writes_every_lba_exactly_once_a_pass(drive: Path, size: int, tc: int) -> None:
    run = run_traced(drive, Step.of(_sequential(size, tc=tc), DriveFills(2)))
    assert run.writes.all()
    assert set(_times_touched(run)) == {2}
    assert len(run.by_task()) == tc


@pytest.mark.parametrize("size", [512 * KIB - SECTOR, 1020 * KIB])
def test_large_transfers_reach_the_drive_at_the_first_attempt(drive: Path, size: int) -> None:
    """In buffers of small pages they have more segments than a request holds, and the kernel refuses them
    once before a worker of its own sends them again: time that is not the drive's."""
    if "[never]" in HUGE_PAGES.read_text():
        pytest.skip(f"needs huge pages ({HUGE_PAGES})")
    run = run_traced(drive, Step.of(_sequential(size), IoCount(40)))
    assert not run.completed["error"].any()


def test_a_pass_over_a_part_of_the_drive_leaves_the_rest_alone(drive: Path) -> None:
    active_range = ActiveRange(12.5, 61)
    start, end = active_range.bytes_of(CAPACITY, SECTOR)
    step = Step.of(_sequential(96 * KIB, tc=4, active_range=active_range), ByteAmount(end - start))
    touched = _times_touched(run_traced(drive, step))
    assert set(touched[start // SECTOR : end // SECTOR]) == {1}
    assert not touched[: start // SECTOR].any()
    assert not touched[end // SECTOR :].any()


def test_each_of_several_passes_is_complete_before_the_next_begins(drive: Path) -> None:
    """One thread at QD 1, whose order of arrival is its order of issue."""
    size = 96 * KIB
    run = run_traced(drive, Step.of(_sequential(size, qd=1), DriveFills(3)))
    one_pass = [*range(0, CAPACITY, size)]
    assert run.starts.tolist() == one_pass * 3
    assert run.lengths.tolist() == [min(size, CAPACITY - start) for start in one_pass] * 3


@pytest.mark.parametrize("tc", [1, 4])
def test_sequential_streams_go_on_where_the_step_before_stopped(drive: Path, tc: int) -> None:
    """Also across a random step between them."""
    step = Step.of(_sequential(64 * KIB, tc=tc), ByteAmount(CAPACITY // 4))
    other = Step.of(random_reads(tc=tc), IoCount(100))
    first, _, second, third, fourth = run_traced(drive, step, other, step, step, step).by_step()
    quarters = [_times_touched(part) for part in (first, second, third, fourth)]
    assert [quarter.sum() * SECTOR for quarter in quarters] == [CAPACITY // 4] * 4
    assert set(np.sum(quarters, axis=0)) == {1}
    for one, next_one in zip((first, second, third), (second, third, fourth), strict=True):
        ends = {int((part.starts + part.lengths).max()) for part in one.by_task()}
        assert ends == {int(part.starts.min()) for part in next_one.by_task()}


def test_each_thread_keeps_to_a_part_of_its_own(drive: Path) -> None:
    run = run_traced(drive, Step.of(_sequential(64 * KIB, tc=4), DriveFills(2)))
    parts = sorted(
        (int(part.starts.min()), int((part.starts + part.lengths).max())) for part in run.by_task()
    )
    assert parts == [(index * CAPACITY // 4, (index + 1) * CAPACITY // 4) for index in range(4)]


def test_strides_lie_between_the_starts(drive: Path) -> None:
    size, stride = 16 * KIB, 1000 * KIB
    count = CAPACITY // stride
    run = run_traced(drive, Step.of(_sequential(size, qd=1, stride=stride), IoCount(count)))
    assert run.starts.tolist() == [index * stride for index in range(count)]
    assert set(run.lengths) == {size}


@pytest.mark.proves("PTS-TOOL-07")
@pytest.mark.parametrize("random_pct", [10, 50, 95])
def test_the_share_of_random_accesses_is_exact_and_the_others_are_one_stream(
    drive: Path, random_pct: int
) -> None:
    ios = 10_000
    run = run_traced(drive, Step.of(_sequential(PAGE, qd=1, random_pct=random_pct), IoCount(ios)))
    goes_on_at = sequential = 0
    for start in run.starts.tolist():
        if start == goes_on_at:
            sequential += 1
            goes_on_at = (start + PAGE) % CAPACITY
    # A random access hits the stream's next place by chance only once in 20,480 times.
    assert sequential - ios * (100 - random_pct) / 100 in range(6)


@pytest.mark.parametrize("tc", [1, 2])
@pytest.mark.parametrize(
    ("weights", "size"),
    [
        (OperationWeights(read=65, write=35), PAGE),
        (OperationWeights(trim=1), 64 * KIB),
        (OperationWeights(read=40, write=30, trim=20, flush=6, fsync=4), 16 * KIB),
        (OperationWeights(write=90, flush=10), PAGE),
    ],
)
def test_every_operation_arrives_as_often_as_its_weight_says(
    drive: Path, weights: OperationWeights, size: int, tc: int
) -> None:
    """Flushes and fsyncs look alike to a drive: both are a flush."""
    total = sum((weights.read, weights.write, weights.trim, weights.flush, weights.fsync))
    decks = 2000 // total
    stimulus = Stimulus(random_pct=100, block_sizes=(BlockSize(size),), operations=weights, tc=tc, qd=4)
    run = run_traced(drive, Step.of(stimulus, IoCount(decks * tc * total)))
    arrived = Counter(run.queued["rwbs"].astype("S1").tolist())
    expected = {
        b"R": weights.read,
        b"W": weights.write,
        b"D": weights.trim,
        b"F": weights.flush + weights.fsync,
    }
    (sample,) = run.samples
    counted = {name: operation.ios for name, operation in sample.operations.items()}
    assert counted == {name: getattr(weights, name) * decks * tc for name in counted}
    assert arrived == {letter: weight * decks * tc for letter, weight in expected.items() if weight}
    data = run.queued["rwbs"].astype("S1") != b"F"
    assert set(run.lengths[data]) == {size}
    assert set(run.lengths[~data]) <= {0}
