"""openpts started from a process that has loaded it: as a start of the interpreter, half a second sooner.

Each command still has a process, streams and an exit code of its own.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from select import select
from typing import IO, Any, Final

from tests import ROOT

# What a start of each command needs, and nothing that starts threads.
_LOADED: Final = ("devices", "doctor", "io", "purge", "report", "resume", "run")


class Forks:
    """Such a process, from the first command until it is closed."""

    @cached_property
    def _process(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", "from tests.support.forks import serve; serve()"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        if "_process" in self.__dict__:
            self._process.communicate()

    def run(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout_s: float
    ) -> tuple[int, str, str]:
        """Exit code, negative for a signal, and both streams. Raises TimeoutExpired."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            order = {
                "arguments": list(arguments),
                "cwd": str(cwd),
                "environment": dict(environment),
                "streams": [f"/proc/{os.getpid()}/fd/{one.fileno()}" for one in (out, err)],
            }
            self._write(order)
            timely = select([self._answers], [], [], timeout_s)[0]
            if not timely:
                os.kill(self.running, signal.SIGKILL)
            exit_code = int(self._answers.readline())
            if not timely:
                raise subprocess.TimeoutExpired(list(arguments), timeout_s)
            out.seek(0)
            err.seek(0)
            return exit_code, out.read(), err.read()

    @property
    def running(self) -> int:
        """The process of the command that goes on."""
        process = self._process.pid
        (fork,) = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return int(fork)

    @property
    def _answers(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _write(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)


def serve() -> None:
    """Fork for each order; the fork goes on as openpts, the process says how it ended."""
    from openpts.cli.main import cli, main  # noqa: PLC0415 those who order need not load it

    for name in _LOADED:
        cli.commands[name]  # it is imported
    gc.freeze()
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            _become(json.loads(line))
            return main()
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()
    return None


def _become(order: dict[str, Any]) -> None:
    for number, name in enumerate((order.get("input", "/dev/null"), *order["streams"])):
        fd = os.open(name, os.O_RDWR | os.O_APPEND)  # both streams may go to one file
        os.dup2(fd, number)
        os.close(fd)
    sys.stdin = open(0)  # noqa: SIM115 the one before has read what comes next
    sys.argv = ["openpts", *order["arguments"]]
    if "environment" in order:  # a shell script orders without one: that of this process holds
        os.environ.clear()
        os.environ.update(order["environment"])
    os.chdir(order["cwd"])
