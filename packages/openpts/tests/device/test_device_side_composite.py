"""The composite block size stimulus of PTS 13.2, proven from what the block layer saw."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from openpts.units import KIB, MIB
from openpts.vocabulary.stimulus import BlockSize, IoCount, OperationWeights, Step, Stimulus, Zone, Zones
from tests.support.traced_engine import PAGE, SECTOR, UNLIKELY, TracedRun, run_traced

CAPACITY = 80 * MIB
DECK = 100  # sum of the weights of sizes, of operations and of zones below

# Sizes in bytes and their parts in per cent, and the access ranges.
COMPOSITE = {
    512: 4,
    1024: 1,
    1536: 1,
    2048: 1,
    2560: 1,
    3072: 1,
    3584: 1,
    4 * KIB: 67,
    8 * KIB: 10,
    16 * KIB: 7,
    32 * KIB: 3,
    64 * KIB: 3,
}
ZONE_WEIGHTS = (50, 30, 20)
ZONE_EDGES = (0, 4 * MIB, 16 * MIB, CAPACITY)  # at 5, 20 and 100 per cent


@pytest.fixture(scope="module")
def traced() -> dict[tuple[int, int], TracedRun]:
    """The runs so far: what the block layer saw is read by several tests."""
    return {}


@pytest.fixture(params=[(1, 16), (4, 4)], ids=["TC1 QD16", "TC4 QD4"])
def composite(
    request: pytest.FixtureRequest, traceable: None, traced: dict[tuple[int, int], TracedRun]
) -> TracedRun:
    if request.param not in traced:
        traced[request.param] = _composite(request.getfixturevalue("attach_memory"), *request.param)
    return traced[request.param]


def _composite(attach_memory: Callable[[int], Path], tc: int, qd: int) -> TracedRun:
    stimulus = Stimulus(
        random_pct=100,
        block_sizes=tuple(BlockSize(size, weight) for size, weight in COMPOSITE.items()),
        operations=OperationWeights(read=40, write=60),
        tc=tc,
        qd=qd,
        placement=Zones((Zone(50, 5), Zone(30, 15), Zone(20, 80))),
    )
    return run_traced(attach_memory(CAPACITY), Step.of(stimulus, IoCount(40_000)))


def _decks(run: TracedRun, values: NDArray[Any]) -> set[frozenset[tuple[Any, int]]]:
    """How often each value occurs in each whole deck of each thread."""
    tasks = run.queued["task"]
    found = set()
    for task in np.unique(tasks):
        own = values[tasks == task].tolist()
        whole = len(own) // DECK * DECK
        found |= {frozenset(Counter(own[at : at + DECK]).items()) for at in range(0, whole, DECK)}
    return found


def _zones(run: TracedRun) -> NDArray[np.int64]:
    return np.searchsorted(ZONE_EDGES, run.starts, side="right") - 1


def test_sizes_of_the_composite_test_are_exact_in_every_deck(composite: TracedRun) -> None:
    assert _decks(composite, composite.lengths) == {frozenset(COMPOSITE.items())}


def test_the_mix_of_reads_and_writes_is_exact_in_every_deck(composite: TracedRun) -> None:
    assert _decks(composite, composite.writes) == {frozenset({(False, 40), (True, 60)})}
    (sample,) = composite.samples
    assert (sample.read.ios, sample.write.ios) == ((~composite.writes).sum(), composite.writes.sum())


def test_access_ranges_get_their_parts_in_every_deck(composite: TracedRun) -> None:
    assert _decks(composite, _zones(composite)) == {frozenset(enumerate(ZONE_WEIGHTS))}
    ends = np.array(ZONE_EDGES)[_zones(composite) + 1]
    assert (composite.starts + composite.lengths <= ends).all()


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("zone", [0, 1, 2])
def test_accesses_are_uniform_inside_each_range(composite: TracedRun, zone: int) -> None:
    """Against the exact number of places at which a transfer of each size fits."""
    first, end = ZONE_EDGES[zone : zone + 2]
    bins = np.linspace(first, end, 33)
    inside = _zones(composite) == zone
    expected = np.zeros(len(bins) - 1)
    for size, ios in Counter(composite.lengths[inside].tolist()).items():
        places = np.arange(first, end - size + 1, PAGE if size >= PAGE else SECTOR)
        expected += ios * np.histogram(places, bins)[0] / len(places)
    observed = np.histogram(composite.starts[inside], bins)[0]
    assert stats.chisquare(observed, expected).pvalue > UNLIKELY


def test_size_direction_and_range_are_independent(composite: TracedRun) -> None:
    sizes = np.searchsorted(sorted(COMPOSITE), composite.lengths)
    table = np.zeros((len(COMPOSITE), 2, 3))
    np.add.at(table, (sizes, composite.writes.astype(int), _zones(composite)), 1)
    for pair in (table.sum(axis=0), table.sum(axis=1), table.sum(axis=2)):
        assert stats.chi2_contingency(pair).pvalue > UNLIKELY
