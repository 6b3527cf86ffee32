"""A simulated drive behind NVMe over TCP: what a host sees, command by command, on a real socket."""

import os
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.device.guard.guard import check, open_target
from openpts.device.targets.target import FileTarget
from openpts.errors import RefusedError, TargetError, UsageError
from openpts.system_files import SystemRoots
from openpts.vocabulary.purge import Consent
from openpts_sim.presets import load_preset
from openpts_testbench.serve import checked_address, is_loopback, serve_drive
from openpts_testbench.served_drive import Faults, ServedDrive
from tests.support.nvme_tcp_host import DISCOVERY_NQN, Host, TerminatedError
from tests.support.served_drive import SMALL, admin, both, order, pattern, served

SUCCESS, INVALID_OPCODE, INVALID_FIELD, INTERNAL_ERROR = 0x00, 0x01, 0x02, 0x06
SANITIZE_FAILED, SANITIZE_IN_PROGRESS, OUT_OF_RANGE, TRANSIENT = 0x1C, 0x1D, 0x80, 0x22
UNREADABLE, DIFFERENT = 0x281, 0x285
BLOCK_ERASE, OVERWRITE, CRYPTO_ERASE = 2, 3, 4
ALL = 0xFFFFFFFF


@pytest.fixture(scope="module")
def drive() -> Iterator[ServedDrive]:
    with served() as drive:
        yield drive


@pytest.mark.parametrize("header_digest", [False, True])
@pytest.mark.parametrize("data_digest", [False, True])
def test_what_was_written_is_read_back(drive, header_digest, data_digest) -> None:
    with both(drive, header_digest=header_digest, data_digest=data_digest) as (_, io):
        for lba, length in [(0, 512), (3, 4096), (100, 16 << 10), (2000, 256 << 10), (9000, 1 << 20)]:
            data = pattern(length, lba)
            assert io.write(lba, data).status == SUCCESS
            found = io.read(lba, length)
            assert (found.status, found.data) == (SUCCESS, data)
        assert io.transfers == 2


def test_a_spoiled_transfer_is_refused_and_may_be_tried_again(drive) -> None:
    with both(drive, data_digest=True) as (_, io):
        assert io.write(0, pattern(4096)).status == SUCCESS
        io.spoil_data_digest = True
        for length in (4096, 64 << 10):
            refused = io.write(0, bytes(length))
            assert (refused.status, refused.do_not_retry) == (TRANSIENT, False)
        assert io.read(0, 4096).data == pattern(4096)


def test_who_it_is(drive) -> None:
    with admin(drive) as host:
        controller = host.identify(1)
        assert controller[4:24].decode().rstrip() == drive.names.serial
        assert controller[24:64].decode().rstrip() == "openpts SIMULATED client-qlc"
        assert controller[768 : 768 + len(drive.names.nqn)].decode() == drive.names.nqn
        assert struct.unpack_from("<Q", controller, 280)[0] == drive.capacity_bytes
        assert host.identify(2)[:8] == struct.pack("<II", 1, 0)
        namespace = host.identify(0, 1)
        assert struct.unpack_from("<Q", namespace)[0] * 512 == drive.capacity_bytes
        assert [namespace[128 + 4 * number + 2] for number in range(namespace[25] + 1)] == [9, 12]
        assert host.command(6, 0x33, reads=4096).status == INVALID_FIELD
        assert host.command(0x99).status == INVALID_OPCODE
        assert host.property(0, 8) & 0xFFFF == 127


def test_discovery_tells_where_it_is(drive) -> None:
    with Host(drive.address, DISCOVERY_NQN) as host:
        host.enable()
        assert host.identify(1)[111] == 2
        log = host.log(0x70, 2048)
        assert struct.unpack_from("<QQ", log) == (1, 1)
        entry = log[1024:]
        assert entry[:3] == bytes([3, 1, 2])
        assert f"127.0.0.1:{entry[32:64].decode().strip()}" == drive.address
        assert entry[256:512].rstrip(b"\0").decode() == drive.names.nqn
        assert entry[512:768].decode().strip() == "127.0.0.1"


def test_only_its_own_name_connects(drive) -> None:
    with (
        pytest.raises(ConnectionRefusedError) as refused,
        Host(drive.address, "nqn.2014-08.org.example:none"),
    ):
        pass
    assert refused.value.args == (0x182, 1 << 16 | 256)
    with pytest.raises(ConnectionRefusedError), Host(drive.address, drive.names.nqn, queue=1, controller=77):
        pass


