"""A host of NVMe over TCP, small and strict: it checks what the target sends, and can break the rules itself.

One command at a time, so that nothing of the target's concurrency is hidden by the host's own.
"""

import struct
import time
from dataclasses import dataclass, field
from socket import create_connection, socket
from typing import Final, Self

ADMIN_ENTRIES: Final = 32
IO_ENTRIES: Final = 128
DISCOVERY_NQN: Final = "nqn.2014-08.org.nvmexpress.discovery"
HOST_NQN: Final = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"

IC_REQ, IC_RESP, C2H_TERM, CAPSULE_CMD, CAPSULE_RESP, H2C_DATA, C2H_DATA, R2T = 0, 1, 3, 4, 5, 6, 7, 9
HDGST, DDGST, LAST = 1, 2, 4
IN_CAPSULE_AT_MOST: Final = 16 << 10


def _crc32c_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE: Final = _crc32c_table()


def crc32c(data: bytes) -> int:
    """CRC-32C as the transport's digests have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class TerminatedError(Exception):
    """The target ended the connection; ``fatal`` is its reason's number."""

    def __init__(self, fatal: int) -> None:
        super().__init__(f"terminated: {fatal}")
        self.fatal = fatal


@dataclass(frozen=True)
class Completion:
    """What a command was answered with; ``status`` is type and code without the other bits."""

    status: int
    result: int
    data: bytes
    do_not_retry: bool


