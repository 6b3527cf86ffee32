"""Whole runs on scratch files, through the command line and the real io_uring."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from openpts.errors import RecordError
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.vocabulary.sample import StepState
from tests import ROOT
from tests.support.openpts_process import FIGURES, ONE_ELEMENT, SHORT, openpts, start_openpts
from tests.support.transcript import Golden

ROUNDS = 2
CLIENT = ("--class", "client")  # its 32 outstanding I/Os need a quarter of the memory and of the file


@pytest.fixture(scope="module")
def finished(disk_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a short run has ended; the scratch file is gone."""
    folder = disk_path_factory.mktemp("finished")
    ended = openpts(
        "run",
        "iops",
        "file:./x?size=128MiB",
        *CLIENT,
        *SHORT,
        *("--max-rounds", str(ROUNDS), "--no-report", "--out", "r1", "--json"),
        cwd=folder,
    )
    assert ended.exit_code == 0, ended.stderr
    (folder / "stdout.json").write_text(ended.stdout)
    (folder / "x").unlink()
    return folder


def test_a_run_leaves_a_record(finished: Path) -> None:
    summary = json.loads((finished / "stdout.json").read_text())
    assert summary["state"] == "complete"
    assert summary["complete_rounds"] == ROUNDS
    assert len(summary["iops"]) == 56
    assert all(cell["iops"] > 0 for cell in summary["iops"])


def test_the_report_comes_from_the_folder_alone(finished: Path) -> None:
    again = openpts("report", "r1", "--json", *FIGURES, cwd=finished)
    assert again.exit_code == 0, again.stderr
    first = json.loads((finished / "stdout.json").read_text())
    assert again.json["iops"] == first["iops"]
    assert again.json["steady_state"] == first["steady_state"]


@pytest.mark.proves("PTS-GEN-01", "PTS-GEN-05")
def test_every_shortening_is_in_the_ledger(finished: Path) -> None:
    rules = {deviation.rule_id for deviation in read_run(finished / "r1").ledger}
    assert rules >= {"PTS-GEN-05", "PTS-IOPS-07", "PTS-IOPS-11", "PTS-IOPS-14", "PTS-PRG-03", "PTS-CACHE-01"}


def test_the_hosts_settings_and_the_missing_log_are_in_the_record(finished: Path) -> None:
    run = read_run(finished / "r1")
    before, after = run.manifest.host_before, run.manifest.host_after
    assert before.keys() == after.keys() >= {"load", "pressure", "swap", "clock_source", "virtualization"}
    assert {record.reading.source for record in run.health} == {"a file has no log of its health"}
    assert len(run.health) == 3  # before, after the purge, and after the test
    assert run.manifest.telemetry["temperature"].source == "a file has no temperature"
    assert run.telemetry_series  # of the host: a file itself has none
    assert not any(name.startswith("temperature") for name in run.telemetry_series)


@pytest.mark.proves("PTS-GEN-09", "PTS-TOOL-10")
def test_the_steps_ran_in_the_order_of_the_loops_without_idle(finished: Path) -> None:
    run = read_run(finished / "r1")
    (purge,) = run.manifest.purges
    assert purge.changed_samples == purge.samples > 0
    preconditioning, *steps = run.steps
    assert preconditioning.sample.write.bytes >= 128 * 2**20
    order = [
        (step.place.number, step.sample.step.stimulus.read_pct, step.sample.step.stimulus.block_size_bytes)
        for step in steps
    ]
    assert order == [
        (number, read_pct, round(kib * 1024))
        for number in range(1, ROUNDS + 1)
        for read_pct in (100, 95, 65, 50, 35, 5, 0)
        for kib in (1024, 128, 64, 32, 16, 8, 4, 0.5)
    ]
    for before, after in zip(run.steps, run.steps[1:], strict=False):
        ended_ns = before.sample.started_ns + before.sample.elapsed_ns
        assert after.sample.gap_ns == after.sample.started_ns - ended_ns
    for step in steps:
        mix = step.sample.step.stimulus.read_pct
        # Each thread deals exact hundreds; only its last, unfinished hundred may differ.
        reads = step.sample.read.ios
        assert abs(reads - mix / 100 * step.sample.ios) <= 2 * 100
        assert step.sample.elapsed_ns >= 20_000_000