def test_beyond_the_end(drive) -> None:
    last = drive.capacity_bytes // 512 - 1
    with both(drive) as (_, io):
        assert io.read(last, 512).status == SUCCESS
        assert io.read(last, 1024).status == OUT_OF_RANGE
        assert io.read(0, 512, namespace=2).status == 0x0B
        assert io.command(1, 0, 0, 7, namespace=1, data=bytes(512)).status == 0x04
        assert io.command(2, 0, 0, 0xFFFF, namespace=1, reads=1 << 20).status == INVALID_FIELD


def test_compare_flush_and_zeroes(drive) -> None:
    with both(drive) as (_, io):
        io.write(64, pattern(4096))
        assert io.command(5, 64, 0, 7, namespace=1, data=pattern(4096)).status == SUCCESS
        assert io.command(5, 64, 0, 7, namespace=1, data=bytes(4096)).status == DIFFERENT
        assert io.command(0, namespace=1).status == SUCCESS
        assert io.command(8, 64, 0, 7, namespace=1).status == SUCCESS
        assert io.read(64, 4096).data == bytes(4096)


def test_what_was_deallocated_is_zeros_and_utilisation_falls(drive) -> None:
    with both(drive) as (host, io):
        used = lambda: struct.unpack_from("<Q", host.identify(0, 1), 16)[0]  # noqa: E731
        io.write(4096, pattern(64 << 10))
        before = used()
        ranges = struct.pack("<IIQ", 0, 64, 4096) + struct.pack("<IIQ", 0, 32, 4096 + 64)
        assert io.command(9, 1, 4, namespace=1, data=ranges).status == SUCCESS
        assert before - used() == 96
        assert io.read(4096, 64 << 10).data == bytes(48 << 10) + pattern(64 << 10)[48 << 10 :]


def test_the_cache_is_switched_and_writes_are_slower_without(drive) -> None:
    """By the model's own time: a loaded machine adds to what a host sees."""
    program_us = load_preset("client-qlc").as_written()["page_mapped"]["slc"]["program_us"]
    with both(drive) as (host, io):

        def write_us() -> float:
            before = drive.served()
            for lba in range(0, 160, 8):
                assert io.write(lba, bytes(4096)).status == SUCCESS
            after = drive.served()
            return (after.modelled_ns - before.modelled_ns) / (after.ios - before.ios) / 1000

        assert host.command(0x0A, 6).result == 1
        assert write_us() < program_us / 2
        assert host.command(0x09, 6, 0).status == SUCCESS
        assert host.command(0x0A, 6).result == 0
        assert write_us() > program_us
        assert host.command(0x09, 6, 1).status == SUCCESS
        assert host.command(0x0A, 6 | 1 << 8).result == 1
        assert write_us() < program_us / 2


def test_a_drive_without_a_volatile_cache_has_no_such_feature() -> None:
    with served("enterprise-tlc?capacity=512MB") as drive, admin(drive) as host:
        assert host.identify(1)[525] & 1 == 0
        assert host.command(0x0A, 6).status == INVALID_FIELD
        assert host.command(0x09, 6, 0).status == INVALID_FIELD


def test_features(drive) -> None:
    with admin(drive) as host:
        assert host.command(0x09, 7, 0x0003_0003).result == 0x000F_000F
        assert host.command(0x09, 4, 300).status == SUCCESS
        assert host.command(0x0A, 4).result == 300
        assert host.command(0x09, 0x0F, 5000).status == SUCCESS
        assert host.command(0x0A, 0x0F).result == 5000
        assert host.command(0x09, 0x77, 0).status == INVALID_FIELD


def test_it_warns_when_it_is_too_warm_for_the_threshold() -> None:
    with served() as drive, admin(drive) as host:
        for threshold_k, warning in ((400, 0), (273, 2), (400, 0)):
            assert host.command(0x09, 4, threshold_k).status == SUCCESS
            assert host.log(2, 512)[0] & 2 == warning


def test_smart_counts_what_was_done() -> None:
    with served() as drive, both(drive) as (host, io):
        for lba in range(0, 2000, 200):
            io.write(lba, bytes(100_352))
        io.read(0, 4096)
        log = host.log(2, 512)
        read, written, reads, writes = (struct.unpack_from("<Q", log, at)[0] for at in (32, 48, 64, 80))
        assert (read, written, reads, writes) == (1, 2, 1, 10)
        assert 290 < struct.unpack_from("<H", log, 1)[0] < 330
        assert log[3] == 100
        assert log[5] == 0


