"""`openpts io` as its user starts it, on files and loop devices."""

import hashlib
import json
import os
import shlex
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from openpts.units import MIB
from tests.support.openpts_command import COMMAND
from tests.support.openpts_process import openpts, start_openpts
from tests.support.transcript import Golden

SHORT = ("--seconds", "0.2", "--interval", "0.05")
SMALL = ("--tc", "2", "--qd", "4")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A written file of 32 MiB."""
    (tmp_path / "scratch").write_bytes(os.urandom(MIB) * 32)
    return tmp_path / "scratch"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def assert_consistent(result: dict[str, Any]) -> None:
    """What must hold of any result: parts sum to the whole, and percentiles ascend to the maximum."""
    names = [name for name in ("read", "write", "trim") if name in result]
    total = result["total"]
    assert total["ios"] == sum(result[name]["ios"] for name in names)
    assert total["bytes"] == sum(result[name]["bytes"] for name in names)
    assert total["ios"] == sum(interval["ios"] for interval in result["intervals"])
    assert total["iops"] == pytest.approx(total["ios"] / result["elapsed_seconds"])
    assert [interval["index"] for interval in result["intervals"]] == list(range(len(result["intervals"])))
    latencies = [latency for latency in total["percentiles_ns"].values() if latency is not None]
    assert latencies == sorted(latencies)
    assert total["min_latency_ns"] <= total["mean_latency_ns"] <= total["max_latency_ns"]
    assert latencies[-1] <= total["max_latency_ns"]


def test_reading_needs_no_consent_and_changes_nothing(scratch: Path) -> None:
    before = digest(scratch)
    ended = openpts("io", "file:scratch", *SMALL, *SHORT, "--json", cwd=scratch.parent, timeout_s=60)
    assert ended.exit_code == 0, ended.stderr
    result = ended.json
    assert_consistent(result)
    assert (result["state"], result["ended_by"], result["failure"]) == ("complete", "duration", None)
    assert result["write"]["ios"] == 0
    assert result["total"]["ios"] > 0
    assert result["total"]["bytes"] == result["total"]["ios"] * 4096
    assert result["engine"]["engine"] == "native"
    assert result["standstill_seconds"] == 0
    assert "MB/s" in ended.stderr
    assert digest(scratch) == before


@pytest.mark.needs("files")
def test_a_file_of_somebody_else_may_be_read_and_not_be_written(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "thesis").write_bytes(b"years of work" * 100_000)
    before = digest(tmp_path / "thesis")
    reading = openpts("io", "file:thesis", *SHORT, "--json", cwd=tmp_path, timeout_s=60)
    assert reading.exit_code == 0, reading.stderr
    for operations in ("read=99,write=1", "trim=1"):
        refused = openpts("io", "file:thesis", "--ops", operations, *SHORT, cwd=tmp_path, timeout_s=60)
        assert refused.exit_code == 4
        assert refused.complaint == golden
    assert digest(tmp_path / "thesis") == before


def test_a_file_that_is_not_there_is_not_made_by_reading(tmp_path: Path, golden: Golden) -> None:
    missing = openpts("io", "file:new?size=4MiB", cwd=tmp_path, timeout_s=60)
    assert missing.exit_code == 3
    assert missing.complaint == golden
    assert not (tmp_path / "new").exists()


@pytest.mark.needs("files")
def test_amounts_end_it_exactly(tmp_path: Path) -> None:
    filled = openpts(
        *("io", "file:own?size=32MiB", "--mix", "0/100", "--bs", "1m", "--pattern", "sequential"),
        *("--fills", "1", "--qd", "4", "--json"),
        cwd=tmp_path,
        timeout_s=60,
    )
    assert filled.exit_code == 0, filled.stderr
    assert filled.json["total"]["bytes"] == 32 * MIB
    ended = openpts(
        *("io", "file:own", "--mix", "70/30", "--ios", "1000", *SMALL, "--seed", "5", "--json"),
        cwd=tmp_path,
        timeout_s=60,
    )
    result = ended.json
    assert_consistent(result)
    assert result["total"]["ios"] == 1000
    # each of the two threads deals exact decks of ten; only its last, unfinished one may differ
    assert abs(result["read"]["ios"] - 700) <= 2 * 10
    assert (result["ended_by"], result["seed"]) == ("amount", 5)


@pytest.mark.proves("PTS-GEN-05")
def test_the_kernel_counts_the_same_reads(attach_memory) -> None:
    node = attach_memory(64 * MIB)
    statistics = Path(f"/sys/block/{node.name}/stat")
    before = [int(field) for field in statistics.read_text().split()]
    ended = openpts("io", str(node), *SMALL, "--ios", "20000", "--json", cwd=Path("/"), timeout_s=60)
    after = [int(field) for field in statistics.read_text().split()]
    assert ended.json["total"]["ios"] == 20_000
    reads, read_sectors, writes = (after[field] - before[field] for field in (0, 2, 4))
    # the probe reads some, and so may programs that look at drives that were closed
    assert 20_000 <= reads <= 20_500
    assert 20_000 * 8 <= read_sectors <= 20_500 * 8
    assert writes == 0


def test_a_drive_is_read_without_consent_and_written_with_it_alone(attach) -> None:
    node = attach()
    read = openpts("io", str(node), *SMALL, *SHORT, "--json", cwd=Path("/"), timeout_s=60)
    assert read.exit_code == 0, read.stderr
    assert read.json["target"]["user_capacity_bytes"] == 64 * MIB
    write = ("io", str(node), *SMALL, *SHORT, "--mix", "50/50", "--json")
    refused = openpts(*write, cwd=Path("/"), timeout_s=60)
    assert refused.exit_code == 4
    assert f"--confirm-device-path {node}" in refused.stderr
    assert not node.read_bytes().strip(b"\0")
    wrong = openpts(*write, "--confirm-device-path", "/dev/loop", cwd=Path("/"), timeout_s=60)
    assert wrong.exit_code == 4
    granted = openpts(*write, "--confirm-device-path", str(node), cwd=Path("/"), timeout_s=60)
    assert granted.exit_code == 0, granted.stderr
    assert_consistent(granted.json)
    assert granted.json["write"]["ios"] > 0
    assert node.read_bytes().strip(b"\0")


def test_a_mounted_drive_is_read_and_never_written(attach, run, mount, golden: Golden) -> None:
    node = attach()
    run("mkfs.ext4", "-q", node)
    mount(node)
    read = openpts("io", str(node), *SHORT, "--json", cwd=Path("/"), timeout_s=60)
    assert read.exit_code == 0, read.stderr
    consent = ("--confirm-device-path", str(node), "--erase-signatures")
    refused = openpts("io", str(node), *SHORT, "--mix", "0/100", *consent, cwd=Path("/"), timeout_s=60)
    assert refused.exit_code == 4
    assert refused.complaint.replace(str(node), "NODE") == golden


def test_two_targets_are_measured_at_the_same_time(attach, scratch: Path) -> None:
    node = attach()
    ended = openpts(
        *("io", str(node), "file:scratch", "--seconds", "1", "--interval", "0.25", "--json"),
        cwd=scratch.parent,
        timeout_s=60,
    )
    assert ended.exit_code == 0, ended.stderr
    results = ended.json["targets"]
    assert [result["target"]["name"] for result in results] == [node.name, "scratch"]
    for result in results:
        assert_consistent(result)
        assert result["elapsed_seconds"] >= 1
        assert len(result["intervals"]) >= 4
    names = [line.split()[0] for line in ended.stderr.splitlines() if line.startswith((node.name, "scratch"))]
    # their lines come in turns, so they ran together
    assert set(names[: len(names) // 2]) == {node.name, "scratch"}


@pytest.mark.parametrize(
    "sent", [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)]
)
def test_a_stop_prints_what_was_measured(scratch: Path, sent: int) -> None:
    process = start_openpts(
        *("io", "file:scratch", *SMALL, "--seconds", "60", "--interval", "0.1", "--json"), cwd=scratch.parent
    )
    with process:
        assert process.stderr is not None
        for _ in range(5):  # of lines: the order, the heading and some intervals
            assert process.stderr.readline()
        stopped = time.monotonic()
        process.send_signal(sent)
        stdout, stderr = process.communicate(timeout=30)
    assert time.monotonic() - stopped < 10
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == "openpts: stopped by the operator"
    assert "Traceback" not in stderr
    result = json.loads(stdout)
    assert result["state"] == "interrupted"
    assert_consistent(result)


def test_a_failed_io_is_named_and_what_was_measured_is_printed(scratch: Path) -> None:
    process = start_openpts(
        *("io", "file:scratch", *SMALL, "--seconds", "60", "--interval", "0.1", "--json"), cwd=scratch.parent
    )
    with process:
        assert process.stderr is not None
        for _ in range(5):
            assert process.stderr.readline()
        os.truncate(scratch, 4096)  # whatever is read behind the end comes short
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 7
    complaint = stderr.splitlines()[-1]
    assert complaint.startswith(f"openpts: {scratch}: read of 4096 B at byte ")
    assert "short transfer" in complaint
    result = json.loads(stdout)
    assert result["state"] == "failed"
    assert result["failure"]["operation"] == "read"
    assert result["total"]["ios"] > 0


def test_errors_are_counted_where_they_are_allowed(scratch: Path) -> None:
    process = start_openpts(
        *("io", "file:scratch", *SMALL, "--ios", "20000", "--max-errors", "10000000", "--rate", "20000"),
        *("--interval", "0.1", "--json"),
        cwd=scratch.parent,
    )
    with process:
        assert process.stderr is not None
        for _ in range(4):
            assert process.stderr.readline()
        os.truncate(scratch, 16 * MIB)
        stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    result = json.loads(stdout)
    (error,) = result["errors"]
    assert "short transfer" in error["reason"]
    assert error["count"] == sum(interval["errors"] for interval in result["intervals"]) > 0
    assert all(offset >= 16 * MIB for offset in error["first_offsets_bytes"])


# the moment and the words are proven in test_hangs.py, test_measure.py and test_io_output.py
@pytest.mark.slow
def test_an_io_that_hangs_is_said_while_it_hangs(attach, run, mount, cleanup: ExitStack) -> None:
    node = attach(size_bytes=64 * MIB)
    run("mkfs.ext4", "-q", node)
    folder = mount(node)
    process = start_openpts(
        "io", f"file:{folder}/scratch?size=16MiB", "--mix", "0/100", "--qd", "4", "--seconds", "2", cwd=folder
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        run("fsfreeze", "--freeze", folder)  # no write is answered from now on
        thaw = subprocess.Popen(["sh", "-c", 'sleep 7; fsfreeze --unfreeze "$0"', str(folder)])
        cleanup.callback(thaw.wait, timeout=30)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert "write of 4 KiB at byte" in stdout
    assert "has not been answered for 5 s" in stdout


@pytest.mark.needs("terminals", "script")
def test_on_a_terminal_a_line_says_where_it_stands(scratch: Path) -> None:
    # seconds in which the line is drawn several times
    command = shlex.join([*COMMAND, "io", "file:scratch", "--seconds", "1", "--interval", "0.05"])
    screen = subprocess.run(
        ["script", "--quiet", "--return", "--command", command, "/dev/null"],
        cwd=scratch.parent,
        capture_output=True,
        timeout=60,
        check=True,
        text=True,
        stdin=subprocess.DEVNULL,
    ).stdout
    assert "Ctrl-C stops" in screen
    assert "p99" in screen


def test_every_io_is_in_the_capture(scratch: Path) -> None:
    ended = openpts(
        *("io", "file:scratch", *SMALL, *SHORT, "--capture", "captured", "--json"),
        cwd=scratch.parent,
        timeout_s=60,
    )
    assert ended.exit_code == 0, ended.stderr
    capture = ended.json["capture"]
    assert (capture["ios"], capture["discarded_ios"]) == (ended.json["total"]["ios"], 0)
    (file,) = (scratch.parent / "captured").glob("*.parquet")
    assert capture["bytes_written"] == file.stat().st_size


@pytest.mark.needs("io_uring")
def test_a_capture_that_fails_costs_no_measurement(scratch: Path) -> None:
    ended = openpts(
        *("io", "file:scratch", *SMALL, *SHORT, "--io-path", "noop", "--capture", "captured", "--json"),
        cwd=scratch.parent,
        timeout_s=60,
        prefix=("prlimit", "--fsize=200000"),
    )
    assert ended.exit_code == 8, ended.stderr
    assert "the capture failed" in ended.stderr
    assert ended.json["total"]["ios"] > 0
    assert ended.json["capture"] is None
