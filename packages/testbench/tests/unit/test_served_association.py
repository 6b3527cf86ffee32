"""Hosts of a served drive and their queues: what ends with what, and how much a host may ask for."""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from openpts_testbench.served_drive import ServedDrive
from tests.support.nvme_tcp_host import (
    ADMIN_ENTRIES,
    CAPSULE_RESP,
    DISCOVERY_NQN,
    IO_ENTRIES,
    R2T,
    Host,
    TerminatedError,
)
from tests.support.served_drive import admin, both, pattern, served

SUCCESS, INVALID_FIELD, COMMAND_SEQUENCE, NO_ROOM = 0x00, 0x02, 0x0C, 0x0F
SET_FEATURES, GET_FEATURES = 0x09, 0x0A
THRESHOLD, WRITE_CACHE, EVENTS, KEEP_ALIVE, HOST_IDENTIFIER = 0x04, 0x06, 0x0B, 0x0F, 0x81


@pytest.fixture(scope="module")
def drive() -> Iterator[ServedDrive]:
    with served() as drive:
        yield drive


def hang_up(host: Host) -> None:
    host.stream.close()


def disable(host: Host) -> None:
    assert host.fabrics(0, struct.pack("<IIQ", 0, 0x14, 0)).status == SUCCESS
    assert host.property(0x1C, 4) & 1 == 0


@pytest.mark.parametrize("end", [hang_up, disable])
def test_io_queues_end_with_their_controller(drive, end) -> None:
    with both(drive) as (host, io):
        assert io.read(0, 512).status == SUCCESS
        end(host)
        with pytest.raises(ConnectionAbortedError):
            io.receive()


def test_io_queues_of_a_silent_host_end(drive) -> None:
    with both(drive, keep_alive_ms=500) as (_, io), pytest.raises(ConnectionAbortedError):
        io.receive()


def test_no_host_gets_more_than_there_is_room_for(drive) -> None:
    with both(drive) as (host, io):
        for refused in (
            io.command(2, 0, 0, 7, namespace=1, reads=3584),
            io.command(2, 0, 0, 0, namespace=1, data=bytes(512)),
            host.command(6, 1, data=bytes(512)),
        ):
            assert (refused.status, refused.data) == (NO_ROOM, b"")
        assert len(io.command(2, 0, 0, 7, namespace=1, reads=8192).data) == 4096
        assert len(host.command(6, 1, reads=512).data) == 512


def test_more_commands_than_the_queue_has_end_it(drive) -> None:
    with both(drive) as (_, io):
        # Writes that wait for their data are never answered.
        for _ in range(IO_ENTRIES):
            io.post(1, 1, struct.pack("<QI", 0, 63), bytes(32 << 10), 0)
        assert [io.receive()[0] for _ in range(IO_ENTRIES)] == [R2T] * IO_ENTRIES
        io.post(0, 1, b"", b"", 0)
        with pytest.raises(TerminatedError) as ended:
            io.receive()
        assert ended.value.fatal == 2


def test_a_reset_gives_requests_for_events_up(drive) -> None:
    with admin(drive) as host:
        for _ in range(ADMIN_ENTRIES):
            for _ in range(4):
                host.post(0x0C, 0, b"", b"", 0)
            disable(host)
            host.enable()
        assert host.command(0x18).status == SUCCESS


def test_each_host_hears_of_its_own_thresholds(drive) -> None:
    with admin(drive) as first, admin(drive) as other:
        for host in (first, other):
            assert host.command(SET_FEATURES, EVENTS, 1 << 1).status == SUCCESS
            # Any air is warmer than 200 K.
            assert host.command(SET_FEATURES, THRESHOLD, 200).status == SUCCESS
            assert host.command(0x0C).result == 0x02_01_01


def test_who_asks_where_the_drive_is_switches_nothing_of_it(drive) -> None:
    with admin(drive) as host, Host(drive.address, DISCOVERY_NQN) as asks:
        asks.enable()
        assert asks.command(SET_FEATURES, WRITE_CACHE, 0).status == INVALID_FIELD
        assert asks.command(GET_FEATURES, WRITE_CACHE).status == INVALID_FIELD
        assert host.command(GET_FEATURES, WRITE_CACHE).result == 1
        for feature in (EVENTS, KEEP_ALIVE):
            assert asks.command(SET_FEATURES, feature, 1 << 16).status == SUCCESS
            assert asks.command(GET_FEATURES, feature).result == 1 << 16


def test_a_queue_is_connected_once_until_it_has_ended(drive) -> None:
    with both(drive) as (host, io):
        again = Host(drive.address, drive.names.nqn, queue=1, controller=host.controller)
        with pytest.raises(ConnectionRefusedError) as refused, again:
            pass
        assert refused.value.args[0] == COMMAND_SEQUENCE
        assert io.read(0, 512).status == SUCCESS
        hang_up(io)
        end = time.monotonic() + 10
        while True:
            try:
                with again:
                    assert again.read(0, 512).status == SUCCESS
                break
            except ConnectionRefusedError:
                assert time.monotonic() < end


def test_a_host_may_send_all_data_at_once(drive) -> None:
    with both(drive, piece_bytes=1 << 20) as (_, io):
        assert io.write(0, pattern(1 << 20)).status == SUCCESS
        assert io.read(0, 1 << 20).data == pattern(1 << 20)


def test_a_host_reads_its_own_identifier(drive) -> None:
    with admin(drive) as host:
        assert host.command(GET_FEATURES, HOST_IDENTIFIER, 1, reads=16).data == bytes(range(16))


MIB = 1 << 20
MANY = 200
"""Of a handshake, and of an answer that is not read."""


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
