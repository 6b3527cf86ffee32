"""Transfers by block size and by access range: the mix of PTS 13.2, held against its own decks and sums."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.stats import chisquare

from openpts.engine.contract import Engine
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import (
    BlockSize,
    Duration,
    IoCount,
    OperationWeights,
    Step,
    Stimulus,
    Zone,
    Zones,
)
from openpts_sim.presets import load_preset
from openpts_sim.simulated_engine import SimulatedDrive
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle

pytestmark = pytest.mark.on_disk

# Table 13-1, and the three ranges of 13.2.
SIZES = {512 * n: weight for n, weight in ((1, 4), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1))}
SIZES |= {4 * KIB: 67, 8 * KIB: 10, 16 * KIB: 7, 32 * KIB: 3, 64 * KIB: 3}
WEIGHTS = list(SIZES.values())
ZONES = Zones((Zone(50, 5), Zone(30, 15), Zone(20, 80)))
COMPOSITE = Stimulus(
    random_pct=100,
    block_sizes=tuple(BlockSize(size, weight) for size, weight in SIZES.items()),
    operations=OperationWeights(read=40, write=60),
    tc=1,
    qd=1,
    placement=ZONES,
)
FACTS = TargetFacts(TargetKind.FILE, "file:scratch", "scratch", 8 * MIB, 512)
DEMAND = Demand(tc=4, qd=8, block_size_bytes=64 * KIB)


@pytest.fixture(scope="module")
def native() -> Iterator[Engine]:
    with tempfile.TemporaryFile() as scratch:
        os.posix_fallocate(scratch.fileno(), 0, FACTS.user_capacity_bytes)
        engine = NativeEngine(scratch.fileno(), FACTS, DEMAND, 7)
        yield engine
        engine.stop()


def simulated(folder: Path, scale: int) -> Engine:
    drive = SimulatedDrive(
        load_preset(str(write_oracle(folder, [20_000.0], by="seconds"))),
        path="sim:mine",
        capacity_bytes=CAPACITY_BYTES * scale,
        scale=scale,
        seed=3,
    )
    return drive.engine(DEMAND, 7, NativeOptions(interval_histograms=False))


def run(engine: Engine, steps: Sequence[Step]) -> list[Sample]:
    engine.submit(steps)
    samples = [engine.poll(30) for _ in steps]
    assert all(sample is not None for sample in samples)
    return [sample for sample in samples if sample is not None]


@pytest.mark.needs("io_uring")
def test_whole_decks_hold_the_mix_exactly(native) -> None:
    for tc, qd in ((1, 1), (4, 8)):
        (sample,) = run(native, [Step.of(replace(COMPOSITE, tc=tc, qd=qd), IoCount(1000 * tc))])
        assert sample.ios_by_block_size == tuple(10 * tc * weight for weight in WEIGHTS)
        assert sample.ios_by_zone == (500 * tc, 300 * tc, 200 * tc)


@pytest.mark.parametrize("scale", [1, 67])
def test_a_simulated_drive_counts_what_its_ios_stand_for(tmp_path, scale) -> None:
    engine = simulated(tmp_path, scale)
    demanding = replace(COMPOSITE, tc=4, qd=8)
    timed, counted = run(
        engine, [Step.of(demanding, Duration.seconds(60)), Step.of(COMPOSITE, IoCount(1000 * scale))]
    )
    engine.stop()
    assert sum(timed.ios_by_block_size) == sum(timed.ios_by_zone) == timed.ios > 0
    assert counted.ios_by_block_size == tuple(10 * weight * scale for weight in WEIGHTS)
    assert counted.ios_by_zone == (500 * scale, 300 * scale, 200 * scale)


def test_the_mix_of_any_period_passes_the_test_of_its_own_shares(native) -> None:
    for sample in run(
        native,
        [
            Step.of(replace(COMPOSITE, tc=2, qd=8), Duration.seconds(0.2)),
            *[Step.of(replace(COMPOSITE, tc=4, qd=1), Duration.seconds(0.1))] * 2,
        ],
    ):
        for counts, shares in ((sample.ios_by_block_size, WEIGHTS), (sample.ios_by_zone, [50, 30, 20])):
            expected = [sample.ios * share / sum(shares) for share in shares]
            assert chisquare(counts, expected).pvalue > 0.05


def test_where_there_is_one_size_and_no_zone_nothing_is_told(native) -> None:
    plain = Stimulus(100, (BlockSize(4 * KIB),), OperationWeights(read=1), 1, 1)
    one, idle = run(native, [Step.of(plain, IoCount(10)), Step.of(None, Duration(1000))])
    for sample in (one, idle):
        assert (sample.ios_by_block_size, sample.ios_by_zone) == ((), ())
    (zoned,) = run(native, [Step.of(replace(plain, placement=ZONES), IoCount(10))])
    assert (zoned.ios_by_block_size, sum(zoned.ios_by_zone)) == ((), 10)


MIXES = st.builds(
    lambda sizes, weights, operations, random_pct, demand: replace(
        COMPOSITE,
        block_sizes=tuple(BlockSize(512 * size, weight) for size, weight in sizes.items()),
        placement=Zones(tuple(Zone(weight, 100 / len(weights)) for weight in weights)),
        operations=OperationWeights(**operations),
        random_pct=random_pct,
        tc=demand[0],
        qd=demand[1],
    ),
    st.dictionaries(st.integers(1, 128), st.integers(1, 9), min_size=2, max_size=6),
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.fixed_dictionaries(
        {"read": st.integers(1, 9), "write": st.integers(0, 9), "trim": st.integers(0, 3)},
        optional={"flush": st.just(1)},
    ),
    st.sampled_from([30, 100]),
    st.tuples(st.integers(1, 4), st.integers(1, 8)),
)


@settings(max_examples=40)
@given(stimulus=MIXES, stop=st.one_of(st.integers(1, 300).map(IoCount), st.just(Duration(2_000_000))))
def test_sums_are_the_transfers(native, stimulus, stop) -> None:
    (sample,) = run(native, [Step.of(stimulus, stop)])
    assert len(sample.ios_by_block_size) == len(stimulus.block_sizes)
    assert isinstance(stimulus.placement, Zones)
    assert len(sample.ios_by_zone) == len(stimulus.placement.zones)
    assert sum(sample.ios_by_block_size) == sum(sample.ios_by_zone) == sample.ios