def test_wear_that_it_had_before() -> None:
    with served(initial_wear_pct=42.0) as drive, admin(drive) as host:
        assert host.log(2, 512)[5] == 42
    with pytest.raises(UsageError, match="150 %"):
        serve_drive(order(initial_wear_pct=200.0)).__enter__()
    with pytest.raises(UsageError, match="no wear"):
        serve_drive(order("theory?capacity=512MB", initial_wear_pct=1.0)).__enter__()


def test_air() -> None:
    with served(ambient_c=50.0) as drive, admin(drive) as host:
        assert struct.unpack_from("<H", host.log(2, 512), 1)[0] >= 273 + 50
    with pytest.raises(UsageError, match="no temperature"):
        serve_drive(order("theory?capacity=512MB", ambient_c=30.0)).__enter__()


@pytest.mark.slow
@pytest.mark.parametrize("action", [BLOCK_ERASE, CRYPTO_ERASE, OVERWRITE | 1 << 4])
def test_a_sanitize_takes_its_time_refuses_io_and_erases(action) -> None:
    with served(sanitize_takes_s=1.5) as drive, both(drive) as (host, io):
        io.write(0, pattern(4096))
        assert host.log(0x81, 512)[2] & 7 == 0
        begun = time.monotonic()
        assert host.command(0x84, action).status == SUCCESS
        assert host.log(0x81, 512)[2] & 7 == 2
        refused = io.read(0, 4096)
        assert (refused.status, refused.data, refused.do_not_retry) == (SANITIZE_IN_PROGRESS, b"", False)
        assert host.command(0x84, action).status == SANITIZE_IN_PROGRESS
        assert host.command(0x80, 0, namespace=1).status == SANITIZE_IN_PROGRESS
        shares = []
        while (log := host.log(0x81, 512))[2] & 7 == 2:
            shares.append(struct.unpack_from("<H", log)[0])
        assert shares == sorted(shares)
        assert time.monotonic() - begun > (0.01 if action & 7 == OVERWRITE else 1.5)
        assert log[2] & 7 == 1
        assert log[3] & 1
        assert struct.unpack_from("<I", log, 4)[0] == action
        assert io.read(0, 4096).data == bytes(4096)
        io.write(0, pattern(4096))
        assert host.log(0x81, 512)[3] & 1 == 0


def test_a_sanitize_goes_on_without_its_host() -> None:
    with served() as drive:
        with both(drive) as (host, io):
            io.write(0, pattern(4096))
            assert host.command(0x84, OVERWRITE | 2 << 4).status == SUCCESS
        with both(drive) as (host, io):
            assert host.sanitized() == 1
            assert io.read(0, 4096).data == bytes(4096)


def test_a_failed_sanitize_gives_nothing_out() -> None:
    with served(faults=Faults(sanitize_fails=True)) as drive, both(drive) as (host, io):
        assert host.command(0x84, BLOCK_ERASE | 1 << 3).status == SUCCESS
        assert host.sanitized() == 3
        assert io.read(0, 512).status == SANITIZE_FAILED
        assert host.command(0x84, 1).status == SUCCESS
        assert io.read(0, 512).status == SUCCESS


def test_the_end_of_a_sanitize_is_told(drive) -> None:
    with admin(drive) as host:
        waiting = host.post(0x0C, 0, b"", b"", 0)
        assert host.command(0x84, BLOCK_ERASE).status == SUCCESS
        assert host.completion(waiting).result == 0x81_01_06


@pytest.mark.parametrize("secure_erase", [0, 1, 2])
def test_a_format_erases_and_changes_the_sectors(secure_erase) -> None:
    with served() as drive, both(drive) as (host, io):
        io.write(0, pattern(4096))
        assert host.command(0x80, 1 | secure_erase << 9, namespace=ALL).status == SUCCESS
        namespace = host.identify(0, 1)
        assert namespace[26] == 1
        assert struct.unpack_from("<Q", namespace)[0] * 4096 == drive.capacity_bytes
        assert io.read(0, 4096, sector=4096).data == bytes(4096)
        assert host.command(0x80, 2, namespace=1).status == 0x10A
        assert host.command(0x80, 3 << 9, namespace=1).status == INVALID_FIELD


def test_a_format_that_fails_and_one_that_lies() -> None:
    with served(faults=Faults(format_fails=True)) as drive, both(drive) as (host, io):
        io.write(0, pattern(512))
        assert host.command(0x80, 0, namespace=1).status == INTERNAL_ERROR
        assert io.read(0, 512).data == pattern(512)
    with served(faults=Faults(purge_lies=True)) as drive, both(drive) as (host, io):
        io.write(0, pattern(512))
        assert host.command(0x80, 0, namespace=1).status == SUCCESS
        assert host.command(0x84, BLOCK_ERASE).status == SUCCESS
        assert host.sanitized() == 1
        assert io.read(0, 512).data == pattern(512)


