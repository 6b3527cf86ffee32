"""openpts started from a process that has loaded it: as a start of the interpreter, half a second sooner.

Each command still has a process, streams and an exit code of its own.
"""

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from select import select
from typing import IO, Any, Final

from tests import ROOT

# What a start of each command needs.
_LOADED: Final = ("devices", "doctor", "io", "purge", "report", "resume", "run")
_LONGEST_LIST_BYTES: Final = 60_000
"""Of modules: as much as a pipe takes at once."""


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
    """Fork for each order; the fork goes on as openpts, the process says how it ended.

    Modules of openpts that two forks had to load are loaded here before the next one: none of them starts
    threads.
    """
    from openpts.cli.main import cli, main  # noqa: PLC0415 those who order need not load it

    for name in _LOADED:
        cli.commands[name]  # it is imported
    gc.freeze()
    needed = Counter[str]()
    for line in sys.stdin:
        lists, own_list = os.pipe()
        pid = os.fork()
        if not pid:
            _become(json.loads(line))
            return _carry_out(main, own_list)
        os.close(own_list)
        exit_code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.stdout.write(f"{exit_code}\n")
        sys.stdout.flush()
        needed.update(_names(lists))
        _load(needed)
    return None


def _carry_out(main: Callable[[], None], own_list: int) -> None:
    """To its exit code, without the end of an interpreter that takes all of its modules apart: three quarters
    of the time of a short command.
    """
    before = set(sys.modules)
    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code or 0
    loaded = " ".join(name for name in sys.modules if name not in before and name.startswith("openpts"))
    with suppress(OSError):  # a test may have taken its descriptors away
        os.write(own_list, loaded.encode()[:_LONGEST_LIST_BYTES])
    if not isinstance(code, int):
        sys.exit(str(code))
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _names(lists: int) -> list[str]:
    """What the fork that has ended had to load; nothing where it was killed."""
    os.set_blocking(lists, False)  # what it has started may hold the other end
    with open(lists, "rb") as named, suppress(BlockingIOError):
        return os.read(named.fileno(), _LONGEST_LIST_BYTES).decode().split()
    return []


def _load(needed: Counter[str]) -> None:
    missing = [name for name, times in needed.items() if times > 1 and name not in sys.modules]
    for name in missing:
        import_module(name)
    if missing:
        gc.freeze()


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
