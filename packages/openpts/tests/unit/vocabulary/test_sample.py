"""What a mixed workload's figures are made of: a maximum is the larger, a mean weighs, a rate sums up."""

import pytest
from msgspec.structs import replace as with_changes

from openpts.units import KIB
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from tests.support.interval_samples import sample_of

STEP = Step.of(Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 65, 1, 1, ActiveRange()), Duration.seconds(2))


def sample(read: OperationSample, write: OperationSample, elapsed_ns: int = 2 * 10**9) -> Sample:
    return sample_of(STEP, elapsed_ns=elapsed_ns, gap_ns=None, read=read, write=write)


@pytest.mark.proves("PTS-TOOL-11")
def test_a_mixed_workload_blends_nothing() -> None:
    reads = OperationSample(300, 300 * 4096, 300 * 100, 50, 900, b"")
    writes = OperationSample(100, 100 * 4096, 100 * 500, 400, 700, b"")
    mixed = sample(reads, writes)
    assert mixed.max_latency_ns == 900
    assert mixed.mean_latency_ns == (300 * 100 + 100 * 500) / 400
    assert mixed.iops == 200
    assert mixed.bandwidth_bytes_per_s == 400 * 4096 / 2


def test_trims_count_and_flushes_are_counted_by_themselves() -> None:
    some = OperationSample(100, 100 * 4096, 100 * 500, 400, 700, b"")
    slow = OperationSample(10, 0, 10 * 9_000, 8_000, 10_000, b"")
    busy = with_changes(sample(some, NOTHING), trim=some, flush=slow, fsync=slow)
    assert (busy.ios, busy.bytes) == (200, 200 * 4096)
    assert (busy.mean_latency_ns, busy.max_latency_ns) == (500, 700)
    assert [name for name, operation in busy.operations.items() if operation.ios] == [
        *("read", "trim", "flush", "fsync")
    ]


def test_a_step_without_ios_has_no_latency() -> None:
    idle = sample(NOTHING, NOTHING, elapsed_ns=0)
    assert (idle.iops, idle.mean_latency_ns, idle.max_latency_ns) == (0.0, None, None)


@pytest.mark.parametrize("read_pct", [0, 5, 65, 100])
def test_mixes_are_written_reads_first(read_pct) -> None:
    stimulus = Stimulus.of(AccessPattern.RANDOM, 512, read_pct, 1, 1, ActiveRange())
    assert str(stimulus) == f"RND 0.5 KiB {read_pct}/{100 - read_pct}"