def test_an_unreadable_sector_is_a_media_error_in_all_logs() -> None:
    with served(faults=Faults(unreadable_lbas=(77,))) as drive, both(drive) as (host, io):
        assert io.read(72, 4096).status == UNREADABLE
        assert io.read(78, 4096).status == SUCCESS
        assert struct.unpack_from("<Q", host.log(2, 512), 160)[0] == 1
        errors = host.log(1, 128)
        assert struct.unpack_from("<QQ", errors, 0)[0] == 1
        assert struct.unpack_from("<Q", errors, 16)[0] == 72


def test_it_vanishes_when_told() -> None:
    with served(faults=Faults(vanishes_after_ios=3)) as drive, both(drive) as (_, io):
        for lba in range(3):
            assert io.read(lba, 512).status == SUCCESS
        with pytest.raises(ConnectionError):
            io.read(0, 512)
        assert not drive.is_serving


def test_namespaces_are_made_and_deleted() -> None:
    with served() as drive, both(drive) as (host, io):
        io.write(0, pattern(4096))
        assert host.command(0x0D, 1, namespace=ALL).status == SUCCESS
        assert host.identify(2)[:4] == bytes(4)
        assert io.read(0, 512).status == 0x0B
        wanted = bytearray(4096)
        struct.pack_into("<QQ", wanted, 0, 1024, 1024)
        wanted[26] = 1
        assert host.command(0x0D, 0, data=bytes(wanted)).result == 1
        assert host.command(0x0D, 0, data=bytes(wanted)).result == 2
        assert host.identify(0x10)[:8] == struct.pack("<II", 1, 2)
        assert host.identify(2)[:4] == bytes(4)
        controllers = struct.pack("<HH", 1, host.controller).ljust(4096, b"\0")
        assert host.command(0x15, 0, namespace=2, data=controllers).status == SUCCESS
        assert host.command(0x15, 0, namespace=2, data=controllers).status == 0x118
        assert host.identify(2)[:8] == struct.pack("<II", 2, 0)
        assert io.read(0, 4096, namespace=2, sector=4096).data == bytes(4096)
        assert io.write(0, pattern(4096), namespace=2, sector=4096).status == SUCCESS
        # Formatting the other leaves it alone.
        assert host.command(0x80, 0, namespace=1).status == SUCCESS
        assert io.read(0, 4096, namespace=2, sector=4096).data == pattern(4096)
        struct.pack_into("<QQ", wanted, 0, 1 << 40, 1 << 40)
        assert host.command(0x0D, 0, data=bytes(wanted)).status == 0x115


def test_a_silent_host_is_dropped(drive) -> None:
    with admin(drive, keep_alive_ms=1000) as host:
        begun = time.monotonic()
        assert host.command(0x18).status == SUCCESS
        with pytest.raises(ConnectionError):
            host.receive()
        # It has twice the time that it promised.
        assert time.monotonic() - begun >= 2.0


@pytest.mark.parametrize(
    ("kind", "header", "fatal"),
    [
        (0x42, bytes(64), 1),
        (4, bytes(8), 1),
        (0, bytes(120), 2),
        (6, struct.pack("<HHIII", 1, 9, 0, 0, 0), 1),
    ],
)
def test_who_breaks_the_protocol_is_told_and_dropped(drive, kind, header, fatal) -> None:
    with admin(drive) as host:
        host.transmit(kind, header, b"")
        with pytest.raises(TerminatedError) as ended:
            host.receive()
        assert ended.value.fatal == fatal
    with admin(drive) as host:
        assert host.command(0x18).status == SUCCESS


def test_a_wrong_header_digest_ends_the_connection(drive) -> None:
    with admin(drive, header_digest=True) as host:
        host.stream.sendall(struct.pack("<BBBBI", 4, 1, 72, 0, 76) + bytes(68))
        with pytest.raises(TerminatedError) as ended:
            host.receive()
        assert ended.value.fatal == 3


def test_contents_stay_in_a_file(tmp_path) -> None:
    data = tmp_path / "drive"
    with served(data=data) as drive, both(drive) as (_, io):
        io.write(8, pattern(4096))
    with served(data=data) as drive, both(drive) as (_, io):
        assert io.read(8, 4096).data == pattern(4096)
    with pytest.raises(TargetError, match="can't keep"):
        serve_drive(order("client-qlc?capacity=200MB", data=data)).__enter__()


def _refused(rule_id: str, data: Path) -> str:
    with pytest.raises(RefusedError, match=rf"refused \[{rule_id}\]") as refused:
        serve_drive(order(data=data)).__enter__()
    return str(refused.value)


