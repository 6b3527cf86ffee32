"""One fio process: the job goes in by its standard input, the result comes out, and SIGTERM ends it early."""

import signal
import subprocess
from dataclasses import dataclass
from threading import Lock

from openpts.engine.fio.installation import FioProgram


@dataclass(frozen=True, slots=True)
class FioOutput:
    """What an ended process left."""

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

    def run(self, job: str) -> FioOutput | None:
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
                pass_fds=[self._descriptor],
                start_new_session=True,
            )
        stdout, stderr = self._process.communicate(job)
        return FioOutput(self._process.returncode, stdout, stderr)

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
        """Whether it was to end early."""
        return self._interrupted
