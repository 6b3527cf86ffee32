"""A terminal that is lost, as with a connection by ssh, ends a run in order; below nohup it goes on."""

import fcntl
import os
import pty
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from openpts.errors import RecordError
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from tests.support.openpts_command import COMMAND

LENGTH = ("--step-seconds", "0.1", "--max-rounds", "1", "--precondition-passes", "1")
RUN = ("run", "iops", "file:x?size=64MiB", "--class", "client", "--no-report", "--out", "r1")
PATIENCE_S = 60


def _steps(folder: Path) -> int:
    try:
        return len(read_run(folder).steps)
    except RecordError:
        return 0


def _lose_terminal_after_three_steps(folder: Path, *before: str) -> int:
    """The status of the process; its screen is read as a terminal does, so that it never waits for us."""
    command = [*before, *COMMAND, *RUN, *LENGTH]
    pid, screen = pty.fork()
    if pid == 0:
        try:
            os.chdir(folder)
            os.execvp(command[0], command)
        finally:  # or else a second pytest goes on from here
            os._exit(127)
    try:
        _read_until_three_steps(folder, screen)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(screen)
        status = os.waitpid(pid, 0)[1]
    return status


def _read_until_three_steps(folder: Path, screen: int) -> None:
    os.set_blocking(screen, False)
    until_s = time.monotonic() + PATIENCE_S
    while _steps(folder / "r1") < 3:
        assert time.monotonic() < until_s
        try:
            os.read(screen, 65536)
        except OSError:  # nothing new, or no reader there: nohup lets go of the terminal
            time.sleep(0.05)


@pytest.mark.needs("terminals")
def test_a_run_that_loses_its_terminal_ends_as_an_interrupted_one(tmp_path: Path) -> None:
    status = _lose_terminal_after_three_steps(tmp_path)
    assert not os.WIFSIGNALED(status)
    run = read_run(tmp_path / "r1")
    assert run.manifest.state is RunState.INTERRUPTED
    assert run.manifest.ended_at is not None


@pytest.mark.slow
@pytest.mark.needs("terminals")
def test_below_nohup_it_goes_on_to_its_end(tmp_path: Path) -> None:
    status = _lose_terminal_after_three_steps(tmp_path, "nohup")
    assert status == 0, (tmp_path / "nohup.out").read_text()
    assert read_run(tmp_path / "r1").manifest.state is RunState.COMPLETE


def _measured(folder: Path, terminal: int, *before: str) -> subprocess.Popen[bytes]:
    """A run whose output goes there, and is at its end by its record, whatever becomes of the output."""
    process = subprocess.Popen(
        [*before, *COMMAND, *RUN, *LENGTH], cwd=folder, stdout=terminal, stderr=terminal, stdin=terminal
    )
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s and not _is_complete(folder / "r1"):
        time.sleep(0.05)
    return process


def _is_complete(folder: Path) -> bool:
    try:
        return read_run(folder).manifest.state is RunState.COMPLETE
    except RecordError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "is_terminal",
    [pytest.param(True, marks=pytest.mark.needs("terminals")), pytest.param(False, marks=pytest.mark.slow)],
)
def test_a_terminal_that_takes_no_text_holds_up_no_measurement(tmp_path: Path, is_terminal: bool) -> None:
    """As after Ctrl-S, on a connection that hangs, and in a pager that shows its first page."""
    reading, writing = pty.openpty() if is_terminal else os.pipe()
    if not is_terminal:
        os.write(writing, bytes(fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)))  # full from the start
    process = _measured(tmp_path, writing)
    os.close(writing)
    try:
        assert _is_complete(tmp_path / "r1"), "it waits for its reader"
        assert process.poll() is None, "more was said than fits"
        with suppress(OSError):  # of a terminal that has no other end any more
            while os.read(reading, 65536):
                pass
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
        os.close(reading)


@pytest.mark.slow
def test_a_reader_that_quits_does_not_end_the_run(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = _measured(tmp_path, writing)
    os.close(writing)
    assert process.wait(PATIENCE_S) == 0
    assert _is_complete(tmp_path / "r1")