@pytest.mark.slow
def test_a_scratch_file_of_ours_is_used_again_and_others_are_not(tmp_path: Path, golden: Golden) -> None:
    target = "file:x?size=64MiB"
    arguments = (*CLIENT, *SHORT, *ONE_ELEMENT, "--max-rounds", "1", "--no-report", "--json")
    assert openpts("run", "iops", target, *arguments, "--out", "r1", cwd=tmp_path).exit_code == 0
    assert openpts("run", "iops", target, *arguments, "--out", "r2", cwd=tmp_path).exit_code == 0
    (tmp_path / "thesis").write_bytes(b"years of work" * 10_000_000)
    refused = openpts("run", "iops", "file:thesis?size=64MiB", *SHORT, cwd=tmp_path)
    assert refused.exit_code == 4
    assert refused.complaint == golden
    assert (tmp_path / "thesis").read_bytes().startswith(b"years of work")


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize(
    "sent", [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)]
)
def test_a_stop_keeps_the_finished_steps_and_says_how_to_report(tmp_path: Path, sent: int) -> None:
    process = start_openpts(
        "run", "iops", "file:x?size=64MiB", *CLIENT, "--step-seconds", "0.5", "--out", "r1", cwd=tmp_path
    )
    while not _steps_on_disk(tmp_path / "r1") > 3:
        assert process.poll() is None
        time.sleep(0.05)
    stopped = time.monotonic()
    process.send_signal(sent)
    _, stderr = process.communicate(timeout=30)
    # The promise is a second; a loaded machine gets the benefit of the doubt.
    assert time.monotonic() - stopped < 4
    assert process.returncode == 130
    assert "openpts report r1" in stderr
    assert "Traceback" not in stderr
    run = read_run(tmp_path / "r1")
    assert run.manifest.state is RunState.INTERRUPTED
    assert all(step.sample.state is StepState.COMPLETE for step in run.steps[:-1])
    reported = openpts("report", "r1", "--json", *FIGURES, cwd=tmp_path)
    assert reported.exit_code == 0, reported.stderr
    assert reported.json["state"] == "interrupted"


def test_a_failed_io_leaves_an_honest_result(tmp_path: Path) -> None:
    process = start_openpts(
        "run", "iops", "file:x?size=64MiB", *CLIENT, "--step-seconds", "0.3", "--out", "r1", cwd=tmp_path
    )
    while not _steps_on_disk(tmp_path / "r1") > 2:
        assert process.poll() is None
        time.sleep(0.05)
    os.truncate(tmp_path / "x", 32 << 20)  # as a drive that goes away: reads return 0 bytes, no error
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 7
    assert "short transfer" in stderr
    assert "openpts report r1" in stderr
    run = read_run(tmp_path / "r1")
    assert run.manifest.state is RunState.FAILED
    assert run.steps[-1].sample.state is StepState.FAILED
    reported = openpts("report", "r1", "--json", *FIGURES, cwd=tmp_path)
    assert reported.exit_code == 0, reported.stderr
    assert reported.json["complete_rounds"] == 0


@pytest.mark.needs("root", "io_uring")
def test_little_locked_memory_is_enough(tmp_path: Path) -> None:
    # An ordinary user may lock a few MiB: buffers can't be registered then, but the run works.
    ended = openpts(
        *("run", "iops", "file:x?size=64MiB", *CLIENT, *SHORT, *ONE_ELEMENT, "--max-rounds", "1"),
        *("--no-report", "--json", "--out", "r1"),
        cwd=tmp_path,
        prefix=("setpriv", "--bounding-set=-ipc_lock", "prlimit", "--memlock=65536"),
    )
    assert ended.exit_code == 0, ended.stderr
    assert read_run(tmp_path / "r1").manifest.engine["registered_buffers"].value == "no"


def _run_without_io_uring(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(
                *_openpts_without_io_uring(),
                "run",
                "iops",
                "file:x?size=64MiB",
                *CLIENT,
                *SHORT,
                *ONE_ELEMENT,
            ),
            *("--max-rounds", "1", "--no-report", "--out", "r1", *options),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_kernel_without_io_uring_is_measured_by_system_calls(tmp_path: Path) -> None:
    ended = _run_without_io_uring(tmp_path)
    assert ended.returncode == 0, ended.stderr
    engine = read_run(tmp_path / "r1").manifest.engine
    assert engine["io_path"].value == "sync"
    assert engine["io_path_reason"].value == "io_uring is not available"
    assert "a seccomp filter" in (engine["io_uring"].value or "")


def test_io_uring_that_was_asked_for_and_is_not_there_is_named_before_anything_is_written(
    tmp_path: Path, golden: Golden
) -> None:
    ended = _run_without_io_uring(tmp_path, "--io-path", "io_uring")
    assert ended.returncode == 5, ended.stderr
    assert ended.stderr == golden
    assert not (tmp_path / "r1").exists()


def _openpts_without_io_uring() -> list[str]:
    program = (
        "from tests.support.machine import forbid_io_uring; forbid_io_uring()\n"
        "from openpts.cli.main import main; main()"
    )
    root = ROOT
    return ["env", f"PYTHONPATH={root}", os.sys.executable, "-c", program]


def _steps_on_disk(folder: Path) -> int:
    try:
        return len(read_run(folder).steps)
    except RecordError:  # the run has just begun
        return 0
