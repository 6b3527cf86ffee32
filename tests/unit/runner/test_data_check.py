"""The sample of what will be written, compressed and counted."""

import random
import zlib

import pytest
from msgspec.structs import replace

from openpts.runner.data_check import SAMPLED_BYTES, checked, data_checks, sample_of
from openpts.vocabulary.data import RandomData, ReducibleData
from openpts.vocabulary.facts import SimulationFacts, TargetFacts, TargetKind
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration
from tests.support.transcript import Golden

SIMULATION = SimulationFacts("theory", "a model", "page-mapped", 1, 10**9, 1, ())
DRIVE = TargetFacts(TargetKind.BLOCK, "nvme9n1", "/dev/nvme9n1", 10**12, 512)
SIMULATED = TargetFacts(TargetKind.SIMULATED, "sim:theory", "sim:theory", 10**9, 512, SIMULATION)


def step(data: RandomData | ReducibleData) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 1, 1, ActiveRange())
    return Step.of(replace(stimulus, data=data), Duration(1))


@pytest.mark.proves("LSI-ENT-02")
def test_pieces_are_compressed_by_themselves_and_counted_once() -> None:
    piece = random.Random(1).randbytes(4096)
    check = checked(ReducibleData(50, 50), piece + piece + bytes(8192))
    assert check.distinct_pct == 50
    left_bytes = 2 * len(zlib.compress(piece)) + 2 * len(zlib.compress(bytes(4096)))
    assert check.compressed_pct == pytest.approx(100 * left_bytes / 16384)


@pytest.mark.proves("LSI-GEN-03")
@pytest.mark.parametrize("entropy_pct", [0, 10, 25, 46, 67, 100])
def test_the_engine_writes_what_is_asked_for(entropy_pct: float) -> None:
    sample = sample_of(ReducibleData(entropy_pct), 5)
    assert len(sample) == SAMPLED_BYTES
    random_bytes = round(4096 * entropy_pct / 100)
    for start in range(0, len(sample), 256 * 4096):
        assert not any(sample[start + random_bytes : start + 4096])
    # zlib's own bytes are up to 1.5 % of a piece
    assert entropy_pct <= checked(ReducibleData(entropy_pct), sample).compressed_pct < entropy_pct + 2


def test_copies_are_found() -> None:
    check = checked(ReducibleData(46, 50), sample_of(ReducibleData(46, 50), 5))
    # half of 1024 pieces are copies of 16; shares are exact over each hundred: 24 pieces are left to chance
    assert check.distinct_pct == pytest.approx(100 * (512 + 16) / 1024, abs=100 * 12 / 1024)


def test_each_pattern_is_looked_at_once_and_random_data_never() -> None:
    steps = [step(RandomData()), step(ReducibleData(46)), step(ReducibleData(0)), step(ReducibleData(46))]
    checks = data_checks([Step.of(None, Duration(1)), *steps], DRIVE, 7)
    assert [check.data for check in checks] == [ReducibleData(46), ReducibleData(0)]
    assert {check.sampled_bytes for check in checks} == {SAMPLED_BYTES}


def test_a_simulated_drive_gets_no_bytes_and_that_is_said(golden: Golden) -> None:
    (check,) = data_checks([step(ReducibleData(46, 25))], SIMULATED, 7)
    assert (check.compressed_pct, check.distinct_pct, check.sampled_bytes) == (46, 75, 0)
    assert check.how == golden
