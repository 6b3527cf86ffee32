"""What hosts of a served drive can't do to each other: hold all connections, or fill its memory."""

import contextlib
import json
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from openpts_testbench.served_drive import ServedDrive
from tests.support.nvme_tcp_host import CAPSULE_RESP, IC_REQ, R2T, Host
from tests.support.openpts_command import TESTBENCH
from tests.support.served_drive import both, served

MIB = 1 << 20
MANY = 200
SUCCESS = 0
TIMES_OUT_S = 10
"""Of a handshake, and of an answer that is not read."""


@pytest.fixture(scope="module")
def drive() -> Iterator[ServedDrive]:
    with served() as drive:
        yield drive


def stream_to(drive: ServedDrive) -> socket.socket:
    host, _, port = drive.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def host_nqn(number: int) -> str:
    return f"nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-{number:012}"


@pytest.mark.parametrize("hosts", [1, MANY])
def test_admin_connections_shut_no_other_host_out(drive: ServedDrive, hosts: int) -> None:
    with ExitStack() as stack:
        _, io = stack.enter_context(both(drive))
        for number in range(MANY):
            stack.enter_context(Host(drive.address, drive.names.nqn, host_nqn=host_nqn(number % hosts)))
        _, late = stack.enter_context(both(drive, host_nqn=host_nqn(MANY)))
        assert late.read(0, 512).status == SUCCESS
        # A connection that does I/O does not give way.
        assert io.read(0, 512).status == SUCCESS
        assert drive.served().connections <= 128 + 32


def test_silent_connections_shut_no_other_host_out(drive: ServedDrive) -> None:
    with ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(stream_to(drive))
        _, io = stack.enter_context(both(drive))
        assert io.read(0, 512).status == SUCCESS


def trickled(stream: socket.socket) -> None:
    """Send the beginning of a handshake for ever, a byte at a time."""
    request = struct.pack("<BBBBI", IC_REQ, 0, 128, 0, 128).ljust(128, b"\0")
    for byte in request:
        with contextlib.suppress(OSError):
            stream.send(bytes([byte]))
        time.sleep(0.5)


def ended_after_s(stream: socket.socket) -> float:
    began = time.monotonic()
    stream.settimeout(60)
    with contextlib.suppress(ConnectionResetError):
        assert stream.recv(1) == b""
    return time.monotonic() - began


@pytest.mark.slow
def test_a_host_that_trickles_or_does_not_read_is_disconnected(drive: ServedDrive) -> None:
    with both(drive) as (_, deaf), stream_to(drive) as trickling:
        Thread(target=trickled, args=(trickling,), daemon=True).start()
        for _ in range(64):
            deaf.post(2, 1, struct.pack("<QI", 0, MIB // 512 - 1), b"", MIB)
        # The bytes trickle for a minute.
        assert TIMES_OUT_S / 2 < ended_after_s(trickling) < 40
        # 20 s at most if some of it could still be sent; then the answers that were under way, and no more.
        end = time.monotonic() + 60
        while drive.served().connections > 1:
            assert time.monotonic() < end
            time.sleep(0.1)
        received = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := deaf.stream.recv(MIB):
                received += len(piece)
        assert received < 64 * MIB


def memory_kib(program: int, key: str) -> int:
    lines = Path(f"/proc/{program}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])


@contextmanager
def serving() -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    command = [*TESTBENCH, "client-qlc?capacity=200MB", "--nvme-tcp", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            begun = json.loads(program.stdout.readline())
            yield program, begun["address"], begun["nqn"]
        finally:
            program.kill()


def test_answers_that_are_not_read_do_not_fill_the_memory() -> None:
    queues, reads = 12, 64
    with serving() as (program, address, nqn), ExitStack() as stack:
        admin = stack.enter_context(Host(address, nqn)).enable()
        deaf = [
            stack.enter_context(Host(address, nqn, queue=number, controller=admin.controller))
            for number in range(1, queues + 1)
        ]
        before = memory_kib(program.pid, "VmRSS")
        for each in deaf:
            for _ in range(reads):
                each.post(2, 1, struct.pack("<QI", 0, MIB // 512 - 1), b"", MIB)
        # Others are served meanwhile: a connection has room of its own.
        other = stack.enter_context(Host(address, nqn, queue=queues + 1, controller=admin.controller))
        for _ in range(20):
            assert len(other.read(0, 64 << 10).data) == 64 << 10
        # It stands still once nothing is read any more.
        peak = 0
        while (now := memory_kib(program.pid, "VmHWM")) > peak:
            peak = now
            time.sleep(0.5)
        # 128 MiB that wait, and for each connection a batch that goes out, twice, and one transfer.
        assert (peak - before) * 1024 < (128 + 5 * (queues + 2)) * MIB < queues * reads * MIB / 3
        # Nothing is lost for a host that reads late.
        answers = 0
        while answers < reads:
            kind, _, _, data = deaf[0].receive()
            answers += kind == CAPSULE_RESP
            assert len(data) in {0, MIB}


def test_no_more_data_are_asked_for_than_there_is_room_for(drive: ServedDrive) -> None:
    writes, at_once = 40, 32
    with both(drive) as (_, io):
        for number in range(writes):
            io.post(1, 1, struct.pack("<QI", number * (MIB // 512), MIB // 512 - 1), bytes(MIB), 0)
        asked = [io.receive() for _ in range(at_once)]
        io.stream.settimeout(0.3)
        with pytest.raises(TimeoutError):
            io.receive()
        io.stream.settimeout(20)
        answers = 0
        while answers < writes:
            kind, _, header, _ = asked.pop(0) if asked else io.receive()
            if kind == R2T:
                command, tag, offset, length = struct.unpack_from("<HHII", header, 8)
                assert (offset, length) == (0, MIB)
                io.transfer(command, tag, bytes(MIB), 0)
            else:
                assert kind == CAPSULE_RESP
                assert struct.unpack_from("<H", header, 22)[0] >> 1 == SUCCESS
                answers += 1