@dataclass
class Host:
    """One queue of one controller."""

    address: str
    nqn: str
    header_digest: bool = False
    data_digest: bool = False
    queue: int = 0
    controller: int = 0xFFFF
    keep_alive_ms: int = 0
    host_nqn: str = HOST_NQN
    spoil_data_digest: bool = False
    piece_bytes: int = 128 << 10
    stream: socket = field(init=False)
    must_authenticate: bool = False
    next_id: int = 0
    transfers: int = 0

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.stream.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def open(self) -> None:
        """Agree on the connection, and connect the queue."""
        host, _, port = self.address.rpartition(":")
        self.stream = create_connection((host.strip("[]"), int(port)), timeout=20)
        digests = self.header_digest | self.data_digest << 1
        self.stream.sendall(
            struct.pack("<BBBBIHBBI", IC_REQ, 0, 128, 0, 128, 0, 0, digests, 0).ljust(128, b"\0")
        )
        kind, _, header, _ = self.receive(plain=True)
        assert kind == IC_RESP
        assert header[11] == digests
        data = bytearray(1024)
        data[0:16] = bytes(range(16))
        struct.pack_into("<H", data, 16, self.controller)
        data[256 : 256 + len(self.nqn)] = self.nqn.encode()
        data[512 : 512 + len(self.host_nqn)] = self.host_nqn.encode()
        entries = IO_ENTRIES if self.queue else ADMIN_ENTRIES
        done = self.fabrics(
            1, struct.pack("<HHHBBI", 0, self.queue, entries - 1, 0, 0, self.keep_alive_ms), data
        )
        if done.status:
            raise ConnectionRefusedError(done.status, done.result)
        self.controller = done.result & 0xFFFF
        self.must_authenticate = done.result >> 16 == 2

    def enable(self) -> Self:
        """Enable the controller."""
        assert self.fabrics(0, struct.pack("<IIQ", 0, 0x14, 0x00460001)).status == 0
        assert self.property(0x1C, 4) & 1
        return self

    def property(self, offset: int, size: int) -> int:
        """Read a property."""
        return self.fabrics(4, struct.pack("<II", size == 8, offset)).result

    def fabrics(self, kind: int, words: bytes, data: bytes | bytearray = b"") -> Completion:
        """A fabrics command; ``words`` begin at byte 40."""
        return self.send(0x7F, kind, words, bytes(data), 0)

    def command(
        self, opcode: int, *dwords: int, namespace: int = 0, data: bytes = b"", reads: int = 0
    ) -> Completion:
        """A command with words from 10 on, data for the target, or room for so many bytes of its."""
        words = b"".join(struct.pack("<I", word) for word in dwords)
        return self.send(opcode, namespace, words, data, reads)

    def send(self, opcode: int, namespace: int, words: bytes, data: bytes, reads: int) -> Completion:
        """Send a command and wait for its answer."""
        identifier = self.post(opcode, namespace, words, data, reads)
        return self.completion(identifier, data)

    def post(self, opcode: int, namespace: int, words: bytes, data: bytes, reads: int) -> int:
        """Send a command."""
        self.next_id = (self.next_id + 1) & 0x7FFF
        entry = bytearray(64)
        struct.pack_into("<BBHI", entry, 0, opcode, 0x40, self.next_id, namespace)
        entry[40 : 40 + len(words)] = words
        in_capsule = bool(data) and len(data) <= (IN_CAPSULE_AT_MOST if self.queue else 8192)
        sgl_type = 0x01 if in_capsule else 0x5A
        struct.pack_into("<QI3xB", entry, 24, 0, len(data) or reads, sgl_type)
        self.transmit(CAPSULE_CMD, bytes(entry), data if in_capsule else b"")
        return self.next_id

    def transmit(self, kind: int, header: bytes, data: bytes, flags: int = 0) -> None:
        """Send a PDU."""
        hlen = 8 + len(header)
        head_digest = 4 if self.header_digest else 0
        begin = hlen + head_digest if data else 0
        data_digest = 4 if data and self.data_digest else 0
        flags |= (HDGST if head_digest else 0) | (DDGST if data_digest else 0)
        length = hlen + head_digest + len(data) + data_digest
        whole = struct.pack("<BBBBI", kind, flags, hlen, begin, length) + header
        if head_digest:
            whole += struct.pack("<I", crc32c(whole))
        whole += data
        if data_digest:
            whole += struct.pack("<I", crc32c(data) ^ self.spoil_data_digest)
        self.stream.sendall(whole)

    def completion(self, identifier: int, data: bytes = b"") -> Completion:
        """Wait for a command's answer; transfers its data when the target asks for them."""
        received = bytearray()
        while True:
            kind, flags, header, payload = self.receive()
            if kind == R2T:
                command, tag, offset, length = struct.unpack_from("<HHII", header, 8)
                assert command == identifier
                self.transfer(command, tag, data[offset : offset + length], offset)
            elif kind == C2H_DATA:
                command, offset, length = struct.unpack_from("<HxxII", header, 8)
                assert (command, offset, length) == (identifier, len(received), len(payload))
                assert flags & LAST
                received += payload
            else:
                assert kind == CAPSULE_RESP
                result, head, _, command, status = struct.unpack_from("<QHHHH", header, 8)
                assert command == identifier
                assert head < (IO_ENTRIES if self.queue else ADMIN_ENTRIES)
                return Completion(status >> 1 & 0x7FF, result, bytes(received), bool(status >> 15))

    def transfer(self, command: int, tag: int, data: bytes, offset: int) -> None:
        """Send data that were asked for, in pieces."""
        self.transfers += 1
        for begin in range(0, len(data), self.piece_bytes):
            piece = data[begin : begin + self.piece_bytes]
            last = LAST if begin + self.piece_bytes >= len(data) else 0
            header = struct.pack("<HHIII", command, tag, offset + begin, len(piece), 0)
            self.transmit(H2C_DATA, header, piece, last)

    def receive(self, *, plain: bool = False) -> tuple[int, int, bytes, bytes]:
        """Receive a PDU: its type, flags, header and data."""
        head = self._exactly(8)
        kind, flags, hlen, begin, length = struct.unpack("<BBBBI", head)
        header = head + self._exactly(hlen - 8)
        if kind == C2H_TERM:
            raise TerminatedError(struct.unpack_from("<H", header, 8)[0])
        read = hlen
        assert bool(flags & HDGST) == (self.header_digest and not plain)
        if flags & HDGST:
            assert struct.unpack("<I", self._exactly(4))[0] == crc32c(header)
            read += 4
        if length == read:
            return kind, flags, header, b""
        self._exactly(begin - read)
        assert bool(flags & DDGST) == self.data_digest
        data = self._exactly(length - begin - (4 if self.data_digest else 0))
        if self.data_digest:
            assert struct.unpack("<I", self._exactly(4))[0] == crc32c(data)
        return kind, flags, header, data

    def _exactly(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            piece = self.stream.recv(length - len(data))
            if not piece:
                raise ConnectionAbortedError
            data += piece
        return bytes(data)

    def identify(self, structure: int, namespace: int = 0) -> bytes:
        """Identify data of 4096 bytes."""
        done = self.command(0x06, structure, namespace=namespace, reads=4096)
        assert done.status == 0
        return done.data

    def log(self, page: int, length: int) -> bytes:
        """So many bytes of a log page."""
        done = self.command(0x02, page | (length // 4 - 1) << 16, reads=length)
        assert done.status == 0
        return done.data

    def write(self, lba: int, data: bytes, *, namespace: int = 1, sector: int = 512) -> Completion:
        """Write whole sectors."""
        return self.command(1, lba, 0, len(data) // sector - 1, namespace=namespace, data=data)

    def read(self, lba: int, length: int, *, namespace: int = 1, sector: int = 512) -> Completion:
        """Read whole sectors."""
        return self.command(2, lba, 0, length // sector - 1, namespace=namespace, reads=length)

    def sanitized(self, timeout_s: float = 30) -> int:
        """Wait for the end of a sanitize; its status."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            status = struct.unpack_from("<H", self.log(0x81, 512), 2)[0] & 7
            if status != 2:
                return status
            time.sleep(0.02)
        raise TimeoutError
