"""Stopping a run, and starting one: only the process of the run, only with what was typed."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

pytest.importorskip("starlette", reason="needs openpts[web]")

from openpts.errors import RecordError, RefusedError, RunFailedError, UsageError
from openpts.ownership import CLAIM_NAME, RunOwner, is_locked
from openpts_web import control
from openpts_web.control import Plans, stop_run

HOLDS_A_CLAIM = """
import sys, time
from pathlib import Path
from openpts.ownership import RunOwner, folder_claimed, new_run_id
from openpts.system_files import SystemRoots
owner = RunOwner.this_process(new_run_id(), "sim:x", (), SystemRoots())
with folder_claimed(Path(sys.argv[1]), owner):
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(130)
"""

SAYS_ITS_WORDS = """
import sys
print(*sys.argv[1:], sep="\\n")
if "WRONG" in sys.argv:
    sys.exit(print("the guard says no", file=sys.stderr) or 4)
"""


@pytest.fixture
def process(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that works on a run in ``tmp_path``."""
    with subprocess.Popen([sys.executable, "-c", HOLDS_A_CLAIM, str(tmp_path)]) as found:
        while not is_locked(tmp_path / CLAIM_NAME) or not (tmp_path / CLAIM_NAME).read_bytes():
            assert found.poll() is None
            time.sleep(0.02)
        yield found
        found.kill()


def test_a_run_is_stopped_as_by_ctrl_c(process: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    assert stop_run(tmp_path).pid == process.pid
    assert process.wait(20) == 130
    with pytest.raises(RecordError, match="no process works"):
        stop_run(tmp_path)


@pytest.mark.parametrize("change", [{"process_started_ticks": 1}, {"boot_id": "another"}, {"pid": 4_194_303}])
def test_another_process_is_never_stopped(
    process: "subprocess.Popen[bytes]",
    tmp_path: Path,
    change: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner = msgspec.json.decode((tmp_path / CLAIM_NAME).read_bytes(), type=RunOwner)
    monkeypatch.setattr(control, "read_owner", lambda _: replace(owner, **change))
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda *_: pytest.fail("a signal was sent"))
    with pytest.raises(RefusedError, match="stop it where it runs"):
        stop_run(tmp_path)
    assert process.poll() is None


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plans:
    """Plans whose start is a program that says which words it got, and ends with 4 for the serial `WRONG`."""
    (tmp_path / "plans").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "plans" / "lab.toml").write_text("")
    (tmp_path / "plans" / "linked.toml").symlink_to("/etc/hostname")
    (tmp_path / "plans" / "notes.txt").write_text("")
    monkeypatch.setattr(control, "OPENPTS", (sys.executable, "-c", SAYS_ITS_WORDS))
    return Plans(tmp_path / "plans", tmp_path / "runs")


def test_a_plan_is_started_with_the_consent_that_was_typed(plans: Plans) -> None:
    assert plans.names() == ("lab.toml",)
    words = plans.start("lab.toml", "/dev/nvme0n1", "S3R1AL").split("\n")
    folder = words[words.index("--out") + 1]
    assert Path(folder).parent == plans.library
    wanted = [
        "run",
        "all",
        "/dev/nvme0n1",
        "--plan",
        str(plans.folder / "lab.toml"),
        "--confirm-serial",
        "S3R1AL",
    ]
    assert words == [*wanted, "--out", folder, "--detach"]


def test_what_the_guard_says_is_shown(plans: Plans) -> None:
    with pytest.raises(RunFailedError, match="exit code 4: the guard says no"):
        plans.start("lab.toml", "/dev/nvme0n1", "WRONG")


@pytest.mark.parametrize(
    ("name", "target", "serial", "error"),
    [
        ("../runs/x.toml", "/dev/sda", "S1", UsageError),
        ("linked.toml", "/dev/sda", "S1", UsageError),
        ("lab.toml", "file:/etc/passwd", "S1", UsageError),
        ("lab.toml", "--help", "S1", UsageError),
        ("lab.toml", "/dev/../etc/passwd", "S1", UsageError),
        ("lab.toml", "/dev/sda", "", RefusedError),
        ("lab.toml", "/dev/sda", "--erase-signatures", RefusedError),
        ("lab.toml", "/dev/sda", "S1\n--overwrite-file", RefusedError),
    ],
)
def test_what_no_one_can_have_meant_is_not_started(
    plans: Plans, name: str, target: str, serial: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        plans.start(name, target, serial)
    assert list(plans.library.iterdir()) == []
