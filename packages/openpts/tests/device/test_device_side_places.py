"""Where uniform random accesses go, and in which segments and unique LBAs: from what the block layer saw."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from openpts.units import KIB, MIB
from openpts.vocabulary.stimulus import ActiveRange, IoCount, Segments, Step, UniqueLbas
from tests.support.traced_engine import PAGE, SECTOR, UNLIKELY, WHOLE, TracedRun, random_reads, run_traced

TIB = 1024**4
CAPACITY = 80 * MIB


@pytest.fixture
def drive(traceable: None, attach_memory: Callable[[int], Path]) -> Path:
    return attach_memory(CAPACITY)


@pytest.mark.full_matrix(most=3)
@pytest.mark.proves("PTS-TOOL-02", "PTS-TOOL-03", "PTS-RNG-03")
@pytest.mark.parametrize(
    ("size", "asked_alignment", "alignment", "active_range"),
    [
        (512, None, 512, WHOLE),
        (PAGE, None, PAGE, WHOLE),
        (5 * KIB, None, PAGE, WHOLE),
        (PAGE, 512, 512, ActiveRange(10, 60)),
        (16 * KIB, 64 * KIB, 64 * KIB, WHOLE),
        (64 * KIB, None, PAGE, ActiveRange(12.5, 37.5)),
    ],
)
def test_random_offsets_are_uniform_over_every_aligned_place_of_the_range(
    drive: Path, size: int, asked_alignment: int | None, alignment: int, active_range: ActiveRange
) -> None:
    stimulus = random_reads(size=size, alignment=asked_alignment, active_range=active_range)
    run = run_traced(drive, Step.of(stimulus, IoCount(20_000)))
    start, end = active_range.bytes_of(CAPACITY, SECTOR)
    places = np.arange(-(-start // alignment) * alignment, end - size + 1, alignment)
    assert set(run.lengths) == {size}
    assert (run.starts % alignment == 0).all()
    assert run.starts.min() >= places[0]
    assert run.starts.max() <= places[-1]
    bins = np.linspace(start, end, 65)
    expected = len(run.starts) * np.histogram(places, bins)[0] / len(places)
    used = expected > 0
    observed = np.histogram(run.starts, bins)[0]
    assert stats.chisquare(observed[used], expected[used]).pvalue > UNLIKELY


def test_offsets_are_uniform_over_four_tib_in_their_highest_and_lowest_digits(
    traceable: None, attach_memory: Callable[[int], Path]
) -> None:
    capacity = 4 * TIB - 12 * PAGE  # no power of two, so that a modulo would be seen
    drive = attach_memory(capacity)
    places = run_traced(drive, Step.of(random_reads(), IoCount(50_000))).starts // PAGE
    assert stats.chisquare(np.histogram(places, np.linspace(0, capacity // PAGE, 65))[0]).pvalue > UNLIKELY
    assert stats.chisquare(np.bincount(places % 61, minlength=61)).pvalue > UNLIKELY
    assert stats.chisquare(np.bincount(places % 64, minlength=64)).pvalue > UNLIKELY
    assert stats.kstest(places / (capacity // PAGE), "uniform").pvalue > UNLIKELY


@pytest.mark.parametrize("tc", [1, 4])
def test_no_step_or_thread_repeats_the_offsets_of_another_beyond_chance(drive: Path, tc: int) -> None:
    step = Step.of(random_reads(size=512, tc=tc, qd=4), IoCount(8000))
    run = run_traced(drive, *[step] * 3)
    streams = [part.starts // SECTOR for whole in run.by_step() for part in whole.by_task()]
    assert len(streams) == 3 * tc
    places = CAPACITY // SECTOR
    counts = [np.bincount(stream, minlength=places) for stream in streams]
    for number, one in enumerate(counts):
        for other in counts[number + 1 :]:
            expected = one.sum() * other.sum() / places
            assert abs((one * other).sum() - expected) < 6 * np.sqrt(expected)
    distinct = np.count_nonzero(np.sum(counts, axis=0))
    accesses = 3 * 8000
    unseen = (1 - 1 / places) ** accesses
    assert abs(distinct - places * (1 - unseen)) < 6 * np.sqrt(places * unseen * (1 - unseen))


def _touched(run: TracedRun) -> NDArray[np.int64]:
    """Numbers of the distinct sectors, ascending."""
    ends = np.zeros(CAPACITY // SECTOR + 1, np.int64)
    np.add.at(ends, run.starts // SECTOR, 1)
    np.add.at(ends, (run.starts + run.lengths) // SECTOR, -1)
    return np.flatnonzero(np.cumsum(ends[:-1]))


def _runs(sectors: NDArray[np.int64]) -> list[tuple[int, int]]:
    """First sector and length of each contiguous run."""
    cuts = np.flatnonzero(np.diff(sectors) != 1) + 1
    return [(int(part[0]), len(part)) for part in np.split(sectors, cuts)]


@pytest.mark.full_matrix(most=2)
@pytest.mark.proves("PTS-TOOL-05")
@pytest.mark.parametrize(("count", "segment", "tc"), [(1, MIB, 1), (16, 256 * KIB, 1), (7, 196 * KIB, 4)])
def test_lba_segments_are_as_many_and_as_large_as_asked_and_do_not_overlap(
    drive: Path, count: int, segment: int, tc: int
) -> None:
    step = Step.of(random_reads(Segments(count, segment), tc=tc, qd=8), IoCount(30_000))
    run = run_traced(drive, step, step)
    first, second = run.by_step()
    assert (_touched(first) == _touched(second)).all()
    # Segments may touch: a run is one or several of them.
    runs = _runs(_touched(run))
    assert sum(length for _, length in runs) == count * segment // SECTOR
    assert {length % (segment // SECTOR) for _, length in runs} == {0}
    segments = [at for start, length in runs for at in range(start, start + length, segment // SECTOR)]
    ios = np.histogram(run.starts // SECTOR, [*segments, CAPACITY // SECTOR])[0]
    assert len(segments) == count
    if count > 1:
        assert stats.chisquare(ios).pvalue > UNLIKELY
        assert max(segments) - min(segments) > CAPACITY // SECTOR // 3


@pytest.mark.full_matrix(most=3)
@pytest.mark.proves("PTS-TOOL-04")
@pytest.mark.parametrize(
    ("size", "amount", "covered", "tc"),
    [
        (PAGE, 4 * MIB, 4 * MIB, 1),
        (PAGE, 4 * MIB, 4 * MIB, 4),
        (16 * KIB, 2 * MIB, 2 * MIB, 1),
        (PAGE, MIB + 1000, MIB, 1),
        (512, 300 * KIB, 300 * KIB, 1),
    ],
)
def test_unique_lbas_are_exactly_as_many_as_asked(
    drive: Path, size: int, amount: int, covered: int, tc: int
) -> None:
    step = Step.of(random_reads(UniqueLbas(amount), size=size, tc=tc, qd=8), IoCount(25_000))
    run = run_traced(drive, step, step)
    first, second = run.by_step()
    assert (_touched(first) == _touched(second)).all()
    assert len(_touched(run)) * SECTOR == covered
    places, ios = np.unique(run.starts, return_counts=True)
    assert stats.chisquare(ios).pvalue > UNLIKELY
    assert stats.kstest(places / CAPACITY, "uniform").pvalue > UNLIKELY
