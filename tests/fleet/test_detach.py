"""A detached run as a transient unit of a real systemd: begun, seen, stopped, and refused with its reason."""

import json
import subprocess
import time
from pathlib import Path

from openpts.record.writer import LOG_NAME
from tests.support.systemd_host import SystemdHost

LONG = ("--read-pcts", "0", "--block-sizes", "4KiB", "--tracking", "RND 4KiB RW0", "--step-seconds", "60")


def test_a_run_is_a_unit_that_is_stopped_in_order(
    systemd_hosts: list[SystemdHost], program: str, tmp_path: Path
) -> None:
    host, folder = systemd_hosts[0], tmp_path / "run"
    hook = "run-start=sh -c 'echo $HOME$$'"  # systemd leaves the words of a run alone
    words = (
        program,
        "run",
        "iops",
        f"file:{tmp_path / 'a drive'}?size=64MiB",
        "--block-sizes",
        "4KiB",
        *LONG,
    )
    options = ("--hook", hook, "--no-report", "--out", str(folder), "--detach")
    done = inside(host, "taskset", "-c", "0", *words, *options)
    assert done.returncode == 0, done.stderr
    unit = done.stdout.partition("in unit ")[2].partition(";")[0]
    shown = inside(host, "systemctl", "show", "-p", "ActiveState,Restart,KillMode,CPUAffinity", unit).stdout
    assert set(shown.splitlines()) == {
        "ActiveState=active",
        "CPUAffinity=0",
        "KillMode=control-group",
        "Restart=no",
    }
    first = json.loads((folder / "events.jsonl").read_text().splitlines()[0])
    assert hook in first["command_line"]
    assert "is interrupted" in host.inside(program, "attach", str(folder), "--stop")
    assert "stopped by the operator" in (folder / LOG_NAME).read_text()
    until_gone(host, unit)


def inside(host: SystemdHost, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["nsenter", "-t", str(host.first_process), "-a", "--", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def until_gone(host: SystemdHost, unit: str) -> None:
    deadline_s = time.monotonic() + 30
    while unit in host.inside("systemctl", "list-units", "--all", "--plain", "openpts-*"):
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


def test_a_refusal_is_heard_from_the_unit(
    systemd_hosts: list[SystemdHost], program: str, tmp_path: Path
) -> None:
    (tmp_path / "data").write_bytes(b"data" * 4096)
    done = inside(systemd_hosts[0], program, "run", "iops", f"file:{tmp_path / 'data'}", "--detach")
    assert (done.returncode, done.stdout) == (4, "")
    assert "refused [file-data]" in done.stderr
