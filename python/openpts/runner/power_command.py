"""Power from a meter of the operator's: a program of theirs that goes on printing watts, a number a line.

A line may have the peak in it, too: ``4.5 W peak 7.2 W``. One that begins with ``#`` says what is metered.
"""

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from openpts.errors import UsageError, failing_as
from openpts.programs import refuse_missing
from openpts.record.health import EXTERNAL_PEAK, EXTERNAL_POWER
from openpts.system_files import printable
from openpts.vocabulary.facts import Fact, Facts

_LONGEST_LINE: Final = 1000
_TIMEOUT_S: Final = 2.0

Sink = Callable[[tuple[int, str, float]], object]


class PowerCommand:
    """The operator's program, started for the time of a run; each number gets the time of its arrival.

    The words of ``command`` are its name and its arguments, as a shell would split them; there is no shell.
    Lines that are no number are counted and left out. Raises UsageError if there is no such program.
    """

    def __init__(self, command: str) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"invalid --power-command {command!r}: {error}") from error
        if not self._words:
            raise UsageError(
                "--power-command is empty: name a program that prints one number of watts per line"
            )
        refuse_missing(self._words[0], "--power-command")
        self._text = printable(command)
        self._says = ""
        self._numbers = 0
        self._others = 0
        self._ended_with: int | None = None

    @property
    def facts(self) -> Facts:
        """What it is and how it went until now, for the record."""
        went = f"{self._numbers} values" + (f", {self._others} lines without" if self._others else "")
        if self._ended_with is not None:
            went += f"; the command ended by itself with {self._ended_with}"
        says = f"; {self._says}" if self._says else ""
        return {
            "external power": Fact(f"{EXTERNAL_POWER}; as the command reports it: {went}{says}", self._text)
        }

    @contextmanager
    def running(self, sink: Sink) -> Iterator[None]:
        """The program runs while the block does. Raises UsageError if it can't be started."""
        with failing_as(UsageError, f"--power-command: {self._words[0]} can't be started"):
            process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        stopping = threading.Event()
        thread = threading.Thread(
            target=self._listen, args=(process, sink, stopping), name="power command", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            for last in (signal.SIGTERM, signal.SIGKILL):
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, last)
                    thread.join(_TIMEOUT_S)

    def _listen(self, process: "subprocess.Popen[bytes]", sink: Sink, stopping: threading.Event) -> None:
        with process:
            assert process.stdout is not None  # noqa: S101 it was asked for
            while line := process.stdout.readline(_LONGEST_LINE):
                at_ns = time.monotonic_ns()
                if stopping.is_set():
                    continue
                if line.startswith(b"#"):
                    self._says = printable(line[1:].decode("utf-8", errors="replace").strip())
                    continue
                mean, _, peak = line.partition(b" peak ")
                watts = _watts(mean)
                if watts is None:
                    self._others += 1
                    continue
                self._numbers += 1
                sink((at_ns, EXTERNAL_POWER, watts))
                if (peak_w := _watts(peak)) is not None:
                    sink((at_ns, EXTERNAL_PEAK, peak_w))
        if not stopping.is_set():
            self._ended_with = process.returncode


def _watts(line: bytes) -> float | None:
    """A finite number, which may be followed by its unit."""
    words = line.split()
    with suppress(ValueError, IndexError):
        value = float(words[0])
        unit_follows = len(words) == 1 or words[1:] in ([b"W"], [b"w"])
        if unit_follows and abs(value) < float("inf"):
            return value
    return None
