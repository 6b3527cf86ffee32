"""Pages of the served drive through the same tables, from its own events."""

import struct
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from openpts_drives.health.nvme_health import OCP_UUID, ocp_uuid_index
from openpts_nvme.logs.page import Log, LogPage, declared_logs, decode, encode_feature, whole_bytes
from openpts_testbench.served_drive import ServedDrive
from tests.support.nvme_tcp_host import Completion, Host
from tests.support.served_drive import admin, both, pattern, served

DELAYS_MS = (4.9, 5.0, 29.9, 30.0, 235.0)
OUTLIERS = "".join(
    f"\n[[oracle.outliers]]\nio = {io}\nns = {ms * 1e6:.0f}\n" for io, ms in enumerate(DELAYS_MS)
)
ORACLE = f"""
name = "slow"
summary = "Slow where it is written down"
capacity_bytes = 64_000_000
sector_bytes = 512
purge = "works"
[oracle]
purge_s = 0.0
[oracle.rate]
by = "steps"
every = 1
iops = [10000.0]
[oracle.trims]
command_us = 6000.0
mib_us = 0.0
{OUTLIERS}
"""


def page(host: Host, name: str, *, uuid_index: int = 1) -> LogPage:
    """A page as a host reads it: its head, then all."""
    log = declared_logs()[name]
    index = uuid_index if log.ocp else 0
    head = _log(host, log, log.length, index)
    return decode(log, _log(host, log, whole_bytes(log, head), index))


