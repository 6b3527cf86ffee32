"""Quarch's instrument server (QIS): its text protocol on port 9722, as its own client speaks it.

A command is a line that begins with the module's name, its answer ends with the cursor ``>``. A stream has a
header in XML, with its period and channels, and is taken from the server's buffer as lines of whole numbers:
the time, then a value for each channel at its position.
"""

import re
import socket
import time
from collections.abc import Callable, Iterator
from typing import Final
from xml.etree import ElementTree

from openpts_nvme.power.source import MeterError

PORT: Final = 9722
_CURSOR: Final = b">"
_TIMEOUT_S: Final = 5.0
_WAIT_S: Final = 0.02
_HEADER_TRIES: Final = 50
_OLDEST_BYTES: Final = 64 << 20
_PERIOD: Final = re.compile(r"([0-9]+)\s*(ns|us|ms|s)", re.IGNORECASE)
_NS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_SCALE: Final = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0}


class QisSource:
    """A power module behind QIS at an address; ``module`` is its name there, empty for the only one.

    ``resample`` is the period that the server averages to, in its words (``1mS``); empty: the module's own.
    """

    def __init__(self, host: str, port: int = PORT, module: str = "", resample: str = "") -> None:
        """Raises MeterError."""
        try:
            self._socket = socket.create_connection((host, port), _TIMEOUT_S)
            self._answer()
        except OSError as error:
            raise MeterError(f"can't reach QIS at {host}:{port}: {error}; start it there") from error
        self._module = module or self._only_module()
        self.period_ns = 0.0
        self.what = f"Quarch {self._module} by QIS at {host}:{port}"
        self._resample = resample

    def pieces(self) -> Iterator[list[float]]:
        """See PowerSource."""
        for command in (
            "stream mode header v3",
            "stream mode power enable",
            "stream mode power total enable",
        ):
            self._ask(command)
        if self._resample:
            self._expect(f"stream mode resample {self._resample}")
        self._expect("rec stream")
        try:
            self.period_ns, watts_of = self._header()
            yield from self._samples(watts_of)
        finally:
            self._socket.settimeout(_TIMEOUT_S)
            self._ask("rec stop")
            self._socket.close()

    def _samples(self, watts_of: Callable[[list[str]], float]) -> Iterator[list[float]]:
        while True:
            lines = self._ask("stream text all").split("\r\n")
            at_end = "eof" in lines
            watts = [watts_of(line.split()) for line in lines if line and line[0].isdigit()]
            if watts:
                yield watts
            if at_end:
                state = self._ask("stream?").lower()
                if "overrun" in state:
                    raise MeterError(f"{self.what}: its buffer ran over, and samples are lost")
                if "stopped" in state and not watts:
                    return
                time.sleep(_WAIT_S)

    def _only_module(self) -> str:
        listed = [
            line.partition(")")[2].strip() for line in self._command("$list").split("\r\n") if ")" in line
        ]
        if len(listed) != 1:
            found, first = ", ".join(listed) or "none", listed[0] if listed else "MODULE"
            raise MeterError(f"QIS has these modules: {found}; name one, as in qis:HOST/{first}")
        return listed[0]

    def _header(self) -> tuple[float, Callable[[list[str]], float]]:
        for _ in range(_HEADER_TRIES):
            text = self._ask("stream text header")
            if "Header Not Available" not in text:
                return parse_header(text)
            time.sleep(_WAIT_S)
        raise MeterError(f"{self.what} gives no header of its stream")

    def _expect(self, command: str) -> None:
        if "OK" not in (answer := self._ask(command)):
            raise MeterError(f"{self.what} refuses '{command}': {answer[:200]}")

    def _ask(self, command: str) -> str:
        return self._command(f"{self._module} {command}")

    def _command(self, line: str) -> str:
        try:
            self._socket.sendall(f"{line}\r\n".encode())
            return self._answer()
        except OSError as error:
            raise MeterError(f"QIS answers no more: {error}") from error

    def _answer(self) -> str:
        """What comes until the cursor, which is alone in its line: XML has it as well."""
        got = bytearray()
        while not (got == _CURSOR or got.endswith(b"\n" + _CURSOR)):
            piece = self._socket.recv(65536)
            if not piece or len(got) > _OLDEST_BYTES:
                raise MeterError("QIS has closed the connection")
            got += piece
        return got[:-1].decode("utf-8", errors="replace").strip()


def parse_header(text: str) -> tuple[float, Callable[[list[str]], float]]:
    """Period in ns, and how the columns of a line become watts. Raises MeterError.

    The total of the module's power is taken where it has one, else its channels of power, else each voltage
    times the current of the same name.
    """
    try:
        root = ElementTree.fromstring(text[max(0, text.find("<")) :])  # noqa: S314 of a meter that was named
    except ElementTree.ParseError as error:
        raise MeterError(f"the stream's header is no XML: {error}") from error
    period = _PERIOD.search(root.findtext(".//mainPeriod") or root.findtext(".//devicePeriod") or "")
    if period is None:
        raise MeterError("the stream's header has no period")
    by_group: dict[str, dict[str, tuple[int, float]]] = {}
    for channel in root.iter("channel"):
        name, group = channel.findtext("name") or "", (channel.findtext("group") or "").lower()
        place, units = int(channel.findtext("dataPosition") or 0), channel.findtext("units") or ""
        if units[-1:] in {"V", "A", "W"} and units[:-1] in _SCALE:
            by_group.setdefault(group, {})[name] = place, _SCALE[units[:-1]]
    powers = by_group.get("power", {})
    total = [one for name, one in powers.items() if name.lower().startswith("tot")]
    if chosen := total or list(powers.values()):
        return _ns(period), lambda columns: sum(int(columns[place]) * scale for place, scale in chosen)
    currents = by_group.get("current", {})
    pairs = [(*one, *currents[name]) for name, one in by_group.get("voltage", {}).items() if name in currents]
    if not pairs:
        raise MeterError("the stream has neither power, nor voltage and current of one rail")
    return _ns(period), lambda columns: sum(
        int(columns[volts]) * by_v * int(columns[amperes]) * by_a for volts, by_v, amperes, by_a in pairs
    )


def _ns(period: re.Match[str]) -> float:
    return float(int(period[1]) * _NS[period[2].lower()])
