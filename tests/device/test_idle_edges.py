"""Load and idle in turn, as explicit steps of one program: where each segment begins and ends can be told
from the samples alone, and no error of one segment is carried into another.
"""

import os
from itertools import pairwise
from statistics import median

import pytest

from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.units import KIB, MIB, NS_PER_MS
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration

CYCLES = 20
ON_NS = 200 * NS_PER_MS
OFF_NS = 150 * NS_PER_MS
# What a test may be off by at an edge; a machine that does other work as well may be late now and then.
EDGE_NS = 10 * NS_PER_MS
LATE_NS = 150 * NS_PER_MS
CAPACITY = 64 * MIB
FACTS = TargetFacts(TargetKind.FILE, "file:scratch", "scratch", CAPACITY, 512)
WRITES = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 4, 32, ActiveRange())


def end_ns(sample: Sample) -> int:
    return sample.started_ns + sample.elapsed_ns


def assert_small(errors_ns: list[int]) -> None:
    assert min(errors_ns) >= 0
    assert median(errors_ns) < EDGE_NS
    assert max(errors_ns) < LATE_NS
    # nothing adds up: the last are as good as the first
    assert median(errors_ns[-CYCLES // 2 :]) < EDGE_NS


pytestmark = pytest.mark.needs("io_uring")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Sample]:
    fd = os.open(tmp_path_factory.mktemp("edges") / "scratch", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, CAPACITY)
    demand = Demand(tc=4, qd=32, block_size_bytes=4 * KIB)
    engine = NativeEngine(fd, FACTS, demand, 7, NativeOptions(io_path=IoPath.IO_URING))
    cycle = [Step.of(WRITES, Duration(ON_NS)), Step.of(None, Duration(OFF_NS))]
    engine.submit(cycle * CYCLES)
    ended = [engine.poll(20) for _ in range(2 * CYCLES)]
    engine.stop()
    os.close(fd)
    assert all(sample is not None and sample.state is StepState.COMPLETE for sample in ended)
    return [sample for sample in ended if sample is not None]


@pytest.mark.slow
def test_segments_follow_each_other_without_a_hole_or_an_overlap(samples: list[Sample]) -> None:
    assert_small([after.started_ns - end_ns(before) for before, after in pairwise(samples)])


def test_load_lasts_as_planned_and_as_long_as_its_last_ios(samples: list[Sample]) -> None:
    assert_small(
        [max(0, sample.elapsed_ns - ON_NS - (sample.write.latency_max_ns or 0)) for sample in samples[::2]]
    )
    assert min(sample.elapsed_ns for sample in samples[::2]) >= ON_NS


def test_idle_lasts_as_planned(samples: list[Sample]) -> None:
    assert_small([sample.elapsed_ns - OFF_NS for sample in samples[1::2]])
    load = samples[::2]
    assert_small([after.started_ns - end_ns(before) - OFF_NS for before, after in pairwise(load)])


def test_the_whole_is_the_sum_of_its_parts(samples: list[Sample]) -> None:
    parts_ns = sum(sample.elapsed_ns for sample in samples)
    holes_ns = sum(after.started_ns - end_ns(before) for before, after in pairwise(samples))
    assert end_ns(samples[-1]) - samples[0].started_ns == parts_ns + holes_ns