def test_a_file_of_the_right_length_that_is_somebody_elses_is_left_alone(tmp_path, golden) -> None:
    data = tmp_path / "photos"
    with served() as drive:
        content = pattern(4096)
    data.write_bytes(content)
    os.truncate(data, drive.capacity_bytes)
    before = data.stat()
    assert _refused("file-data", data) == golden
    assert data.stat().st_mtime_ns == before.st_mtime_ns
    assert os.listxattr(data) == []
    with served(data=data, overwrite_file=True) as drive, both(drive) as (_, io):
        assert io.read(0, 4096).data == content
        io.write(8, bytes(4096))
    with served(data=data) as drive, both(drive) as (_, io):
        assert io.read(8, 4096).data == bytes(4096)


@pytest.mark.on_disk
@pytest.mark.needs("files")
def test_two_drives_share_no_file(tmp_path) -> None:
    data, other = tmp_path / "drive", tmp_path / "other"
    with served(data=data):
        _refused("locked", data)
        other.hardlink_to(data)
        _refused("locked", other)
        with pytest.raises(RefusedError, match=r"refused \[locked\]"):
            open_target(FileTarget(data, None), Consent(overwrite_file=True), SystemRoots()).__enter__()


def test_a_copy_and_a_file_that_was_changed_are_not_its_own(tmp_path, golden) -> None:
    data, copy = tmp_path / "drive", tmp_path / "copy"
    with served(data=data) as drive, both(drive) as (_, io):
        io.write(8, pattern(4096))
    subprocess.run(["cp", "-a", data, copy], check=True)
    assert _refused("file-data", copy) == golden
    with data.open("r+b") as file:
        file.write(b"notes")
    assert _refused("file-data", data) == golden
    (refusal,) = check(FileTarget(data, None), SystemRoots())
    assert refusal.rule_id == "file-data"  # it is no scratch file either


def test_a_file_that_was_made_for_nothing_is_removed(tmp_path, drive) -> None:
    data = tmp_path / "drive"
    with pytest.raises(TargetError, match="can't listen"):
        serve_drive(replace(order(data=data), address=drive.address)).__enter__()
    assert not data.exists()


def test_latency_follows_the_model(drive) -> None:
    """Reads of what was written take what the model says, and a loaded machine adds to it."""
    with both(drive) as (_, io):
        for lba in range(0, 20_000, 256):
            io.write(lba, pattern(128 << 10))
        time.sleep(0.3)
        before = drive.served()
        taken = []
        for lba in range(0, 20_000, 200):
            begun = time.perf_counter()
            io.read(lba & ~7, 4096)
            taken.append((time.perf_counter() - begun) * 1e9)
        after = drive.served()
    modelled_ns = (after.modelled_ns - before.modelled_ns) / (after.ios - before.ios)
    least_us = load_preset("client-qlc").as_written()["page_mapped"]["slc"]["read_us"]
    assert modelled_ns > least_us * 1000
    assert min(taken) >= least_us * 1000
    assert sum(taken) / len(taken) > modelled_ns


def test_a_scaled_drive_has_all_its_addresses() -> None:
    with served("client-qlc?capacity=1GB&scale=4") as drive, both(drive) as (host, io):
        last = drive.capacity_bytes // 512 - 8
        io.write(last, pattern(4096))
        assert io.read(last, 4096).data == pattern(4096)
        assert host.command(0x80, 0, namespace=1).status == SUCCESS
        assert io.read(last, 4096).data == bytes(4096)


def test_equal_orders_have_equal_names() -> None:
    with served() as one, served() as same, served(SMALL + "&seed=2") as other:
        assert one.names == same.names
        assert one.names.nqn != other.names.nqn
        assert one.names.serial != other.names.serial


def test_orders_that_make_no_sense() -> None:
    with served() as drive, pytest.raises(TargetError, match="can't listen"):
        serve_drive(replace(order(), address=drive.address)).__enter__()
    with pytest.raises(UsageError, match="not a serial number"):
        serve_drive(order(serial="x" * 21)).__enter__()
    with pytest.raises(UsageError, match="not the name"):
        serve_drive(order(nqn="drive")).__enter__()
    for text in ("127.0.0.1", "localhost:4420", "127.0.0.1:99999", ":4420", "127.0.0.1:x"):
        with pytest.raises(UsageError, match="not an IP address"):
            checked_address(text)
    assert is_loopback(checked_address("[::1]:4420"))
    assert not is_loopback(checked_address("0.0.0.0:4420"))
