"""`openpts capture` on loop devices, by tracefs: held against what the engine itself recorded."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from tests.support.block_trace import TRACEFS
from tests.support.loop_devices import Attach
from tests.support.openpts_command import COMMAND
from tests.support.openpts_process import openpts
from tests.support.processes import until

pytestmark = pytest.mark.usefixtures("traceable")
CANARY = b"a canary in a coal mine"
LOAD = ("--seconds", "0.5", "--qd", "1", "--seed", "7", "--bs", "4k")
Capture = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def _io(node: Path, *options: str) -> list[str]:
    return [*COMMAND, "io", str(node), *LOAD, *options]


def _captured(*words: object, command: list[str] | None = None) -> dict[str, Any]:
    words = ("capture", *map(str, words), "--way", "tracefs", "--json", "--", *(command or ["true"]))
    ended = openpts(*words, cwd=Path("/"))
    assert ended.exit_code == 0, ended.stderr
    # the command writes to the same output, in front
    found: dict[str, Any] = json.loads(ended.stdout[ended.stdout.index('{\n  "schema"') :])
    return found


def _instances() -> list[str]:
    return [path.name for path in (TRACEFS / "instances").iterdir() if path.name.startswith("openpts-")]


def test_a_capture_holds_what_the_engine_did(attach: Attach, tmp_path: Path) -> None:
    node = attach("--direct-io=on")
    found = _captured(
        node,
        "--level",
        "queue",
        "--out",
        tmp_path / "c",
        command=_io(node, "--mix", "50/50", "--confirm-device-path", str(node), "--capture", str(tmp_path)),
    )
    own = parquet.read_table(next(tmp_path.glob("*.parquet"))).to_pydict()
    seen = parquet.read_table(tmp_path / "c").to_pydict()
    # the probe reads before, with threads of its own; the load is the last to come
    number = len(own["lba"])
    last = {name: column[-number:] for name, column in seen.items()}
    assert last["offset_bytes"] == [block * 4096 for block in own["lba"]]
    assert last["operation"] == own["operation"]
    assert set(last["length_bytes"]) == {4096}
    assert found["summary"]["ios"] == len(seen["seq"])
    assert found["summary"]["lost"] == 0
    assert found["cpu_share"] > 0
    assert found["file_bytes_per_hour"] > 0
    assert _instances() == []


def test_no_data_and_no_name_is_in_a_capture(attach: Attach, tmp_path: Path) -> None:
    node = attach("--direct-io=on")
    block = (CANARY * 200)[:4096].decode()
    write = f"import os,mmap; m = mmap.mmap(-1, 4096); m.write({block!r}.encode())\n" + (
        f"os.pwrite(os.open({str(node)!r}, os.O_RDWR | os.O_DIRECT), m, 8192)"
    )
    python = ["python3", "-c", write]
    for names in ((), ("--process-names", "hashed")):
        out = tmp_path / f"c{len(names)}"
        found = _captured(node, "--out", out, *names, command=python)
        assert found["summary"]["ios"] >= 1
        content = out.read_bytes()
        assert CANARY not in content
        assert b"python3" not in content
    _captured(node, "--out", tmp_path / "plain", "--process-names", "plain", command=python)
    assert b"python3" in (tmp_path / "plain").read_bytes()


def test_a_full_buffer_is_counted_and_said(attach: Attach, tmp_path: Path) -> None:
    node = attach("--direct-io=on")
    found = _captured(node, "--out", tmp_path / "c", "--buffer", 4, command=_io(node, "--qd", "64"))
    assert found["summary"]["lost"] > 0


def test_a_kill_leaves_nothing_for_long(attach: Attach, tmp_path: Path, state: Path) -> None:
    node = attach()
    before = _instances()
    running = subprocess.Popen(
        [*COMMAND, "capture", str(node), "--way", "tracefs", "--out", str(tmp_path / "c")]
    )
    deadline = time.monotonic() + 30
    while not (TRACEFS / "instances").is_dir() or _instances() == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert _instances() != before
    openpts("doctor", "--restore", cwd=Path("/"))
    assert _instances() == before
    assert list((state / "journal").glob("*.json")) == []


def test_an_interrupt_ends_a_capture_as_it_should(attach: Attach, tmp_path: Path) -> None:
    node, out = attach(), tmp_path / "c"
    running = subprocess.Popen([*COMMAND, "capture", str(node), "--way", "tracefs", "--out", str(out)])
    deadline = time.monotonic() + 30
    while not _instances():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    fd = os.open(node, os.O_RDONLY | os.O_DIRECT)
    for _ in range(20):  # it begins somewhat later
        time.sleep(0.05)
        os.preadv(fd, [mmap(-1, 4096)], 0)
    os.close(fd)
    os.kill(running.pid, signal.SIGINT)
    assert running.wait(30) == 0
    assert parquet.read_table(out).num_rows > 0
    assert _instances() == []


def test_a_partition_is_its_own_range(attach: Attach, tmp_path: Path, run: Callable[..., str]) -> None:
    node = attach("--direct-io=on")
    run("sfdisk", node, stdin="label: gpt\nstart=8192, size=32768\nstart=65536, size=32768\n")
    run("partx", "-a", node)
    try:
        second = Path(f"{node}p2")
        for one in (Path(f"{node}p1"), second):
            found = _captured(second, "--level", "queue", "--out", tmp_path / one.name, command=_io(one))
            offsets = parquet.read_table(tmp_path / one.name).to_pydict()["offset_bytes"]
            assert bool(offsets) == (one == second)
            assert found["summary"]["ios"] == len(offsets)
            assert all(0 <= offset < 32768 * 512 for offset in offsets)
    finally:
        until(lambda: _no_partitions(node, run), f"the partitions of {node} are let go")


def _no_partitions(node: Path, run: Callable[..., str]) -> bool:
    """A program that looks at all drives may have one open for a moment."""
    with suppress(subprocess.CalledProcessError):
        run("partx", "-d", node)
    return not list(node.parent.glob(f"{node.name}p*"))


def test_the_file_never_goes_to_the_captured_device(
    attach: Attach, tmp_path: Path, run: Callable[..., str]
) -> None:
    node, folder = attach(), tmp_path / "mounted"
    folder.mkdir()
    run("mkfs.ext4", "-q", node)
    run("mount", node, folder)
    try:
        words = ("capture", str(node), "--seconds", "0.2", "--way", "tracefs", "--out", str(folder / "c"))
        ended = openpts(*words, cwd=Path("/"))
        assert ended.exit_code == 4
        assert list(folder.glob("c*")) == []
        ended = openpts(*words, "--allow-self", cwd=Path("/"))
        assert ended.exit_code == 0, ended.stderr
        assert "is the capture's" in ended.stdout
    finally:
        run("umount", folder)
