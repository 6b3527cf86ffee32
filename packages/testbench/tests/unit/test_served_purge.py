"""Purges, self-tests and the end of life of a served drive: what they refuse, what its logs say."""

import struct
from collections.abc import Iterator

import pytest

from openpts_testbench.served_drive import Faults, ServedDrive
from tests.support.nvme_tcp_host import Host
from tests.support.oracle_presets import write_oracle
from tests.support.served_drive import both, pattern, served

SUCCESS, INTERNAL_ERROR = 0x00, 0x06
SANITIZE_FAILED, FORMAT_IN_PROGRESS = 0x1C, 0x84
FORMAT, SANITIZE, MANAGE, ATTACH = 0x80, 0x84, 0x0D, 0x15
ALL = 0xFFFFFFFF
EXIT_FAILURE, BLOCK_ERASE = 1, 2
UNRESTRICTED = 1 << 3
FAILED = 3


def test_a_failure_that_was_left_stays_in_the_log() -> None:
    with served(faults=Faults(sanitize_fails=True)) as drive, both(drive) as (host, io):
        assert host.command(SANITIZE, BLOCK_ERASE | UNRESTRICTED).status == SUCCESS
        assert host.sanitized() == FAILED
        assert host.command(SANITIZE, EXIT_FAILURE).status == SUCCESS
        assert io.read(0, 512).status == SUCCESS
        assert host.sanitized() == FAILED
        # It was left, and cures nothing more: another one may be of either kind.
        assert host.command(SANITIZE, EXIT_FAILURE).status == SUCCESS
        assert host.command(SANITIZE, BLOCK_ERASE).status == SUCCESS
        assert host.sanitized() == FAILED
        assert host.command(SANITIZE, EXIT_FAILURE).status == SANITIZE_FAILED
        assert host.command(SANITIZE, BLOCK_ERASE | UNRESTRICTED).status == SANITIZE_FAILED
        assert host.command(SANITIZE, BLOCK_ERASE).status == SUCCESS


def test_after_a_failure_only_another_sanitize_helps() -> None:
    with served(faults=Faults(sanitize_fails=True)) as drive, both(drive) as (host, io):
        assert host.command(SANITIZE, BLOCK_ERASE).status == SUCCESS
        assert host.sanitized() == FAILED
        controllers = struct.pack("<HH", 1, host.controller).ljust(4096, b"\0")
        assert host.command(ATTACH, 1, namespace=1, data=controllers).status == SANITIZE_FAILED
        assert host.command(FORMAT, 0, namespace=1).status == SANITIZE_FAILED
        assert io.read(0, 512).status == SANITIZE_FAILED


def test_leaving_no_failure_ends_no_format(tmp_path) -> None:
    # longer than a busy machine takes for the commands until the read
    preset = write_oracle(tmp_path, [100_000.0], oracle="purge_s = 3.0")
    with served(str(preset)) as drive, both(drive) as (host, io):
        formats = host.post(FORMAT, 1, struct.pack("<I", 0), b"", 0)
        with both(drive) as (other, _):
            assert other.command(SANITIZE, EXIT_FAILURE).status == SUCCESS
        assert io.read(0, 512).status == FORMAT_IN_PROGRESS
        assert host.completion(formats).status == SUCCESS
        assert io.read(0, 512).status == SUCCESS


def test_a_file_that_holds_data_is_not_called_erased(tmp_path) -> None:
    data = tmp_path / "drive"
    with served(data=data) as drive, both(drive) as (host, io):
        assert host.log(0x81, 512)[3] & 1
        io.write(8, pattern(4096))
    with served(data=data) as drive, both(drive) as (host, io):
        assert host.log(0x81, 512)[3] & 1 == 0
        assert host.command(SANITIZE, BLOCK_ERASE).status == SUCCESS
        assert host.sanitized() == 1
        assert host.log(0x81, 512)[3] & 1


