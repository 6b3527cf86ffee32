"""What hosts of a served drive can't do to each other: hold all connections, or fill its memory."""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from openpts_testbench.served_drive import ServedDrive
from tests.support.nvme_tcp_host import CAPSULE_RESP, R2T, Host
from tests.support.served_drive import both, served

MIB = 1 << 20
MANY = 200
SUCCESS = 0
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
def test_admin_connections_shut_no_other_host_out(drive, hosts) -> None:
    with ExitStack() as stack:
        _, io = stack.enter_context(both(drive))
        for number in range(MANY):
            stack.enter_context(Host(drive.address, drive.names.nqn, host_nqn=host_nqn(number % hosts)))
        _, late = stack.enter_context(both(drive, host_nqn=host_nqn(MANY)))
        assert late.read(0, 512).status == SUCCESS
        # A connection that does I/O does not give way.
        assert io.read(0, 512).status == SUCCESS
        assert drive.served().connections <= 128 + 32


def test_silent_connections_shut_no_other_host_out(drive) -> None:
    with ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(stream_to(drive))
        _, io = stack.enter_context(both(drive))
        assert io.read(0, 512).status == SUCCESS


def test_no_more_data_are_asked_for_than_there_is_room_for(drive) -> None:
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
