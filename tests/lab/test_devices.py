"""`openpts devices` on a virtual machine: drives of every driver, one of which hangs."""

import json
from typing import Any

import pytest

from tests.lab.machine import OPENPTS, in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]


@pytest.fixture(scope="module")
def told(disk_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What JSON says of each drive by its path, while one hangs and another has lost its node."""
    folder = disk_path_factory.mktemp("devices")
    ended = in_lab(
        folder,
        *("--nvme", "64M", "--nvme", "64M,ns=2", "--sata", "64M", "--scsi", "64M,hba=mptsas1068"),
        *("--dm-delay", "/dev/nvme0n1:1"),
        script=f"""
        rm /dev/sdb
        dmsetup suspend --nolockfs --noflush delay0
        {OPENPTS} devices --json --patience 30 > {folder}/devices.json
        code=$?
        dmsetup resume delay0
        exit $code
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    answer = json.loads((folder / "devices.json").read_text())
    assert answer["schema"] == "openpts.devices/1"
    return {device["path"]: device for device in answer["devices"]}


def test_a_drive_that_hangs_costs_its_own_line(told: dict[str, dict[str, Any]]) -> None:
    (hanging,) = (device for path, device in told.items() if path.startswith("/dev/dm-"))
    assert hanging["silent"] == "no answer within 30 s: see dmesg"
    assert hanging["capacity_bytes"] == 64 << 20
    assert hanging["safety"]["verdict"] == "unknown"
    assert told["/dev/nvme1n1"]["silent"] is None


def test_each_interface_tells_what_it_has(told: dict[str, dict[str, Any]]) -> None:
    nvme, sata = told["/dev/nvme1n1"], told["/dev/sda"]
    assert (nvme["serial"], nvme["interface"]) == ("LABNVME0001", "NVMe 1.4 over PCIe")
    assert nvme["link"]["current"].startswith("Gen ")
    assert (nvme["temperature_c"], nvme["percentage_used_pct"]) == (50, 0)
    assert nvme["other_namespaces"] == ["/dev/nvme1n2"]
    assert (nvme["media"], nvme["logical_sector_bytes"], nvme["write_cache"]) == ("solid state", 512, "WCE")
    assert (sata["serial"], sata["link"]["current"]) == ("LABSATA0000", "1.5 Gbit/s")
    assert (sata["media"], sata["write_cache"]) == ("solid state", "WCE")
    for drive in (nvme, sata):
        assert "discard" in {method["name"] for method in drive["purge_methods"] if method["supported"]}
        assert drive["safety"]["verdict"] == "free"


def test_the_drive_below_a_mapped_device_is_refused(told: dict[str, dict[str, Any]]) -> None:
    (refusal,) = told["/dev/nvme0n1"]["safety"]["refusals"]
    assert (refusal["rule"], "delay0" in refusal["evidence"]) == ("holder", True)


def test_a_drive_without_its_node_is_told_by_what_the_kernel_knows(told: dict[str, dict[str, Any]]) -> None:
    drive = told["/dev/sdb"]
    assert (drive["serial"], drive["link"]["current"]) == ("LABSCSI0000", "3 Gbit/s")
    assert drive["temperature_c"] is None
