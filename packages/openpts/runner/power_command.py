"""Power from a meter of the operator's: a program of theirs that keeps printing watts, a number a line.

A line may have a label, units and the peak in it: ``Power: 4500 mW``, ``4.5 W peak 7.2 W``. One that begins
with ``#`` says what is metered.
"""

import os
import re
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
_READING: Final = re.compile(
    rb"\s*([^0-9:=]*[:=]\s*)?([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*(m?w(?:atts?)?|milliwatts?)?\s*",
    re.IGNORECASE,
)
_MOST_WITHOUT_UNIT_W: Final = 1000
"""Above it a number without a unit is rather one of mW."""
_LINES_UNTIL_DOUBT: Final = 3

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
        self._first_other = ""
        self._doubted = False
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

    def doubt(self, *, ended: bool) -> str:
        """What is wrong with its lines: once if none of the first was a number, and at the end."""
        all_lines = self._numbers + self._others
        if not ended:
            if self._doubted or self._numbers or self._others < _LINES_UNTIL_DOUBT:
                return ""
            self._doubted = True
        elif not all_lines:
            return "the power command printed nothing"
        if not self._others:
            return ""
        return (
            f"{self._others:,} of {all_lines:,} lines of the power command are no number of watts; the first "
            f"was {self._first_other!r}: print one number a line, with its unit W or mW"
        )

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
                    self._first_other = self._first_other or printable(line.decode(errors="replace").strip())
                    continue
                self._numbers += 1
                sink((at_ns, EXTERNAL_POWER, watts))
                if (peak_w := _watts(peak)) is not None:
                    sink((at_ns, EXTERNAL_PEAK, peak_w))
        if not stopping.is_set():
            self._ended_with = process.returncode


def _watts(line: bytes) -> float | None:
    """A finite number of watts or, with that unit behind it, milliwatts; behind a label it has a unit."""
    found = _READING.fullmatch(line)
    if found is None:
        return None
    label, number, unit = found.groups()
    value = float(number) / (1000 if unit and unit[:1] in b"mM" else 1)
    too_much = not unit and (label or value > _MOST_WITHOUT_UNIT_W)
    return None if too_much or not 0 <= value < float("inf") else value
