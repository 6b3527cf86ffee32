"""A run that has its host for itself, and those that share theirs, in a mount namespace as a host."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.openpts_command import COMMAND
from tests.support.openpts_process import openpts

LONG = ("wsat", "--time-scale", "0.05", "--tc", "1", "--qd", "1", "--telemetry-period", "off", "--no-report")


@pytest.fixture
def own_host() -> Iterator[list[str]]:
    if os.geteuid() != 0:
        pytest.skip("needs root, for a mount namespace")
    Path("/dev/openpts").mkdir(exist_ok=True)
    holder = subprocess.Popen(
        ["unshare", "--mount", "sh", "-ec", "mount -t tmpfs none /dev/openpts; echo up; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"up\n"
        yield ["nsenter", "-t", str(holder.pid), "-m"]
        holder.kill()


def begin(host: list[str], folder: Path, name: str, *options: str) -> "subprocess.Popen[str]":
    """A run on a file; it is returned when it has its record, or has ended."""
    target = f"file:{folder}/{name}?size=16MiB"
    words = ["run", *LONG[:1], target, *LONG[1:], *options, "--out", str(folder / f"{name}.run")]
    process = subprocess.Popen(
        [*host, *COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "run folder" in line:
            break
    return process


def end(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGINT)
    process.communicate()


@pytest.mark.slow
def test_a_run_has_its_host_for_itself_or_shares_it(own_host: list[str], tmp_path: Path) -> None:
    def refused(*options: str) -> str:
        target = f"file:{tmp_path}/other?size=16MiB"
        words = ["run", *LONG[:1], target, *LONG[1:], *options, "--out", str(tmp_path / "refused")]
        ended = openpts(*words, cwd=tmp_path, prefix=own_host)
        assert ended.exit_code == 4, ended.stdout
        return ended.complaint

    alone = begin(own_host, tmp_path, "alone", "--exclusive-host")
    assert "refused [host]: this host belongs to run " in refused()
    assert "refused [host]: other runs are on this host" in refused("--exclusive-host")
    end(alone)
    beside = [begin(own_host, tmp_path, name) for name in ("first", "second")]
    assert [process.poll() for process in beside] == [None, None]
    assert "refused [host]: other runs are on this host" in refused("--exclusive-host")
    for process in beside:
        end(process)
