"""Standard output that breaks under a command: the work goes on, and only a loss is told."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openpts.cli.broken_pipe import LastingOutput, lasting
from tests.support.transcript import Golden

MAIN = "from openpts.cli.main import main; main()"
PLAN = (sys.executable, "-c", MAIN, "plan", "iops", "--capacity", "1TB", "--json")


def test_a_reader_that_quits_is_no_loss() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    output = LastingOutput(writing)
    assert output.write(b"anything") == 8
    assert output.write(b"more") == 4
    assert output.failure is not None
    assert output.failure.errno == errno.EPIPE
    assert output.lost == ""
    os.close(writing)


def test_a_full_disk_is_one() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    output = LastingOutput(full)
    assert output.write(b"anything") == 8
    assert output.lost == os.strerror(errno.ENOSPC)
    os.close(full)


def test_a_pipe_that_takes_nothing_for_now_is_waited_for() -> None:
    reading, writing = os.pipe()
    flags = fcntl.fcntl(writing, fcntl.F_GETFL)
    fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    sent = bytes(range(256)) * 4096  # more than a pipe holds
    received = bytearray()

    def read() -> None:
        while part := os.read(reading, 65_536):
            received.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    output = LastingOutput(writing)
    assert output.write(sent) == len(sent)
    os.close(writing)
    reader.join()
    os.close(reading)
    assert bytes(received) == sent
    assert output.failure is None


def test_the_stream_that_was_there_comes_back(capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with lasting("stdout") as output:
        assert output is not None
        assert sys.stdout is not before
        sys.stdout.write("in between\n")
    assert sys.stdout is before
    assert capfd.readouterr().out == "in between\n"


def test_a_stream_without_a_descriptor_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with lasting("stdout") as output:
        assert output is None
        assert sys.stdout is None


def test_a_command_whose_output_is_lost_says_so() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(PLAN, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"openpts: the output was lost: {os.strerror(errno.ENOSPC)}\n"


@pytest.mark.with_plugins
def test_a_verdict_stands_where_the_output_is_lost(golden: Golden) -> None:
    words = [*PLAN[:3], "gate", "no-run", "--json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 8
    assert done.stderr == golden


def test_a_command_whose_reader_quits_ends_well() -> None:
    with subprocess.Popen(PLAN, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.close()
        assert program.stderr is not None
        assert program.stderr.read() == b""
        assert program.wait() == 0
