"""What fio cannot express is refused by name, before anything runs."""

import os
from pathlib import Path
from typing import Any

import pytest

from openpts.errors import UsageError
from openpts.units import MIB
from openpts.vocabulary.data import PatternData, RandomOnce, ReducibleData, VerifiedData
from openpts.vocabulary.placement import Normal, Pareto, Segments, UniqueLbas, Zipf, Zone, Zones
from openpts.vocabulary.stimulus import (
    Access,
    ActiveRange,
    Batches,
    BlockSize,
    Burst,
    Capped,
    CapUnit,
    DutyCycle,
    FixedRate,
    Poisson,
    Step,
    Stream,
    ThinkTime,
)
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf, IoCount, Steady, SteadyFigure, StopRule
from openpts_fio.engine.engine import FioEngine
from openpts_fio.engine.job import FioPath, JobSetting, job_file
from openpts_fio.engine.process import FioProgram
from tests.unit.fio.engine.steps import FILE, SECOND, job, step_job, stimulus

STREAMS = tuple(BlockSize(size, 1, Access(f"RND {size} R", "read", random=True)) for size in (4096, 8192))
HUNDRED_PLACES = ActiveRange(0, 0.61)


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"random_pct": 50}, "fio has no mix of random and sequential accesses"),
        ({"random_pct": 0, "read": 1, "write": 1}, "fio has no one sequence of reads and writes"),
        ({"read": 655, "write": 345}, "fractions of a per cent for reads and writes: 65.5 %, 34.5 %"),
        ({"sizes": {4096: 2, 8192: 1}}, "fractions of a per cent for block sizes"),
        ({"trim": 1, "write": 1}, "fio has no trims mixed"),
        ({"trim": 1, "qd": 2}, "fio has no trims at a queue depth above 1"),
        ({"flush": 1}, "fio has no flushes or fsyncs without writes"),
        ({"write": 2, "flush": 1, "fsync": 1}, "fio has no flushes and fsyncs in one mix"),
        ({"read": 1, "write": 1, "fsync": 1}, "fio has no flushes or fsyncs mixed with reads"),
        ({"write": 3, "fsync": 2}, "fio has no flush or fsync after a fraction of a write"),
        ({"sizes": {512: 1, 4096: 1}}, "fio has no alignment of its own for each block size"),
        ({"random_pct": 0, "stride_bytes": 2048}, "fio has no strides shorter than a block"),
        (
            {"random_pct": 0, "sizes": {4096: 1, 8192: 1}, "stride_bytes": 16384},
            "fio has no strides with several block sizes",
        ),
        ({"random_pct": 0, "sizes": {4096: 1, 6144: 1}}, "fio has no sequence of sizes"),
        ({"block_sizes": STREAMS}, "fio has no mix of whole streams"),
        ({"placement": Segments(8, MIB)}, "fio has no LBA segments"),
        ({"placement": UniqueLbas(MIB)}, "fio has no limit of the unique LBAs"),
        ({"placement": Normal(50, 5)}, "fio has no normal hot spot"),
        ({"placement": Zones((Zone(1, 0.5), Zone(1, 99.5)))}, "fio has no zones of a fraction"),
        ({"placement": Zones((Zone(1, 5), Zone(2, 95)))}, "fractions of a per cent for accesses to zones"),
        ({"placement": Zipf(1)}, "fio has no zipf of exponent 1"),
        ({"placement": Zipf(0.9), "tc": 2}, "fio has no zipf with the same hot places for several threads"),
        ({"placement": Pareto(0.2), "sizes": 8192}, "fio has no pareto of blocks that are not aligned"),
        ({"placement": Pareto(0.2), "active_range": HUNDRED_PLACES}, "fio has no pareto over 100 places"),
        ({"pacing": FixedRate(100)}, "fio has no open loop at a fixed rate"),
        ({"pacing": Poisson(100)}, "fio has no open loop of Poisson arrivals"),
        ({"pacing": Burst(8, 1000)}, "fio has no bursts"),
        ({"pacing": DutyCycle(1000, 1000)}, "fio has no duty cycle"),
        ({"pacing": ThinkTime(1000), "qd": 2}, "fio has no think time at a queue depth above 1"),
        ({"pacing": ThinkTime(1500)}, "fio has no think time of a fraction of a microsecond"),
        ({"pacing": Batches(8, 1500)}, "fio has no think time of a fraction of a microsecond"),
        ({"pacing": Batches(8, 1000), "write": 1, "flush": 1}, "fio has no batches with flushes or fsyncs"),
        ({"pacing": Capped(1, CapUnit.BYTES), "tc": 2}, "fio has no rates below a byte a second"),
        ({"write": 1, "data": VerifiedData(1)}, "fio has no LBA, generation and checksum"),
        ({"write": 1, "read": 1, "data": RandomOnce()}, "fio has no data made once beside reads"),
        ({"write": 1, "data": PatternData(bytes(513))}, "fio has no pattern of 513 bytes"),
        ({"write": 1, "data": ReducibleData(33.3)}, "fio has no entropy of a fraction"),
        ({"write": 1, "data": ReducibleData(50, 0.5)}, "fio has no duplicates of a fraction"),
        ({"write": 1, "sizes": 8192, "data": ReducibleData(50, 5)}, "fio has no duplicates of parts"),
        ({"sizes": 1000}, "1000 B is not a multiple of the sector size 512 B"),
        ({"alignment_bytes": 1000}, "alignment 1000 B is not a multiple"),
        ({"sizes": MIB, "active_range": ActiveRange(0, 1)}, "has no block of 1048576 B"),
        ({"tc": 0}, "is less than one outstanding I/O"),
        ({"placement": Zones((Zone(1, 50), Zone(1, 40)))}, "do not sum to 100 %"),
    ],
)
def test_a_stimulus_that_fio_has_not(wanted: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        job(stimulus(**wanted))


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (Steady(SteadyFigure.IOPS, 10**9), "fio has no end at a steady state"),
        (FirstOf((SECOND,), at_least_ns=1), "fio has no least time"),
        (Duration(0), "does nothing"),
        (FirstOf(()), "nothing ends the step"),
        (IoCount(1), "leaves nothing to do for some of TC 2"),
    ],
)
def test_a_stop_rule_that_fio_has_not(stop: StopRule, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        job(stimulus(tc=2), stop)


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (Stream(stimulus(random_pct=50), "b"), "^stream b: fio has no mix of random and sequential"),
        (Stream(stimulus(random_pct=50)), "^stream job2: fio has no mix of random and sequential"),
        (Stream(stimulus(), "global"), "fio has no job named 'global'"),
        (Stream(stimulus(), "a]b"), "fio has no job named 'a]b'"),
        (Stream(stimulus(), "a\nrw=write"), "fio has no job named"),
        (Stream(stimulus(), "ä" * 126), "fio has no job with a name of more than 250 bytes"),
        (Stream(stimulus(), "b", delay_ns=10**9), "stream b: the stream starts when the step is over"),
        (Stream(stimulus(), "b", stop=Duration(0)), "does nothing"),
        (Stream(stimulus(), "b", delay_ns=1000, share=1), "fio has no share of a stream with a start delay"),
        (Stream(stimulus(), "b", share=1001), "fio has no shares of more than 1000 for each thread: 1001"),
        (Stream(stimulus(), "b", stop=Steady(SteadyFigure.IOPS, 10**9)), "fio has no end at a steady state"),
    ],
)
def test_a_stream_that_fio_has_not(stream: Stream, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        step_job(Step((Stream(stimulus(), "a", share=stream.share and 1), stream), SECOND))


def test_a_target_whose_name_would_add_options() -> None:
    setting = JobSetting("/tmp/a\nrw=write", direct=True, path=FioPath.IO_URING, seed=1)
    with pytest.raises(UsageError, match="fio has no target whose name is not printable"):
        job_file(Step.of(stimulus(), SECOND), setting, FILE)


def test_a_ramp_before_an_amount() -> None:
    with pytest.raises(UsageError, match="fio has no ramp-up before an amount"):
        job(stimulus(), IoCount(5), ramp_ns=1)


def test_a_sequence_that_would_leave_a_rest_ends_by_time_only() -> None:
    uneven = stimulus(sizes=12_288, random_pct=0, write=1)
    job(uneven, SECOND)
    with pytest.raises(UsageError, match="fio has no shorter last block"):
        job(uneven, ByteAmount(MIB))


def test_files_are_not_trimmed() -> None:
    with pytest.raises(UsageError, match="fio has no trims on files"):
        job(stimulus(trim=1), target=FILE)


def test_synchronous_calls_have_no_queue() -> None:
    with pytest.raises(UsageError, match="fio has no queue depth above 1 with synchronous calls"):
        job(stimulus(qd=2), path=FioPath.PSYNC)


@pytest.mark.parametrize("bad", [Step.of(stimulus(random_pct=50), SECOND), Step.of(None, IoCount(1))])
def test_nothing_runs_of_a_program_with_a_step_that_is_refused(bad: Step, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(bytes(4096))
    fd = os.open(target, os.O_RDWR)
    engine = FioEngine(fd, FILE, 1, program=FioProgram("/nonexistent/fio", "fio-3.33"))
    try:
        with pytest.raises(UsageError):
            engine.submit([Step.of(None, Duration(1)), bad])
        assert engine.poll(0.05) is None
        assert engine.progress().steps_begun == 0
    finally:
        engine.stop()
        os.close(fd)


def test_a_target_open_for_reading_takes_no_writes(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(bytes(4096))
    fd = os.open(target, os.O_RDONLY)
    engine = FioEngine(fd, FILE, 1, program=FioProgram("/nonexistent/fio", "fio-3.33"))
    try:
        with pytest.raises(UsageError, match="open for reading only"):
            engine.submit([Step.of(stimulus(write=1), SECOND)])
    finally:
        engine.stop()
        os.close(fd)
