"""Meters of known waveforms: a Quarch instrument server, and an HD module without it, by their protocols.

Written from quarchpy's and AN-023's use of them, and not from the clients that they test.
"""

import socketserver
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

Stripe = tuple[int, int, int, int]
"""5 V rail in mV and uA, 12 V rail in mV and uA."""

MODULE = "TCP::QTL1999-02-001"
_CHANNELS = [
    ("5V", "voltage", "mV"),
    ("5V", "current", "uA"),
    ("12V", "voltage", "mV"),
    ("12V", "current", "uA"),
]


def stripe_of(watts: float) -> Stripe:
    """A quarter on 5 V, the rest on 12 V."""
    return 5000, round(watts / 4 / 5.0 * 1e6), 12000, round(watts * 0.75 / 12.0 * 1e6)


@contextmanager
def quarch_server(stripes: Sequence[Stripe], period_us: int, *, power: bool = False) -> Iterator[int]:
    """QIS with one module, which streams this and stops; ``power``: it streams the total power, too."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"Quarch Instrument Server v1.30\r\n>")
            sent, running = 0, False
            for line in self.rfile:
                command = line.decode().strip()
                body = command.removeprefix(MODULE).strip()
                if command == "$list":
                    answer = f"1) {MODULE}"
                elif body == "rec stream":
                    answer, running = "OK", True
                elif body == "rec stop":
                    answer, running = "OK", False
                elif body == "stream text header":
                    answer = _header(period_us, power=power) if running else "Header Not Available"
                elif body == "stream?":
                    answer = "Running" if sent < len(stripes) else "Stopped : User"
                elif body == "stream text all":
                    piece = stripes[sent : sent + 4096]
                    first, sent = sent, sent + len(piece)
                    lines = [
                        " ".join(map(str, ((first + n) * period_us, *one, *_total(one, power=power))))
                        for n, one in enumerate(piece)
                    ]
                    answer = "\r\n".join([*lines, *(["eof"] if sent >= len(stripes) else [])])
                else:
                    answer = "OK"
                self.wfile.write(f"{answer}\r\n>".encode())

    with _serving(Handler) as port:
        yield port


def _total(stripe: Stripe, *, power: bool) -> tuple[int, ...]:
    volts_5, amperes_5, volts_12, amperes_12 = stripe
    return ((volts_5 * amperes_5 + volts_12 * amperes_12) // 1000,) if power else ()


def _header(period_us: int, *, power: bool) -> str:
    channels = _CHANNELS + ([("Tot", "power", "uW")] if power else [])
    described = "".join(
        f"<channel><name>{name}</name><group>{group}</group><units>{units}</units><maxTValue>1</maxTValue>"
        f"<dataPosition>{place}</dataPosition></channel>"
        for place, (name, group, units) in enumerate(channels, start=1)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n<header>\r\n<version>V3</version>\r\n'
        f"<devicePeriod>4us</devicePeriod>\r\n<mainPeriod>{period_us}us</mainPeriod>\r\n"
        f"<channels>{described}</channels>\r\n</header>"
    )


@contextmanager
def quarch_module(stripes: Sequence[Stripe], *, averaging: int = 0, overruns: bool = False) -> Iterator[int]:
    """An HD module that streams this, with stripes cut by messages, and asks for an answer now and then.

    ``averaging`` is a power of two of samples of 4 us. ``overruns``: its buffer runs over in the middle.
    """

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while (length := self.rfile.read(2)) and len(length) == 2:
                command = self.rfile.read(int.from_bytes(length, "little")).decode().strip()
                if command == "rec stream":
                    self._stream()
                    return
                self._send(b"OK\r\n>" if command != "*idn?" else b"Family: HD\r\nQTL1999-02-001\r\n>")

        def _send(self, content: bytes) -> None:
            self.wfile.write(struct.pack("<H", len(content)) + content)

        def _stream(self) -> None:
            self._send(b"OK\r\n>")
            self._send(bytes([5, 0, 0x0F, averaging]))
            assert self._answer() == b"\xff\xff"
            words = [
                word
                for volts_5, amperes_5, volts_12, amperes_12 in stripes
                for word in (
                    volts_5,
                    amperes_5 >> 12,
                    amperes_5 & 0xFFF,
                    volts_12,
                    amperes_12 >> 12,
                    amperes_12 & 0xFFF,
                )
            ]
            content = struct.pack(f"<{len(words)}H", *words)
            end = len(content) // 2 if overruns else len(content)
            for at in range(0, end, 1022):
                piece = content[at : min(at + 1022, end)]
                asks = at // 1022 % 5 == 4
                self._send(piece + (b"\x07" if asks else b""))
                assert self._answer() == b"\xff\xff"
                if asks:
                    assert self._answer() == b"\xff\x01"
            self._send(b"\x01" if overruns else b"\x00")

        def _answer(self) -> bytes:
            return self.rfile.read(int.from_bytes(self.rfile.read(2), "little"))

    with _serving(Handler) as port:
        yield port


@contextmanager
def _serving(handler: type[socketserver.StreamRequestHandler]) -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
