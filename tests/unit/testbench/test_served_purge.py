"""Purges of a served drive: what they refuse meanwhile and afterwards, and what the log says of them."""

import struct

from openpts_testbench.served_drive import Faults
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
    preset = write_oracle(tmp_path, [100_000.0], oracle="purge_s = 1.0")
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
