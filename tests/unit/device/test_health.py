"""Readings of a drive's log: what is there under one name for all, and why there is nothing."""

from pathlib import Path

import pytest

from openpts.device import health
from openpts.device.block_device import BlockDevice
from openpts.device.health import read_health, simulated_health
from openpts.device.nvme_admin import NvmeCommandError
from openpts.device.open_target import OpenTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind

FACTS = TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", 10**9, 512)


def _target(name: str, roots: SystemRoots) -> OpenTarget:
    return OpenTarget(-1, FACTS, BlockDevice.of_name(name, roots))


def test_a_file_has_no_log() -> None:
    reading = read_health(OpenTarget(-1, FACTS, None))
    assert (dict(reading.values), reading.source) == ({}, "a file has no log of its health")


def test_a_drive_whose_log_nothing_reads_says_so(server: SystemRoots) -> None:
    reading = read_health(_target("sda", server))
    assert not reading.values
    assert "ATA" in reading.source


def test_a_controller_that_refuses_is_a_reason_and_no_error(
    server: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_fd: int) -> bytes:
        raise NvmeCommandError("Operation not permitted")

    monkeypatch.setattr(health, "read_smart_log", refused)
    reading = read_health(_target("nvme0n1", server))
    assert not reading.values
    assert reading.source == "NVMe log page 02h can't be read: Operation not permitted"


def test_what_is_no_nvme_drive_after_all_is_a_reason_too(server: SystemRoots, tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        device = BlockDevice.of_name("nvme0n1", server)
        reading = read_health(OpenTarget(file.fileno(), FACTS, device))
    assert not reading.values
    assert "can't be read" in reading.source


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
