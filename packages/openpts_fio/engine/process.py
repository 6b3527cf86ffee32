"""Which fio there is, and one process of it: the job goes in by standard input, SIGTERM ends it early."""

import os
import re
import shutil
import signal
import subprocess
from threading import Lock
from typing import Final

from msgspec import Struct

from openpts.errors import EngineUnavailableError
from openpts.ownership import owned_descriptors
from openpts.system_files import printable

_TIMEOUT_S: Final = 10
_VERSION: Final = re.compile(r"fio-(\d+)\.(\d+)")
# the first with bins of total latencies in JSON+ beside registered files and buffers of io_uring
_OLDEST: Final = (3, 19)


class FioProgram(Struct, frozen=True):
    """An fio that serves; ``version`` as it prints it, such as ``fio-3.33``."""

    path: str
    version: str


def find_fio(search_path: str | None = None) -> FioProgram:
    """The fio on the search path (default: that of the process). Raises EngineUnavailableError."""
    path = shutil.which("fio", path=search_path)
    if path is None:
        raise EngineUnavailableError(
            "the program fio is not installed: install the package fio of the distribution, "
            "for example with `apt install fio` or `dnf install fio`"
        )
    try:
        answer = subprocess.run(
            [path, "--version"],
            capture_output=True,
            check=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineUnavailableError(f"{path} --version failed: {printable(str(error))}") from error
    version = printable(answer.stdout)
    found = _VERSION.match(version)
    if found is None:
        raise EngineUnavailableError(f"{path} reports {version!r}, which is not a version of fio")
    if (int(found[1]), int(found[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise EngineUnavailableError(
            f"{path} is {version}: fio-{oldest} or later is needed, for total latencies in its JSON+ "
            "and for registered files and buffers"
        )
    return FioProgram(path, version)


class FioExit(Struct, frozen=True):
    """Exit code and output of an fio process that has ended."""

    exit_code: int
    stdout: str
    stderr: str


class FioProcess:
    """Runs a job; made ahead, so that another thread can end what has not even begun."""

    def __init__(self, program: FioProgram, descriptor: int, *, read_only: bool) -> None:
        self._command = [program.path, "--output-format=json+", *(["--readonly"] if read_only else []), "-"]
        self._descriptor = descriptor
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        self._interrupted = False

    def run(self, job: str) -> FioExit | None:
        """Run to the end; None if it was interrupted before it began. Raises OSError if it can't start."""
        with self._lock:
            if self._interrupted:
                return None
            # A session of its own: Ctrl-C at the terminal is for openpts, which ends fio itself.
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env={"LC_ALL": "C"},
                # it continues if we are killed, and with it our claim of its target
                pass_fds=[self._descriptor, *owned_descriptors()],
                start_new_session=True,
            )
        stdout, stderr = self._process.communicate(job)
        return FioExit(self._process.returncode, stdout, stderr)

    def interrupt(self) -> None:
        """Have fio end its jobs; it still prints what it measured.

        Not by SIGINT, which fio ignores before it has come up if its parent does.
        """
        with self._lock:
            self._interrupted = True
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(signal.SIGTERM)

    @property
    def interrupted(self) -> bool:
        """Whether openpts asked fio to end early."""
        return self._interrupted
