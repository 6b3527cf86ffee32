"""What fio cannot express is refused by name, before anything runs."""

import os

import pytest

from openpts.errors import UsageError
from openpts.units import MIB
from openpts.vocabulary.stimulus import (
    ActiveRange,
    Batches,
    Burst,
    ByteAmount,
    Capped,
    CapUnit,
    Duration,
    DutyCycle,
    FirstOf,
    FixedRate,
    IoCount,
    Normal,
    Pareto,
    PatternData,
    Poisson,
    RandomOnce,
    ReducibleData,
    Segments,
    Steady,
    SteadyFigure,
    Step,
    Stream,
    ThinkTime,
    UniqueLbas,
    VerifiedData,
    Zipf,
    Zone,
    Zones,
)
from openpts_fio.engine.engine import FioEngine, FioProgram
from openpts_fio.engine.job import FioPath, JobSetting, job_file
from openpts_fio.tests.unit.engine.steps import FILE, SECOND, job, step_job, stimulus
from tests.support.refusals import refusal

HUNDRED_PLACES = ActiveRange(0, 0.61)


def test_a_stimulus_that_fio_has_not(golden) -> None:
    cases = (
        {"random_pct": 50},
        {"random_pct": 0, "read": 1, "write": 1},
        {"read": 655, "write": 345},
        {"sizes": {4096: 2, 8192: 1}},
        {"trim": 1, "write": 1},
        {"trim": 1, "qd": 2},
        {"flush": 1},
        {"write": 2, "flush": 1, "fsync": 1},
        {"read": 1, "write": 1, "fsync": 1},
        {"write": 3, "fsync": 2},
        {"sizes": {512: 1, 4096: 1}},
        {"random_pct": 0, "stride_bytes": 2048},
        {"random_pct": 0, "sizes": {4096: 1, 8192: 1}, "stride_bytes": 16384},
        {"random_pct": 0, "sizes": {4096: 1, 6144: 1}},
        {"placement": Segments(8, MIB)},
        {"placement": UniqueLbas(MIB)},
        {"placement": Normal(50, 5)},
        {"placement": Zones((Zone(1, 0.5), Zone(1, 99.5)))},
        {"placement": Zones((Zone(1, 5), Zone(2, 95)))},
        {"placement": Zipf(1)},
        {"placement": Zipf(0.9), "tc": 2},
        {"placement": Pareto(0.2), "sizes": 8192},
        {"placement": Pareto(0.2), "active_range": HUNDRED_PLACES},
        {"pacing": FixedRate(100)},
        {"pacing": Poisson(100)},
        {"pacing": Burst(8, 1000)},
        {"pacing": DutyCycle(1000, 1000)},
        {"pacing": ThinkTime(1000), "qd": 2},
        {"pacing": ThinkTime(1500)},
        {"pacing": Batches(8, 1500)},
        {"pacing": Batches(8, 1000), "write": 1, "flush": 1},
        {"pacing": Capped(1, CapUnit.BYTES), "tc": 2},
        {"write": 1, "data": VerifiedData(1)},
        {"write": 1, "read": 1, "data": RandomOnce()},
        {"write": 1, "data": PatternData(bytes(513))},
        {"write": 1, "data": ReducibleData(33.3)},
        {"write": 1, "data": ReducibleData(50, 0.5)},
        {"write": 1, "sizes": 8192, "data": ReducibleData(50, 5)},
        {"sizes": 1000},
        {"alignment_bytes": 1000},
        {"sizes": MIB, "active_range": ActiveRange(0, 1)},
        {"tc": 0},
        {"placement": Zones((Zone(1, 50), Zone(1, 40)))},
    )
    assert [refusal(job, stimulus(**wanted)) for wanted in cases] == golden


def test_a_stop_rule_that_fio_has_not(golden) -> None:
    cases = (
        Steady(SteadyFigure.IOPS, 10**9),
        FirstOf((SECOND,), at_least_ns=1),
        Duration(0),
        FirstOf(()),
        IoCount(1),
    )
    assert [refusal(job, stimulus(tc=2), stop) for stop in cases] == golden


def test_a_stream_that_fio_has_not(golden) -> None:
    cases = (
        Stream(stimulus(random_pct=50), "b"),
        Stream(stimulus(random_pct=50)),
        Stream(stimulus(), "global"),
        Stream(stimulus(), "a]b"),
        Stream(stimulus(), "a\nrw=write"),
        Stream(stimulus(), "ä" * 126),
        Stream(stimulus(), "b", delay_ns=10**9),
        Stream(stimulus(), "b", stop=Duration(0)),
        Stream(stimulus(), "b", delay_ns=1000, share=1),
        Stream(stimulus(), "b", share=1001),
        Stream(stimulus(), "b", stop=Steady(SteadyFigure.IOPS, 10**9)),
    )
    assert [
        refusal(step_job, Step((Stream(stimulus(), "a", share=stream.share and 1), stream), SECOND))
        for stream in cases
    ] == golden


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
def test_nothing_runs_of_a_program_with_a_step_that_is_refused(bad, tmp_path) -> None:
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


def test_a_target_open_for_reading_takes_no_writes(tmp_path) -> None:
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
