"""A Quarch HD power module without its server: commands and its native stream by TCP, port 9760.

Written after Quarch's application note AN-023. Each message has its length in front, two bytes, the lower one
first. A stream is a header (version, a reserved byte, channels, averaging as a power of two), then words of
14 bits: voltages in mV, currents in uA as two words, the upper one in units of 4096. A message of odd length
ends with a status: 0 to 2, the stream is at its end (1: the module's buffer ran over); 7: an answer is waited
for. Each message of a stream is acknowledged.
"""

import socket
from array import array
from collections.abc import Iterator
from operator import mul
from typing import Final

from openpts_nvme.power.source import MeterError

PORT: Final = 9760
_TIMEOUT_S: Final = 5.0
_BASE_PERIOD_NS: Final = 4_000
_TAKEN, _SYNCHRONIZED = b"\xff\xff", b"\xff\x01"
_OVERRUN, _LAST_END, _ASKS = 1, 2, 7
_WORD: Final = 0x3FFF
_UPPER: Final = 4096
# rail by rail, voltage and current, in the order of a stripe; each with its bit among the channels
_RAILS: Final = ((8, 4), (2, 1))
_W_PER_MV_UA: Final = 1e-9


class QuarchSource:
    """The sum of both rails of an HD module."""

    def __init__(self, host: str, port: int = PORT, averaging: str = "") -> None:
        """``averaging`` is in the module's words: 0, 2, 4 ... 32k samples of 4 us. Raises MeterError."""
        try:
            self._socket = socket.create_connection((host, port), _TIMEOUT_S)
        except OSError as error:
            raise MeterError(f"can't reach the module at {host}:{port}: {error}") from error
        self.period_ns = 0.0
        name = self._ask("*idn?").splitlines()
        self.what = f"Quarch {name[-1] if name else 'module'} at {host}:{port}"
        if averaging:
            self._expect(f"record:averaging {averaging}")
        self._expect("record:trigger:mode manual")

    def pieces(self) -> Iterator[list[float]]:
        """See PowerSource."""
        self._expect("conf stream enable on")
        self._send(b"rec stream\r\n")
        try:
            header = self._message()
            if header.startswith(b"OK"):
                header = self._message()
            if len(header) < 4 or header[0] != 5:
                raise MeterError(
                    f"{self.what} begins its stream with {header[:8].hex()}, which is no header of one"
                )
            self.period_ns = float(_BASE_PERIOD_NS << header[3])
            self._send(_TAKEN)
            yield from self._samples(_Stripes(header[2]), header[4:])
        finally:
            self._socket.close()

    def _samples(self, stripes: "_Stripes", content: bytes) -> Iterator[list[float]]:
        """A last message is answered as well, so that the module closes its stream."""
        while True:
            status = content[-1] if len(content) % 2 else None
            if watts := stripes.watts(content[: len(content) // 2 * 2]):
                yield watts
            if status is not None and status <= _LAST_END:
                if status == _OVERRUN:
                    raise MeterError(f"{self.what}: its buffer ran over, and samples are lost; average more")
                return
            if status == _ASKS:
                self._send(_SYNCHRONIZED)
            content = self._message()
            self._send(_TAKEN)

    def _expect(self, command: str) -> None:
        if "OK" not in (answer := self._ask(command)):
            raise MeterError(f"{self.what} refuses '{command}': {answer[:200]}")

    def _ask(self, command: str) -> str:
        self._send(f"{command}\r\n".encode())
        return self._message().decode("ascii", errors="replace").strip("> \r\n\t")

    def _send(self, content: bytes) -> None:
        try:
            self._socket.sendall(len(content).to_bytes(2, "little") + content)
        except OSError as error:
            raise MeterError(f"the module takes no more: {error}") from error

    def _message(self) -> bytes:
        return self._bytes(int.from_bytes(self._bytes(2), "little"))

    def _bytes(self, count: int) -> bytes:
        got = bytearray()
        while len(got) < count:
            try:
                piece = self._socket.recv(count - len(got))
            except OSError as error:
                raise MeterError(f"the module sends no more: {error}") from error
            if not piece:
                raise MeterError("the module has closed the connection")
            got += piece
        return bytes(got)


class _Stripes:
    """Words of a stream as stripes, one of all channels after the other; messages may cut them anywhere."""

    def __init__(self, channels: int) -> None:
        self._left = array("H")
        self._places: list[tuple[int, int]] = []
        at = 0
        for volts, amperes in _RAILS:
            has = bool(channels & volts), bool(channels & amperes)
            if all(has):
                self._places.append((at, at + 1))
            at += has[0] + 2 * has[1]
        self._words = at
        if not self._places:
            raise MeterError("the module streams no rail with voltage and current: enable both")

    def watts(self, content: bytes) -> list[float]:
        """Power of each whole stripe, of all rails."""
        words = self._left + array("H", content)
        whole = len(words) // self._words * self._words
        self._left = words[whole:]
        rails = []
        for volts, amperes in self._places:
            column = [word & _WORD for word in words[volts : whole : self._words]]
            upper, lower = (words[amperes + n : whole : self._words] for n in (0, 1))
            current = [
                (one & _WORD) * _UPPER + (other & _WORD) for one, other in zip(upper, lower, strict=True)
            ]
            rails.append(list(map(mul, column, current)))
        return [sum(stripe) * _W_PER_MV_UA for stripe in zip(*rails, strict=True)]
