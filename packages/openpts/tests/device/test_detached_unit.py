"""A detached run as a transient unit of a real systemd: begun, seen, stopped, and refused with its reason."""

import json
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openpts.record.writer import LOG_NAME
from tests import ROOT
from tests.support.openpts_command import COMMAND
from tests.support.systemd_host import SystemdHost, missing, systemd_host

LONG = ("--read-pcts", "0", "--block-sizes", "4KiB", "--tracking", "RND 4KiB RW0", "--step-seconds", "60")


@pytest.fixture(scope="module")
def host(disk_path_factory: pytest.TempPathFactory) -> Iterator[SystemdHost]:
    if reason := missing():
        pytest.skip(reason)
    with systemd_host(disk_path_factory.mktemp("host")) as booted:
        yield booted


@pytest.fixture(scope="module")
def program(disk_path_factory: pytest.TempPathFactory) -> str:
    """The openpts of this tree, as hosts have it installed."""
    path = disk_path_factory.mktemp("bin") / "openpts"
    root = ROOT
    path.write_text(f'#!/bin/sh\nPYTHONPATH={root}/packages exec {shlex.join(COMMAND)} "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_a_run_is_a_unit_that_is_stopped_in_order(host: SystemdHost, program: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
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


def test_a_refusal_is_heard_from_the_unit(host: SystemdHost, program: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"data" * 4096)
    done = inside(host, program, "run", "iops", f"file:{tmp_path / 'data'}", "--detach")
    assert (done.returncode, done.stdout) == (4, "")
    assert "refused [file-data]" in done.stderr
