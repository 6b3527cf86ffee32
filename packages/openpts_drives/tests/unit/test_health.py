"""Readings of a drive's log: what is there under one name for all, and why there is nothing."""

import json
import random
import struct
import uuid
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openpts import programs
from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.nvme_admin import (
    SMART_LOG_BYTES,
    NvmeCommandError,
    NvmeController,
    parse_identify_controller,
)
from openpts.device.targets.open_target import OpenTarget
from openpts.programs import ProgramMissingError, Reply
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import HealthReading, TargetFacts, TargetKind
from openpts_drives.health import health
from openpts_drives.health.health import read_health, read_health_of, simulated_health
from openpts_drives.health.nvme_health import (
    INTEL_PAGE,
    OCP_PAGE,
    ocp_uuid_index,
    parse_smart_log,
    parse_vendor_log,
    vendor_log_page,
)
from tests.data.system_trees import build_system
from tests.support.program_answers import no_programs, says
from tests.support.published_drives import (
    PublishedDrive,
    captured,
    identify_page,
    published,
    smart_page,
    smartctl_json_of_ata,
)
from tests.support.smart_log import SmartLog

MIB_32 = 32 * 2**20
FACTS = TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", 10**9, 512)


def _target(name: str, roots: SystemRoots) -> OpenTarget:
    return OpenTarget(-1, FACTS, BlockDevice.of_name(name, roots))


def test_a_file_has_no_log() -> None:
    reading = read_health(OpenTarget(-1, FACTS, None))
    assert (dict(reading.values), reading.source) == ({}, "a file has no log of its health")


def test_a_drive_whose_log_nothing_reads_says_so(tmp_path) -> None:
    roots = build_system("virtual-machine", tmp_path)
    reading = read_health_of(BlockDevice.of_name("vda", roots))
    assert (dict(reading.values), reading.source) == (
        {},
        "openpts reads no health log of this kind of device (virtio)",
    )


def test_an_ata_drive_is_asked_by_smartctl(server) -> None:
    reading = read_health(_target("sda", server), run=says(captured("qemu-sata"), 4))
    assert reading.source == "smartctl 7.3"
    assert (reading.values["temperature_c"], reading.values["failure_foretold"]) == (31, 0)


