"""A served drive that has become read-only: what it refuses, and that nothing of it is done."""

import struct
from collections.abc import Iterator

import pytest

from openpts_testbench.served_drive import ServedDrive
from tests.support.nvme_tcp_host import Host
from tests.support.oracle_presets import write_oracle
from tests.support.served_drive import both, pattern, served

SUCCESS, WRITE_PROTECTED = 0x00, 0x20


@pytest.fixture
def worn(tmp_path) -> Iterator[tuple[ServedDrive, Host, Host]]:
    """A drive that was full of life until the first write was done, with its queues."""
    errors = "[oracle.errors]\nread_only_after_bytes = 4096"
    preset = write_oracle(tmp_path, [100_000.0], extra=errors)
    with served(str(preset)) as drive, both(drive) as (host, io):
        # Events on a drive that becomes read-only are wanted.
        assert host.command(0x09, 0x0B, 1 << 3).status == SUCCESS
        assert io.write(0, pattern(4096)).status == SUCCESS
        yield drive, host, io


def test_what_is_refused_changes_nothing(worn) -> None:
    drive, host, io = worn
    ranges = struct.pack("<IIQ", 0, 8, 0)
    assert io.write(0, bytes(4096)).status == WRITE_PROTECTED
    assert io.command(8, 0, 0, 7, namespace=1).status == WRITE_PROTECTED
    assert io.command(9, 0, 4, namespace=1, data=ranges).status == WRITE_PROTECTED
    # A hint asks for nothing.
    assert io.command(9, 0, 1, namespace=1, data=ranges).status == SUCCESS
    assert io.read(0, 4096).data == pattern(4096)
    log = host.log(2, 512)
    assert log[0] & 8
    assert struct.unpack_from("<Q", log, 80)[0] == 1
    assert drive.served().write_bytes == 4096


def test_what_is_refused_is_an_error_but_none_of_the_media(worn) -> None:
    _, host, io = worn
    assert io.write(8, bytes(4096)).status == WRITE_PROTECTED
    media_errors, _, entries = struct.unpack_from("<QQQ", host.log(2, 512), 160)
    assert (media_errors, entries) == (0, 1)
    number, queue, _, status = struct.unpack_from("<QHHH", host.log(1, 64))
    assert (number, queue, status >> 1 & 0x7FF) == (1, 1, WRITE_PROTECTED)


def test_the_end_of_life_is_told(worn) -> None:
    _, host, _ = worn
    assert host.command(0x0C).result == 0x02_00_01
