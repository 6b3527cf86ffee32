"""The list of drives, as text for terminals of several widths and as JSON."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import GuardVerdict
from openpts.device.guard.rules import Refusal
from openpts.device.identity import Media
from openpts.errors import UsageError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact, HealthReading
from openpts_drives.cli import devices as devices_module
from openpts_drives.cli.devices import devices
from openpts_drives.link import NegotiatedLink
from openpts_drives.listing import ListedDevice, PurgeAbility, measured

LINK = NegotiatedLink("Gen 3 x4", "Gen 4 x4", ("the PCIe link runs at Gen 3 x4",), "PCI")
LONG_SERIAL = "S4EVNX0R512345678901"
MOUNTED = Refusal("mounted", "/dev/sda1 is mounted at /home", "see findmnt; unmount it if it isn't needed")
NOTHING = SystemRoots(Path("/nothing"), Path("/nothing"), Path("/dev"))
LISTINGS = [
    replace(
        ListedDevice.of(
            BlockDevice(NOTHING.sys / "nvme0n1", NOTHING),
            {
                "model": Fact("[bold]Drive of a long name", "/sys/block/nvme0n1/device/model"),
                "serial": Fact(LONG_SERIAL, "device/serial"),
                "firmware": Fact("2B2QEXM7", "device/firmware_rev"),
                "interface": Fact("NVMe 2.0 over PCIe", "transport"),
                "form_factor": Fact(None, "NVMe has no field for it"),
                "write_cache": Fact("WCE", "NVMe Get Features, 06h"),
            },
            Media("solid state", None, "queue/rotational"),
            LINK,
            logical_sector_bytes=512,
            physical_sector_bytes=4096,
            safety=GuardVerdict.of(),
            other_namespaces=("/dev/nvme0n2",),
            purge_methods=(
                PurgeAbility("nvme-format", "NVMe Format NVM", True, True, "OACS", 60.0, ()),
                PurgeAbility("overwrite", "overwriting", False, True, "any drive", None, ()),
                PurgeAbility("sanitize", "NVMe Sanitize", True, False, "SANICAP is 0", None, ()),
            ),
            warnings=("the PCIe link runs at Gen 3 x4",),
        ),
        capacity_bytes=1_920_383_410_176,
        **measured(HealthReading("NVMe log page 02h", {"temperature_c": 41.0, "percentage_used_pct": 3.0})),
    ),
    replace(
        ListedDevice.of(
            BlockDevice(NOTHING.sys / "sda", NOTHING),
            {},
            Media("rotational", 7200, "word 217"),
            NegotiatedLink(None, None, (), "nothing"),
            safety=GuardVerdict.of((MOUNTED,)),
            silent="no answer within 10 s: see dmesg",
        ),
        capacity_bytes=10**9,
    ),
]


@pytest.fixture(autouse=True)
def machine(monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(devices_module, "list_devices", lambda _roots, _patience_s: LISTINGS)


def _lines(width: int, monkeypatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    return CliRunner().invoke(devices).output.splitlines()


@pytest.mark.parametrize("width", [80, 100, 120, 160, 200, 240])
def test_the_list_fits(width, monkeypatch, snapshot) -> None:
    lines = _lines(width, monkeypatch)
    assert all(len(line) <= width for line in lines[:3])
    assert "\n".join(line.rstrip() for line in lines) == snapshot


def test_json_has_a_version_and_an_object_for_each_drive(snapshot) -> None:
    told = json.loads(CliRunner().invoke(devices, ["--json"]).output)
    assert told["schema"] == "openpts.devices/1"
    assert json.dumps(told, indent=1) == snapshot


def test_the_details_name_the_place_of_each_fact(monkeypatch, snapshot) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(devices_module, "list_device", lambda _device, _roots, _patience_s: LISTINGS[0])
    monkeypatch.setattr(
        devices_module, "_drive", lambda _node, _roots: BlockDevice(NOTHING.sys / "nvme0n1", NOTHING)
    )
    monkeypatch.setattr(devices_module, "negotiated_link", lambda _device: LINK)
    output = CliRunner().invoke(devices, ["/dev/nvme0n1"]).output
    assert "\n".join(line.rstrip() for line in output.splitlines()) == snapshot


@pytest.mark.parametrize("node", ["file:x?size=1GiB", "sim:client-qlc"])
def test_only_a_drive_has_details(node, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=": name a drive such as /dev/nvme0n1"):
        CliRunner().invoke(devices, [node], catch_exceptions=False)