def test_a_partition_has_the_health_of_its_disk(server) -> None:
    asked = []

    def run(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        asked.append(command[-1])
        return Reply(tuple(command), 0, captured("qemu-sata"), "", 0)

    part = BlockDevice.of_name("sdc1", server)
    for reading in (read_health_of(part, run=run), read_health(OpenTarget(-1, FACTS, part), run=run)):
        assert reading.values["temperature_c"] == 31
    assert asked == [str(server.dev / "sdc")] * 2


def test_what_a_drive_contradicts_itself_about_is_in_the_source(server) -> None:
    (drive,) = (drive for drive in published("ata") if drive.name == "crucial-m4-256gb")
    said = json.dumps(smartctl_json_of_ata(drive))
    reading = read_health_of(BlockDevice.of_name("sda", server), run=says(said), timeout_s=1)
    assert reading.source == (
        "smartctl 7.3; percentage_used_pct left out: device statistics 2 but SMART attributes 21"
    )


def test_a_drive_that_tells_nothing_says_so(server) -> None:
    reading = read_health_of(BlockDevice.of_name("sda", server), run=says(captured("qemu-scsi")))
    assert (dict(reading.values), reading.source) == (
        {},
        "smartctl 7.3: the drive reports nothing of its health",
    )


def test_what_hides_behind_a_usb_bridge_is_read_as_what_it_is(server) -> None:
    scsi_disk = BlockDevice.of_name("sdb", server)
    assert scsi_disk.kind is DeviceKind.SCSI
    reading = read_health_of(scsi_disk, run=says(captured("qemu-nvme")))
    assert (reading.values["percentage_used_pct"], reading.values["host_read_bytes"]) == (0, 5 * 512_000)
    reading = read_health_of(scsi_disk, run=says(captured("qemu-sata")))
    assert reading.values["reallocated_sectors"] == 0


def test_a_missing_smartctl_names_the_package(server, golden) -> None:
    reading = read_health_of(BlockDevice.of_name("sda", server), run=no_programs)
    assert not reading.values
    assert reading.source == golden


def test_smartctl_is_a_program_whose_package_is_known(monkeypatch) -> None:
    monkeypatch.setattr(programs, "find_program", lambda name: None)
    with pytest.raises(ProgramMissingError, match="smartmontools"):
        programs.run_program(["smartctl"], 1)


def test_a_node_that_can_not_be_opened_is_a_reason(server, golden) -> None:
    reading = read_health_of(BlockDevice.of_name("nvme0n1", server))
    assert not reading.values
    assert reading.source == golden


@pytest.fixture
def answers(monkeypatch) -> Callable[..., HealthReading]:
    """The reading of an NVMe drive that answers like this."""

    def read(roots: SystemRoots, drive: PublishedDrive, vendor_page: bytes | str) -> HealthReading:
        def read_log(fd: int, page: int, length: int, *, uuid_index: int) -> bytes:
            if isinstance(vendor_page, str):
                raise NvmeCommandError(vendor_page)
            return vendor_page

        identity = parse_identify_controller(identify_page(drive))
        monkeypatch.setattr(health, "read_smart_log", lambda fd: smart_page(drive))
        monkeypatch.setattr(health, "identify_controller", lambda fd: identity)
        monkeypatch.setattr(health, "read_log", read_log)
        return read_health(_target("nvme0n1", roots))

    return read


def _published(name: str) -> PublishedDrive:
    return next(drive for drive in published("nvme") if drive.name == name)


def test_a_vendors_page_adds_what_was_written_to_flash(server, answers) -> None:
    drive = _published("intel-ssdpe2mx012t4")
    host = drive.smart["data_units_written"] * 512_000 // MIB_32
    items = [(0xF4, 2 * host), (0xF5, host)]
    page = b"".join(bytes([key, 0, 0, 100, 0]) + raw.to_bytes(6, "little") + b"\0" for key, raw in items)
    reading = answers(server, drive, page.ljust(512, b"\0"))
    assert reading.source == "NVMe log page 02h and CAh"
    assert reading.values["nand_write_bytes"] == 2 * host * MIB_32


def test_a_vendors_page_that_is_refused_costs_nothing_else(server, answers) -> None:
    reading = answers(server, _published("intel-ssdpe2mx012t4"), "NVMe status 0x4109")
    assert reading.source == "NVMe log page 02h; log page CAh can't be used: NVMe status 0x4109"
    assert reading.values["percentage_used_pct"] == 48
    assert "nand_write_bytes" not in reading.values


def test_other_drives_are_asked_for_nothing_else(server, answers) -> None:
    reading = answers(server, _published("kingston-snv2s2000g"), "asked all the same")
    assert reading.source == "NVMe log page 02h"
    assert reading.values["warning_limit_c"] == 83


@pytest.mark.parametrize("name", ["samsung-mzql21t9hcjr", "kingston-snv2s2000g"])
def test_the_page_of_ocp_is_asked_for_by_its_uuid(server, monkeypatch, name) -> None:
    asked = []

    def read_log(fd: int, page: int, length: int, *, uuid_index: int) -> bytes:
        asked.append((page, uuid_index))
        page_data = bytearray(512)
        page_data[0:2] = b"\x00\x10"
        page_data[496:512] = uuid.UUID("afd514c9-7c6f-4f9c-a4f2-bfea2810afc5").bytes[::-1]
        return bytes(page_data)

    drive = _published(name)
    identity = parse_identify_controller(identify_page(drive))
    # of the published drive only the vendor is known, which need not be known for this page
    identity = replace(identity, oacs=1 << 3, ctratt=1 << 9)
    ocp = uuid.UUID("c194d55b-e094-4794-a21d-29998f56be6f")
    monkeypatch.setattr(health, "read_smart_log", lambda fd: smart_page(drive))
    monkeypatch.setattr(health, "identify_controller", lambda fd: identity)
    monkeypatch.setattr(health, "identify_uuid_list", lambda fd: bytes(48) + ocp.bytes + bytes(4032))
    monkeypatch.setattr(health, "read_log", read_log)
    reading = read_health(_target("nvme0n1", server))
    assert asked == [(0xC0, 1)]
    assert (reading.source, reading.values["nand_write_bytes"]) == ("NVMe log page 02h and C0h", 4096)


def test_a_drive_whose_link_is_gone_has_no_log(server, golden, monkeypatch) -> None:
    monkeypatch.setattr(health, "read_smart_log", lambda fd: b"\xff" * 512)
    reading = read_health(_target("nvme0n1", server))
    assert not reading.values
    assert reading.source == golden


def test_a_controller_that_refuses_is_a_reason_and_no_error(server, monkeypatch) -> None:
    def refused(_fd: int) -> bytes:
        raise NvmeCommandError("Operation not permitted")

    monkeypatch.setattr(health, "read_smart_log", refused)
    reading = read_health(_target("nvme0n1", server))
    assert not reading.values
    assert reading.source == "NVMe log page 02h can't be read: Operation not permitted"


def test_what_is_no_nvme_drive_after_all_is_a_reason_too(server, tmp_path, golden) -> None:
    with (tmp_path / "file").open("wb") as file:
        device = BlockDevice.of_name("nvme0n1", server)
        reading = read_health(OpenTarget(file.fileno(), FACTS, device))
    assert not reading.values
    assert reading.source == golden


LOG: dict[str, float | None] = {
    "host_write_bytes": 10**12,
    "host_writes": 7,
    "percentage_used": 12.5,
    "nand_pages_total": 3,
    "read_only": False,
    "temperature_c": None,
    "energy_j": None,
    "true_nand_temperature_c": 60.0,
}


def test_a_simulated_drive_tells_under_the_names_of_all() -> None:
    reading = simulated_health(LOG, has_flash=True, limits_c={"warning_c": 70, "critical_c": 80})
    # what it does not have is left out; true temperatures no drive could tell
    assert reading.values == {
        "host_write_bytes": 1e12,
        "host_write_commands": 7.0,
        "percentage_used_pct": 12.5,
        "nand_write_bytes": 3 * 4096.0,
        "read_only": 0.0,
        "warning_limit_c": 70.0,
        "critical_limit_c": 80.0,
    }


def test_a_drive_that_follows_a_script_writes_to_no_media() -> None:
    assert "nand_write_bytes" not in simulated_health(LOG, has_flash=False, limits_c={}).values


U8, U16, U32 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32))
# the least significant half comes first
WIDE = {
    "host_read_bytes": ("data_units_read", 512_000),
    "host_write_bytes": ("data_units_written", 512_000),
    "host_read_commands": ("host_reads", 1),
    "host_write_commands": ("host_writes", 1),
    "busy_s": ("busy_minutes", 60),
    "power_cycles": ("power_cycles", 1),
    "power_on_hours": ("power_on_hours", 1),
    "unsafe_shutdowns": ("unsafe_shutdowns", 1),
    "media_errors": ("media_errors", 1),
    "error_log_entries": ("error_log_entries", 1),
}