def test_where_a_purge_fails_it_does_for_each_namespace(tmp_path) -> None:
    preset = write_oracle(tmp_path, [100_000.0], purge="fails")
    with served(str(preset)) as drive, both(drive) as (host, io):
        assert host.command(MANAGE, 1, namespace=ALL).status == SUCCESS
        wanted = struct.pack("<QQ", 4096, 4096).ljust(4096, b"\0")
        controllers = struct.pack("<HH", 1, host.controller).ljust(4096, b"\0")
        for namespace in (1, 2):
            assert host.command(MANAGE, 0, data=wanted).result == namespace
            assert host.command(ATTACH, 0, namespace=namespace, data=controllers).status == SUCCESS
        io.write(0, pattern(4096), namespace=2)
        for namespace in (2, ALL):
            assert host.command(FORMAT, 0, namespace=namespace).status == INTERNAL_ERROR
        assert io.read(0, 4096, namespace=2).data == pattern(4096)


def test_the_effects_log_has_the_commands_that_there_are(tmp_path) -> None:
    for purge in ("works", "absent"):
        preset = write_oracle(tmp_path, [100_000.0], purge=purge)
        with served(str(preset)) as drive, both(drive) as (host, _):
            effects = struct.unpack("<1024I", host.log(5, 4096))
            can_purge = purge == "works"
            assert [bool(effects[opcode]) for opcode in (FORMAT, SANITIZE, MANAGE)] == [
                can_purge,
                can_purge,
                True,
            ]
            assert bool(struct.unpack_from("<H", host.identify(1), 256)[0] & 2) == can_purge
            assert [opcode for opcode in range(256) if effects[256 + opcode]] == [0, 1, 2, 5, 8, 9]


WRITE_PROTECTED = 0x20


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


INVALID_FIELD, INVALID_NAMESPACE, IN_PROGRESS = 0x02, 0x0B, 0x11D
SELF_TEST = 0x14
SHORT, EXTENDED, ABORT = 1, 2, 0xF


@pytest.fixture
def host() -> Iterator[Host]:
    with served("client-qlc?capacity=200MB") as drive, both(drive) as (admin, _):
        yield admin


def begin(host: Host, code: int, namespace: int = ALL) -> int:
    return host.command(SELF_TEST, code, namespace=namespace).status


def now(host: Host) -> tuple[int, int]:
    log = host.log(6, 564)
    return log[0], log[1]


def latest(host: Host) -> int:
    """Code and result of the newest one, a nibble each."""
    return host.log(6, 564)[4]


def test_the_identify_data_announce_it(host) -> None:
    page = host.identify(1)
    assert struct.unpack_from("<H", page, 256)[0] & 1 << 4
    assert struct.unpack_from("<H", page, 316)[0] == 10  # minutes of the extended one
    assert page[318] & 1
    effects = struct.unpack("<1024I", host.log(5, 4096))
    assert effects[SELF_TEST] & 1


def test_there_is_one_at_a_time(host) -> None:
    assert now(host)[0] == 0
    assert latest(host) == 0xF
    assert begin(host, EXTENDED) == SUCCESS
    assert now(host) == (EXTENDED, 0)
    assert begin(host, SHORT) == IN_PROGRESS
    assert begin(host, ABORT) == SUCCESS
    assert now(host)[0] == 0
    assert latest(host) == EXTENDED << 4 | 1


def test_a_format_ends_it(host) -> None:
    assert begin(host, SHORT, namespace=1) == SUCCESS
    assert host.command(FORMAT, 0, namespace=1).status == SUCCESS
    assert now(host)[0] == 0
    assert latest(host) == SHORT << 4 | 4


def test_what_makes_no_sense_is_refused(host) -> None:
    assert begin(host, 5) == INVALID_FIELD
    assert begin(host, SHORT, namespace=77) == INVALID_NAMESPACE
    assert now(host)[0] == 0


def test_a_reset_ends_a_short_one(host) -> None:
    for code, left in ((SHORT, 0), (EXTENDED, EXTENDED)):
        assert begin(host, code) == SUCCESS
        host.fabrics(0, struct.pack("<IIQ", 0, 0x14, 0))
        host.enable()
        assert now(host)[0] == left
