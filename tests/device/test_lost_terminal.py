"""A terminal that is lost, as with a connection by ssh, ends a run in order; below nohup it goes on."""

import os
import pty
import signal
import time
from pathlib import Path

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
        except OSError:  # nothing new, or nobody there: nohup lets go of the terminal
            time.sleep(0.05)


def test_a_run_that_loses_its_terminal_ends_as_an_interrupted_one(tmp_path: Path) -> None:
    status = _lose_terminal_after_three_steps(tmp_path)
    assert not os.WIFSIGNALED(status)
    run = read_run(tmp_path / "r1")
    assert run.manifest.state is RunState.INTERRUPTED
    assert run.manifest.ended_at is not None


def test_below_nohup_it_goes_on_to_its_end(tmp_path: Path) -> None:
    status = _lose_terminal_after_three_steps(tmp_path, "nohup")
    assert status == 0, (tmp_path / "nohup.out").read_text()
    assert read_run(tmp_path / "r1").manifest.state is RunState.COMPLETE
