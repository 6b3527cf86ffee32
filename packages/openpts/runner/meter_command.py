"""Meters of the operator's: a program that prints watts or degrees beside a run, and what it measured."""

import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from msgspec import Struct

from openpts.errors import UsageError, failing_as
from openpts.programs import refuse_missing
from openpts.record.health import EXTERNAL_PEAK, EXTERNAL_POWER, EXTERNAL_TEMPERATURE
from openpts.system_files import printable
from openpts.vocabulary.facts import Fact, Facts

_LONGEST_LINE: Final = 1000
_NUMBER: Final = rb"\s*([^0-9:=]*[:=]\s*)?([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*"
_POWER: Final = re.compile(_NUMBER + rb"(m?w(?:atts?)?|milliwatts?)?\s*", re.IGNORECASE)
_TEMPERATURE: Final = re.compile(
    _NUMBER + rb"(?:\xc2?\xb0|'|deg(?:rees?)?\s*)?(c(?:elsius)?|f(?:ahrenheit)?|k(?:elvin)?)?\s*",
    re.IGNORECASE,
)
_MOST_WITHOUT_UNIT_W: Final = 1000
"""Above it a number without a unit is rather one of mW."""
_COLDEST_C, _HOTTEST_C = -100.0, 400.0
"""Outside, a number is of something else, such as thousandths of a degree."""
_LINES_UNTIL_DOUBT: Final = 3
# A command that answers no more must not keep the run from ending.
_TIMEOUT_S: Final = 2.0

Sink = Callable[[tuple[int, str, float]], object]


def _watts(line: bytes) -> float | None:
    """A finite number of watts or, with that unit behind it, milliwatts; behind a label it has a unit."""
    found = _POWER.fullmatch(line)
    if found is None:
        return None
    label, number, unit = found.groups()
    value = float(number) / (1000 if unit and unit[:1] in b"mM" else 1)
    too_much = not unit and (label or value > _MOST_WITHOUT_UNIT_W)
    return None if too_much or not 0 <= value < float("inf") else value


def _celsius(line: bytes) -> float | None:
    """Degrees Celsius of what was printed in Celsius, Fahrenheit or kelvin; behind a label it has a unit."""
    found = _TEMPERATURE.fullmatch(line)
    if found is None:
        return None
    label, number, unit = found.groups()
    value = float(number)
    match (unit or b"c")[:1].lower():
        case b"f":
            value = (value - 32) / 1.8
        case b"k":
            value -= 273.15
    return None if (label and not unit) or not _COLDEST_C <= value <= _HOTTEST_C else value


class Meter(Struct, frozen=True):
    """What a meter measures: its option, its names in the record, and how a line is read.

    ``peak_name`` is empty where a line has no peak.
    """

    measures: str
    option: str
    unit: str
    units: str
    name: str
    read: Callable[[bytes], float | None]
    peak_name: str = ""


METERS: Final[Mapping[str, Meter]] = {
    meter.measures: meter
    for meter in (
        Meter("power", "--power-command", "watts", "W or mW", EXTERNAL_POWER, _watts, EXTERNAL_PEAK),
        Meter("temperature", "--temperature-command", "degrees", "C, F or K", EXTERNAL_TEMPERATURE, _celsius),
    )
}
"""By what they measure."""


class MeterCommand:
    """A meter's program of the operator's, which prints values; each gets the time of its arrival.

    ``command`` is split as by a shell; there is none. A line is a number, or has a label and units, and of
    power the peak: ``Power: 4500 mW``, ``4.5 W peak 7.2 W``, ``temp=85.2'C``. One that begins with ``#`` says
    what is metered. Lines that are no number are counted and left out. Raises UsageError if there is no such
    program.
    """

    def __init__(self, meter: Meter, command: str) -> None:
        self._meter = meter
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"invalid {meter.option} {command!r}: {error}") from error
        if not self._words:
            text = f"{meter.option} is empty: name a program that prints one number of {meter.unit} per line"
            raise UsageError(text)
        refuse_missing(self._words[0], meter.option)
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
        reported = f"{self._meter.name}; as the command reports it: {went}{says}"
        return {f"external {self._meter.measures}": Fact(reported, self._text)}

    def doubt(self, *, ended: bool) -> str:
        """What is wrong with its lines: once if none of the first was a number, and at the end."""
        all_lines = self._numbers + self._others
        if not ended:
            if self._doubted or self._numbers or self._others < _LINES_UNTIL_DOUBT:
                return ""
            self._doubted = True
        elif not all_lines:
            return f"the {self._meter.measures} command printed nothing"
        if not self._others:
            return ""
        return (
            f"{self._others:,} of {all_lines:,} lines of the {self._meter.measures} command are no number of "
            f"{self._meter.unit}; the first was {self._first_other!r}: print one number a line, with its "
            f"unit {self._meter.units}"
        )

    @contextmanager
    def running(self, sink: Sink) -> Iterator[None]:
        """The program runs while the block does. Raises UsageError if it can't be started."""
        with failing_as(UsageError, f"{self._meter.option}: {self._words[0]} can't be started"):
            process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        stopping = threading.Event()
        thread = threading.Thread(
            target=self._listen,
            args=(process, sink, stopping),
            name=f"{self._meter.measures} command",
            daemon=True,
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
                value = self._meter.read(mean)
                if value is None:
                    self._others += 1
                    self._first_other = self._first_other or printable(line.decode(errors="replace").strip())
                    continue
                self._numbers += 1
                sink((at_ns, self._meter.name, value))
                if self._meter.peak_name and (most := self._meter.read(peak)) is not None:
                    sink((at_ns, self._meter.peak_name, most))
        if not stopping.is_set():
            self._ended_with = process.returncode
