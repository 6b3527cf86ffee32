"""What a mixed workload's figures are made of: a maximum is the larger, a mean weighs, a rate sums up."""

import pytest

from openpts.units import KIB
from openpts.vocabulary.sample import DirectionSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus

STEP = Step(Stimulus(AccessPattern.RANDOM, 4 * KIB, 65, 1, 1, ActiveRange()), Duration.seconds(2))
NOTHING = DirectionSample(0, 0, 0, None, None, b"")


def sample(read: DirectionSample, write: DirectionSample, elapsed_ns: int = 2 * 10**9) -> Sample:
    return Sample(
        step=STEP,
        state=StepState.COMPLETE,
        started_ns=0,
        elapsed_ns=elapsed_ns,
        gap_ns=None,
        read=read,
        write=write,
        interval_ns=10**9,
        intervals=(),
        cpu=None,
        failure=None,
    )


def test_a_mixed_workload_blends_nothing() -> None:
    reads = DirectionSample(300, 300 * 4096, 300 * 100, 50, 900, b"")
    writes = DirectionSample(100, 100 * 4096, 100 * 500, 400, 700, b"")
    mixed = sample(reads, writes)
    assert mixed.max_latency_ns == 900
    assert mixed.mean_latency_ns == (300 * 100 + 100 * 500) / 400
    assert mixed.iops == 200
    assert mixed.bandwidth_bytes_per_s == 400 * 4096 / 2


def test_a_step_without_ios_has_no_latency() -> None:
    idle = sample(NOTHING, NOTHING, elapsed_ns=0)
    assert (idle.iops, idle.mean_latency_ns, idle.max_latency_ns) == (0.0, None, None)


@pytest.mark.parametrize("read_pct", [0, 5, 65, 100])
def test_mixes_are_written_reads_first(read_pct: int) -> None:
    stimulus = Stimulus(AccessPattern.RANDOM, 512, read_pct, 1, 1, ActiveRange())
    assert str(stimulus) == f"RND 0.5 KiB {read_pct}/{100 - read_pct}"