# up to 200 degrees Celsius
KELVIN = st.integers(0, 473)


def _half_the_life_s(wide: dict[str, int]) -> int:
    return min(2**32 - 1, wide["power_on_hours"] * 3600 // 2)


@given(st.data())
def test_each_field_is_read_from_its_place_and_no_other(data) -> None:
    log = SmartLog()
    for name in ("critical_warning", "available_spare", "available_spare_threshold", "percentage_used"):
        setattr(log, name, data.draw(U8))
    log.composite_temperature_k = data.draw(KELVIN)
    for name in ("warning_minutes", "critical_minutes", "light_transitions", "heavy_transitions"):
        setattr(log, name, data.draw(U32))
    log.sensors_k[:] = data.draw(st.lists(KELVIN, min_size=8, max_size=8))
    wide = {name: data.draw(st.integers(0, 2**64 - 2)) for name in WIDE}
    log.light_s, log.heavy_s = (data.draw(st.integers(0, _half_the_life_s(wide))) for _ in range(2))
    for name, (attribute, _) in WIDE.items():
        getattr(log, attribute)[:] = (wide[name] % 2**64, wide[name] // 2**64)
    log.reserved_232[:] = data.draw(st.binary(min_size=280, max_size=280))

    expected = {
        "critical_warning": log.critical_warning,
        "available_spare_pct": log.available_spare,
        "available_spare_threshold_pct": log.available_spare_threshold,
        "percentage_used_pct": log.percentage_used,
        "warning_temperature_s": 60 * log.warning_minutes,
        "critical_temperature_s": 60 * log.critical_minutes,
        "throttle_events": log.light_transitions + log.heavy_transitions,
        "throttled_s": log.light_s + log.heavy_s,
        **{name: float(wide[name] * factor) for name, (_, factor) in WIDE.items()},
        # 0 K: not reported
        **({"temperature_c": log.composite_temperature_k - 273} if log.composite_temperature_k else {}),
        **{f"temperature_sensor_{n + 1}_c": k - 273 for n, k in enumerate(log.sensors_k) if k},
    }
    assert parse_smart_log(bytes(log)) == expected


def test_a_data_unit_is_a_thousand_sectors_of_512_bytes() -> None:
    log = SmartLog()
    log.data_units_written[0] = 525  # 256 MiB, as a drive counts them: rounded up
    written = parse_smart_log(bytes(log))["host_write_bytes"]
    assert 256 * 2**20 <= written < 256 * 2**20 + 512_000


def test_the_halves_of_a_wide_counter_are_in_their_places() -> None:
    log = SmartLog()
    log.host_reads[:] = (0, 1)
    # 2^64 is more than any drive counts: what stands at or beyond the end of the lower half is no count
    assert "host_read_commands" not in parse_smart_log(bytes(log))
    log.host_reads[:] = (2**64 - 2, 0)
    assert parse_smart_log(bytes(log))["host_read_commands"] == float(2**64 - 2)


@pytest.mark.parametrize("full", [2**64 - 1, 2**128 - 1])
def test_a_full_counter_counts_no_more_and_is_left_out(full) -> None:
    log = SmartLog()
    log.data_units_written[:] = (full % 2**64, full // 2**64)
    values = parse_smart_log(bytes(log))
    assert "host_write_bytes" not in values
    assert values["host_read_bytes"] == 0


def test_a_device_that_is_gone_has_no_log() -> None:
    with pytest.raises(ValueError, match="link is gone"):
        parse_smart_log(b"\xff" * 512)


@pytest.mark.parametrize(
    ("kelvin", "celsius"), [(0, None), (273, 0), (473, 200), (474, None), (0xFFFF, None)]
)
def test_a_temperature_that_can_not_be_is_none(kelvin, celsius) -> None:
    log = SmartLog()
    log.composite_temperature_k = log.sensors_k[1] = kelvin
    values = parse_smart_log(bytes(log))
    assert (values.get("temperature_c"), values.get("temperature_sensor_2_c")) == (celsius, celsius)


@pytest.mark.parametrize(("heavy_s", "told"), [(7200, 7200), (7201, None)])
def test_a_drive_throttles_no_longer_than_it_has_been_on(heavy_s, told) -> None:
    log = SmartLog()
    log.power_on_hours[0] = 1  # and a part of the second
    log.heavy_s = heavy_s
    assert parse_smart_log(bytes(log)).get("throttled_s") == told


@given(st.binary(min_size=512, max_size=512), st.booleans())
def test_any_512_bytes_are_a_log_another_page_or_a_device_that_is_gone(data, clear) -> None:
    data = data[:7] + bytes(25) + data[32:] if clear else data
    try:
        values = parse_smart_log(data)
    except ValueError:
        assert any(data[7:32])
    else:
        assert not any(data[7:32])
        assert all(value >= 0 for name, value in values.items() if not name.endswith("_c"))


@pytest.mark.parametrize("length", [0, SMART_LOG_BYTES - 1, SMART_LOG_BYTES + 1])
def test_a_log_of_another_length_is_none(length) -> None:
    with pytest.raises(ValueError, match="512"):
        parse_smart_log(bytes(length))


@pytest.mark.parametrize(
    "data",
    [
        b"SMART Log for NVME device:nvme0 namespace-id:ffffffff\n" * 10,
        b"       0  1  2  3  4  5  6  7\n0000: 00 2f 01 64 0a 03 00 00\n" * 10,
        random.Random(1).randbytes(512),
        (1 << 90).to_bytes(16, "little") * 32,  # a page of counters, as C0h is one
    ],
    ids=["text", "hex dump", "random", "another page"],
)
def test_what_has_reserved_bytes_is_another_page(data) -> None:
    with pytest.raises(ValueError, match="bytes 7 to 31"):
        parse_smart_log(data[:512])


GUID = 0xAFD514C97C6F4F9CA4F2BFEA2810AFC5  # as OCP's specification writes it


def _controller(vid: int, oacs: int) -> NvmeController:
    return NvmeController(ver=0x10400, oacs=oacs, sanicap=0, oncs=0, fna=0, vwc=0, vid=vid)


@pytest.mark.parametrize(
    ("vid", "oacs", "page"),
    [
        (0x144D, 0x5F, OCP_PAGE),
        (0x144D, 0x17, None),  # of a laptop: no namespace management
        (0x8086, 0x06, INTEL_PAGE),
        (0x025E, 0x5E, OCP_PAGE),  # Solidigm's newer drives have both
        (0x025E, 0x06, INTEL_PAGE),
        (0x1B36, 0x0A, None),  # QEMU announces namespace management
    ],
)
def test_only_drives_that_are_likely_to_have_a_page_are_asked(vid, oacs, page) -> None:
    assert vendor_log_page(_controller(vid, oacs)) == page


def test_of_the_published_models_intels_are_asked_for_theirs() -> None:
    asked = {
        drive.name: vendor_log_page(parse_identify_controller(identify_page(drive)))
        for drive in published("nvme")
    }
    assert {name for name, page in asked.items() if page is not None} == {
        name for name in asked if name.startswith("intel")
    }


def _uuid_list(*uuids: uuid.UUID) -> bytes:
    """Entry 0 is reserved; each has 16 bytes of header and the UUID."""
    return b"".join((bytes(32), *(bytes(16) + entry.bytes for entry in uuids))).ljust(4096, b"\0")


OCP_UUID = uuid.UUID("c194d55b-e094-4794-a21d-29998f56be6f")
OTHER_UUID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("uuids", "index"),
    [
        ((), 0),
        ((OCP_UUID,), 1),
        ((OTHER_UUID, OCP_UUID), 2),
        ((OTHER_UUID, uuid.UUID(int=0), OCP_UUID), 0),  # after the end of the list
        ((OTHER_UUID,) * 126 + (OCP_UUID,), 127),
        ((OTHER_UUID,) * 127, 0),
    ],
)
def test_ocps_page_is_asked_for_by_its_place_in_the_list(uuids, index) -> None:
    assert ocp_uuid_index(_uuid_list(*uuids)) == index


@given(st.binary(max_size=4096))
def test_any_bytes_are_a_list(data) -> None:
    assert 0 <= ocp_uuid_index(data) < 128


def _ocp(changed: Mapping[int, bytes] | None = None) -> bytes:
    page = bytearray(512)
    page[0:16] = (527_805_403_860_992).to_bytes(16, "little")
    page[16:32] = (467_772_386_381_824).to_bytes(16, "little")
    struct.pack_into("<Q", page, 32, 7 | 100 << 48)  # raw in 6 bytes, normalized in 2
    struct.pack_into("<Q", page, 40, 2 | 99 << 48)
    page[96], page[97] = 3, 1
    page[496:512] = GUID.to_bytes(16, "little")
    for start, data in (changed or {}).items():
        page[start : start + len(data)] = data
    return bytes(page)


def test_ocp_tells_bytes_of_flash_bad_blocks_and_throttling() -> None:
    assert parse_vendor_log(OCP_PAGE, _ocp(), {}) == {
        "nand_write_bytes": 527_805_403_860_992.0,
        "nand_read_bytes": 467_772_386_381_824.0,
        "bad_user_blocks": 7.0,
        "bad_system_blocks": 2.0,
        "drive_throttle_events": 3.0,
        "throttle_level": 1.0,
    }


def test_a_field_that_is_all_ones_is_not_reported() -> None:
    told = parse_vendor_log(OCP_PAGE, _ocp({0: b"\xff" * 16, 32: b"\xff" * 6, 96: b"\xff"}), {})
    assert set(told) == {"nand_read_bytes", "bad_system_blocks", "throttle_level"}


def test_a_page_of_another_meaning_is_not_read_as_ocps() -> None:
    with pytest.raises(ValueError, match="GUID"):
        parse_vendor_log(OCP_PAGE, _ocp({496: b"\x00"}), {})


def _intel(nand: int, host: int) -> bytes:
    """Items of 12 bytes: key, 2 reserved, normalized, reserved, 6 raw, reserved."""
    items = [(0xAB, 0), (0xF4, nand), (0xF5, host), (0xEA, 0)]
    return b"".join(
        bytes([key, 0, 0, 100, 0]) + raw.to_bytes(6, "little") + b"\x00" for key, raw in items
    ).ljust(512, b"\x00")


def test_intel_counts_32_mib_if_its_host_writes_are_those_of_the_log() -> None:
    # nand_bytes_written and host_bytes_written of https://github.com/linux-nvme/nvme-cli/issues/814
    page = _intel(nand=40262, host=45197)
    told = parse_vendor_log(INTEL_PAGE, page, {"host_write_bytes": 45197 * MIB_32 + 20e6})
    assert told == {"nand_write_bytes": 40262.0 * MIB_32, "nand_write_unit_bytes": MIB_32}


@pytest.mark.parametrize(
    ("page", "standard"),
    [
        (_intel(40262, 45197), {"host_write_bytes": 45197e6}),  # another unit
        (_intel(0, 0), {"host_write_bytes": 1e12}),  # as in https://github.com/linux-nvme/nvme-cli/issues/245
        (_intel(40262, 45197), {}),
        (bytes(512), {"host_write_bytes": 1e12}),
    ],
)
def test_intel_counts_whose_unit_can_not_be_checked_are_left_out(page, standard) -> None:
    with pytest.raises(ValueError, match=r"unit is unknown|no counts"):
        parse_vendor_log(INTEL_PAGE, page, standard)


@pytest.mark.parametrize("page", [OCP_PAGE, INTEL_PAGE])
@given(data=st.binary(max_size=600))
def test_any_bytes_are_a_page_or_a_reason(page, data) -> None:
    try:
        values = parse_vendor_log(page, data, {"host_write_bytes": 0.0})
    except ValueError:
        return
    assert all(value >= 0 for value in values.values())


def test_a_device_that_is_gone_has_no_page() -> None:
    with pytest.raises(ValueError, match="link is gone"):
        parse_vendor_log(OCP_PAGE, b"\xff" * 512, {})
