"""Readings of a drive's log: what is there under one name for all, and why there is nothing."""

import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts import programs
from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.health import health
from openpts.device.health.health import read_health, read_health_of, simulated_health
from openpts.device.nvme.nvme_admin import NvmeCommandError
from openpts.device.nvme.nvme_identify import parse_identify_controller
from openpts.device.targets.open_target import OpenTarget
from openpts.programs import ProgramMissingError, Reply
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.health import HealthReading
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
from tests.support.transcript import Golden

MIB_32 = 32 * 2**20
FACTS = TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", 10**9, 512)


def _target(name: str, roots: SystemRoots) -> OpenTarget:
    return OpenTarget(-1, FACTS, BlockDevice.of_name(name, roots))


def test_a_file_has_no_log() -> None:
    reading = read_health(OpenTarget(-1, FACTS, None))
    assert (dict(reading.values), reading.source) == ({}, "a file has no log of its health")


def test_a_drive_whose_log_nothing_reads_says_so(tmp_path: Path) -> None:
    roots = build_system("virtual-machine", tmp_path)
    reading = read_health_of(BlockDevice.of_name("vda", roots))
    assert (dict(reading.values), reading.source) == (
        {},
        "openpts reads no health log of this kind of device (virtio)",
    )


def test_an_ata_drive_is_asked_by_smartctl(server: SystemRoots) -> None:
    reading = read_health(_target("sda", server), run=says(captured("qemu-sata"), 4))
    assert reading.source == "smartctl 7.3"
    assert (reading.values["temperature_c"], reading.values["failure_foretold"]) == (31, 0)


def test_a_partition_has_the_health_of_its_disk(server: SystemRoots) -> None:
    asked = []

    def run(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        asked.append(command[-1])
        return Reply(tuple(command), 0, captured("qemu-sata"), "", 0)

    part = BlockDevice.of_name("sdc1", server)
    for reading in (read_health_of(part, run=run), read_health(OpenTarget(-1, FACTS, part), run=run)):
        assert reading.values["temperature_c"] == 31
    assert asked == [str(server.dev / "sdc")] * 2


def test_what_a_drive_contradicts_itself_about_is_in_the_source(server: SystemRoots) -> None:
    (drive,) = (drive for drive in published("ata") if drive.name == "crucial-m4-256gb")
    said = json.dumps(smartctl_json_of_ata(drive))
    reading = read_health_of(BlockDevice.of_name("sda", server), run=says(said), timeout_s=1)
    assert reading.source == (
        "smartctl 7.3; percentage_used_pct left out: device statistics 2 but SMART attributes 21"
    )


def test_a_drive_that_tells_nothing_says_so(server: SystemRoots) -> None:
    reading = read_health_of(BlockDevice.of_name("sda", server), run=says(captured("qemu-scsi")))
    assert (dict(reading.values), reading.source) == (
        {},
        "smartctl 7.3: the drive tells nothing of its health",
    )


def test_what_hides_behind_a_usb_bridge_is_read_as_what_it_is(server: SystemRoots) -> None:
    scsi_disk = BlockDevice.of_name("sdb", server)
    assert scsi_disk.kind is DeviceKind.SCSI
    reading = read_health_of(scsi_disk, run=says(captured("qemu-nvme")))
    assert (reading.values["percentage_used_pct"], reading.values["host_read_bytes"]) == (0, 5 * 512_000)
    reading = read_health_of(scsi_disk, run=says(captured("qemu-sata")))
    assert reading.values["reallocated_sectors"] == 0


def test_a_missing_smartctl_names_the_package(server: SystemRoots, golden: Golden) -> None:
    reading = read_health_of(BlockDevice.of_name("sda", server), run=no_programs)
    assert not reading.values
    assert reading.source == golden


def test_smartctl_is_a_program_whose_package_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find_program", lambda name: None)
    with pytest.raises(ProgramMissingError, match="smartmontools"):
        programs.run_program(["smartctl"], 1)


def test_a_node_that_can_not_be_opened_is_a_reason(server: SystemRoots, golden: Golden) -> None:
    reading = read_health_of(BlockDevice.of_name("nvme0n1", server))
    assert not reading.values
    assert reading.source == golden


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., HealthReading]:
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


def test_a_vendors_page_adds_what_was_written_to_flash(server: SystemRoots, answers) -> None:
    drive = _published("intel-ssdpe2mx012t4")
    host = drive.smart["data_units_written"] * 512_000 // MIB_32
    items = [(0xF4, 2 * host), (0xF5, host)]
    page = b"".join(bytes([key, 0, 0, 100, 0]) + raw.to_bytes(6, "little") + b"\0" for key, raw in items)
    reading = answers(server, drive, page.ljust(512, b"\0"))
    assert reading.source == "NVMe log page 02h and CAh"
    assert reading.values["nand_write_bytes"] == 2 * host * MIB_32


def test_a_vendors_page_that_is_refused_costs_nothing_else(server: SystemRoots, answers) -> None:
    reading = answers(server, _published("intel-ssdpe2mx012t4"), "NVMe status 0x4109")
    assert reading.source == "NVMe log page 02h; log page CAh can't be used: NVMe status 0x4109"
    assert reading.values["percentage_used_pct"] == 48
    assert "nand_write_bytes" not in reading.values


def test_other_drives_are_asked_for_nothing_else(server: SystemRoots, answers) -> None:
    reading = answers(server, _published("kingston-snv2s2000g"), "asked all the same")
    assert reading.source == "NVMe log page 02h"
    assert reading.values["warning_limit_c"] == 83


@pytest.mark.parametrize("name", ["samsung-mzql21t9hcjr", "kingston-snv2s2000g"])
def test_the_page_of_ocp_is_asked_for_by_its_uuid(
    server: SystemRoots, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
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


def test_a_drive_whose_link_is_gone_has_no_log(
    server: SystemRoots, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "read_smart_log", lambda fd: b"\xff" * 512)
    reading = read_health(_target("nvme0n1", server))
    assert not reading.values
    assert reading.source == golden


def test_a_controller_that_refuses_is_a_reason_and_no_error(
    server: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_fd: int) -> bytes:
        raise NvmeCommandError("Operation not permitted")

    monkeypatch.setattr(health, "read_smart_log", refused)
    reading = read_health(_target("nvme0n1", server))
    assert not reading.values
    assert reading.source == "NVMe log page 02h can't be read: Operation not permitted"


def test_what_is_no_nvme_drive_after_all_is_a_reason_too(
    server: SystemRoots, tmp_path: Path, golden: Golden
) -> None:
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
