"""Placement handles of a served drive: commands and logs, byte by byte over NVMe/TCP, decoded as declared."""

import struct
from collections.abc import Iterator
from functools import cache

import pytest

from openpts_nvme.logs.declaration import declared_logs
from openpts_nvme.logs.page import Page, decode, whole_bytes
from openpts_testbench.served_drive import ServedDrive
from tests.support.nvme_tcp_host import Completion, Host
from tests.support.served_drive import both, pattern, served

SUCCESS, INVALID_FIELD, SEQUENCE, INVALID_LOG = 0x00, 0x02, 0x0C, 0x109
HANDLES, SECTOR, GROUP = 4, 512, 1
SMALL = "theory?capacity=256MB&page_mapped.geometry.dies=8&page_mapped.geometry.dies_per_group=8"
PLACED = f"{SMALL}&page_mapped.placement.handles={HANDLES}&page_mapped.placement.isolation=persistently"
UNFULL, INVALID_ID, CHANGED = 0x00, 0x03, 0x81


@pytest.fixture
def drive() -> Iterator[ServedDrive]:
    with served(PLACED) as drive:
        yield drive


def log(host: Host, name: str, specific: int = 0) -> Page:
    declared = declared_logs()[name]
    data = read(host, declared.id, declared.length, specific)
    return decode(declared, read(host, declared.id, whole_bytes(declared, data), specific))


def read(host: Host, page: int, length: int, specific: int = 0, group: int = GROUP) -> bytes:
    done = host.command(0x02, page | specific << 8 | (length // 4 - 1) << 16, group << 16, reads=length)
    assert done.status == SUCCESS
    return done.data


@cache
def some(length: int) -> bytes:
    return pattern(length)


def place(io: Host, handle: int, lba: int, length: int) -> Completion:
    directive = 2 << 20 | length // SECTOR - 1
    return io.command(1, lba, 0, directive, handle << 16, namespace=1, data=some(length))


def left_blocks(io: Host) -> list[int]:
    done = io.command(
        0x12, 1, 16 + 32 * HANDLES // 4 + 3, namespace=1, reads=4 * (16 + 32 * HANDLES // 4 + 4)
    )
    assert done.status == SUCCESS
    count = struct.unpack_from("<H", done.data, 14)[0]
    entries = [struct.unpack_from("<HHIQ", done.data, 16 + 32 * place) for place in range(count)]
    assert [entry[:3] for entry in entries] == [(handle, handle, 0) for handle in range(HANDLES)]
    return [entry[3] for entry in entries]


def test_the_drive_says_what_it_has(drive) -> None:
    with both(drive) as (host, _):
        assert struct.unpack_from("<I", host.identify(1), 96)[0] & (1 << 19 | 1 << 4) == 1 << 19 | 1 << 4
        assert struct.unpack_from("<H", host.identify(0, 1), 102)[0] == GROUP
        (configuration,) = log(host, "fdp-configurations").values["configurations"]
        assert configuration["is_valid"]
        assert configuration["reclaim_groups"] == 1
        assert configuration["handles"] == [{"type": 2}] * HANDLES
        assert configuration["most_placement_identifiers"] == HANDLES
        assert log(host, "fdp-handle-usage").values["handles"] == [{"use": 1}] * HANDLES
        assert host.command(0x0A, 0x1D, GROUP).result == 1
        assert host.command(0x09, 0x1D, GROUP, 0).status == SEQUENCE
        assert host.command(0x09, 0x1D, GROUP, 1).status == SUCCESS


def test_writes_go_to_the_reclaim_unit_of_their_handle(drive) -> None:
    with both(drive) as (host, io):
        unit = log(host, "fdp-configurations").values["configurations"][0]["reclaim_unit_bytes"]
        assert left_blocks(io) == [unit // SECTOR] * HANDLES
        for handle, writes in ((1, 3), (3, 5)):
            for number in range(writes):
                assert place(io, handle, 1000 * handle + 64 * number, 32768).status == SUCCESS
        whole = unit // SECTOR
        assert left_blocks(io) == [whole, whole - 3 * 64, whole, whole - 5 * 64]
        assert io.read(1000, 32768).data == pattern(32768)
        assert log(host, "fdp-statistics").values["host_write_bytes"] == 8 * 32768


def test_a_handle_goes_on_in_another_unit_at_the_hosts_wish(drive) -> None:
    with both(drive) as (host, io):
        place(io, 2, 0, 32768)
        whole = left_blocks(io)[0]
        update = struct.pack("<HH", 2, 1)
        assert io.command(0x1D, 1 | 1 << 16, namespace=1, data=update).status == SUCCESS
        assert left_blocks(io) == [whole] * HANDLES
        (event,) = log(host, "fdp-events", specific=1).values["events"]
        assert (event["type"], event["reclaim_unit_handle"]) == (UNFULL, 2)
        refused = io.command(0x1D, 1, namespace=1, data=struct.pack("<H", HANDLES))
        assert refused.status == INVALID_FIELD


def test_events_of_host_and_drive_are_listed_and_can_be_switched_off(drive) -> None:
    with both(drive) as (host, io):
        assert place(io, 77, 0, 4096).status == SUCCESS
        unit_sectors = left_blocks(io)[3]
        for number in range(unit_sectors // 256 + 1):
            place(io, 3, 256 * number, 131072)
        (invalid,) = log(host, "fdp-events", specific=1).values["events"]
        assert (invalid["type"], invalid["placement_identifier"], invalid["namespace"]) == (INVALID_ID, 77, 1)
        (changed,) = log(host, "fdp-events").values["events"]
        assert (changed["type"], changed["placement_identifier"]) == (CHANGED, 3)
        asked = host.command(0x0A, 0x1E, 3 << 16, reads=6)
        assert (asked.result, asked.data) == (3, bytes([UNFULL, 1, INVALID_ID, 1, CHANGED, 1]))
        assert host.command(0x09, 0x1E, 1 << 16, 0, data=bytes([CHANGED])).status == SUCCESS
        assert log(host, "fdp-events").values["events"] == []


def test_amplification_by_the_log_is_that_of_the_model(drive) -> None:
    """A second host program: sequential writes of twice the drive, all by one handle, cost nothing."""
    with both(drive) as (host, io):
        sectors = 256_000_000 // SECTOR // 2048 * 2048
        for number in range(2 * sectors // 2048):
            place(io, 1, number * 2048 % sectors, 1 << 20)
        values = log(host, "fdp-statistics").values
        assert values["host_write_bytes"] == 2 * sectors * SECTOR
        assert values["media_write_bytes"] / values["host_write_bytes"] == pytest.approx(1, abs=0.005)
        # what is beyond the first 1.28 times its capacity goes to units that were erased
        assert values["media_erased_bytes"] / values["media_write_bytes"] == pytest.approx(0.36, abs=0.02)


def test_a_drive_without_placement_refuses_all_of_it() -> None:
    with served(SMALL) as drive, both(drive) as (host, io):
        assert struct.unpack_from("<I", host.identify(1), 96)[0] & 1 << 19 == 0
        assert host.command(0x02, 0x22 | 15 << 16, GROUP << 16, reads=64).status == INVALID_LOG
        assert host.command(0x0A, 0x1D, GROUP).status == INVALID_FIELD
        assert io.command(0x12, 1, 3, namespace=1, reads=16).status == INVALID_FIELD
        assert place(io, 0, 0, 4096).status == INVALID_FIELD
