"""Job files of fio in and out of `openpts io`, and fio's spellings of its options."""

import mmap
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openpts.errors import UsageError
from openpts.vocabulary.stimulus import Duration
from openpts_fio.jobs.job_file import read_jobs
from openpts_io.io import io
from openpts_io.tests.unit.test_io_stimulus import orders

JOBS = """\
# readers beside a log, and a mix after them
[global]
direct=1
ioengine=libaio
time_based
runtime=${TIME}
norandommap
group_reporting
filename=${DEV}
[readers]
rw=randread
numjobs=2
iodepth=4
rate_iops=500
[log]
rw=write
bs=64k
thinktime=10ms
thinktime_blocks=4
offset=50%
[after]
stonewall
rw=randrw
rwmixread=70
"""
SIMULATED = "sim:tlc?seed=1"


@pytest.fixture
def job(tmp_path, monkeypatch) -> Path:
    monkeypatch.delenv("TIME", raising=False)
    monkeypatch.chdir(tmp_path)
    path = Path("job.fio")
    path.write_text(JOBS)
    return path


def run(*words: str) -> Result:
    result = CliRunner().invoke(io, list(words), standalone_mode=False)
    if isinstance(result.exception, UsageError):
        raise result.exception
    assert result.exception is None, result.exception
    return result


@pytest.mark.parametrize(
    ("fio", "own"),
    [
        ("--rw randread", "--mix 100/0"),
        ("--rw randwrite --iodepth 4 --numjobs 3", "--mix 0/100 --qd 4 --tc 3"),
        ("--rw write", "--mix 0/100 --pattern sequential"),
        ("--rw randrw", "--mix 50/50"),
        ("--rw randrw --rwmixread 70", "--mix 70/30"),
        ("--rw randread --random-pct 20", "--mix 100/0 --random-pct 20"),
        ("--rw randtrim --bs 1m", "--ops trim=1 --bs 1m"),
        ("--bssplit 4k/67:8k/33", "--bs 4k:67,8k:33"),
        ("--runtime 10m", "--seconds 600"),
        ("--runtime 90", "--seconds 90"),
    ],
)
def test_fio_spellings_mean_the_same(fio, own) -> None:
    (spelled,), (meant,) = (orders(*words.split(), targets=(SIMULATED,)) for words in (fio, own))
    assert spelled.steps[0].stimuli[0].random_pct == meant.steps[0].stimuli[0].random_pct
    assert str(spelled.steps[0]) == str(meant.steps[0])
    assert spelled.steps[0].stop == meant.steps[0].stop
    assert spelled.stimuli[0].toio == meant.stimuli[0].toio


@pytest.mark.parametrize(
    "words",
    [
        "--rw randread --mix 70/30", "--rw randtrim --trim 5", "--rwmixread 70",
        "--rw randread --rwmixread 70", "--bssplit 4k/50:8k/50 --bs 4k", "--bssplit 4k/60:8k/60:16k",
        "--runtime 10 --seconds 10", "--runtime 1.5", "--runtime 0", "--fio-value TIME=3",
    ],
)  # fmt: skip
def test_spellings_that_make_no_sense(words, snapshot) -> None:
    with pytest.raises(UsageError) as raised:
        orders(*words.split(), targets=(SIMULATED,))
    assert str(raised.value) == snapshot


def test_the_jobs_of_a_file_are_the_streams_of_steps(job) -> None:
    (made,) = orders("--fio", str(job), "--fio-value", "TIME=7", targets=(SIMULATED,))
    assert [[stream.name for stream in step.streams] for step in made.steps] == [
        ["readers", "log"],
        ["after"],
    ]
    assert all(step.stop == Duration.seconds(7) for step in made.steps)
    assert made.changes_target


def test_the_environment_has_values_as_well(job, monkeypatch) -> None:
    monkeypatch.setenv("TIME", "5")
    (made,) = orders("--fio", str(job), targets=(SIMULATED,))
    assert made.steps[0].stop == Duration.seconds(5)


@pytest.mark.parametrize(
    "words", ["--bs 8k", "--rw randread", "--seconds 5", "--ramp 1", "--rate 100", "--zipf 1.2"]
)
def test_options_of_a_stimulus_exclude_a_job_file(job, words) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        orders("--fio", str(job), "--fio-value", "TIME=7", *words.split(), targets=(SIMULATED,))


def test_what_is_ignored_and_what_is_printed(job, snapshot) -> None:
    result = run("--fio", str(job), "--fio-value", "TIME=7", "--seed", "1", "--print-fio", SIMULATED)
    assert result.stderr == snapshot(name="stderr")
    assert result.stdout == snapshot(name="job file")


def test_what_is_printed_otherwise_than_it_was_written_is_said(job, snapshot) -> None:
    job.write_text("[trimmer]\nrw=trim\niodepth=4\nioengine=libaio\ndirect=1\ntime_based\nruntime=5\n")
    result = run("--fio", str(job), "--print-fio", SIMULATED)
    assert result.stderr == snapshot
    assert "iodepth=1\n" in result.stdout


def test_keywords_of_fio_are_those_of_this_machine(job) -> None:
    job.write_text("[a]\nrw=randread\nbs=$pagesize\nnumjobs=$ncpus\ndirect=1\ntime_based\nruntime=5\n")
    (made,) = orders("--fio", str(job), targets=(SIMULATED,))
    (stimulus,) = made.steps[0].stimuli
    assert stimulus.block_size_bytes == mmap.PAGESIZE
    assert stimulus.tc == os.cpu_count()
    assert read_jobs(job).used_values == {"pagesize": str(mmap.PAGESIZE), "ncpus": str(os.cpu_count())}


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ("rw=randrw", "rw=randtrimwrite"),
        ("iodepth=4", "iodpeth=4"),
        ("direct=1", "direct=0"),
        ("[readers]", "[readers]\nexec_prerun=rm\nzonemode=zbd"),
        ("rate_iops=500", "rate_iops=500\nrate=1m"),
        ("offset=50%", "offset=100%"),
        ("bs=64k", "bs=1.5k"),
        ("# readers", "rw=read"),
        ("rw=write", "include other.fio"),
        ("rwmixread=70", "rwmixread=70\nnumjobs=70\nrw=rw\nrate=1m"),
        ("ioengine=libaio", "ioengine=./own.so"),
        ("thinktime_blocks=4", "iodepth=8\nthinktime_blocks=4"),
        ("runtime=${TIME}", "runtime=${HOURS}h"),
    ],
)
def test_refusals_have_the_place_and_the_reason(job, change, to, snapshot) -> None:
    assert change in JOBS
    job.write_text(JOBS.replace(change, to))
    with pytest.raises(UsageError) as raised:
        orders("--fio", str(job), "--fio-value", "TIME=7", targets=(SIMULATED,))
    assert list(raised.value.complaints) == snapshot