def _log(host: Host, log: Log, length: int, index: int) -> bytes:
    done = host.command(0x02, log.id | (length // 4 - 1) << 16, 0, 0, 0, index, reads=length)
    assert done.status == 0
    return done.data


def set_monitor(host: Host, **values: Any) -> int:
    """Set the latency monitor, by default with thresholds of 5, 30, 100 and 235 ms; the status."""
    thresholds = {
        f"active_threshold_{letter}_ms": ms for letter, ms in zip("abcd", (5, 30, 100, 235), strict=True)
    }
    feature = declared_logs()["latency-monitor-feature"]
    data = encode_feature(feature, {"enable": 1} | thresholds | values)
    return host.command(0x09, feature.id | 1 << 31, 0, 0, 0, 1, data=data).status


@pytest.mark.parametrize(
    "name",
    [log.name for log in declared_logs().values() if log.id not in range(0x20, 0x24) and not log.is_feature],
)
def test_each_page_is_what_its_table_says(name) -> None:
    with served() as drive, admin(drive) as host:
        read = page(host, name)
        assert read.impossible == {}
        assert read.version == read.log.versions[1]


def test_ocp_is_in_the_list_of_uuids_and_another_index_is_refused() -> None:
    with served() as drive, admin(drive) as host:
        assert struct.unpack_from("<I", host.identify(1), 96)[0] & 1 << 9
        uuids = host.identify(0x17)
        assert ocp_uuid_index(uuids) == 1
        assert OCP_UUID in uuids
        refused = host.command(0x02, 0xC0 | 127 << 16, 0, 0, 0, 2, reads=512)
        assert refused.status == INVALID_FIELD


def test_bytes_and_utilization_are_those_of_the_host() -> None:
    with served() as drive, both(drive) as (host, io):
        before = page(host, "smart-extended").values
        assert io.write(0, pattern(1 << 20)).status == 0
        assert io.write(3, pattern(4096)).status == 0
        values = page(host, "smart-extended").values
        smart = page(host, "smart").values
        assert smart["host_write_bytes"] == -(-((1 << 20) + 4096) // 512_000) * 512_000
        assert smart["host_write_commands"] == 2
        assert values["unaligned_ios"] == before["unaligned_ios"] + 1
        assert values["total_namespace_utilization_blocks"] == 1 << 11
        assert (values["dssd_major_version"], values["dssd_minor_version"]) == (2, 7)
        assert io.command(0x00, namespace=1).status == 0
        written = page(host, "smart-extended").values["physical_media_written_bytes"]
        assert written >= 1 << 20


def test_planted_delays_are_counted_exactly(tmp_path) -> None:
    (tmp_path / "slow.toml").write_text(ORACLE)
    with served(str(tmp_path / "slow.toml")) as drive, both(drive) as (host, io):
        assert set_monitor(host) == 0
        for number, ms in enumerate(DELAYS_MS):
            began = time.monotonic()
            assert io.read(number, 512).status == 0
            assert time.monotonic() - began >= ms / 1000
        values = page(host, "latency-monitor").values
        assert values["active_reads"] == [2, 1, 0, 1]
        assert values["active_writes"] == values["active_deallocates"] == [0] * 4
        assert values["active_read_latency_ms"] == [5, 30, None, 235]
        assert set_monitor(host) == 0
        assert page(host, "latency-monitor").values["active_reads"] == [0] * 4


def test_writes_and_deallocates_have_counters_of_their_own(tmp_path) -> None:
    (tmp_path / "slow.toml").write_text(ORACLE)
    with served(str(tmp_path / "slow.toml")) as drive, both(drive) as (host, io):
        assert set_monitor(host) == 0
        io.read(0, 512)
        io.write(0, pattern(512))
        io.command(0x09, 0, 1 << 2, namespace=1, data=struct.pack("<IIQ", 0, 1, 0))
        io.command(0x08, 0, 0, 0, namespace=1)
        io.read(0, 512)
        values = page(host, "latency-monitor").values
        assert values["active_writes"] == [1, 0, 0, 0]
        assert values["active_deallocates"] == [1, 0, 0, 0]
        # write zeroes took 6 ms, too, and is not counted
        assert values["active_reads"] == [1, 0, 0, 0]


def test_stamps_are_of_the_hosts_clock_where_it_was_set(tmp_path) -> None:
    (tmp_path / "slow.toml").write_text(ORACLE)
    with served(str(tmp_path / "slow.toml")) as drive, both(drive) as (host, io):
        assert set_monitor(host) == 0
        io.read(0, 512)
        io.read(0, 512)
        began_ms = 1_790_000_000_000
        assert host.command(0x09, 0x0E, 0, data=struct.pack("<Q", began_ms)).status == 0
        io.read(0, 512)
        io.read(0, 512)
        values = page(host, "latency-monitor").values
        assert values["active_read_stamp"][0]["origin"] == 0
        assert began_ms + 29 <= values["active_read_stamp"][1]["ms"] <= began_ms + 10_000
        assert values["active_read_stamp"][1]["origin"] == 1
        assert values["active_read_stamp_is_of_host"] == [False, True, False, False]
        now = struct.unpack("<Q", host.command(0x0A, 0x0E, 0, reads=8).data)[0]
        assert now >> 48 == 2
        assert began_ms + 59 <= now & (1 << 48) - 1 <= began_ms + 10_000


def test_thresholds_out_of_order_are_refused_and_nothing_changes() -> None:
    with served() as drive, admin(drive) as host:
        assert set_monitor(host, active_threshold_b_ms=5) == INVALID_FIELD
        values = page(host, "latency-monitor").values
        assert [values[f"active_threshold_{letter}_ms"] for letter in "abcd"] == [30, 100, 155, 235]
        assert values["active_bucket_timer_threshold_min"] == 7 * 24 * 60
        assert values["active_latency_minimum_window_ms"] == 1000


def test_power_is_the_energy_of_the_model() -> None:
    with served("enterprise-tlc?capacity=256MB") as drive, admin(drive) as host:
        deadline = time.monotonic() + 20
        while not (read := page(host, "power-measurement")).values["measurements"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        values = read.values
        assert sum(entry["count"] for entry in values["histogram"]) == values["measurements"]
        assert values["maximum_power_w"] >= values["average_power_w"] > 0
        bins = [entry["lower_threshold_w"] for entry in values["histogram"] if entry["count"]]
        assert bins[-1] <= values["maximum_power_w"] + 0.01 <= bins[-1] + 0.26
        assert page(host, "smart").values["interval_power_w"] <= values["maximum_power_w"] + 5


def test_telemetry_has_data_area_1_of_32_kib_and_a_generation_by_request() -> None:
    with served() as drive, admin(drive) as host:
        header = page(host, "telemetry-host").values
        assert header["area_1_last_block"] * 512 == 32_768
        made = host.command(0x02, 0x07 | 1 << 8 | (33_280 // 4 - 1) << 16, reads=33_280)
        assert (made.status, len(made.data)) == (0, 33_280)
        assert page(host, "telemetry-host").values["host_generation"] == header["host_generation"] + 1


SUCCESS, INVALID_FIELD, SEQUENCE, INVALID_LOG = 0x00, 0x02, 0x0C, 0x109
HANDLES, SECTOR, GROUP = 4, 512, 1
SMALL = "theory?capacity=256MB&page_mapped.geometry.dies=8&page_mapped.geometry.dies_per_group=8"
PLACED = f"{SMALL}&page_mapped.placement.handles={HANDLES}&page_mapped.placement.isolation=persistently"
UNFULL, INVALID_ID, CHANGED = 0x00, 0x03, 0x81


@pytest.fixture
def drive() -> Iterator[ServedDrive]:
    with served(PLACED) as drive:
        yield drive


def log(host: Host, name: str, specific: int = 0) -> LogPage:
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
