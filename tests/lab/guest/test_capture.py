"""`openpts capture` by blktrace, on drivers of drives: held against what the engine itself recorded."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from tests.support.loop_devices import Run
from tests.support.openpts_command import COMMAND

NVME = Path("/dev/nvme0n1")
SERIALS = {"nvme0n1": "LABNVME0000", "sda": "2000"}
TRACES = Path("/sys/kernel/debug/block")
pytestmark = pytest.mark.skipif(
    os.environ.get("LAB") != "1" or not NVME.exists(), reason="needs a virtual machine with an NVMe drive"
)

LOAD = ("--ios", "1000", "--qd", "1", "--seed", "7", "--mix", "50/50")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def _load(node: Path, *options: str) -> list[str]:
    serial = SERIALS.get(node.name)
    consent = ("--confirm-serial", serial) if serial else ("--confirm-device-path", str(node))
    return [*COMMAND, "io", str(node), *LOAD, *consent, *options]


def _capture(*words: object, command: list[str]) -> dict[str, Any]:
    ended = subprocess.run(
        [*COMMAND, "capture", *map(str, words), "--json", "--", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout[ended.stdout.index('{\n  "schema"') :])
    return found


def _columns(file: Path) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = parquet.read_table(file).to_pydict()
    return columns


def _of_engine(seen: dict[str, list[Any]], folder: Path) -> dict[str, list[Any]]:
    """What was seen of the engine's I/Os: reads of the probe come before, of udev later."""
    offsets = [block * 4096 for block in _columns(next(folder.glob("*.parquet")))["lba"]]
    ends = range(len(offsets), len(seen["seq"]) + 1)
    [end] = [end for end in ends if seen["offset_bytes"][end - len(offsets) : end] == offsets]
    return {name: column[end - len(offsets) : end] for name, column in seen.items()}


@pytest.mark.parametrize("node", [NVME, Path("/dev/nullb0"), Path("/dev/sda")], ids=lambda node: node.name)
def test_a_capture_holds_what_the_engine_did(node: Path, tmp_path: Path) -> None:
    command = _load(node, "--capture", str(tmp_path))
    found = _capture(node, "--level", "queue", "--out", tmp_path / "c", "--way", "blktrace", command=command)
    own, seen = _columns(next(tmp_path.glob("*.parquet"))), _of_engine(_columns(tmp_path / "c"), tmp_path)
    assert seen["operation"] == own["operation"]
    assert set(seen["length_bytes"]) == {4096}
    assert (found["way"], found["summary"]["lost"]) == ("blktrace", 0)
    assert not list(TRACES.glob("*/trace0"))


def test_both_ways_see_the_same(tmp_path: Path) -> None:
    seen = []
    for way in ("blktrace", "tracefs"):
        own, out = tmp_path / f"own-{way}", tmp_path / way
        command = [
            *COMMAND,
            "io",
            str(NVME),
            "--ios",
            "500",
            "--seed",
            "3",
            "--qd",
            "1",
            "--capture",
            str(own),
        ]
        _capture(NVME, "--out", out, "--way", way, command=command)
        seen.append(_of_engine(_columns(out), own))
    for name in ("offset_bytes", "length_bytes", "operation", "flags"):
        assert seen[0][name] == seen[1][name], name


def test_an_io_of_a_mapped_device_is_counted_once(tmp_path: Path, run: Run) -> None:
    run("dmsetup", "create", "twice", stdin=f"0 8192 linear {NVME} 2048\n8192 8192 linear {NVME} 65536\n")
    mapped = Path("/dev/mapper/twice").resolve()
    try:
        for way in ("blktrace", "tracefs"):
            command = [*COMMAND, "io", str(mapped), "--ios", "200", "--seed", "3", "--qd", "1"]
            command += ["--capture", str(tmp_path / f"own-{way}")]
            _capture(mapped, NVME, "--out", tmp_path / way, "--way", way, command=command)
            seen = _of_engine(_columns(tmp_path / way), tmp_path / f"own-{way}")
            assert set(seen["device"]) == {0}
    finally:
        run("dmsetup", "remove", "twice")


def test_a_kill_leaves_no_block_trace(tmp_path: Path, state: Path) -> None:
    words = [*COMMAND, "capture", str(NVME), "--way", "blktrace", "--out", str(tmp_path / "c")]
    running = subprocess.Popen(words)
    deadline = time.monotonic() + 60
    while not (TRACES / NVME.name / "trace0").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    running.send_signal(signal.SIGKILL)
    running.wait()
    subprocess.run([*COMMAND, "doctor", "--restore"], check=False, capture_output=True)
    assert not (TRACES / NVME.name / "trace0").exists()
    assert list((state / "journal").glob("*.json")) == []


def test_each_way_that_is_not_there_says_why(tmp_path: Path, run: Run) -> None:
    words = [*COMMAND, "capture", str(NVME), "--seconds", "0.2", "--out", str(tmp_path / "c")]
    run("umount", "-a", "-t", "tracefs")
    run("umount", "/sys/kernel/debug")
    try:
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    finally:
        run("mount", "-t", "debugfs", "nodev", "/sys/kernel/debug")
        run("mount", "-t", "tracefs", "nodev", "/sys/kernel/tracing")
    assert ended.returncode == 5
    assert [line.strip().partition(":")[0] for line in ended.stderr.splitlines() if ": " in line][-3:]
    assert "blktrace: debugfs is not mounted" in ended.stderr
    assert "tracefs: tracefs is not mounted" in ended.stderr
    dropped = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", *words]
    ended = subprocess.run(dropped, capture_output=True, text=True, check=False)
    assert ended.returncode == 5
    assert ended.stderr.count("CAP_SYS_ADMIN is missing") == 2
